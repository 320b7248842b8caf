axis i = 3
axis i = 4
B[i] = const([1, 2, 3])
