Y = [a, b]
