# about a bound and a condition: states keep their values once the condition does not hold
axis t = 50 while Go
A = const(3)
B[i] = const([0.5, -0.25])
X[*0] = A
Go[*t] = abs(X[*t] X[*t] - A) > 1e-9
X[*t+1] = X[*t] / 2 + A / (2 X[*t])
S[i,*0] = B[i]
S[i,*t+1] = S[i,*t] + 0.1 X[*t] B[i]
Loss = X[*-1] ** 3 + S[i,*-1] S[i,*-1]
# expect X = 1.7320508075688772
# expect S = [1.0107096833578793, -0.5053548416789396]
# grad Loss A = 2.90003560989419
# grad Loss B = [4.086136256133538, -2.043068128066769]
# grad2 Loss A = 2.625479898491872
