# Legal here: calls take sums.
B[i] = const([1, 2, 3])
Y[i] = relu(B[i] + B[i])
