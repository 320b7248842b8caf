"""Base of all optimizers: groups of parameters, their state, and the loop over them."""

from collections import defaultdict

from .. import _native
from ..core import Tensor, as_tensor, enable_grad, float32, float64, no_grad, tensor


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Updates parameters by their gradients.

    A subclass defines defaults of group settings, and either its own `step` or the name of an update rule, `_kind`. The native module
    has the rules: the state of a parameter, the numbers of a step, and the update itself. `state["step"]` counts from 1.

    In a function that is being compiled the numbers are scalar tensors, updated before each run, so that changed rates need no new
    program. Whether weight decay or momentum is 0, and settings that are not numbers, are part of the program: another value
    compiles another program.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.tolist()
    [0.5]
    """

    _kind = None

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got a Tensor")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Adds parameters with their own settings.

        >>> import gradus
        >>> w = gradus.nn.Parameter(gradus.ones(1))
        >>> opt = gradus.optim.SGD([w], lr=0.5)
        >>> opt.add_param_group({'params': [gradus.nn.Parameter(gradus.ones(1))], 'lr': 0.1})
        >>> [group['lr'] for group in opt.param_groups]
        [0.5, 0.1]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections")
        params = [params] if isinstance(params, Tensor) else list(params)
        if params and isinstance(params[0], tuple):
            group["param_names"] = [name for name, _ in params]
            params = [param for _, param in params]
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not param.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        known = {id(p) for g in self.param_groups for p in g["params"]}
        ids = [id(p) for p in params]
        if len(set(ids)) != len(ids):
            raise ValueError("optimizer contains a parameter group with duplicate parameters")
        if known & set(ids):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def _rule(self, group):
        """Makes the update rule with a group's settings."""
        if self._kind is None:
            raise NotImplementedError(f"{type(self).__name__} has no method step")
        return _native._Rule(self._kind, group)

    def _state(self, p, group):
        """Returns the initial state of a parameter."""
        return {} if self._kind is None else self._rule(group).state(p)

    def step(self, closure=None):
        """Updates all parameters that have gradients; `closure`, if passed, computes them first and returns the loss.

        >>> import gradus
        >>> w = gradus.nn.Parameter(gradus.ones(1))
        >>> opt = gradus.optim.SGD([w], lr=0.5)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.item()
        0.0
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                rule = _Traced(self, group) if _native.is_tracing() else self._rule(group)
                rule.step(group["params"], self.state)
        return loss

    def zero_grad(self, set_to_none=True):
        """Clears all gradients, or fills them with zeros.

        >>> import gradus
        >>> w = gradus.nn.Parameter(gradus.ones(1))
        >>> opt = gradus.optim.SGD([w], lr=0.5)
        >>> (w * w).sum().backward()
        >>> opt.zero_grad()
        >>> w.grad is None
        True
        """
        traced = _native.is_tracing()  # a compiled program runs later, when there may be gradients
        for group in self.param_groups:
            for p in group["params"]:
                if traced or p.grad is not None:
                    if set_to_none or traced:
                        p.grad = None
                    else:
                        p.grad.detach().zero_()

    def state_dict(self):
        """State and settings, with parameters by number, in PyTorch's form.

        >>> import gradus
        >>> w = gradus.nn.Parameter(gradus.ones(1))
        >>> opt = gradus.optim.Adam([w])
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> sorted(opt.state_dict()['state'][0])
        ['exp_avg', 'exp_avg_sq', 'step']
        """
        numbers = {}
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
        groups = [{**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[id(p)] for p in group["params"]]}
                  for group in self.param_groups]
        return {"state": {numbers[id(p)]: dict(state) for p, state in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Restores state and settings, also from PyTorch's optimizers.

        >>> import gradus
        >>> w = gradus.nn.Parameter(gradus.ones(1))
        >>> opt = gradus.optim.SGD([w], lr=0.5)
        >>> other = gradus.optim.SGD([w], lr=0.1)
        >>> other.load_state_dict(opt.state_dict())
        >>> other.param_groups[0]['lr']
        0.5
        """
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError(f"loaded state dict has {len(groups)} parameter groups, the optimizer {len(self.param_groups)}")
        for i, (own, given) in enumerate(zip(self.param_groups, groups)):
            if len(own["params"]) != len(given["params"]):
                raise ValueError(f"group {i} of the loaded state dict has {len(given['params'])} parameters, "
                                 f"that of the optimizer {len(own['params'])}")
            for number, p in zip(given["params"], own["params"]):
                self._check_state(number, p, {**own, **given}, state_dict["state"].get(number, {}))
        for own, given in zip(self.param_groups, groups):
            own.update({k: v for k, v in given.items() if k != "params"})
            for number, p in zip(given["params"], own["params"]):
                self._take_state(p, own, state_dict["state"].get(number, {}))

    def _take_state(self, p, group, given):
        """Replaces a parameter's state by loaded state. Functions compiled before see it too, because
        tensors are written in place."""
        if not given and p not in self.state:
            return
        state = self.state[p]
        fresh = self._state(p, group)
        new = {name: _loaded_copy(value, name, p, fresh) for name, value in given.items()} or {**fresh, "step": 0}
        for name in [name for name in state if name not in new]:
            del state[name]
        for name, value in new.items():
            old = state.get(name)
            if isinstance(old, Tensor) and isinstance(value, Tensor) and tuple(old.shape) == tuple(value.shape):
                with no_grad():
                    old.copy_(value)
            else:
                state[name] = value

    def _check_state(self, number, p, group, state):
        """Raises an error for state of the wrong shape."""
        for name, wanted in self._state(p, group).items() if state else ():
            found = getattr(state.get(name), "shape", wanted.shape)
            if tuple(found) != tuple(wanted.shape):
                raise ValueError(f"state '{name}' of parameter {number} has shape {tuple(found)}, not {tuple(wanted.shape)}")

    def __repr__(self):
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


