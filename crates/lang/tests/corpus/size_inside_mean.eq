# about the gradient of a mean along an index whose size only index arithmetic gives
A[p] = const([0.825, -0.096, -0.893, -1.117])
axis i = 3
Y[3*i+1] = A[j]
M avg= Y[2*k] A[0]
Loss = M M
# expect M = -0.26420625000000003
# grad Loss A = [0.060239025000000015, -0.10898507812500001, -0.10898507812500001, -0.10898507812500001]
