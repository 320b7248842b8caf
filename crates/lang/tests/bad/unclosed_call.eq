B[i] = const([1, 2, 3])
Y[i] = relu(B[i]
Z[i] = B[i]
