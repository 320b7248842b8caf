T[a] = const([1, 2, 3])
Idx[i] = const([0, -1])
Y[i] = T[Idx[i]]
# fails: position -1 is outside of `T`
