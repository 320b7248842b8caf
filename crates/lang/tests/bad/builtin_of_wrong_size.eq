A[i] = const([1, 2])
Y[i] = cross(A[i], A[i])
