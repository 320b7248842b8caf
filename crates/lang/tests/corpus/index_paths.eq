# about shortest paths over columns
axis n = 4
From[e] = const([0, 0, 2, 1])
To[e] = const([1, 2, 1, 3])
W[e] = const([4, 1, 2, 5])
D[0] min= 0
D[To[e]] min= D[From[e]] + W[e]
Out[n] = D[n]
Loss = D[n] D[n]
# expect Out = [0.0, 3.0, 1.0, 8.0]
# grad Loss W = [0.0, 24.0, 22.0, 16.0]
