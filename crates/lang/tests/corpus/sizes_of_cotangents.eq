# about indices of cotangents whose sizes come from other parts of the equation
fn most(a[x]) -> s { s max= a[x] }
A[k] = const([0.2, -0.7])
B[k] = const([0.6, -0.3, 0.4])
P[n] = const([0.5, 2])
axis n = 2
Y = (A[k] - maximum(B[k-1], A[i]))
Z[n] = most(A[i]) B[m] P[n-m+1] index(n)
Loss = Y Y + Z[n] Z[n]
# expect Y = -2.3999999999999995
# expect Z = [0.0, -0.07999999999999999]
# grad Loss A = [-4.735999999999999, -9.599999999999998]
# grad Loss B = [9.599999999999998, -0.06399999999999999, -0.015999999999999997]
# grad Loss P = [-0.0128, 0.009599999999999997]
