X[i,j] = const([[1, 2], [3, 4]])
Y[k,l] = fft(X[i,j], axis=[i, j])
