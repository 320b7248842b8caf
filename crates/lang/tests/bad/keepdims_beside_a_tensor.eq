A[i,j] = const([[1, 2], [3, 4]])
Y[i,j] = A[i,j] - max(A[i,j], axis=j, keepdims=true)
