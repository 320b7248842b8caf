X[n,c,t] = const([[[1, 2], [3, 4], [5, 6]]])
Y[n,c,t] = group_norm(X[n,c,t], groups=2)
