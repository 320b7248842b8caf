"""`DataLoader`: items of a data set in batches, read ahead by threads on request."""

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
import itertools

from ..core import Generator, Tensor, as_tensor, float64, stack, tensor
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler


def default_collate(batch):
    """Collates items to one batch: tensors and arrays are stacked, numbers become a tensor, containers keep their structure.

    >>> import gradus
    >>> n, named = gradus.data.default_collate([(1, {"x": 0.5}), (2, {"x": 1.5})])
    >>> n.tolist(), named["x"].tolist()
    ([1, 2], [0.5, 1.5])
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if hasattr(first, "__array_interface__"):
        return stack([as_tensor(item) for item in batch], 0)
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(column) for column in zip(*batch)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}")


def default_convert(data):
    """Converts arrays to tensors, also in containers; returns anything else unchanged.

    >>> import gradus
    >>> import numpy
    >>> gradus.data.default_convert({"x": numpy.arange(2), "name": "a"})
    {'x': tensor([0, 1]), 'name': 'a'}
    """
    if isinstance(data, Tensor) or isinstance(data, (str, bytes)):
        return data
    if hasattr(data, "__array_interface__") and data.dtype.kind in "biufc":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, Sequence):
        parts = [default_convert(value) for value in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    return data


def get_worker_info():
    """Returns `None`: all threads read one data set together, so a worker has no part of its own.

    >>> import gradus
    >>> print(gradus.data.get_worker_info())
    None
    """
    return None


class DataLoader:
    """Batches of a data set.

    `num_workers` threads read ahead, `prefetch_factor` batches each; batches come in the same order as without them.
    `seed` creates a generator for this loader.

    >>> import gradus
    >>> pairs = gradus.data.TensorDataset(gradus.arange(5), gradus.arange(5) * 10)
    >>> for x, y in gradus.data.DataLoader(pairs, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 10]
    [2, 3] [20, 30]
    [4] [40]
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False, seed=None):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
        if batch_size is None and drop_last:
            raise ValueError("batch_size=None is mutually exclusive with drop_last")
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("an IterableDataset has its own order, and does not support shuffle, sampler or batch_sampler")
        if seed is not None:
            generator = Generator()
            generator.manual_seed(seed)
        if sampler is None and not self._iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None and not self._iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        elif batch_size is not None:
            BatchSampler((), batch_size, drop_last)  # checks the size
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers, self.prefetch_factor = num_workers, prefetch_factor or 2
        batches = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate if batches else lambda item: item)

    def _read(self, numbers):
        """Loads one batch, or one item if batching is disabled."""
        if self.batch_sampler is None:
            return self.collate_fn(self.dataset[numbers])
        return self.collate_fn([self.dataset[i] for i in numbers])

    def _stream(self):
        items = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, items)
            return
        while batch := list(itertools.islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __iter__(self):
        if self._iterable:
            return self._stream()
        order = iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        return self._ahead(order) if self.num_workers else map(self._read, order)

    def _ahead(self, order):
        """Threads read the next batches while the last one is used."""
        with ThreadPoolExecutor(self.num_workers) as pool:
            waiting = deque()
            try:
                for numbers in order:
                    waiting.append(pool.submit(self._read, numbers))
                    if len(waiting) > self.num_workers * self.prefetch_factor:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def __len__(self):
        if self._iterable:
            n = len(self.dataset)
            return n if self.batch_size is None else n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
