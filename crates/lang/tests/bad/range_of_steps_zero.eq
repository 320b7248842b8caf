B[i] = const([1, 2, 3])
Y[s] = B[s=0:2:0]
Z[s] = B[s=::0]
