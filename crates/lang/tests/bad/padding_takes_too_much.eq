X[i] = const([1, 2, 3])
Y[u] = pad(X[i], padding=[-5, 0])
