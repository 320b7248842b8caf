axis t = 3
axis b = 3
X[*0] = 1
X[*t+1] = X[*t] + 1
H[X[*t],*t] = 1
Q[b,*0] = 0
Q[b,*t+1] = Q[b,*t] + H[b,*t]
