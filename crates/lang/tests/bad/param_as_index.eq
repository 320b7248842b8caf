param k = 2
A[i] = const([1, 10, 100, 1000])
Y = A[k]
Z = A[k+1]
X = A[(k)]
