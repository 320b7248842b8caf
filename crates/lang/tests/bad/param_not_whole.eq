param n: int = 2.5
Y = n
