X[i] = const([1, 2])
Y[i] = case { X[i] > 1 -> 1 X[i] > 0 -> 2 }
