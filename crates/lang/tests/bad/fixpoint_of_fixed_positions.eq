W[e] = const([1, 2, 5])
From[e] = const([0, 1, 0])
To[e] = const([1, 2, 2])
D[0] min= 0
D[To[e]] min= D[From[e]] + W[e]
