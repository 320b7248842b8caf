# One time has one name in an equation.
B[*t] = const([1, 2, 3])
W[*u] = B[*t] B[*u]
