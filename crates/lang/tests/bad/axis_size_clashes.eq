axis i = 4
B[i] = const([1, 2, 3])
Y[i] = 2 B[i]
