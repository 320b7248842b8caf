# about sizes are inferred; both gradients, twice
X[i] = const([1, 2, -3, 4, 5])
W[k] = const([1, 0.5, -1])
Y[i] = X[i+k] W[k]
Loss = Y[i] Y[i] Y[i]
# expect Y = [5.0, -3.5, -6.0]
# grad Loss X = [75.0, 74.25, 51.375, 17.25, -108.0]
# grad Loss W = [-175.5, 471.75, 462.0]
# grad2 Loss W = [976329.0, -1424227.5, -1602954.0]
# grad2 Loss X = [3645.0, -1650.375, -17477.4375, -2575.125, 12096.0]
