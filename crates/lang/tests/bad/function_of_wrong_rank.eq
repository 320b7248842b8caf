B[i] = const([1, 2, 3])
fn trace(m[x,x]) -> y { y = m[x,x] }
Y = trace(B[i])
