"""References of programs that are models and algorithms: networks, belief networks, dynamic programs, solvers."""

import torch

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


@program
def perceptron(X, W, B, Target):
    z = X @ W + B
    p = torch.sigmoid(z / 0.5)
    return {"Y": (z > 0).double(), "Smooth": p, "Loss": ((p - Target) ** 2).sum()}


@program
def kernel_machine(X, Query, Weight, Label, Bias):
    k = torch.exp(-((Query[:, None, :] - X[None, :, :]) ** 2).sum(2) / 0.5)
    y = k @ (Weight * Label) + Bias
    return {"Kernel": k, "Score": y, "Class": torch.sign(y), "Loss": (y * y).sum()}


@program
def belief_network(Rain, Sprinkler, Wet):
    joint = Rain[:, None, None] * Sprinkler[:, :, None] * Wet
    grass = joint.sum((0, 1))
    given = joint.sum(1)[:, 1] / grass[1]
    return {"Grass": grass, "Given": given, "Best": joint[:, :, 1].max(), "Loss": -torch.log(grass[1])}


@program
def graph_network(Edge, X, Own, Near):
    mean = Edge / Edge.sum(1, keepdim=True)
    h = torch.tanh(X @ Own + mean @ X @ Near)
    h2 = torch.tanh(h @ Own + mean @ h @ Near)
    return {"H2": h2, "Pooled": h2.amax(0), "Loss": (h2 * h2).sum()}


@program
def embedding_reasoning(Emb, Fact):
    p = Emb.T @ Fact @ Emb
    score = Emb @ (p @ p) @ Emb.T
    warm = torch.sigmoid((score - 0.5) / 0.2)
    return {"Cold": (score > 0.5).double(), "Warm": warm, "Loss": (warm * warm).sum()}


@program
def viterbi(O, T, Start):
    v = Start + O[:, 0]
    for t in (1, 2):
        v = (v[:, None] + T).amax(0) + O[:, t]
    return {"Best": v.max(), "Loss": (v * v).sum()}


@program
def partition(U, T):
    a = torch.zeros(2)
    for t in range(4):
        a = torch.logsumexp(a[:, None] + T, 0) + U[:, t]
    return {"Loss": torch.logsumexp(a, 0)}


@program
def gru(X, W, U):
    h = torch.tensor([0.1, -0.3])
    for t in range(3):
        x = X[:, t]
        r, z = torch.sigmoid(W[0] @ x + U[0] @ h), torch.sigmoid(W[1] @ x + U[1] @ h)
        n = torch.tanh(W[2] @ x + r * (U[2] @ h))
        h = (1 - z) * n + z * h
    return {"H": h, "Loss": (h * h).sum()}


@program
def value_iteration(P, R):
    v = torch.zeros(3)
    for _ in range(40):
        v = (R + 0.9 * P @ v).amax(0)
    return {"V": v, "Loss": (v * v).sum()}


@program
def conjugate_gradients(A, B):
    x, r, p = B * 0, B, B
    for step in range(3):
        ap = A @ p
        alpha = (r @ r) / (p @ ap)
        x, new = x + alpha * p, r - alpha * ap
        p = new + (new @ new) / (r @ r) * p
        r = new
        if step == 1:
            second = x
    return {"X": x, "S": torch.linalg.solve(A, B), "Loss": (second * second).sum()}


@program
def life(Start):
    c = Start
    for _ in range(4):
        wide = torch.nn.functional.pad(c, (1, 1, 1, 1))
        near = sum(wide[k : k + 5, l : l + 5] for k in range(3) for l in range(3)) - c
        c = torch.where(near == 3, 1.0, torch.where(near == 2, c, 0.0))
    return {"C": c}


@program
def discounted(R, Gamma):
    g, all = torch.tensor(0.0), []
    for t in range(4):
        g = R[3 - t] + Gamma * g
        all.append(g * R[3 - t])
    return {"G": g, "All": torch.stack(all), "Loss": g * g}


@program
def sequence_of_attention(M):
    q = torch.tensor([0.3, 0.8])
    for _ in range(3):
        a = torch.softmax(M @ q, 0)
        q = torch.tanh(a @ M + q)
    return {"Q": q, "A": a, "Last": (a * a).sum(), "Loss": (q * q).sum()}


@program
def kepler():
    x, v, energy = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.9]), 0
    for _ in range(6):
        v = v - 0.1 * x / (x @ x) ** 1.5
        x = x + 0.1 * v
        energy = energy + v @ v
    return {"X": x, "V": v, "E": energy}


@program
def power_iteration(A, X0):
    x = X0
    for _ in range(60):
        x = A @ x
        x = x / x.norm()
    return {"X": x, "L": torch.linalg.eigvalsh(A)[-1], "Loss": x @ A @ x}


@program
def floyd(E):
    d = E
    for k in range(4):
        d = torch.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return {"D": d, "Loss": (d * d)[0, 3] + d[2, 1] ** 3}


@program
def logistic_map(A, X0):
    x = X0
    for _ in range(12):
        x = A * x * (1 - x)
    return {"X": x, "Loss": (x * x).sum()}


@program
def batch_norm(X, G, B):
    y = torch.nn.functional.batch_norm(X, None, None, G, B, training=True, eps=1e-5)
    return {"Y": y, "Loss": (torch.tanh(y) * y).sum() + (X * y).sum()}


@program
def offset_write(C, B):
    y = C + B.sum()
    return {"Y": y, "Loss": (C * C).sum() * B.sum() + (y * y).sum()}


@program
def state_of_means(A):
    return {"R": A * A.mean() ** 2}


@program
def size_inside_mean(A):
    m = A.sum() * A[0] / 4
    return {"M": m, "Loss": m * m}
