# about writes: a transposed convolution, and elements that nothing writes
X[i] = const([1, -2, 3])
W[k] = const([0.5, 2])
Y[2*i+k] = X[i] W[k]
Z[3*i] = X[i] X[i]
Loss = Y[j] Y[j]
Total = Z[j] Z[j]
# expect Y = [0.5, 2.0, -1.0, -4.0, 1.5, 6.0]
# expect Z = [1.0, 0.0, 0.0, 4.0, 0.0, 0.0, 9.0]
# grad Loss X = [8.5, -17.0, 25.5]
# grad Loss W = [14.0, 56.0]
# grad Total X = [4.0, -32.0, 108.0]
# grad2 Loss X = [144.5, -289.0, 433.5]
