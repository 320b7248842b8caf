A[i,j] = const([[1, 2], [3, 4]])
Y[j,i] = permute(A[i,j])
