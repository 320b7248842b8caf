A[i,j] = const([[1, 2], [3, 4], [5, 6]])
Y[i] = reduce(max, k) A[i,j]
