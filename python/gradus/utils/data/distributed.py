"""Exports the sampler for one of several processes, because PyTorch programs import it from this module."""

from ...data import DistributedSampler  # noqa: F401
