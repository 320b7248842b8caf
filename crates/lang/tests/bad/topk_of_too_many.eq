A[i] = const([1, 2])
Y[k] = topk(A[i], k=5)
