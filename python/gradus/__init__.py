"""Gradus: tensors with derivatives, under PyTorch's names.

>>> import gradus
>>> x = gradus.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad.tolist()
[2.0, 4.0]
"""

from .core import *  # noqa: F403
from . import cuda, data, fft, linalg, nn, optim, utils
from .nn import functional
from .serialization import load, save
