fn f(a) -> y { y = a }
fn f(b) -> y { y = b }
Y = f(1)
