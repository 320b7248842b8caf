fn tanh_grad(x) -> y { y = x }
X = 2
Y = tanh_grad(X)
