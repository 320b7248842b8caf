// a comment
X = [[1, 2], [3, 4]]
f(x) = x**2
Y = f(3)
