"""Names for types that programs annotate with.

>>> import gradus
>>> gradus.types.Device is not None
True
"""

from typing import List, Optional, Sequence, Tuple, Union

from ._device import device
from ._native import Tensor, dtype as _dtype  # noqa: F401
from ._results import Size

_bool, _int, _float, _complex = bool, int, float, complex
Number = Union[int, float, bool]
Device = Optional[Union[device, str, int]]
FileLike = object
_size = Union[Size, List[int], Tuple[int, ...]]
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
