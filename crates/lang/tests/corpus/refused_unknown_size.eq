Bin[i] = const([0, 2, 2, 1, 2])
H[Bin[i]] = 1
# fails: the size of `H` at a computed index is not known
