param k = 2
k = 3
