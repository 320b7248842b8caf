"""Data sets: objects with a length and items; functions that join and split them."""

import bisect
import itertools
import math
import types

from ..core import randperm


class Dataset:
    """Items by number: subclasses define `__getitem__` and, for most uses, `__len__`.

    >>> from gradus.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> Squares()[3]
    9
    """

    __class_getitem__ = classmethod(types.GenericAlias)

    def __getitem__(self, index):
        raise NotImplementedError("subclasses of Dataset should implement __getitem__")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """A stream of items: subclasses define `__iter__`.

    >>> from gradus.data import DataLoader, IterableDataset
    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> [batch.tolist() for batch in DataLoader(Count(), batch_size=2)]
    [[0, 1], [2]]
    """

    def __iter__(self):
        raise NotImplementedError("subclasses of IterableDataset should implement __iter__")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors with equal first extents.

    >>> import gradus
    >>> pairs = gradus.data.TensorDataset(gradus.arange(6.0).reshape(3, 2), gradus.tensor([7, 8, 9]))
    >>> len(pairs), pairs[1][1].item()
    (3, 8)
    """

    def __init__(self, *tensors):
        sizes = {len(tensor) for tensor in tensors}
        if len(sizes) > 1:
            raise AssertionError(f"Size mismatch between tensors: first axes are {[len(t) for t in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class StackDataset(Dataset):
    """Combines data sets item by item, as tuples or, if passed by name, as dictionaries.

    >>> import gradus
    >>> gradus.data.StackDataset(x=range(3), y=range(5, 8))[1]
    {'x': 1, 'y': 6}
    """

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError("pass data sets either in order or by name")
        self.datasets = args or kwargs
        sizes = [len(dataset) for dataset in args or kwargs.values()]
        if len(set(sizes)) > 1:
            raise ValueError(f"Size mismatch between datasets: {sizes}")
        self._length = sizes[0]

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """Concatenates data sets.

    >>> import gradus
    >>> list(gradus.data.ConcatDataset([range(2), range(5, 7)]))
    [0, 1, 5, 6]
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} items")
        index %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Concatenates iterable data sets.

    >>> import gradus
    >>> list(gradus.data.ChainDataset([range(2), range(5, 7)]))
    [0, 1, 5, 6]
    """

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self):
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset):
    """A subset of a data set.

    >>> import gradus
    >>> list(gradus.data.Subset(range(10, 20), [7, 3]))
    [17, 13]
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Splits a data set at random into parts of given lengths, or of given fractions that sum to one.

    >>> import gradus
    >>> [len(part) for part in gradus.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    lengths = list(lengths)
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        shares = lengths
        if any(not 0 <= share <= 1 for share in shares):
            raise ValueError(f"fractions must be between 0 and 1, but are {shares}")
        lengths = [math.floor(total * share) for share in shares]
        for i in range(total - sum(lengths)):  # the remainder of rounding, one each
            lengths[i % len(lengths)] += 1
    if sum(lengths) != total:
        raise ValueError(f"Sum of input lengths does not equal the length of the input dataset: {lengths}, {total}")
    order = randperm(total, generator=generator, device="cpu").tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length:end]) for end, length in zip(ends, lengths)]
