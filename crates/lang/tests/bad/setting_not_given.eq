A[i,j] = const([[1, 2], [3, 4]])
Y[i,j] = matrix_power(A[i,j])
