# One block of a transformer: two heads of causal attention, a residual, layer norm, a feed-forward part, a residual.
axis p = 3
axis p' = 3

X[p, d] = const([[0.1, 0.2, -0.3, 0.4], [0.5, -0.1, 0.2, 0.3], [-0.2, 0.4, 0.1, 0.6]])
WQ[h, e, d] = const([[[0.2, 0.1, 0, -0.1], [0, 0.3, 0.1, 0.2]], [[0.1, -0.2, 0.2, 0], [0.3, 0.1, 0, 0.1]]])
WK[h, e, d] = const([[[0.1, 0.4, 0.2, 0], [0.3, 0.2, 0.1, -0.2]], [[0, 0.1, 0.3, 0.2], [0.2, 0, -0.1, 0.1]]])
WV[h, e, d] = const([[[0.5, 0.4, 0.3, 0.1], [0.2, 0.1, 0, 0.3]], [[0.3, 0.2, 0.1, 0], [-0.1, 0.2, 0.4, 0.1]]])
WO[d, h, e] = const([[[0.1, 0.2], [0.3, -0.1]], [[0, 0.1], [0.2, 0.2]], [[0.4, 0.1], [0.1, 0]], [[0.2, -0.3], [0.1, 0.5]]])
W1[f, d] = const([[0.3, -0.2, 0.5, 0.1], [0.7, 0.1, -0.4, 0.2], [0.1, 0.3, 0.2, -0.5]])
W2[d, f] = const([[0.2, 0.6, -0.1], [-0.5, 0.3, 0.2], [0.1, 0.1, 0.4], [0.3, -0.2, 0.1]])
Scale = 2 ** -0.5

# Layer norm before attention (pre-norm).
N[p, d.] = lnorm(X[p, d])
Q[h, p, e] = WQ[h, e, d] N[p, d]
K[h, p, e] = WK[h, e, d] N[p, d]
V[h, p, e] = WV[h, e, d] N[p, d]

# A position sees itself and those before it.
Score[h, p, p'] = Scale Q[h, p, e] K[h, p', e]
See[p, p'] = index(p') <= index(p)
Comp[h, p, p'.] = masked_softmax(Score[h, p, p'], See[p, p'])
Head[h, p, e] = Comp[h, p, p'] V[h, p', e]
R[p, d] = X[p, d] + WO[d, h, e] Head[h, p, e]

M[p, d.] = lnorm(R[p, d])
Up[p, f] = gelu(W1[f, d] M[p, d])
Y[p, d] = R[p, d] + W2[d, f] Up[p, f]

Loss = Y[p, d] Y[p, d]

export Y, Loss

# expect Y = [[0.898938710976, 0.587959182202, -0.256736212812, -0.285613366648], [1.064189131798, -0.214397409681, 0.350061716644, 0.016877942878], [-0.295959505616, 0.366228398712, -0.052048999208, 0.331481978927]]
# expect Loss = 2.936872781794
