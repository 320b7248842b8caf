axis t = 3
X[*t] = const([1, 2, 3, 4])
S[*t+1] = S[*t] + X[*t]
