B[i] = const([1, 2, 3])
Y[i] = B(relu(B[i]))
