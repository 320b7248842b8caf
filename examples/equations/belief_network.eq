# A belief network: the joint distribution is a product of tables, marginals are its sums.
Rain[r] = const([0.8, 0.2])
Sprinkler[r, s] = const([[0.6, 0.4], [0.99, 0.01]])
Wet[r, s, w] = const([[[1, 0], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]])

# The probability of wet grass, and the probability of rain if the grass is wet.
Grass[w] = Rain[r] Sprinkler[r, s] Wet[r, s, w]
Given[r] = Rain[r] Sprinkler[r, s] Wet[r, s, 1] / Grass[1]

# The probability of the most likely explanation, instead of the sum over all explanations.
Best max= Rain[r] Sprinkler[r, s] Wet[r, s, 1]
Loss = -log(Grass[1])

export Grass, Given, Best, Loss

# expect Grass = [0.55162, 0.4483800000000001]
# expect Given = [0.6423123243677239, 0.35768767563227616]
# expect Best = 0.2880000000000001
# expect Loss = 0.802114191811883
