A[i] = const([1, 2, 3])
Y[k] = topk(A[i], k=1.5)
