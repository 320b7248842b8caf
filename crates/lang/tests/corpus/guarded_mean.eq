# about a mean with a guard is over the elements that the guard holds for
X[i,j] = const([[1, 2, 3], [4, -5, 6]])
M[i] when X[i,j] > 0 avg= X[i,j] X[i,j]
Loss = M[i] M[i]
# expect M = [4.666666666666667, 26.0]
# grad Loss X = [[6.222222222222222, 12.444444444444445, 18.666666666666668], [208.0, -0.0, 312.0]]
# grad2 Loss X = [[232.2962962962963, 464.5925925925926, 696.8888888888889], [64896.0, -0.0, 97344.0]]
