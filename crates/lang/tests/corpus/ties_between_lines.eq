# about ties share evenly between lines, then within one
A[i] = const([5, 5, 1])
B[i] = const([5, 2, 2])
M max= A[i]
M max= B[i]
Loss = M
# expect M = 5
# grad Loss A = [0.25, 0.25, 0]
# grad Loss B = [0.5, 0, 0]
