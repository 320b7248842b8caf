B[i] = const([1, 2, 3])
Y[i] = rellu(B[i])
