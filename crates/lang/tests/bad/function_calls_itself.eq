fn f(a) -> y { y = f(a) }
Y = f(1)
