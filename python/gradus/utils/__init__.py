"""PyTorch's utilities: data loaders, checkpoints and nested containers."""

from . import _pytree, checkpoint, data, hooks, model_zoo
