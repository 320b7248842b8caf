# Legal here: every pointwise function of the core is there.
B[i] = const([1, 2, 3])
Y[i] = tanh(B[i])
