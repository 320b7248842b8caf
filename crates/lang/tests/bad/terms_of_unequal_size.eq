B[i] = const([1, 2, 3])
C[i] = const([1, 2])
Y[i] = B[i] + C[i]
