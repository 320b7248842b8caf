# about positions that calls, states and terms of a sum give
axis u = 2
axis t = 3
A[k] = const([1.5, -2, 3, 0.5])
B[i,j] = const([[0.5, 2, 1], [3, -1, 0.25], [0, 1, 4]])
I[i] = const([1, 3, 1])
Step[k] = const([1, 2, 0, 0])
H[i] = A[argmax(B[i,j], axis=j)]
G[u] = A[index(u)]
X[*0] = 0
X[*t+1] = X[*t] + Step[X[*t]]
S[*0] = 0
S[*t+1] = S[*t] + A[X[*t+1]] ** 2
J[I[i]] = B[i,0]
K[j] = J[j] + A[j]
Loss = H[i] ** 3 + G[u] G[u] + S[*-1] + K[j] K[j]
# expect H = [-2.0, 1.5, 3.0]
# expect K = [1.5, -1.5, 3.0, 3.5]
# expect G = [1.5, -2.0]
# grad Loss A = [12.75, 1.0, 33.0, 9.0]
# grad Loss B = [[-3.0, 0.0, 0.0], [7.0, 0.0, 0.0], [-3.0, 0.0, 0.0]]
# grad2 Loss A = [331.5, -12.0, 1320.0, 108.0]
