axis t while Go
X[*0] = 1
X[*t+1] = X[*t] + size(t)
Go[*t] = X[*t] < 3
