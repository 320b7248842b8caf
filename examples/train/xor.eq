# Exclusive or by a network with one hidden layer; the loss is the cross entropy of a boolean and its logit.
H[n,h] = tanh(W[h,f] X[n,f] + b[h])
Z[n]   = V[h] H[n,h] + c
Loss   = (log(1 + exp(Z[n])) - T[n] Z[n]) / 4
