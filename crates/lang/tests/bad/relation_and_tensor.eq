A(i) = const([1, 0])
A[i] = const([1, 2])
