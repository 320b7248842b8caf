axis t = 2
H[i,*0] = const([1, 1])
H[i,*t+1] = H[i,*t] + Y[i]
Y[i] = 2 Z[i]
Z[i] = Y[i] H[i,*t]
