A[i] = const([1, 2, 3]
B[j] = const([1, 2])
C[j] = const([1, 2, 3])
D[j] = B[j] C[j]
E[j] = sofmax(B[j])
F[j] = A[j] + E[j] + Missing[j]
G[j] = D[j]
H[j,k] = B[j] C[k]
I = H[j]
export E, Nothing
