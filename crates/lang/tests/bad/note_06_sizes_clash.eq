A[i,j] = const([[1, 2], [3, 4], [5, 6]])
B[j] = const([1, 2, 3])
Y[i,j] = A[i,j] B[j]
