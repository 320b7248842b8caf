fn f(a[x]) { y = a[x] }
Y = 1
