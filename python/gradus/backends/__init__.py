"""What PyTorch programs ask and tell back ends. There is one here, the CPU; what is said to others is kept and changes nothing."""

from . import cuda, cudnn, mkl, mkldnn, mps, openmp
