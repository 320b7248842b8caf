I[i] = const([0, 3])
H[i,c] = one_hot(cast(I[i], to="i64"), classes=3)
