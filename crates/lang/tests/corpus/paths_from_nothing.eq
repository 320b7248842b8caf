# about elements that nothing contributes to are the value of the empty reduction
axis y = 4
E[x,y] = const([[inf, 4, 1, inf], [inf, inf, inf, inf], [inf, 2, inf, inf], [inf, inf, inf, inf]])
D[0] min= 0
D[y] min= D[x] + E[x,y]
L[0] max= 0
L[y] max= L[x] + F[x,y]
F[x,y] = E[x,y] < 1000 ? E[x,y] : -inf
# expect D = [0, 3, 1, inf]
# expect L = [0, 4, 1, -inf]
