A[i,j] = const([[1, 2], [3, 4]])
Y[i,j] = cumsum(A[i,j], axis=2)
