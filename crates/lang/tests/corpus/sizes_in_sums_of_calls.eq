# about a size that an index has only inside of a sum that a call of the gradient contains
A[p] = const([-0.75, -0.9])
C[p,q] = const([[0.82, 1.21, 1.05], [-1.18, 1.12, 1.53]])
D[m] = C[m,1] C[m,1]
Y = A[j-1] (0 > 0.2 ? C[0,j] : D[m]) C[1,0]
Loss = Y Y
# expect Loss = 28.01499683348025
# grad Loss C = [[0.0, 49.87772104985999, 0.0], [-47.483045480475, 46.167807913919994, 0.0]]
# grad2 Loss C = [[0.0, 20364.426022059673, 0.0], [-19479.909656795557, 18849.716648518046, 0.0]]
