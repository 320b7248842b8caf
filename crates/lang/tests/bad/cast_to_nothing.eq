X[i] = const([1, 2])
Y[i] = and(X[i], 3, as="f32")
Z[i] = cast(X[i])
