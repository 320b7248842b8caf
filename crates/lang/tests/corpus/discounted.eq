# about discounted returns: a recurrence over a reversed time
R[k] = const([1, -0.5, 2, 0.3])
Gamma = const(0.9)
axis t = 4
G[*t+1] = R[3-index(t)] + Gamma G[*t]
Back[*t] = G[*t+1] R[3-index(t)]
All[t] = Back[*t]
Loss = G[*-1] G[*-1]
# expect G = 2.3887
# expect All = [0.09, 4.54, -0.7715000000000001, 2.3887]
# grad Loss R = [4.7774, 4.29966, 3.8696940000000004, 3.4827246000000005]
# grad Loss Gamma = 18.292664600000002
# grad2 Loss Gamma = 2055.051721597925
