# Legal here: minus is an operator.
B[i] = const([1, 2, 3])
Y[i] = B[i] - 1
