"""L-BFGS: quasi-Newton steps from past gradients; it evaluates the loss several times per step."""

from .. import _native
from ..core import cat, enable_grad, no_grad, zeros_like
from .line_search import Point, search
from .optimizer import Optimizer


class LBFGS(Optimizer):
    """Quasi-Newton steps with limited memory; `line_search_fn` is `None` or `"strong_wolfe"`.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([3.0, -2.0]))
    >>> opt = gradus.optim.LBFGS([w])
    >>> def closure():
    ...     opt.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> opt.step(closure).item()
    13.0
    >>> [round(x, 5) for x in w.tolist()]
    [1.0, 1.0]
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
                 history_size=100, line_search_fn=None, *, maximize=False):
        if lr < 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
                                      tolerance_change=tolerance_change, history_size=history_size,
                                      line_search_fn=line_search_fn, maximize=maximize))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gradient(self):
        """Returns all gradients as one vector, negated for maximization."""
        all = cat([(zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params])
        return -all if self.param_groups[0]["maximize"] else all

    def _move(self, direction, distance, origin=None):
        """Moves all parameters along a direction, from an origin if given."""
        start = 0
        for i, p in enumerate(self._params):
            step = direction[start:start + p.numel()].reshape(p.shape)
            start += p.numel()
            if origin is not None:
                p.copy_(origin[i])
            p.add_(step, alpha=distance)

    def _direction(self, gradient, state, history):
        """Computes the direction by two passes over past changes of parameters `s` and of gradients `y`."""
        if "d" not in state:
            return -gradient
        y, s = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        ys = (y * s).sum().item()
        if ys > 1e-10:
            for name, value in (("old_dirs", y), ("old_stps", s), ("ro", 1.0 / ys)):
                state[name] = state[name][-(history - 1):] if history > 1 else []
                state[name] = state[name] + [value]
            state["H_diag"] = ys / (y * y).sum().item()
        changes = list(zip(state["old_dirs"], state["old_stps"], state["ro"]))
        q, alphas = -gradient, []
        for y, s, inverse in reversed(changes):
            alphas.append((s * q).sum().item() * inverse)
            q = q - y * alphas[-1]
        d = q * state["H_diag"]
        for (y, s, inverse), alpha in zip(changes, reversed(alphas)):
            d = d + s * (alpha - (y * d).sum().item() * inverse)
        return d

    @no_grad()
    def step(self, closure):
        """Runs several iterations; returns the loss before them. `closure` recomputes loss and gradients."""
        if _native.is_tracing():
            raise RuntimeError("LBFGS reads losses during a step, so it cannot be part of a compiled function")
        group, state = self.param_groups[0], self.state[self._params[0]]
        tolerance, most = group["tolerance_change"], group["max_iter"]
        closure, sign = enable_grad()(closure), -1.0 if group["maximize"] else 1.0
        first = closure()
        loss, gradient, evaluations = sign * float(first), self._gradient(), 1
        if gradient.abs().max().item() <= group["tolerance_grad"]:
            return first
        for name in ("old_dirs", "old_stps", "ro"):
            state.setdefault(name, [])
        state.setdefault("H_diag", 1.0)
        for iteration in range(1, most + 1):
            begins = "d" not in state
            direction = self._direction(gradient, state, group["history_size"])
            state["prev_flat_grad"], before = gradient.clone(), loss
            # The curvature is unknown at first, so the first step is short.
            length = group["lr"] * (min(1.0, 1.0 / gradient.abs().sum().item()) if begins else 1.0)
            slope = (gradient * direction).sum().item()
            state["d"], state["t"] = direction, length
            if slope > -tolerance:
                break
            if group["line_search_fn"] is not None:
                origin = [p.detach().clone() for p in self._params]

                def at(distance):
                    self._move(direction, distance, origin)
                    value = sign * float(closure())
                    found = self._gradient()
                    return Point(distance, value, (found * direction).sum().item(), found)

                size, left = direction.abs().max().item(), group["max_eval"] - evaluations
                found, taken = search(Point(0.0, loss, slope, gradient), length, size, tolerance, at, left)
                self._move(direction, found.at, origin)
                state["t"] = length = found.at
                loss, gradient = found.value, found.gradient
                evaluations += taken
            else:
                self._move(direction, length)
                if iteration < most:
                    loss = sign * float(closure())
                    gradient = self._gradient()
                    evaluations += 1
            if (iteration == most or evaluations >= group["max_eval"]
                    or gradient.abs().max().item() <= group["tolerance_grad"]
                    or (direction * length).abs().max().item() <= tolerance or abs(loss - before) < tolerance):
                break
        return first
