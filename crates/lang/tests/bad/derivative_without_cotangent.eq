A[i,j] = const([[1, 2], [3, 4]])
Y[i,j] = matmul_grad(A[i,j], A[i,j], wrt="x")
