# about an input that states read with and without the star of time
X[i,*t] = const([[1, 5, 2], [3, 0, 9]])
S[*0] = -2
S[*t+1] max= S[*t]
S[*t+1] max= X[i,t]
R[*0] = 0
R[*t+1] max= R[*t] + X[i,*t]
D[i,t] = 0.5 X[i,t]
D[i,*t] = cumsum(X[i,*t] + R[*t])
Q[*t+1] = Q[*t] + D[i,*t] D[i,*t]
Loss = S[*-1] ** 2 + R[*-1] ** 2 + Q[*-1]
# expect Loss = 1747.0
# grad Loss X = [[15.5, 235.5, 96.0], [263.5, 33.0, 146.5]]
# grad2 Loss X = [[1782.5, 22612.5, 9113.0], [27091.5, 4872.0, 11050.5]]
