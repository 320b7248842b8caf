# A graph network: two rounds in which every node reads the mean of its neighbours, then a maximum over all nodes.
Edge[n, m] = const([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]])
X[n, d] = const([[1, 0.5], [-0.2, 0.3], [0.7, -1], [0.1, 0.9]])
Own[d, k] = const([[0.4, -0.3], [0.2, 0.8]])
Near[d, k] = const([[0.1, 0.5], [-0.6, 0.3]])

Degree[n] = Edge[n, m]
Mean[n, d] = Edge[n, m] X[m, d] / Degree[n]
H[n, k] = tanh(Own[d, k] X[n, d] + Near[d', k] Mean[n, d'])
Mean2[n, d] = Edge[n, m] H[m, d] / Degree[n]
H2[n, k] = tanh(Own[d, k] H[n, d] + Near[d', k] Mean2[n, d'])

Pooled[k] max= H2[n, k]
Loss = H2[n, k] H2[n, k]

export H2, Pooled, Loss

# expect H2 = [[0.17047823499217132, -0.17524106112483176], [0.052256838393424536, 0.7639640786270196], [-0.3496253026997361, 0.1436799256915662], [0.5860075868860276, 0.00666979602018565]]
# expect Pooled = [0.5860075868860276, 0.7639640786270196]
# expect Loss = 1.1324753001030627
