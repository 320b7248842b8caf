"""`gradus.data` under the name that PyTorch programs import."""

from ...data import *  # noqa: F403
from ...data import __all__  # noqa: F401
from . import dataloader, dataset, distributed, sampler  # noqa: F401
