B[i] = const([1, 2, 3])
Y = B[0.5]
