"""L-BFGS: quasi-Newton steps from past gradients; it evaluates the loss several times per step."""

from .. import _native
from ..core import enable_grad, no_grad
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

    def step(self, closure):
        """Runs several iterations; returns the loss before them. `closure` recomputes loss and gradients."""
        if _native.is_tracing():
            raise RuntimeError("LBFGS reads losses during a step, so it cannot be part of a compiled function")
        first = []

        def loss():
            with enable_grad():
                now = closure()
            if not first:
                first.append(now)
            return float(now)

        with no_grad():
            _native._lbfgs_step(self._params, self.state[self._params[0]], self.param_groups[0], loss)
        return first[0]
