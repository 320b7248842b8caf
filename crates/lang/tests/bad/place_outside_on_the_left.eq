A[i] = const([1, 2, 3])
Z[i] = A[i]
Z[5] = 1
