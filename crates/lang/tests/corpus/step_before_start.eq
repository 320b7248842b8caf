# about a fixed step that no equation writes: it is 0
A = const(5)
axis t = 3
S[*t+1] = A + R[*t] / 10
R[*t+1] = S[*0] + A S[*t+1]
First = R[*1]
Loss = R[*-1] R[*-1]
# expect First = 25.0
# expect R = 43.75
# grad Loss A = 1968.75
# grad2 Loss A = 6742968.75
