Ids[i] = const([0, 5])
Y[i,c] = one_hot(Ids[i], classes=3)
