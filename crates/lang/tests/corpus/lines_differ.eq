A[i] = const([1, 2])
M[i] = A[i]
M[0] max= 3
# fails: lines of `M` combine by `=` and by `max=`
