# about a state whose first step has a gradient, and whose last step is read
axis t = 1
C = const(-0.87)
S[*0] = C
S[*t+1] = 2.5
R[*0] = C C
R[*t+1] = 0.5 R[*t] + C
Z sum= S[*t] S[*-1] R[*t] R[*-1]
Loss = Z Z
# expect Loss = 0.6548335678033842
# grad Loss C = -4.862460629605031
# grad2 Loss C = -273.8467706892758
