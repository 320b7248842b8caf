"""Settings and queries of PyTorch's backends. Only the CPU is used here; settings of others are stored and have no effect."""

from . import cuda, cudnn, mkl, mkldnn, mps, openmp
