f(x) = x**2
axis x = 3
A = 2 pi
B = not A
