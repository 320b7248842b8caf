T[v,d] = const([[1, 2], [3, 4]])
I[k] = const([0, 5])
Y[k,d] = embedding(I[k], T[v,d])
