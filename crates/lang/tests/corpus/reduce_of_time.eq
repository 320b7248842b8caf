X[i,*t] = const([[1, 2], [3, 4]])
Y[i,*t] = X[i,*t] / reduce(sum, t) X[i,*t]
# fails: time is not an axis in a line with `*t` on its left
