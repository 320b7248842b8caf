E[x,y] = const([[0, 4, 1, 100], [4, 0, 2, 5], [1, 2, 0, 8], [100, 5, 8, 0]])
Start[y] = const([0, 1000, 1000, 1000])
D[y] min= Start[y]
D[y] min= D[x] + E[x,y]
Loss = D[y] D[y]
# expect D = [0.0, 3.0, 1.0, 8.0]
# grad Loss Start = [24.0, 0.0, 0.0, 0.0]
