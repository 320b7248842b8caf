axis i = 1.5
B[i] = const([1, 2, 3])
