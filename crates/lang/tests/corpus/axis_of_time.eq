X[i,*t] = const([[1, 2], [3, 4]])
Y[i,*t] = cumsum(X[i,*t], axis=t)
# fails: time is not an axis in a line with `*t` on its left
