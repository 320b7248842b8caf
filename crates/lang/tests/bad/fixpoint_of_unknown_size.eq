R[i] = 0.5 R[i]