def _loaded_copy(value, name, p, fresh):
    """Returns a copy of loaded state: steps as numbers, floating point tensors in the dtype of the initial state or of the parameter."""
    if name == "step":
        return int(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_loaded_copy(v, "", p, fresh) for v in value)
    if isinstance(value, Tensor) or hasattr(value, "__dlpack__"):
        value = as_tensor(value)
        kind = (p.device, getattr(fresh.get(name), "dtype", p.dtype)) if value.is_floating_point() else (p.device,)
        return value.to(*kind, copy=True)
    return value


def check(**limits):
    """Raises an error for settings outside of their range: `check(lr=(lr, 0, None))`."""
    for name, (value, low, high) in limits.items():
        if not (low <= value and (high is None or value < high)):
            raise ValueError(f"Invalid {name}: {value}")


class _Traced:
    """An update rule in a function that is being compiled. Its numbers are scalar cells: one set of them for each step count."""

    def __init__(self, optimizer, group):
        self.optimizer, self.group, self.sets = optimizer, group, {}
        self.dtype = float64 if all(p.is_cpu for p in group["params"]) else float32  # which all devices have
        if any(isinstance(value, Tensor) and _native._is_rewritten(value) for value in group.values()):
            raise RuntimeError("jit: a setting of an optimizer is a tensor that the function has written to; change it outside of the function")
        self.rule = _native._outside(self._rule)
        for name in ("state", "param_groups"):
            _native._note_location("same", optimizer.__dict__, name, f"{type(optimizer).__name__}.{name}")
        _native._note_location("item", group, "params", "params")
        _native._note_guard(self._structure)

    def _rule(self):
        return self.optimizer._rule(self.group)

    def _structure(self):
        """Returns the settings that are part of the program."""
        groups = [id(group) for group in self.optimizer.param_groups]
        # Parameters that share numbers have taken the same number of steps.
        in_step = [len({state["step"] for state in states}) for _, states in self.sets.values()]
        return groups, in_step, self._rule().structure()

    def step(self, params, states):
        """Updates all parameters that have gradients."""
        for p in params:
            if p.grad is not None:
                self.rule.update(p, p.grad, states[p], self._cells(p, states[p]))

    def _cells(self, p, state):
        """Returns the numbers for a parameter. Steps are counted before each run of the compiled function."""
        _native._outside(lambda: self.rule.prepare(p, state))
        step = state.setdefault("step", 0)
        _native._note_location("same", self.optimizer.state, p, "state")
        for name, value in state.items():
            if isinstance(value, Tensor):
                _native._note_location("item", state, name, name)
        if step not in self.sets:
            cells, states = [self._cell(*number) for number in self.rule.numbers(step + 1)], []
            self.sets[step] = cells, states
            _native._before_run(lambda first: self._advance(cells, states, first))
        cells, states = self.sets[step]
        states.append(state)
        return cells

    def _cell(self, name, x):
        """Makes a number that the function reads when it runs."""
        cell = _native._outside(lambda: tensor(x, dtype=self.dtype, device="cpu", requires_grad=True))
        cell._set_name(f"{type(self.optimizer).__name__}.{name}")
        return cell

    def _advance(self, cells, states, first):
        """Counts a step; returns a function that undoes it. All states have the same step count, so one of them determines the numbers."""
        before = states[0]["step"]
        if not first:
            self._rule().refresh(before + 1, cells)

        def count(steps):
            for state in states:
                state["step"] = steps

        count(before + 1)
        return lambda: count(before)
