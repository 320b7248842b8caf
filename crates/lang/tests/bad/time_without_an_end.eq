axis t while Go
X[*0] = 1
X[*t+1] = 2 X[*t]
Go = 1
