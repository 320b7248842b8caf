A[i,j] = const([[1, 2], [3, 4]])
Y[i.,j] = 2 A[i,j]
