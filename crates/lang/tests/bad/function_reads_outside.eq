B[i] = const([1, 2, 3])
fn f(a) -> y { y = a B[i] }
Y = f(1)
