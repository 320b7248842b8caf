param n = m + 1
Y = n
