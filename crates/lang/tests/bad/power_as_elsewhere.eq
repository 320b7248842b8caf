X[i] = const([1, 2])
Y[i] = X[i]^2
