B[i] = const([1, 2, 3])
H[i,*t] = H[i,*t] + B[i]
