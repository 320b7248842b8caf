# about an offset does not decide a size that another tensor has
A[i] = const([1, 2, 3, 4])
V[j] = const([5, -6])
Y[i] = A[i] V[i-1]
Loss = Y[i] Y[i]
# expect Y = [0.0, 10.0, -18.0, 0.0]
# grad Loss A = [0.0, 100.0, 216.0, 0.0]
# grad Loss V = [40.0, -108.0]
# grad2 Loss V = [640.0, -3888.0]
