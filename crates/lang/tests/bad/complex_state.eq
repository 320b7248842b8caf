X[*t] = const([1, 2])
S[*t+1] = complex(0, 1) S[*t] + X[*t]
