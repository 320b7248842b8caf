axis t = 5
X[*0] = 0
X[*t+1] = X[*t] + 1
Z[*0] = 0
Z[*t+1] = Z[*t] + A[X[*t]]
A[k] = const([1, 2, 3])
