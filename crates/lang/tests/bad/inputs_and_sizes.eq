A[i] = const([1, 2, 3])
B[i] = const([1, 2])
X[i] = A[i] Given[i]
Y[i] = A[i] B[i]
Z[i] = X[i] Y[i]
