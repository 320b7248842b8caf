axis t = 4
Y0 = const(1)
Y[*0] = Y0
Z[k,*t] = one_hot(floor(Y[*t]), classes=3)
Y[*t+1] = Y[*t] + 0.3 Z[1,*t]
# expect Y = 2.2
# expect Z = [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
