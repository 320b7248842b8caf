"""Loss modules, one table row each; `reduction` is `"mean"`, `"sum"` or `"none"`."""

from .legacy_loss import reduction_of
from .module import Module
from .tables import make_module_class, with_values


class _Loss(Module):
    """The base class of losses."""

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.reduction = reduction_of(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


_R = "reduction='mean'"

# name, function, arguments, number of tensors, description
_TABLE = [
    ("MSELoss", "mse_loss", _R, 2, "`(x - y)²`."),
    ("L1Loss", "l1_loss", _R, 2, "`|x - y|`."),
    ("SmoothL1Loss", "smooth_l1_loss", f"{_R}, beta=1.0", 2, "Quadratic where `|x - y| < beta`, linear beyond."),
    ("HuberLoss", "huber_loss", f"{_R}, delta=1.0", 2, "Quadratic where `|x - y| < delta`, linear beyond, with slope `delta`."),
    ("CrossEntropyLoss", "cross_entropy", f"weight=None, ignore_index=-100, {_R}, label_smoothing=0.0", 2,
     "Cross entropy of logits `(N, C, …)` with classes `(N, …)` or probabilities `(N, C, …)`."),
    ("NLLLoss", "nll_loss", f"weight=None, ignore_index=-100, {_R}", 2, "Negative log-likelihood of classes `(N, …)` under log-probabilities `(N, C, …)`."),
    ("BCELoss", "binary_cross_entropy", f"weight=None, {_R}", 2, "Binary cross entropy of probabilities with targets."),
    ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", f"weight=None, {_R}, pos_weight=None", 2,
     "Binary cross entropy of logits with targets."),
    ("KLDivLoss", "kl_div", f"{_R}, log_target=False", 2, "`y * (log(y) - x)`, where `x` are log-probabilities."),
    ("PoissonNLLLoss", "poisson_nll_loss", f"log_input=True, full=False, eps=1e-8, {_R}", 2, "Negative log-likelihood of counts under Poisson rates."),
    ("GaussianNLLLoss", "gaussian_nll_loss", f"full=False, eps=1e-6, {_R}", 3, "Negative log-likelihood of values under Gaussian means and variances."),
    ("HingeEmbeddingLoss", "hinge_embedding_loss", f"margin=1.0, {_R}", 2, "`x` where the label is 1, else `max(0, margin - x)`."),
    ("SoftMarginLoss", "soft_margin_loss", _R, 2, "`log(1 + exp(-y * x))`."),
    ("MarginRankingLoss", "margin_ranking_loss", f"margin=0.0, {_R}", 3, "`max(0, -y * (x1 - x2) + margin)`."),
    ("CosineEmbeddingLoss", "cosine_embedding_loss", f"margin=0.0, {_R}", 3,
     "`1 - cos(x1, x2)` where the label is 1, else `max(0, cos(x1, x2) - margin)`."),
    ("TripletMarginLoss", "triplet_margin_loss", f"margin=1.0, p=2.0, eps=1e-6, swap=False, {_R}", 3,
     "`max(0, d(anchor, positive) - d(anchor, negative) + margin)`."),
    ("TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss",
     f"*, distance_function=None, margin=1.0, swap=False, {_R}", 3, "`TripletMarginLoss` with any distance."),
    ("MultiMarginLoss", "multi_margin_loss", f"p=1, margin=1.0, weight=None, {_R}", 2,
     "The sum of `max(0, margin - x[y] + x[i])^p` over other classes `i`, divided by the number of classes."),
    ("MultiLabelMarginLoss", "multilabel_margin_loss", _R, 2, "The sum of `max(0, 1 - x[y] + x[i])` over labels `y` and other classes `i`."),
    ("CTCLoss", "ctc_loss", f"blank=0, {_R}, zero_infinity=False", 4, "Connectionist temporal classification of log-probabilities `(T, N, C)` with labels, and both their lengths."),
    ("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", f"weight=None, {_R}", 2, "Binary cross entropy per class, averaged over classes."),
]

_T = "gradus.tensor"
_PAIR = f"{_T}([0.5, -1.0]), {_T}([1.0, 1.0])"
# arguments of examples where the pair above does not fit
_INPUTS = {
    "CrossEntropyLoss": f"{_T}([[2.0, 0.5, 1.0]]), {_T}([0])", "NLLLoss": f"{_T}([[-0.5, -1.5, -2.0]]), {_T}([1])",
    "BCELoss": f"{_T}([0.5, 0.25]), {_T}([1.0, 0.0])", "KLDivLoss": f"{_T}([-0.5, -1.0]), {_T}([0.6, 0.4])",
    "GaussianNLLLoss": f"{_PAIR}, {_T}([1.0, 4.0])", "MarginRankingLoss": f"{_PAIR}, {_T}([1.0, -1.0])",
    "CosineEmbeddingLoss": f"{_T}([[1.0, 0.0]]), {_T}([[1.0, 1.0]]), {_T}([1.0])",
    "TripletMarginLoss": f"{_T}([[0.0]]), {_T}([[1.0]]), {_T}([[1.5]])", "TripletMarginWithDistanceLoss": f"{_T}([[0.0]]), {_T}([[1.0]]), {_T}([[1.5]])",
    "CTCLoss": f"gradus.full((2, 1, 2), 0.5).log(), {_T}([[1]]), [2], [1]",
    "MultiMarginLoss": f"{_T}([[2.0, 0.5, 1.5]]), {_T}([0])", "MultiLabelMarginLoss": f"{_T}([[0.1, 0.2, 0.4, 0.8]]), {_T}([[3, 0, -1, 1]])",
}
# PyTorch's results of the examples
_VALUES = {
    "MSELoss": "[2.125]", "L1Loss": "[1.25]", "SmoothL1Loss": "[0.8125]", "HuberLoss": "[0.8125]", "CrossEntropyLoss":
    "[0.4644]", "NLLLoss": "[1.5]", "BCELoss": "[0.4904]", "BCEWithLogitsLoss": "[0.8937]", "KLDivLoss": "[0.0135]",
    "PoissonNLLLoss": "[1.2583]", "GaussianNLLLoss": "[0.6591]", "HingeEmbeddingLoss": "[-0.25]", "SoftMarginLoss":
    "[0.8937]", "MarginRankingLoss": "[0.25]", "CosineEmbeddingLoss": "[0.2929]", "TripletMarginLoss": "[0.5]",
    "TripletMarginWithDistanceLoss": "[0.5]", "MultiMarginLoss": "[0.1667]", "MultiLabelMarginLoss": "[0.85]",
    "MultiLabelSoftMarginLoss": "[0.8937]", "CTCLoss": "[0.2877]",
}

for _name, _function, _arguments, _tensors, _doc in _TABLE:
    _doc = with_values(_doc, _name, "", _INPUTS.get(_name, _PAIR), _VALUES[_name])
    _base = _WeightedLoss if "weight=" in _arguments and "pos_weight=" not in _arguments else _Loss
    globals()[_name] = make_module_class(
        _name, _function, _arguments, _doc, tensors=_tensors, show=[], buffers=("weight", "pos_weight"), module=__name__, base=_base)

__all__ = [row[0] for row in _TABLE]
