Ids[i] = const([0, 1.5])
Table[v,d] = const([[1, 2], [3, 4]])
Y[i,d] = embedding(Ids[i], Table[v,d])
