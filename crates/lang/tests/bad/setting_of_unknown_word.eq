A[i] = const([1, 2])
Loss = mse_loss(A[i], 2 A[i], reduction="average")
