A[i,j] = const([[1, 2], [3, 4], [5, 6]])
Y[i,j] = softmax(A[i,j], axis="i", axis="j")
