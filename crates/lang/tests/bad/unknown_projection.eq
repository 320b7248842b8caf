B[i] = const([1, 2, 3])
Y med= B[i]
