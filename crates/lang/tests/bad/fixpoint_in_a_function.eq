fn f(a) -> x { x = 2 x + a }
Y = f(1)
