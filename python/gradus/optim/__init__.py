"""Optimizers and learning rate schedules, under PyTorch's names and with its arithmetic."""

from . import lr_scheduler, swa_utils
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .lbfgs import LBFGS
from .momentum import ASGD, SGD, Lion, Rprop
from .optimizer import Optimizer
from .scaled import Adadelta, Adafactor, Adagrad, RMSprop

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Lion", "NAdam", "Optimizer", "RAdam", "RMSprop",
    "Rprop", "SGD", "lr_scheduler", "swa_utils",
]
