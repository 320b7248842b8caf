P(x) = Q(x) == 0
Q(x) = P(x)
axis x = 2
