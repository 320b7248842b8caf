Y[i] = arange(n=100000000000)
