A[i,v] = const([[1, 2], [3, 4]])
Ids[i] = const([1, 0])
Y[i] = gather(A[i,v], Ids[i], axis=w)
