V[i] = const([1, 2, 3])
Y[i] when i > 0 = V[i]
