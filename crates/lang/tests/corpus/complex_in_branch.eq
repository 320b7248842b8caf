# about a function of one complex number in a branch whose condition has an index
P = const(3)
Q = const(4)
A[i] = const([1, 1, 1])
B[i] = const([1, 2, 3])
C[i] = const([1, -1, 1])
Z = complex(P, Q)
Y[i] = where(C[i] > 0, abs(Z) A[i], 0)
Loss = Y[i] B[i]
# expect Y = [5.0, 0.0, 5.0]
# grad Loss P = 2.4000000000000004
# grad Loss Q = 3.2
