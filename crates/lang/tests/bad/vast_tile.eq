A[i] = const([1, 2, 3])
Y[k] = tile(A[i], repeats=2000000000)
