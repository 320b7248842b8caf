# The edit distance between two words, as a shortest path over pairs of prefixes. Letters are numbers.
axis i = 7
axis j = 8
A[u] = const([10, 8, 19, 19, 4, 13])
B[v] = const([18, 8, 19, 19, 8, 13, 6])
Other[u, v] = A[u] != B[v] ? 1 : 0

D[0, 0] min= 0
D[i+1, j] min= D[i, j] + 1
D[i, j+1] min= D[i, j] + 1
D[i, j] when index(i) > 0 && index(j) > 0 min= D[i-1, j-1] + Other[i-1, j-1]

Distance = D[-1, -1]

export Distance

# expect Distance = 3.0
