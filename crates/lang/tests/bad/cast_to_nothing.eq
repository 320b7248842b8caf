X[i] = const([1, 2])
Y[i] = cast(X[i], to="f33")
Z[i] = cast(X[i])
