"""Layers, losses and functions, under PyTorch's names."""

from . import functional, init
from .activation import *  # noqa: F403
from .adaptive import AdaptiveLogSoftmaxWithLoss, LinearCrossEntropyLoss, LinearCrossEntropyOptions
from .attention import MultiheadAttention
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .dropout import *  # noqa: F403
from .lazy import *  # noqa: F403
from .linear import Bilinear, Embedding, EmbeddingBag, Flatten, Identity, Linear, Unflatten
from .loss import *  # noqa: F403
from .module import Module
from .norm import (
    BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm,
    LocalResponseNorm, RMSNorm, SyncBatchNorm,
)
from .parallel import DataParallel
from .parameter import Buffer, Parameter
from .pooling import *  # noqa: F403
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase
from .stateless import functional_call
from .transformer import (
    Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer,
)
from . import modules, utils  # after the layers, which these modules use

__all__ = sorted(name for name in dir() if not name.startswith("_"))
