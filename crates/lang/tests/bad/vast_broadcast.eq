axis i = 100000
axis j = 100000
Y[i,j] = even(i) + even(j)
