# One layer with tanh, and the sum of its squares: the picture in README.md.
X[b, d] = const([[0.8, 0.2, 0.5], [0.1, 0.6, 0.4]])
W[h, d] = const([[0.3, -0.2, 0.5], [0.7, 0.1, -0.4]])
H[b, h] = tanh(W[h, d] X[b, d])
Loss = H[b, h] H[b, h]

# expect Loss = 0.322457996339
