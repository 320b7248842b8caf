T[a] = const([1, 2, 3])
Idx[i] = const([0, 3])
Y[i] = T[Idx[i]]
# fails: position 3 is outside of `T`, which has 3 positions there
