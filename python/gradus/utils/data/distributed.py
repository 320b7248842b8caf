"""Where PyTorch programs look for the sampler of one of several processes."""

from ...data import DistributedSampler  # noqa: F401
