axis k = 99999999999999999999
Y[k] = index(k)
