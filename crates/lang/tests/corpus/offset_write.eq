# about a line that writes at an offset, with a declared size that is not that of the axis
axis m = 3
C[p] = const([1, 2])
B[k] = const([5, 7])
Y[p] = C[p]
Y[m-1] = B[k]
Loss = C[m-1] C[m-1] B[k] + Y[p] Y[p]
# expect Y = [13.0, 14.0]
# grad Loss C = [50.0, 76.0]
# grad Loss B = [59.0, 59.0]
