"""Data sets, samplers and loaders."""

import collections
import threading

import numpy as np
import pytest

import gradus
from gradus.data import (
    BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, StackDataset, Subset,
    SubsetRandomSampler, TensorDataset, WeightedRandomSampler, default_collate, random_split,
)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return i, float(i * i)


def test_datasets():
    pairs = TensorDataset(gradus.arange(4), gradus.arange(8).reshape(4, 2))
    assert len(pairs) == 4 and pairs[2][0].item() == 2 and pairs[2][1].tolist() == [4, 5]
    with pytest.raises(AssertionError, match="mismatch"):
        TensorDataset(gradus.zeros(3), gradus.zeros(4))
    both = Squares(3) + Squares(2)
    assert isinstance(both, ConcatDataset) and len(both) == 5 and [x for x, _ in both] == [0, 1, 2, 0, 1] and both[-1] == (1, 1.0)
    with pytest.raises(IndexError):
        both[5]
    part = Subset(Squares(9), [7, 3])
    assert [part[i][0] for i in range(2)] == [7, 3]
    assert StackDataset(a=Squares(2), b=Squares(2))[1] == {"a": (1, 1.0), "b": (1, 1.0)}


def test_random_split():
    g = gradus.Generator()
    g.manual_seed(5)
    parts = random_split(Squares(10), [7, 3], generator=g)
    assert [len(p) for p in parts] == [7, 3] and sorted(x for p in parts for x, _ in p) == list(range(10))
    assert [len(p) for p in random_split(Squares(10), [0.5, 0.3, 0.2])] == [5, 3, 2]
    assert [len(p) for p in random_split(Squares(11), [0.5, 0.5])] == [6, 5]
    with pytest.raises(ValueError, match="length"):
        random_split(Squares(10), [7, 2])
    g.manual_seed(5)
    assert random_split(Squares(10), [7, 3], generator=g)[0].indices == parts[0].indices


def test_samplers():
    gradus.manual_seed(0)
    assert sorted(RandomSampler(Squares(20))) == list(range(20))
    assert list(RandomSampler(Squares(20))) != list(RandomSampler(Squares(20)))
    drawn = list(RandomSampler(Squares(5), replacement=True, num_samples=50))
    assert len(drawn) == 50 and set(drawn) <= set(range(5))
    assert len(list(RandomSampler(Squares(5), num_samples=12))) == 12
    assert sorted(SubsetRandomSampler([2, 4, 8])) == [2, 4, 8]
    counts = collections.Counter(WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    assert counts[0] == 0 and abs(counts[2] / counts[1] - 3) < 0.4
    assert list(BatchSampler(range(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="batch_size"):
        BatchSampler(range(5), 0, False)


@pytest.mark.parametrize("workers", [0, 3])
def test_loader(workers):
    batches = [(x.tolist(), y.tolist()) for x, y in DataLoader(Squares(7), batch_size=3, num_workers=workers)]
    assert batches == [([0, 1, 2], [0.0, 1.0, 4.0]), ([3, 4, 5], [9.0, 16.0, 25.0]), ([6], [36.0])]
    loader = DataLoader(Squares(7), batch_size=3, drop_last=True, num_workers=workers)
    assert len(loader) == 2 == len(list(loader))
    shuffled = DataLoader(Squares(50), batch_size=8, shuffle=True, seed=3, num_workers=workers)
    first, second = ([i for x, _ in shuffled for i in x.tolist()] for _ in range(2))
    assert sorted(first) == list(range(50)) and first != second != list(range(50))
    again = DataLoader(Squares(50), batch_size=8, shuffle=True, seed=3, num_workers=workers)
    assert [i for x, _ in again for i in x.tolist()] == first
    assert [b for b in DataLoader(Squares(2), batch_size=None, num_workers=workers)] == [(0, 0.0), (1, 1.0)]
    custom = DataLoader(Squares(4), batch_sampler=[[3], [0, 2]], collate_fn=lambda b: [i for i, _ in b], num_workers=workers)
    assert list(custom) == [[3], [0, 2]]


def test_loader_reads_ahead_and_stops():
    seen = []

    class Slow(Squares):
        def __getitem__(self, i):
            seen.append((i, threading.current_thread() is threading.main_thread()))
            return i

    stream = iter(DataLoader(Slow(100), batch_size=1, num_workers=2, prefetch_factor=2))
    assert next(stream).tolist() == [0]
    assert len(seen) < 20 and not any(main for _, main in seen)
    stream.close()
    count = len(seen)
    assert count < 20


def test_errors_in_items_come_out():
    class Broken(Squares):
        def __getitem__(self, i):
            raise RuntimeError(f"item {i}")

    for workers in (0, 2):
        with pytest.raises(RuntimeError, match="item 0"):
            list(DataLoader(Broken(3), num_workers=workers))


def test_loader_of_iterables_and_wrong_options():
    class Count(IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [b.tolist() for b in DataLoader(Count(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    for options in ({"shuffle": True, "sampler": [0]}, {"batch_size": 0}, {"num_workers": -1}, {"batch_sampler": [[0]], "batch_size": 2}):
        with pytest.raises(ValueError):
            DataLoader(Squares(3), **options)
    with pytest.raises(ValueError, match="own order"):
        DataLoader(Count(), shuffle=True)


def test_collate():
    Point = collections.namedtuple("Point", "x y")
    out = default_collate([Point(gradus.ones(2), "a"), Point(gradus.zeros(2), "b")])
    assert isinstance(out, Point) and out.x.tolist() == [[1.0, 1.0], [0.0, 0.0]] and out.y == ("a", "b")
    out = default_collate([{"n": 1, "f": 0.5, "a": np.ones(2, np.float32)}] * 2)
    assert out["n"].dtype == gradus.int64 and out["f"].dtype == gradus.float64 and tuple(out["a"].shape) == (2, 2)
    assert out["a"].dtype == gradus.float32
    with pytest.raises(TypeError, match="object"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1, 2], [1]])


def test_pytorch_import_path():
    from gradus.utils.data import DataLoader as Same

    assert Same is DataLoader
