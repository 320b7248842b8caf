fn f(a) -> y { y = f(a) }
f(1)
Y = f(1)
