A[p] = const([0.31, -0.63, -1.19])
B[p] = const([-0.24, 0.03])
C[p,q] = const([[-0.21, -0.36, -1.17], [-0.16, -1.12, -0.87], [-0.79, -0.82, -0.76]])
D = const(-0.75)
I[p] = const([1, 0])
J[p] = const([1, 0, 0])
axis m8 = 2
axis n9 = 2
Y0[m1] when index(m1) < 1 = B[m1-1] flip(C[J[m1],m1], axis=m1) where(C[-m1,m1] > -0.13, A[n2], B[n3])
Y1[m8] when index(m8) A[m8-1] < 0.15 prod= Y0[2*m8+n9]
Loss = Y1[j10] Y1[j10]
# expect Y0 = [0.0, 0.0, 0.0]
# expect Y1 = [0.0, 1.0]
# expect Loss = [1.0]
# grad Loss B = [-0.0, -0.0]
# grad Loss C = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
# ----
A[p] = const([0.31, -0.63, -1.19])
B[p] = const([-0.24, 0.03])
C[p,q] = const([[-0.21, -0.36, -1.17], [-0.16, -1.12, -0.87], [-0.79, -0.82, -0.76]])
D = const(-0.75)
I[p] = const([1, 0])
J[p] = const([1, 0, 0])
axis m8 = 2
axis n9 = 2
Y0[m1] when index(m1) < 1 = B[m1-1] flip(C[J[m1],m1], axis=m1) * (where((C[-m1,m1] > -0.13), A[n2], (B[n3])))
Y1[m8] when (index(m8) * (A[m8-1])) < 0.15 prod= Y0[2*m8+n9]
Loss = (Y1[j10]) * Y1[j10]
# expect Y0 = [0.0, 0.0, 0.0]
# expect Y1 = [0.0, 1.0]
# expect Loss = [1.0]
# grad Loss B = [-0.0, -0.0]
# grad Loss C = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
# ----
Zb0[p] = const([0.31, -0.63, -1.19])
Zc1[p] = const([-0.24, 0.03])
Xc2[p,q] = const([[-0.21, -0.36, -1.17], [-0.16, -1.12, -0.87], [-0.79, -0.82, -0.76]])
Ab3 = const(-0.75)
Bb4[p] = const([1, 0])
Za5[p] = const([1, 0, 0])
axis c2 = 2
axis x5 = 2
Yc6[y1] when index(y1) < 1 = Zc1[y1-1] flip(Xc2[Za5[y1],y1], axis=y1) where(Xc2[-y1,y1] > -0.13, Zb0[x3], Zc1[x4])
Ba7[c2] when index(c2) Zb0[c2-1] < 0.15 prod= Yc6[2*c2+x5]
Xc8 = Ba7[x0] Ba7[x0]
# expect Yc6 = [0.0, 0.0, 0.0]
# expect Ba7 = [0.0, 1.0]
# expect Xc8 = [1.0]
# grad Xc8 Zc1 = [-0.0, -0.0]
# grad Xc8 Xc2 = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
# ----
axis m8 = 2
A[p] = const([0.31, -0.63, -1.19])
D = const(-0.75)
C[p,q] = const([[-0.21, -0.36, -1.17], [-0.16, -1.12, -0.87], [-0.79, -0.82, -0.76]])
B[p] = const([-0.24, 0.03])
J[p] = const([1, 0, 0])
Y1[m8] when (index(m8)) A[m8-1] < 0.15 prod= Y0[2*m8+n9]
axis n9 = 2
I[p] = const([1, 0])
Y0[m1] when index(m1) < 1 = (B[m1-1]) * flip(C[J[m1],m1], axis=m1) where(C[-m1,m1] > -0.13, A[n2], B[n3])
Loss = (Y1[j10]) Y1[j10]
# expect Y0 = [0.0, 0.0, 0.0]
# expect Y1 = [0.0, 1.0]
# expect Loss = [1.0]
# grad Loss B = [-0.0, -0.0]
# grad Loss C = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
# ----
A[p] = const([0.31, -0.63, -1.19])
B[p] = const([-0.24, 0.03])
C[p,q] = const([[-0.21, -0.36, -1.17], [-0.16, -1.12, -0.87], [-0.79, -0.82, -0.76]])
D = const(-0.75)
I[p] = const([1, 0])
J[p] = const([1, 0, 0])
axis j10 = 2
axis m1 = 3
axis m8 = 2
axis n2 = 3
axis n3 = 2
axis n9 = 2
Y0[m1] when index(m1) < 1 = B[m1-1] * flip(C[J[m1],m1], axis=m1) where(C[-m1,m1] > -0.13, A[n2], B[n3])
Y1[m8] when (index(m8)) A[m8-1] < 0.15 prod= Y0[2*m8+n9]
Loss = Y1[j10] * Y1[j10]
# expect Y0 = [0.0, 0.0, 0.0]
# expect Y1 = [0.0, 1.0]
# expect Loss = [1.0]
# grad Loss B = [-0.0, -0.0]
# grad Loss C = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
# ----
A[p] = const([0.31, -0.63, -1.19])
B[p] = const([-0.24, 0.03])
C[p,q] = const([[-0.21, -0.36, -1.17], [-0.16, -1.12, -0.87], [-0.79, -0.82, -0.76]])
D = const(-0.75)
I[p] = const([1, 0])
J[p] = const([1, 0, 0])
axis j4 = 2
axis j5 = 2
axis n6 = 2
Y0[m1] when index(m1) < 1 = B[m1-1] flip(C[J[m1],m1], axis=m1) where(C[-m1,m1] > -0.13, A[n2], B[n3])
Y1[I[j4],j5] max= (Y0[2] 1 A[j5+j4+1]) sin(B[n6] B[n6] + B[n6]) sin(C[i7,i7])
# fails: the sum over `n6` is ambiguous
