# A kernel machine: the class of a query is the sign of a weighted sum over examples, with a Gaussian kernel.
X[n, d] = const([[0.1, 0.9], [-0.4, 0.3], [0.8, -0.5], [0.2, 0.2]])
Label[n] = const([1, -1, 1, 1])
Weight[n] = const([0.5, 1.5, -0.7, 0.2])
Bias = const(0.1)
Query[q, d] = const([[0, 0.5], [0.6, -0.1]])

Apart[q, n, d] = Query[q, d] - X[n, d]
Distance[q, n] = Apart[q, n, d] Apart[q, n, d]
Kernel[q, n] = exp(-Distance[q, n] / 0.5)
Score[q] = Weight[n] Label[n] Kernel[q, n] + Bias
Class[q] = sign(Score[q])
Loss = Score[q] Score[q]

export Kernel, Score, Class, Loss

# expect Kernel = [[0.7117703227626097, 0.6703200460356392, 0.0376282568071762, 0.7710515858035663], [0.0820849986238988, 0.0982735856043615, 0.6703200460356392, 0.6065306597126334]]
# expect Score = [-0.42172437027646426, -0.35428577937701355]
# expect Class = [-1.0, -1.0]
# expect Loss = 0.3033698579538583
