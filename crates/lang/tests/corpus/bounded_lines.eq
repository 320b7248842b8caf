# about a state of several lines whose time ends by a condition
axis t = 5 while Go
A[i] = const([1, 2])
B[j] = const([1, 0.5])
S[i,*0] = A[i]
S[i,*t+1] = S[i,*t]
S[j,*t+1] += B[j] S[j,*t]
Go[*t] = S[0,*t] < 3
Loss = S[i,*-1] S[i,*-1]
# expect S = [4.0, 4.5]
# grad Loss A = [32.0, 20.25]
# grad Loss B = [32.0, 54.0]
# grad2 Loss B = [3072.0, 11664.0]
