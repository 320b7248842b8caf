P[i,j,*t] = const([[[1, 2, 3], [0, 1, 1]], [[1, 0, 2], [2, 3, 4]]])
S[i,j] = P[i,j,*t]
LL[*t+1] = LL[*t] + det(S[i,j])
# fails: for one value per step write S[i, j, *t] = …; for the sum over time S[i, j] sum= …
