A[i] = const([1, 2])
M avg= A[i]
M avg= 2 A[i]
# fails: the mean of means is not the mean
