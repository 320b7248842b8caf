"""Where PyTorch programs look for data loaders, checkpoints and nests of containers."""

from . import _pytree, checkpoint, data, hooks, model_zoo
