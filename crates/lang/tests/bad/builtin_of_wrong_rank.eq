A[i] = const([1, 2])
Y = slogdet(A[i])
