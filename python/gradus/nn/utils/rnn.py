"""Sequences of different lengths in one tensor: padded, or packed step by step."""

from collections import namedtuple as _namedtuple

from ... import core as _core


class PackedSequence(_namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])):
    """Packed sequences: for each time step the elements of the sequences that have not ended, the longest first.

    `RNN`, `GRU` and `LSTM` accept and return one.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import pack_sequence
    >>> packed = pack_sequence([gradus.tensor([1, 2, 3]), gradus.tensor([4, 5])])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 4, 2, 5, 3], [2, 2, 1])
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None and sorted_indices is not None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """Moves or converts its elements."""
        return self._replace(data=self.data.to(*args, **kwargs))


def invert_permutation(permutation):
    """Returns the inverse of a permutation.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import invert_permutation
    >>> invert_permutation(gradus.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else _core.argsort(permutation)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences of different lengths as one tensor, the shorter ones padded.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import pad_sequence
    >>> pad_sequence([gradus.tensor([1, 2, 3]), gradus.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(len(s) for s in sequences)
    padded = []
    for s in sequences:
        rest = _core.full((longest - len(s), *s.shape[1:]), padding_value, dtype=s.dtype)
        padded.append(_core.cat([s, rest] if padding_side == "right" else [rest, s]))
    return _core.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Returns the inverse of `pad_sequence`.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import unpad_sequence
    >>> unpad_sequence(gradus.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows, lengths)]


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs padded sequences.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(gradus.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True).data
    tensor([1, 3, 2])
    """
    lengths = [int(n) for n in (lengths.tolist() if isinstance(lengths, _core.Tensor) else lengths)]
    rows = input.transpose(0, 1) if batch_first else input
    if len(lengths) != rows.shape[1] or not lengths or min(lengths) <= 0 or max(lengths) > rows.shape[0]:
        raise RuntimeError(f"lengths {lengths} do not fit a batch of {rows.shape[1]} sequences of at most {rows.shape[0]} elements")
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    if enforce_sorted:
        if any(a < b for a, b in zip(lengths, lengths[1:])):
            raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True")
        indices = None
    else:
        indices = _core.as_tensor(order, dtype=_core.long)
        rows = rows.index_select(1, indices)
        lengths = [lengths[i] for i in order]
    sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
    data = _core.cat([rows[t, :n] for t, n in enumerate(sizes)])
    return PackedSequence(data, _core.as_tensor(sizes, dtype=_core.long), indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Pads packed sequences; returns them and their lengths.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> packed = pack_sequence([gradus.tensor([1.0, 2.0]), gradus.tensor([3.0])])
    >>> padded, lengths = pad_packed_sequence(packed, batch_first=True)
    >>> padded.tolist(), lengths.tolist()
    ([[1.0, 2.0], [3.0, 0.0]], [2, 1])
    """
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes) if total_length is None else total_length
    if steps < len(sizes):
        raise ValueError(f"total_length {total_length} is less than the length of the longest sequence, {len(sizes)}")
    rest, rows, start = tuple(sequence.data.shape[1:]), [], 0
    for t in range(steps):
        n = sizes[t] if t < len(sizes) else 0
        gap = _core.full((sizes[0] - n, *rest), padding_value, dtype=sequence.data.dtype)
        rows.append(_core.cat([sequence.data[start:start + n], gap]))
        start += n
    padded = _core.stack(rows)
    lengths = [sum(n > i for n in sizes) for i in range(sizes[0])]
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = [lengths[i] for i in sequence.unsorted_indices.tolist()]
    return padded.transpose(0, 1) if batch_first else padded, _core.as_tensor(lengths, dtype=_core.long)


def pack_sequence(sequences, enforce_sorted=True):
    """Packs sequences of different lengths.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import pack_sequence
    >>> pack_sequence([gradus.tensor([1, 2]), gradus.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """Returns the inverse of `pack_sequence`.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([gradus.tensor([1, 2]), gradus.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def _reversed_within(padded, lengths):
    """Reverses each of padded sequences `(T, N, …)`; the padding stays in place.

    >>> import gradus
    >>> from gradus.nn.utils.rnn import _reversed_within
    >>> _reversed_within(gradus.tensor([[1, 4], [2, 0], [3, 0]]), gradus.tensor([3, 1])).tolist()
    [[3, 4], [2, 0], [1, 0]]
    """
    steps = _core.arange(padded.shape[0]).unsqueeze(1)
    back = _core.where(steps < lengths, lengths - 1 - steps, steps)
    index = back.reshape(*back.shape, *[1] * (padded.dim() - 2)).expand(padded.shape)
    return padded.gather(0, index)

from ..._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
