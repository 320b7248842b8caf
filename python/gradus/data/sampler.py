"""Samplers: the order in which items are read."""

import itertools
import types

from ..core import Generator, as_tensor, float64, multinomial, randint, randperm


#: Number of indices drawn at once with replacement, because a pass may exceed memory.
_DRAWN = 1024


class Sampler:
    """Yields indices of items in the order to read them; subclasses define `__iter__`. `Sampler[int]` is the same class.

    >>> from gradus.data import DataLoader, Sampler
    >>> class Backwards(Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> [x.item() for x in DataLoader([5, 6, 7], sampler=Backwards())]
    [7, 6, 5]
    """

    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError("subclasses of Sampler should implement __iter__")


class SequentialSampler(Sampler):
    """All items in order.

    >>> import gradus
    >>> list(gradus.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """Items in random order, or drawn with replacement.

    >>> import gradus
    >>> sorted(gradus.data.RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if num_samples is not None and num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")

    @property
    def num_samples(self):
        """Number of items of one pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, left = len(self.data_source), self.num_samples
        if self.replacement:
            while left > 0:
                count = min(left, _DRAWN)
                yield from randint(0, n, (count,), generator=self.generator, device="cpu").tolist()
                left -= count
            return
        while left > 0:
            order = randperm(n, generator=self.generator, device="cpu").tolist()[:left]
            left -= len(order)
            yield from order
            if n == 0:
                return

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Given items in random order.

    >>> import gradus
    >>> sorted(gradus.data.SubsetRandomSampler([4, 2]))
    [2, 4]
    """

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in randperm(len(self.indices), generator=self.generator, device="cpu").tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Items drawn in proportion to weights.

    >>> import gradus
    >>> list(gradus.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        self.weights = as_tensor(weights, dtype=float64, device="cpu")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        draws = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from draws.tolist()

    def __len__(self):
        return self.num_samples


class DistributedSampler(Sampler):
    """The items of one of several processes: every `num_replicas`-th of all, from the `rank`-th on.

    >>> import gradus
    >>> list(gradus.data.DistributedSampler("abcde", num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        self.num_replicas, self.rank = 1 if num_replicas is None else num_replicas, rank or 0
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0
        n = len(dataset)
        self.num_samples = n // self.num_replicas if drop_last else -(-n // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def set_epoch(self, epoch):
        """Sets the pass, which determines the order."""
        self.epoch = epoch

    def __iter__(self):
        n = len(self.dataset)
        numbers = randperm(n, generator=Generator().manual_seed(self.seed + self.epoch), device="cpu").tolist() if self.shuffle else range(n)
        # The items repeat from the first on until each process has the same number.
        return (numbers[i % n] for i in range(self.rank, self.total_size, self.num_replicas))

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Batches of another sampler's indices.

    >>> import gradus
    >>> list(gradus.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
