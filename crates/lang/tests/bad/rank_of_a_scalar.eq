A = X[i]
X[i] = const([1, 2])
D = A[i]
