fn f(a) -> y { y = f(a) }
f(x)
Y = f(1)
