"""Storages: PyTorch's view of a tensor's memory, for counting bytes and for finding tensors that share memory."""

from ._native import Tensor


class UntypedStorage:
    """The bytes of a tensor and of the views that share its memory.

    >>> import gradus
    >>> x = gradus.ones(4)
    >>> x.untyped_storage().nbytes(), x[1:].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    (16, True)
    """

    is_cuda = is_sparse = False

    def __init__(self, tensor):
        self._tensor = tensor

    def _base(self):
        """Returns the array that owns the memory."""
        array = self._tensor.detach().numpy(force=True)
        while getattr(array.base, "__array_interface__", None) is not None:
            array = array.base
        return array

    @property
    def device(self):
        """The device."""
        return self._tensor.device

    def nbytes(self):
        """Returns the number of bytes."""
        last = sum((n - 1) * s for n, s in zip(self._tensor.shape, self._tensor.stride())) if self._tensor.numel() else -1
        return max(self._base().nbytes, (self._tensor.storage_offset() + last + 1) * self._tensor.element_size())

    size = __len__ = nbytes

    def data_ptr(self):
        """Returns the address of the memory."""
        return self._tensor.data_ptr() - self._tensor.storage_offset() * self._tensor.element_size()

    def element_size(self):
        """Returns 1, because elements are bytes."""
        return 1

    def tolist(self):
        """Returns the bytes as a list."""
        return list(self._base().tobytes())

    def cpu(self):
        """Returns the same elements in host memory."""
        return self.to("cpu")

    def wgpu(self, device=None):
        """Returns the same elements on a WebGPU device."""
        return type(self)(self._tensor.wgpu(device))

    def to(self, device):
        """Returns the same elements on a device."""
        return type(self)(self._tensor.to(device))

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())


class TypedStorage(UntypedStorage):
    """The elements of a tensor and of the views that share its memory.

    >>> import gradus
    >>> gradus.ones(2, 2).storage().size()
    4
    """

    dtype = property(lambda self: self._tensor.dtype, doc="The dtype of its elements.")

    def size(self):
        """Returns the number of elements."""
        return self.nbytes() // self._tensor.element_size()

    __len__ = size

    def element_size(self):
        """Returns the number of bytes of an element."""
        return self._tensor.element_size()

    def untyped(self):
        """Returns the same memory as bytes."""
        return UntypedStorage(self._tensor)

    def tolist(self):
        """Returns the elements as a list."""
        return self._base().reshape(-1).tolist()


Storage = FloatStorage = TypedStorage


def untyped_storage(self):
    """Returns the memory of the tensor, as bytes.

    >>> import gradus
    >>> gradus.ones(3).untyped_storage().nbytes()
    12
    """
    return UntypedStorage(self)


def storage(self):
    """Returns the memory of the tensor, as elements.

    >>> import gradus
    >>> len(gradus.ones(3).storage())
    3
    """
    return TypedStorage(self)


Tensor.untyped_storage, Tensor.storage = untyped_storage, storage
