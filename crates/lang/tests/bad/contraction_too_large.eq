# 16,000 by 16,000 by 16,000: each value would fit, the work would not.
axis i = 16000
axis j = 16000
axis k = 16000
A[i,j] = index(i) + index(j)
B[j,k] = index(j) - index(k)
Y[i,k] = A[i,j] B[j,k]
