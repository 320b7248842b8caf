"""Writes the expectations of the programs in this folder, and of some in `examples/equations`, from references in PyTorch (f64, autograd for derivatives).

A reference is a function with the name of its program. It gets the constants of the program's lines `X[…] = const(…)` as
tensors and returns values by name. Lines `# grad Loss X` and `# grad2 Loss X` name what is differentiated; the values
behind `=` are replaced. Run: python make.py
"""

import json
import pathlib
import re

import torch

import models

torch.set_default_dtype(torch.float64)
PROGRAMS = dict(models.PROGRAMS)


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def stack(rows, last=True):
    return torch.stack(rows, -1 if last else 0)


@program
def step_softmax(X):
    h = torch.zeros(2)
    for t in range(3):
        h = h + torch.softmax(X[:, t], 0)
    return {"H": h, "K": h, "S": stack([torch.softmax(X[:, t], 0) for t in range(3)]), "Loss": (h**3).sum()}


@program
def step_det(P):
    ll = sum(torch.linalg.det(P[:, :, t]) for t in range(P.shape[2]))
    return {"LL": ll, "Total": P.shape[2] * torch.linalg.det(P.sum(2)), "Loss": ll**2}


@program
def guard_index(A, B):
    n = range(3)
    zero = A.sum() * 0
    count = torch.tensor([float(sum(a < b for j, b in enumerate(B) if j != 1)) for a in A])
    pick = torch.stack([sum(A[i] * B[j] for j in n if j > 0) for i in n])
    times = torch.stack([sum(A[i] * A[i] for k in range(4) if k > 1) for i in n])
    most = torch.stack([torch.stack([A[i] * B[j] for j in n if j < 2]).max() for i in n])
    mean = torch.stack([sum(A[i] * k for k in range(3)) / 3 for i in n])
    chosen = torch.stack([sum(A[i] * B[j] if j > i else B[i] for j in n) for i in n])
    pairs = sum((A[i] * B[j] for i in n for j in n if i < j), zero)
    loss = (pick * times).sum() + (most * chosen).sum() * pairs + (mean**3).sum() + (count * A**2).sum()
    return {"Count": count, "Pick": pick, "Times": times, "Most": most, "Mean": mean, "Chosen": chosen,
            "Pairs": pairs, "Loss": loss}


@program
def position_in_branch(B, C, I):
    n = range(3)
    at = I.long()
    y = torch.stack([sum(C[m] if B[k] > 0.98 else C[at[m]] for k in n) for m in n])
    z = torch.stack([sum(C[m] ** 3 * B.prod() if B[k] > 0.98 else C[at[m]] ** 3 for k in n) for m in n])
    return {"Y": y, "Z": z, "Loss": (y * y * z).sum()}


@program
def concat_with_front_axis(A, B):
    y, one = torch.cat([A, B], 1), torch.cat([A[0], B[1]])
    z = torch.stack([torch.stack([torch.cat([A[b], B[c]]) for c in range(2)]) for b in range(2)])
    loss = (y**3).sum() + (one * y[0]).sum() + (z * z * y[:, None, :]).sum()
    return {"Y": y, "Z": z, "One": one, "Loss": loss}


@program
def bounded_lines(A, B):
    s = A
    for _ in range(5):
        if not s[0] < 3:
            break
        s = s + B * s
    return {"S": s, "Loss": (s * s).sum()}


@program
def sums_of_products(W, U, X, Z):
    wx, uz = W @ X, U @ Z
    h, s = torch.tanh(wx + uz), (wx - 2 * uz + 1) ** 2
    q = (wx + uz) / (2 + X @ X + Z @ Z)
    # In `K` the denominator has the index too, so it stays in all terms.
    k = ((W * X + U * Z) / (2 + X * X)).sum(1)
    d, f = ((X - Z) ** 2).sum(), torch.exp(X - Z).sum()
    l = 2 * (W * X + Z).sum(1)
    p = ((W * X + U * Z) * torch.relu(X)).sum(1)
    m = h.max()
    loss = (k**2).sum() + (h * s).sum() + (q**3).sum() + d + f + (l * p).sum() + m
    return {"H": h, "S": s, "Q": q, "K": k, "D": d, "F": f, "L": l, "P": p, "M": m, "Loss": loss}


@program
def inverse_each_step(P0):
    p = P0
    for _ in range(3):
        p = torch.linalg.inv(p)
    return {"P": p, "Loss": (p * p).sum()}


