A[i] = np.array([1, 2])
