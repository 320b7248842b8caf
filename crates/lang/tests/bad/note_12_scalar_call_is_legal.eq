# Legal here: calls take scalars.
s = 2
Y = relu(s)
