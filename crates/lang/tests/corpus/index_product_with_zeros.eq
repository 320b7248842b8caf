axis b = 2
Bin[i] = const([0, 1, 1, 0])
V[i] = const([2, 0, 3, 5])
P[Bin[i]] prod= V[i]
Loss = P[b] P[b] + P[b]
# expect Loss = 110.0
# grad Loss V = [105.0, 3.0, 0.0, 42.0]
# grad2 Loss V = [13944.0, 108.0, 6.0, 9282.0]
