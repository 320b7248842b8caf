A[i] = const(1, 2, 3)
B[i] = const([1, 2], 3)
