Z[i] = complex(X[i], 1)
X[i] = const([1, 2])
P(i) = Z[i]
Y[i] = Z[i] ? 1 : 2
