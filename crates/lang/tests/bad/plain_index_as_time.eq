X[t] = const([1, 2, 3])
S[*t+1] = S[*t] + X[*t]
