T[a] = const([1, 2, 3])
Idx[i] = const([0, 0.5])
Y[i] = T[Idx[i]]
# fails: a position of `T` is an integer, not 0.5
