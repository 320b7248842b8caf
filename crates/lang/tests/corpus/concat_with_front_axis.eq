# about a function with a new axis, called with one, two and no axes in front
fn two(a[f], b[f]) -> y[e] { y[e] = concat(a[f], b[f]) }
A[b,f] = const([[1, 2], [3, -4]])
B[b,f] = const([[0.5, 6], [7, 8]])
Y[b,e] = two(A[b,f], B[b,f])
Z[b,c,e] = two(A[b,f], B[c,f])
One[e] = two(A[0,f], B[1,f])
Loss = Y[b,e] Y[b,e] Y[b,e] + One[e] Y[0,e] + Z[b,c,e] Z[b,c,e] Y[b,e]
# expect Y = [[1.0, 2.0, 0.5, 6.0], [3.0, -4.0, 7.0, 8.0]]
# expect Z = [[[1.0, 2.0, 0.5, 6.0], [1.0, 2.0, 7.0, 8.0]], [[3.0, -4.0, 0.5, 6.0], [3.0, -4.0, 7.0, 8.0]]]
# expect One = [1.0, 2.0, 7.0, 8.0]
# grad Loss A = [[11.0, 40.0], [81.0, 144.0]]
# grad Loss B = [[64.5, 384.0], [301.75, 522.0]]
# grad2 Loss A = [[440.0, 3040.0], [8748.0, -20736.0]]
