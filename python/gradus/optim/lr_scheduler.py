"""Learning rate schedules. Most change the current rate by a factor, so that several can act on one optimizer."""

import bisect
import math
from collections import Counter

from .. import _native
from .counted import compilable_step


class LRScheduler:
    """Sets the rates of an optimizer's groups, once per call of `step`."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = compilable_step(cls.step)

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self.step()

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_lr(self):
        """Returns the rates of this step, from those of the last.

        >>> import gradus
        >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
        >>> schedule = gradus.optim.lr_scheduler.ExponentialLR(opt, 0.5)
        >>> schedule.get_lr()
        [1.0]
        """
        raise NotImplementedError

    def get_last_lr(self):
        """Returns the rates that were set last.

        >>> import gradus
        >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
        >>> schedule = gradus.optim.lr_scheduler.ExponentialLR(opt, 0.5)
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
        """
        if _native._is_compiling():
            for name in ("last_epoch", "_last_lr"):
                _native._note_location("item", self.__dict__, name, f"{type(self).__name__}.{name}")
        return self._last_lr

    @compilable_step
    def step(self, epoch=None):
        """Advances to the next step, or to a given one.

        >>> import gradus
        >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
        >>> schedule = gradus.optim.lr_scheduler.ExponentialLR(opt, 0.5)
        >>> schedule.step()
        >>> opt.param_groups[0]['lr']
        0.5
        """
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        self._set(rates)

    def _set(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        self._last_lr = self._rates()

    def state_dict(self):
        """Returns the state, without optimizer and functions.

        >>> import gradus
        >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
        >>> schedule = gradus.optim.lr_scheduler.ExponentialLR(opt, 0.5)
        >>> schedule.state_dict()['last_epoch']
        0
        """
        return {k: v for k, v in self.__dict__.items() if k != "optimizer" and not _holds_functions(v)}

    def load_state_dict(self, state_dict):
        """Restores a state of `state_dict`.

        >>> import gradus
        >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
        >>> schedule = gradus.optim.lr_scheduler.ExponentialLR(opt, 0.5)
        >>> schedule.load_state_dict({'last_epoch': 3})
        >>> schedule.last_epoch
        3
        """
        self.__dict__.update(state_dict)


class _Factors(LRScheduler):
    """A schedule of factors, which a native schedule computes. It is made from the attributes, which may be loaded or changed."""

    eta_min = 0.0

    def _schedule(self):
        raise NotImplementedError

    def get_lr(self):
        schedule, step = self._schedule(), self.last_epoch
        return [schedule.next(step, rate, base, self.eta_min) for rate, base in zip(self._rates(), self.base_lrs)]

    def _get_closed_form_lr(self):
        factor = self._schedule().factor(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * factor for base in self.base_lrs]


def _holds_functions(value):
    return callable(value) or (isinstance(value, list) and any(callable(v) for v in value))


class LambdaLR(LRScheduler):
    """The first rate times a function of the step.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 / (1 + step))
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.3333, 0.25]
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        n = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(LambdaLR):
    """The last rate times a function of the step.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.MultiplicativeLR(opt, lambda step: 0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def get_lr(self):
        if self.last_epoch <= 0:
            return self._rates()
        return [rate * factor(self.last_epoch) for rate, factor in zip(self._rates(), self.lr_lambdas)]


class StepLR(_Factors):
    """Multiplies the rate by `gamma` every `step_size` steps.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(schedule.get_last_lr()[0])
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self):
        return _native._Schedule.step(self.step_size, self.gamma)


