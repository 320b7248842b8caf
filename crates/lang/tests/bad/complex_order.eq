Z[i] = complex(X[i], 1)
X[i] = const([1, 2])
Y[i] = Z[i] > 1 ? X[i] : 0
W max= Z[i]