@program
def fixed_steps(I):
    n = 2 * I
    first = n
    for _ in range(2):
        n = 2 * n
    return {"B": n.sum(), "C": first.sum(), "D": (2 * I).sum(), "Loss": (n * n * first).sum()}


@program
def fixed_step_inside(A):
    s, d = A, A * 0
    d0 = s * s
    for _ in range(4):
        s, d = torch.sin(s) + d0 * A, d + s * A
    return {"S": s, "Loss": (s * s).sum() + d.sum()}


@program
def leapfrog(Q0, P0):
    q, p = Q0, P0 - 0.05 * torch.sin(Q0)
    for _ in range(10):
        q1 = q + 0.1 * p
        p = p - 0.1 * torch.sin(q1)
        q = q1
    return {"Q": q, "P": p, "Loss": (q * q).sum() + (p * q).sum()}


@program
def runge_kutta(X0, A):
    def f(x):
        return torch.tanh(A @ x) - 0.1 * x

    h, x = 0.2, X0
    for _ in range(5):
        k1 = f(x)
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        k4 = f(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return {"X": x, "Loss": (x * x).sum()}


@program
def n_body(X0, M):
    x, v = X0, X0 * 0

    def force(x):
        d = x[None, :, :] - x[:, None, :]
        r = (d * d).sum(2) + 0.1
        return (M[None, :, None] * d / r[:, :, None] ** 1.5).sum(1)

    for _ in range(4):
        v = v + 0.1 * force(x)
        x = x + 0.1 * v
    return {"X": x, "Loss": (x * x).sum()}


@program
def kalman(Z, F, Q, R):
    x, p, ll = torch.zeros(2), torch.eye(2), torch.tensor(0.0)
    for t in range(50):
        x = F @ x
        p = F @ p @ F.T + Q
        s = p + R
        g = p @ torch.linalg.inv(s)
        e = Z[:, t] - x
        ll = ll - 0.5 * (e @ torch.linalg.inv(s) @ e) - 0.5 * torch.log(torch.linalg.det(s))
        x = x + g @ e
        p = p - g @ p
    return {"X": x, "LL": ll, "Loss": 0.01 * ll}


@program
def lstm(X, W, U, B):
    h = c = torch.zeros(2)
    for t in range(X.shape[1]):
        z = torch.einsum("ghj,j->gh", W, h) + torch.einsum("ghd,d->gh", U, X[:, t]) + B
        c = torch.sigmoid(z[0]) * torch.tanh(z[1]) + torch.sigmoid(z[2]) * c
        h = torch.sigmoid(z[3]) * torch.tanh(c)
    return {"H": h, "Loss": (h * h).sum()}


@program
def newton(A, X0):
    x = X0
    for _ in range(6):
        x = x - (x**3 - A) / (3 * x**2)
    return {"X": x, "Loss": (x * x).sum()}


@program
def classes_inside_time(Y0):
    y, rows = Y0, []
    for _ in range(4):
        z = torch.nn.functional.one_hot(torch.floor(y).long(), 3).to(torch.float64)
        rows.append(z)
        y = y + 0.3 * z[1]
    return {"Y": y, "Z": stack(rows)}


@program
def names_inside_steps(W, In):
    h = torch.ones(2)
    for _ in range(3):
        pre = W @ h
        h = torch.relu(pre + In)
    return {"Hidden": h, "Named": h, "Inline": h, "Pre": pre}


@program
def lines_combine(A, B, C):
    m = torch.max(torch.cat([A, B]))
    n = torch.minimum(A, (B[:, None] * C).min(1).values)
    p = A * C.prod(1)
    one = (C[:, :, None] + A[:, None, None] + B[None, None, :]).amax((1, 2))
    return {"M": m, "N": n, "P": p, "One": one, "Two": one, "Loss": m * m + (n * n).sum() + 0.01 * p.sum()}


@program
def shortest_paths(E, Start):
    d = Start
    for _ in range(5):
        d = torch.minimum(Start, (d[:, None] + E).min(0).values)
    # Gradients by the paths: every node is reached from node 0.
    return {"D": d, "Loss": ((Start[0] + d.detach()) ** 2).sum()}


@program
def guards_contribute_nothing(A, B):
    inf = torch.tensor(torch.inf)
    most = torch.where(B > 0, A, -inf).amax(1)
    least = torch.where(A > 0, A, inf).amin(1)
    below = A < 0
    total = torch.where(below, A, 0.0).sum(1)
    every = torch.where(below, A, 1.0).prod(1)
    nothing = torch.full((2,), torch.nan)
    loss = most[0] ** 2 + least[0] ** 3 + every.sum()
    return {"Most": most, "Least": least, "Mean": total / below.sum(1), "None": nothing, "All": every, "Sum": total, "Loss": loss}


@program
def state_with_maxima(X):
    s, r = torch.tensor(-2.0), torch.tensor(0.0)
    for t in range(3):
        s = torch.maximum(s, (X[:, t] - 1).max())
        r = (r + X[:, t]).max()
    return {"S": s, "R": r, "Loss": s * s + r}


@program
def bounded_while(A, B):
    x, s, t = A, B, 0
    while t < 50 and abs((x * x - A).item()) > 1e-9:
        x, s, t = x / 2 + A / (2 * x), s + 0.1 * x * B, t + 1
    return {"X": x, "S": s, "Loss": x**3 + (s * s).sum()}


@program
def guarded_mean(X):
    held = X > 0
    m = torch.where(held, X * X, 0).sum(1) / held.sum(1)
    return {"M": m, "Loss": (m * m).sum()}


def at(x, *position):
    """An element, or 0 outside."""
    inside = all(0 <= p < n for p, n in zip(position, x.shape))
    return x[position] if inside else torch.tensor(0.0)


@program
def index_convolution(X, W):
    y = torch.stack([sum(X[i + k] * W[k] for k in range(3)) for i in range(3)])
    return {"Y": y, "Loss": (y**3).sum()}


@program
def index_same_size(X, W):
    y = torch.stack([sum(at(X, i + k - 1) * W[k] for k in range(3)) for i in range(5)])
    return {"Y": y, "Loss": (torch.tanh(y) * y).sum()}


@program
def diagonal_of_two_sizes(B, C, D):
    all = [(m, n) for m in range(3) for n in range(2)]
    product = sum(at(C, m, m + 1) * at(C, 2 - m, n) * B[n] for m, n in all)
    rest = [(B[n] / 2 if at(C, m, 1 - n) < 0.21 else B[n]) * (B[n] / 2 / (2 + at(D, 0, m - n) ** 2)) for m, n in all]
    return {"Loss": (torch.maximum(torch.tensor(-0.5), product) - sum(rest)) ** 2}


@program
def positions_in_function(A, W, Z, T):
    ids = A.detach().long()
    h = torch.stack([torch.zeros(2).index_add(0, row, W * W) for row in ids])
    most = torch.stack([torch.full((2,), -torch.inf).scatter_reduce(0, row, W, "amax") for row in ids])
    pick, same = T[ids] ** 2, Z.gather(1, ids) ** 2
    spread, tops = h * Z + Z, most * Z
    return {"Spread": spread, "Tops": tops, "Pick": pick, "Same": same,
            "Loss": (spread**2 * tops).sum() + (pick * W).sum() + (same * pick).sum()}


@program
def means_apart(A, B, X):
    m = torch.stack([A.mean(), (2 * A).mean()])
    p = torch.stack([B.mean(1), (2 * B * B).mean(1)], 1).reshape(-1)
    s, steps, r = A.mean(), [], (A.mean(), A[1])
    for t in range(3):
        s = (s / 2 + X[:, t]).mean()
        r = ((r[1] + X[:, t]).mean(), (r[0] * X[:, t]).mean())
        steps.append(s)
    end = torch.stack(r)
    return {"M": m, "P": p, "All": stack(steps), "End": end,
            "Loss": (m * m * m[0]).sum() + (p * p).sum() + s**3 + (end * end).sum()}


@program
def positions_of_calls(A, B):
    best = B.argmax(1)
    h, steps = A[best], []
    x = torch.tensor(0)
    for t in range(3):
        x = x + [1, 2, 0, 0][int(x)]
        steps.append(A[int(x)])
    j = torch.zeros(4).index_add(0, torch.tensor([1, 3, 1]), B[:, 0])
    return {"H": h, "G": A[:2], "K": j + A, "Loss": (h**3).sum() + (A[:2] ** 2).sum() + sum(s * s for s in steps) + ((j + A) ** 2).sum()}


@program
def sizes_in_sums_of_calls(A, C):
    return {"Loss": (A.sum() * (C[:, 1] ** 2).sum() * C[1, 0]) ** 2}


@program
def last_step_of_gradient(C):
    r = C * C
    return {"Loss": (C * 2.5 * r * (r / 2 + C)) ** 2}


@program
def time_without_star(X):
    s, r, q, d = torch.tensor(-2.0), torch.tensor(0.0), 0, []
    for t in range(3):
        d = 0.5 * X[:, t] + torch.cumsum(X[:, t] + r, 0)
        q = q + (d * d).sum()
        s, r = torch.maximum(s, X[:, t].max()), (r + X[:, t]).max()
    return {"Loss": s**2 + r**2 + q}


@program
def index_strided(X, W):
    y = [[sum(X[2 * y + p, 2 * x + q] * W[p, q] for p in range(2) for q in range(2)) for x in range(2)] for y in range(2)]
    y = torch.stack([torch.stack(row) for row in y])
    return {"Y": y, "Loss": (y * y).sum()}


@program
def index_pooling(X):
    windows = X.reshape(2, 2, 2, 2).permute(0, 2, 1, 3).reshape(2, 2, 4)
    m, a = windows.amax(2), windows.mean(2)
    return {"M": m, "A": a, "Loss": (m * a).sum()}


@program
def index_transposed(X, W):
    y, z = [torch.tensor(0.0)] * 6, [torch.tensor(0.0)] * 7
    for i in range(3):
        z[3 * i] = z[3 * i] + X[i] * X[i]
        for k in range(2):
            y[2 * i + k] = y[2 * i + k] + X[i] * W[k]
    y, z = torch.stack(y), torch.stack(z)
    return {"Y": y, "Z": z, "Loss": (y * y).sum(), "Total": (z * z).sum()}


@program
def index_embedding(T, W):
    g = torch.stack([T[i] for i in (2, 0, 2, 1)])
    return {"G": g, "Loss": (W[:, None] * torch.sin(g) * g).sum()}


@program
def index_groups(V):
    groups = [V[[0]], V[[3]], V[[1, 2, 4]]]
    total = torch.stack([g.sum() for g in groups])
    loss = sum(g.max() * g.min() for g in groups)
    return {"Out": total, "Loss": loss, "Other": sum(g.mean() * g.prod() for g in groups)}


@program
def index_product_with_zeros(V):
    p = torch.stack([V[0] * V[3], V[1] * V[2]])
    return {"Loss": (p * p).sum() + p.sum()}


@program
def index_paths(W):
    d = [torch.tensor(0.0)] + [torch.tensor(float("inf"))] * 3
    for _ in range(4):
        for e, (u, v) in enumerate([(0, 1), (0, 2), (2, 1), (1, 3)]):
            d[v] = torch.minimum(d[v], d[u] + W[e])
    d = torch.stack(d)
    return {"Out": d, "Loss": (d * d).sum()}


@program
def index_pick(T):
    picks = (1, 0, 1)
    y = torch.stack([T[i, a] for i, a in enumerate(picks)])
    z = [[y[i] if a == picks[i] else torch.tensor(0.0) for a in range(2)] for i in range(3)]
    return {"Y": y, "Out": torch.stack([torch.stack(row) for row in z]), "Loss": (y**3).sum()}


@program
def index_graph(H, W):
    m = [torch.zeros(2)] * 3
    for u, v in [(0, 1), (1, 2), (2, 0), (0, 2)]:
        m[v] = m[v] + H[u] @ W
    new = torch.tanh(torch.stack(m))
    return {"New": new, "Loss": (new * new).sum()}


@program
def index_steps(A, K):
    u = A
    for _ in range(3):
        u = torch.stack([sum(at(u, i + k - 1) * K[k] for k in range(3)) + 0.1 * u[i] for i in range(5)])
    return {"U": u, "Loss": (u * u).sum()}


@program
def index_parts(X):
    m = torch.stack([X[0], X[1], torch.tensor(6.0)])
    return {"M": m, "Loss": (m * m).sum()}


@program
def index_known_size(A, V):
    y = torch.stack([A[i] * at(V, i - 1) for i in range(4)])
    return {"Y": y, "Loss": (y * y).sum()}


@program
def log_of_det(P):
    each = torch.stack([torch.log(torch.linalg.det(P[:, :, t])) for t in range(2)])
    return {"LL": each.sum(), "Loss": each.sum() ** 2, "Other": (each * each).sum()}


@program
def fixed_step_of_steps(I):
    s, first = I, 2 * I
    for _ in range(2):
        s = 2 * s * first + first
    return {"Loss": (2 * s * 2 * s).sum()}


@program
def needed_reductions(C, B):
    d = torch.stack([C[j, j] for j in range(3)]).abs()
    shifted = torch.cat([B[1:], torch.zeros(1)])
    signed = torch.stack([C[j, j] for j in range(3)])
    other = B * d.prod() + (signed.max() * B.relu() + signed.min() * (B - B.relu())) - (signed.mean() * B) ** 2
    y = torch.where(shifted > 0.3, B, other)
    return {"Y": y, "Loss": (y * y).sum()}


@program
def index_of_step(A):
    s, h, step = A, A, 0
    while step < 4 and abs(s[1]) < 2:
        s, h = (A + step) ** 2, torch.tanh(h + torch.maximum(step * A, A[0]))
        step += 1
    return {"S": s, "H": h, "Loss": (s * s).sum() + (h**3).sum()}


@program
def step_before_start(A):
    r, each = A * 0, []
    for _ in range(3):
        r = A * (A + r / 10)
        each.append(r)
    return {"First": each[0], "R": r, "Loss": r * r}


@program
def sizes_of_cotangents(A, B, P):
    y = sum(A[k] - torch.maximum(B[k - 1] if k > 0 else B[0] * 0, A[i]) for k in range(2) for i in range(2))
    z = torch.stack([sum(A.max() * B[m] * at(P, n - m + 1) * n for m in range(3)) for n in range(2)])
    return {"Y": y, "Z": z, "Loss": y * y + (z * z).sum()}


@program
def sizes_of_conditions(A, B, C, D):
    rows = []
    for m in range(3):
        row = [A[0] * 0, A[0] * 0]
        for i, to in enumerate([1, 0]):
            row[to] = row[to] - A[i] + torch.sin(A[0] / (2 + at(B, m - 1) ** 2)) ** 2
        rows.append(torch.stack(row))
    y = torch.stack(rows)
    z = torch.tanh(D) ** 2 * torch.tanh(A[2]) ** 2
    inside = lambda i, j: C[i, j] if 0 <= i < 3 and 0 <= j < 3 else C[0, 0] * 0
    part = lambda k, w: torch.tanh(B[w]) ** 2 + inside(k, 2 * k - w)
    v = torch.stack([torch.stack([part(k, w) if inside(w - 1, w + k - 1) > -0.2 else A[0] * 0 for w in range(2)])
                     for k in range(3)])
    return {"Known": y, "Z": z, "V": v, "Loss": (y * y).sum() + (z * z).sum() + (v * v).sum()}


@program
def complex_in_branch(P, Q, A, B, C):
    y = torch.where(C > 0, torch.sqrt(P * P + Q * Q) * A, torch.zeros(3))
    return {"Y": y, "Loss": (y * B).sum()}


def constants(text):
    found = {}
    for name, value in re.findall(r"^(\w+)(?:\[[^\]]*\])? = const\((.*)\)$", text, re.M):
        found[name] = torch.tensor(json.loads(value.replace("inf", "Infinity")), dtype=torch.float64)
    return found


def written(value):
    return json.dumps(torch.as_tensor(value).detach().tolist()).replace("Infinity", "inf")


def main():
    folder = pathlib.Path(__file__).parent
    for name, f in PROGRAMS.items():
        path = folder / f"{name}.eq"
        if not path.exists():
            path = folder.parents[3] / "examples" / "equations" / f"{name}.eq"
        text = path.read_text()
        given = constants(text)
        wanted = f.__code__.co_varnames[: f.__code__.co_argcount]
        inputs = {n: given[n].clone().requires_grad_() for n in wanted}
        values = f(**inputs)
        lines = []
        for line in text.splitlines():
            words = line.split(" = ")[0].split()
            if words[:2] == ["#", "expect"] and words[2] in values:
                line = f"# expect {words[2]} = {written(values[words[2]])}"
            elif words[:2] in (["#", "grad"], ["#", "grad2"]):
                (g,) = torch.autograd.grad(values[words[2]], inputs[words[3]], create_graph=True)
                if words[1] == "grad2":
                    (g,) = torch.autograd.grad((g * g).sum(), inputs[words[3]], retain_graph=True)
                line = f"# {words[1]} {words[2]} {words[3]} = {written(g)}"
            lines.append(line)
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
