A[i] = const([1, 2, 3])
Y[i] = A[i] [5]
Z[i] = const([1, 2, 3])[0]
