X[i] = const([1, 2, 3, 4, 5])
Y = X[i+k]
# fails: the sizes of indices `i` and `k` are not known
