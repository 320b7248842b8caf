A = 3
Y = reduce(sum, q) A
