# about lines that write to parts under one reduction
X[i] = const([3, 1, 4])
M[i] max= X[i]
M[0] max= 2
M[2] max= 6
Loss = M[i] M[i]
# expect M = [3.0, 1.0, 6.0]
# grad Loss X = [6.0, 2.0, 0.0]
