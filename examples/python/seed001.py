"""The neural language model of Bengio et al. (2003): its definition, its inference loop and its training loop.

The names say the axes: B batch, T context, V letters, E embedding, D width, N all windows; `c` in a name joins two axes into one. The loops
are written for a library called picograd and for PyTorch; only the import lines are changed. Expected: the loss of a batch
falls below 2.7 from 3.3 at the start or more.
"""

import argparse
from pathlib import Path

import gradus as torch
from gradus.nn import functional as F

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--samples", type=int, default=20)
args = parser.parse_args()

B, T = 32, 3
V, E, D = 27, 10, 200
torch.manual_seed(1337)

# --- data: every window of T letters, and the letter that follows ---
names = (Path(__file__).parents[1] / "data" / "names.txt").read_text().split()
decode = dict(enumerate(".abcdefghijklmnopqrstuvwxyz"))
encode = {c: i for i, c in decode.items()}
X, Y = [], []
for name in names:
    context = [0] * T
    for c in name + ".":
        X.append(context)
        Y.append(encode[c])
        context = context[1:] + [encode[c]]
X_NT, Y_N = torch.tensor(X), torch.tensor(Y)


# --- model ---
class Linear:
    def __init__(self, D_in, D_out, bias=True):
        self.W_DiDo = torch.randn((D_in, D_out)) * (5 / 3) / D_in**0.5  # keeps the scale through tanh
        self.b_Do = torch.zeros(D_out) if bias else None

    def __call__(self, X_Di):
        self.X_Do = X_Di @ self.W_DiDo
        if self.b_Do is not None:
            self.X_Do += self.b_Do
        self.out = self.X_Do
        return self.X_Do

    def parameters(self):
        return [self.W_DiDo] + ([] if self.b_Do is None else [self.b_Do])


class Tanh:
    def __call__(self, X_BD):
        self.X_BD = torch.tanh(X_BD)
        self.out = self.X_BD
        return self.X_BD

    def parameters(self):
        return []


model = [
    Linear(T * E, D, bias=False), Tanh(),
    Linear(D, D, bias=False), Tanh(),
    Linear(D, V, bias=False),
]
C_VE = torch.randn((V, E))
params = [C_VE] + [p for layer in model for p in layer.parameters()]
for p in params:
    p.requires_grad = True


# --- inference loop ---
def sample(show=False):
    for _ in range(args.samples):
        output, context = [], [0] * T
        while True:
            X_1T = torch.tensor([context])
            X_1TE = C_VE[X_1T]
            if show:
                print(X_1TE)
                show = False
            X_1cTE = X_1TE.view(-1, T * E)
            X = X_1cTE
            for h in model:
                X = h(X)
            y_hat = F.softmax(X, dim=1)
            token = torch.multinomial(y_hat, num_samples=1, replacement=True).item()
            context = context[1:] + [token]
            output.append(decode[token])
            if token == 0 or len(output) == 40:
                break
        print("".join(output))


print("before training:")
sample(show=True)

# --- training loop ---
losses, steps = [], []
for step in range(args.steps):
    # 1. forward
    i_B = torch.randint(0, X_NT.shape[0], (B,))
    X_BT, Y_B = X_NT[i_B], Y_N[i_B]
    X_BTE = C_VE[X_BT]
    X_BcTE = X_BTE.view(-1, T * E)
    X = X_BcTE
    for h in model:
        X = h(X)
    loss = F.cross_entropy(X, Y_B)

    # 2. backward
    for layer in model:
        layer.out.retain_grad()
    for p in params:
        p.grad = None
    loss.backward()

    # 3. update
    for p in params:
        p.data += -0.01 * p.grad

    steps.append(step)
    losses.append(loss.log10().item())
    if step % 1000 == 0:
        print(f"step: {step}/{args.steps}, loss {loss.item():.4f}")

assert all(layer.out.grad is not None and layer.out.grad.shape == layer.out.shape for layer in model)
print("after training:")
sample()
tail = losses[-min(500, len(losses)):]
print(f"loss: {10 ** (sum(tail) / len(tail)):.4f}")
