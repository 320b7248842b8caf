A[i,j] = const([[1, 2], [3]])
