Y[i] = X[i] W[i]