class MultiStepLR(_Factors):
    """Multiplies the rate by `gamma` at every milestone.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.MultiStepLR(opt, [1, 3])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self):
        return _native._Schedule.multistep(list(self.milestones.elements()), self.gamma)


class ConstantLR(_Factors):
    """Multiplies the rate by `factor` for the first `total_iters` steps.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.ConstantLR(opt, 0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _schedule(self):
        return _native._Schedule.initial_factor(self.factor, self.total_iters)


class LinearLR(_Factors):
    """Multiplies the rate by a factor that goes from `start_factor` to `end_factor` in `total_iters` steps.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.LinearLR(opt, 0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError("start_factor must be above 0 and both factors at most 1")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _schedule(self):
        return _native._Schedule.linear(self.start_factor, self.end_factor, self.total_iters)


class ExponentialLR(_Factors):
    """Multiplies the rate by `gamma` at every step.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.ExponentialLR(opt, 0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _schedule(self):
        return _native._Schedule.exponential(self.gamma)


class PolynomialLR(_Factors):
    """Decays to zero in `total_iters` steps, polynomially.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.PolynomialLR(opt, total_iters=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _schedule(self):
        return _native._Schedule.polynomial(self.total_iters, self.power)


class CosineAnnealingLR(_Factors):
    """Decays along half a cosine to `eta_min` in `T_max` steps, and rises again.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [1.0, 0.8536, 0.5, 0.1464]
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _schedule(self):
        return _native._Schedule.wave(self.T_max)

    def get_lr(self):
        resumed = self._step_count == 1 and self.last_epoch > 0
        return self._get_closed_form_lr() if resumed else super().get_lr()


class CosineAnnealingWarmRestarts(LRScheduler):
    """Decays along half a cosine to `eta_min`, then restarts; periods grow by the factor `T_mult`.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int) or T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected positive integers T_0 and T_mult, but got {T_0} and {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        share = _native._half_cosine(self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch=None):
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self._step_count += 1
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


class OneCycleLR(LRScheduler):
    """Rises to `max_lr`, then decays far below the initial rate, with momentum in opposite direction.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [0.04, 0.8117, 0.2831, 0.0]
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        self.total_steps = epochs * steps_per_epoch if total_steps is None else total_steps
        if self.total_steps <= 0 or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected a positive number of steps and pct_start in [0, 1], got {self.total_steps}, {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        # Each phase: its end, and the names of its first and last values in a group, for the rate and for momentum.
        top = float(pct_start * self.total_steps) - 1
        self._phases = [(top, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            self._phases.append((2 * top, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            self._phases.append((self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            self._phases.append((self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        groups = optimizer.param_groups
        if cycle_momentum and "momentum" not in groups[0] and "betas" not in groups[0]:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        if last_epoch == -1:
            for i, group in enumerate(groups):
                group["max_lr"] = max_lr[i] if isinstance(max_lr, (list, tuple)) else max_lr
                group["initial_lr"] = group["max_lr"] / div_factor
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if cycle_momentum:
                    for name, value in (("max_momentum", max_momentum), ("base_momentum", base_momentum)):
                        group[name] = value[i] if isinstance(value, (list, tuple)) else value
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")

        def value(group, first):
            """Returns the value between those with the names at positions `first` and `first + 1` of the phases."""
            phases = [(phase[0], group[phase[first]], group[phase[first + 1]]) for phase in self._phases]
            return _native._Schedule.phases(phases, self._anneal_strategy == "cos").factor(step)

        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            momentum = value(group, 3)
            if "betas" in group:
                group["betas"] = (momentum, *group["betas"][1:])
            else:
                group["momentum"] = momentum
        return [value(group, 1) for group in self.optimizer.param_groups]


class SequentialLR(LRScheduler):
    """A sequence of schedules, switched at milestones.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.SequentialLR(opt, [gradus.optim.lr_scheduler.ConstantLR(opt, 0.5, 9), gradus.optim.lr_scheduler.ExponentialLR(opt, 0.5)], [2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(schedulers) < 1 or len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                             f"milestone points, but got {len(schedulers)} and {len(milestones)}")
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ValueError("Sequential Schedulers expects all schedulers to belong to the same optimizer")
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        # All schedules have taken their first step. Undoes these steps, and repeats that of the first schedule.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self):
        self.last_epoch += 1
        i = bisect.bisect_right(self._milestones, self.last_epoch)
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            self._schedulers[i].step(0)
        else:
            self._schedulers[i].step()
        self._last_lr = self._schedulers[i].get_last_lr()

    def state_dict(self):
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict):
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})


class ChainedScheduler(SequentialLR):
    """Several schedules together.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.ChainedScheduler([gradus.optim.lr_scheduler.ConstantLR(opt, 0.5, 2), gradus.optim.lr_scheduler.ExponentialLR(opt, 0.5)])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers, optimizer=None):
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        if any(s.optimizer is not self.optimizer for s in schedulers):
            raise ValueError("ChainedScheduler expects all schedulers to belong to the same optimizer")
        self._schedulers = list(schedulers)
        self._last_lr = self._rates()

    def step(self):
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


# At the end, because these modules use the classes above.
from .cyclic import CyclicLR  # noqa: E402, F401
from .plateau import ReduceLROnPlateau  # noqa: E402, F401

#: The name of the base class in older versions of PyTorch.
_LRScheduler = LRScheduler
