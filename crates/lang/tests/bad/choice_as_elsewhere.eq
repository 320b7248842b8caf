X[i] = const([1, 2])
Z[i] = X[i] if X[i] > 0 else 0
