# Attention with one head.
X[p, d] = const([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
WQ[dk, d] = const([[0.2, 0.1, 0], [0, 0.3, 0.1], [0.1, -0.2, 0.2]])
WK[dk, d] = const([[0.1, 0.4, 0.2], [0.3, 0.2, 0.1], [0, 0.1, 0.3]])
WV[dv, d] = const([[0.5, 0.4, 0.3], [0.2, 0.1, 0], [0.3, 0.2, 0.1]])
Mask[p, p'] = const([[0, -1], [-1, 0]])
InvSqrtDk = const(0.35355339)
Target[p, dv] = const([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])

Q[p, dk] = WQ[dk, d] X[p, d]
K[p, dk] = WK[dk, d] X[p, d]
V[p, dv] = WV[dv, d] X[p, d]
Score[p, p'] = Q[p, dk] K[p', dk] InvSqrtDk
Score[p, p'] = Mask[p, p']
Comp[p, p'.] = softmax(Score[p, p'], axis="p'")
Attn[p, dv] = Comp[p, p'] V[p', dv]
Loss = Attn[p, dv] Target[p, dv]

# expect Loss = 0.279249727660
