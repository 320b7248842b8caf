A[i] = const([1, 2])
Loss = gaussian_nll_loss(A[i], 2 A[i])
