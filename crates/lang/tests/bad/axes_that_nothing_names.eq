A[i,j] = const([[2, 1, 0], [0, 3, 1], [1, 0, 4]])
V[i] = const([1, 2, 3])
X[j] = solve(A[i,j] + 0.1 eye(n=3), V[i])
T = nll_loss(A[i,j], arange(n=3), axis=j)
