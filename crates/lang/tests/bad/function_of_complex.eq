Z[i] = complex(const([1, 2]), 3)
A[i] = relu(Z[i])
B[i] = clamp(Z[i] + 1, min=0)
C[i] = atan2(1, Z[i])
