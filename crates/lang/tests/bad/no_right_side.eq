Y[i] =
