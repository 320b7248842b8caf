# about the number of a step inside an argument of a call, also with a time that ends by a condition
A[k] = const([-0.3, 0.2, -0.1])
axis t = 4 while Go
S[k,*0] = A[k]
S[k,*t+1] min= square(abs(A[k] + index(t)))
Go[*t] = abs(S[1,*t]) < 2
H[k,*0] = A[k]
H[k,*t+1] = tanh(H[k,*t] + maximum(index(t) A[k], A[0]))
Loss = S[k,*-1] S[k,*-1] + H[k,*-1] H[k,*-1] H[k,*-1]
# expect S = [2.8899999999999997, 4.840000000000001, 3.61]
# expect H = [-0.6809262496944188, 0.6513851290259439, -0.37742734355694946]
# grad Loss A = [21.424192012867806, 45.289681008349554, 28.869947417347813]
# grad2 Loss A = [1549.117112363592, 5492.080091717367, 1309.4497943621063]
