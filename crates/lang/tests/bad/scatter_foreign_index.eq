A[i] = const([1, 2])
B[k] = const([1, 0, 1])
C[j] = const([1, 0, 1])
Y[i] = scatter_add(A[i], B[k], C[j])
