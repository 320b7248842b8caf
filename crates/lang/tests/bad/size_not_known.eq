Y[i] = even(i)
