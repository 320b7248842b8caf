# PageRank as a fixpoint: rank flows along links until it has converged.
param damping = 0.85
axis j = 4

Link[i, j] = const([[0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 1, 0]])

Out[i] = Link[i, j]
Move[i, j] = Link[i, j] / Out[i]
Rank[j] = damping Move[i, j] Rank[i] + (1 - damping) / size(j)

Total = Rank[j]
Loss = Rank[j] Rank[j]

export Rank, Total, Loss

# expect Rank = [0.219913819637, 0.130963373346, 0.429208987381, 0.219913819637]
# expect Total = 1.0
# expect Loss = 0.298095936141
