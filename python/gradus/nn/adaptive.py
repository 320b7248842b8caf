"""Losses over many classes: a softmax in clusters, and a linear layer with cross entropy in one function."""

import collections
import dataclasses
import math

from ..core import cat
from . import functional as F
from .containers import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = collections.namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax over classes sorted by frequency: frequent ones directly, rare ones in clusters with fewer features.

    `cutoffs` are the classes at which clusters begin. Calling it returns the log-probability of each target and the mean loss.

    >>> import gradus
    >>> layer = gradus.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10])
    >>> output, loss = layer(gradus.ones(3, 8), gradus.tensor([0, 7, 19]))
    >>> tuple(output.shape), tuple(layer.log_prob(gradus.ones(3, 8)).shape)
    ((3,), (3, 20))
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                             "where each value is between 1 and n_classes-1")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, cutoffs + [n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, width, bias=False, **kind), Linear(width, high - low, bias=False, **kind)))

    def reset_parameters(self):
        """Draws new initial values, as PyTorch does."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_, target_):
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target_.dim() == 1 and input_.dim() == 2 and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, "
                               f"but found inputs with size {tuple(input_.shape)}")
        batched = target_.dim() == 1
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{int(target.min())}, {int(target.max())}] were found. ")
        # The results of all clusters, one cluster after the other; `order` restores the order of the rows.
        head = F.log_softmax(self.head(input), dim=1)
        parts, places = [], []
        for i, (low, high) in enumerate(zip([0, *self.cutoffs], self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().reshape(-1)
            if rows.numel() == 0:
                continue
            chosen = target[rows]
            if i == 0:
                found = head[rows].gather(1, chosen.unsqueeze(1)).squeeze(1)
            else:
                inside = F.log_softmax(self.tail[i - 1](input[rows]), dim=1).gather(1, (chosen - low).unsqueeze(1)).squeeze(1)
                found = inside + head[rows, self.shortlist_size + i - 1]
            parts.append(found)
            places.append(rows)
        output = cat(parts)[cat(places).argsort()]
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input):
        """Log-probabilities of all classes, `(N, n_classes)`."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def predict(self, input):
        """Returns the most probable class of each row."""
        return self.log_prob(input).argmax(dim=1)


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """Options with which PyTorch splits `linear_cross_entropy` to save memory. They are checked and have no effect here.

    >>> import gradus
    >>> gradus.nn.LinearCrossEntropyOptions().chunking_method
    'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: "int | None" = None
    chunking_method: "str | None" = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None

    def __post_init__(self):
        if self.acc_policy not in ("accurate", "compact", "auto"):
            raise ValueError(f"acc_policy {self.acc_policy!r} is not one of 'accurate', 'compact', 'auto'")
        if self.batch_chunk_size is not None and self.batch_chunk_size < 1:
            raise ValueError(f"batch_chunk_size must be positive, got {self.batch_chunk_size}")


class LinearCrossEntropyLoss(Module):
    """A linear layer, by default without bias, followed by cross entropy with targets.

    >>> import gradus
    >>> loss = gradus.nn.LinearCrossEntropyLoss(4, 3)
    >>> tuple(loss(gradus.ones(2, 4), gradus.tensor([0, 2])).shape)
    ()
    """

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None, reduction="mean", weight=None,
                 ignore_index=None, label_smoothing=0.0, options=None):
        super().__init__()
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.linear = Linear(in_features, math.prod(self.out_features, start=num_classes), bias=bias, device=device, dtype=dtype)
        self.register_buffer("weight", weight)
        self.reduction, self.ignore_index, self.label_smoothing, self.options = reduction, ignore_index, label_smoothing, options

    def forward(self, input, target):
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*shape, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(*shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self):
        return (f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
                f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
                f"label_smoothing={self.label_smoothing}, options={self.options}")
