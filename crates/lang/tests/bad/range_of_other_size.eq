A[i] = const([1, 2, 3])
B[i] = const([7])
Y[0:2] = A[0:2] B[0:2]
