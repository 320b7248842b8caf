# Legal here: an index that is not on the left is summed, used once or twice.
A[i,j] = const([[1, 2], [3, 4], [5, 6]])
Y[i] = A[i,j]
