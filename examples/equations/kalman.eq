# One step of a Kalman filter: predict, then correct by a measurement.
X[i] = const([0, 1])
P[i, j] = const([[1, 0], [0, 1]])
F[i, j] = const([[1, 0.1], [0, 1]])
Q[i, j] = const([[0.01, 0], [0, 0.02]])
H[m, i] = const([[1, 0]])
R[m, n] = const([[0.25]])
Z[m] = const([0.3])

# Predict.
XP[i] = F[i, j] X[j]
PP[i, l] = F[i, j] P[j, k] F[l, k] + Q[i, l]

# Correct.
Miss[m] = Z[m] - H[m, i] XP[i]
S[m, n] = H[m, i] PP[i, j] H[n, j] + R[m, n]
SI[m, n] = inv(S[m, n])
Gain[i, n] = PP[i, j] H[m, j] SI[m, n]
XN[i] = XP[i] + Gain[i, m] Miss[m]
PN[i, k] = PP[i, k] - Gain[i, m] H[m, j] PP[j, k]

export Gain, XN, PN

# expect Gain = [[0.803149606299], [0.07874015748]]
# expect XN = [0.26062992126, 1.015748031496]
# expect PN = [[0.200787401575, 0.01968503937], [0.01968503937, 1.012125984252]]
