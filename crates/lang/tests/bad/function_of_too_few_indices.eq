fn f(a[x]) -> y { y = a[x] }
Y = f(3)
