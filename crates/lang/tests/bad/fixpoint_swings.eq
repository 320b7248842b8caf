X = 1 - X
