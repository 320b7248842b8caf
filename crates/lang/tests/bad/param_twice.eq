param k = 2
param k = 3
Y = k
