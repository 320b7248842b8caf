"""Averages of a model's parameters over the steps of its training."""

import copy

from .. import _native
from ..core import no_grad, tensor
from ..nn import Module
from ..nn.norm import _BatchNorm
from .lr_scheduler import LRScheduler


def get_swa_avg_fn():
    """Returns a function that computes the plain average of all models so far.

    >>> import gradus
    >>> gradus.optim.swa_utils.get_swa_avg_fn()(1.0, 4.0, 2)
    2.0
    """
    return lambda averaged, current, count: averaged + (current - averaged) / (count + 1)


def get_ema_avg_fn(decay=0.999):
    """Returns a function that computes the exponential moving average of models.

    >>> import gradus
    >>> gradus.optim.swa_utils.get_ema_avg_fn(0.5)(1.0, 4.0, 2)
    2.5
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return lambda averaged, current, count: decay * averaged + (1 - decay) * current


def _of_lists(average):
    def update(averaged, currents, count):
        for a, c in zip(averaged, currents):
            a.copy_(average(a, c, count))

    return update


def get_swa_multi_avg_fn():
    """`get_swa_avg_fn` of lists of tensors, in place.

    >>> import gradus
    >>> x = gradus.ones(1)
    >>> gradus.optim.swa_utils.get_swa_multi_avg_fn()([x], [gradus.full((1,), 4.0)], 2)
    >>> x
    tensor([2.])
    """
    return _of_lists(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay=0.999):
    """`get_ema_avg_fn` of lists of tensors, in place.

    >>> import gradus
    >>> x = gradus.ones(1)
    >>> gradus.optim.swa_utils.get_ema_multi_avg_fn(0.5)([x], [gradus.full((1,), 4.0)], 2)
    >>> x
    tensor([2.5000])
    """
    return _of_lists(get_ema_avg_fn(decay))


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's at each `update_parameters`.

    >>> import gradus
    >>> model = gradus.nn.Linear(1, 1)
    >>> average = gradus.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = gradus.nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item(), average.n_averaged.item()
    (2.0, 2)
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Adds the current model to the average."""
        def averaged(of):
            return [*of.parameters(), *(of.buffers() if self.use_buffers else ())]

        count = int(self.n_averaged)
        ours, theirs = averaged(self.module), [x.detach() for x in averaged(model)]
        with no_grad():
            if count == 0:
                for a, b in zip(ours, theirs):
                    a.copy_(b)
            else:
                update = self.multi_avg_fn or _of_lists(self.avg_fn or get_swa_avg_fn())
                update([a.detach() for a in ours], theirs, count)
            if not self.use_buffers:
                for a, b in zip(self.module.buffers(), model.buffers()):
                    a.copy_(b)
            self.n_averaged.add_(1)


def update_bn(loader, model, device=None):
    """Recomputes the statistics of batch norms, by one pass over data.

    >>> import gradus
    >>> norm = gradus.nn.BatchNorm1d(1)
    >>> gradus.optim.swa_utils.update_bn([gradus.tensor([[0.0], [4.0]])], norm)
    >>> norm.running_mean
    tensor([2.])
    """
    norms = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not norms:
        return
    was = model.training
    model.train()
    for module in norms:
        module.reset_running_stats()
        module.momentum = None
    with no_grad():
        for batch in loader:
            model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for module, momentum in norms.items():
        module.momentum = momentum
    model.train(was)


class SWALR(LRScheduler):
    """Anneals to a constant rate `swa_lr` in `anneal_epochs` steps.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.swa_utils.SWALR(opt, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        n = len(optimizer.param_groups)
        for group, rate in zip(optimizer.param_groups, swa_lr if isinstance(swa_lr, (list, tuple)) else [swa_lr] * n):
            group["swa_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def _share(self, step):
        steps = max(1, self.anneal_epochs)
        return _native._Schedule.phases([(steps, 0.0, 1.0)], self._strategy == "cos").factor(min(step, steps))

    def get_lr(self):
        step = self.last_epoch if self.anneal_epochs else max(1, self.last_epoch)
        before, now = self._share(max(0, step - 1)), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            start = group["lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
