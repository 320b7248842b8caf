# Logistic regression, trained by its own gradient lines: 100 steps of virtual time, full batch.
axis t = 100
param rate = 0.5

X[n, d] = const([[1, 0.5, 1], [1, 2.3, 0.1], [1, 1.9, 1.2], [1, 0.2, 2.1], [1, 3.1, 1], [1, 0.9, 0.4]])
Label[n] = const([0, 1, 1, 0, 1, 0])

# The model at one time step.
Score[n, *t] = X[n, d] W[d, *t]
Prob[n, *t] = sigmoid(Score[n, *t])

# The gradients that `gradus grad` writes for the mean cross entropy: of the scores, then of the weights.
Grad_Score[n, *t] = (Prob[n, *t] - Label[n]) / size(n)
Grad_W[d, *t] = Grad_Score[n, *t] X[n, d]

W[d, *0] = const([0, 0, 0])
W[d, *t+1] = W[d, *t] - rate Grad_W[d, *t]

# Predictions with the learnt weights.
Final[n] = sigmoid(X[n, d] W[d, *-1])
Loss avg= -(Label[n] log(Final[n]) + (1 - Label[n]) log(1 - Final[n]))
Right = (Final[n] > 0.5) == (Label[n] > 0.5)

export W, Loss, Right

# expect W = [-2.649610121764, 2.777228301427, -1.115403624232]
# expect Loss = 0.136159436502
# expect Right = 6.0
