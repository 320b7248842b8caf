Y[i] when index(i) > 0 = 3
