"""Connectionist temporal classification: the likelihood of a sequence of labels, over all alignments to time steps."""

from ..core import Tensor, arange, as_tensor, cat, full, logaddexp, long, stack, where

#: The logarithm of probability 0: finite, so that gradients are finite.
_NEVER = -1e30


def _labels(targets, lengths):
    """Converts labels to one padded row per sample."""
    if targets.dim() == 2:
        return targets.long()
    rows, start, most = [], 0, max([*lengths, 1])
    for n in lengths:
        row = targets[start:start + n].long()
        rows.append(cat([row, full((most - n,), 0, dtype=long)]))
        start += n
    return stack(rows)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Computes the negative logarithm of the probability of labels, given the log-probabilities `(T, N, C)` of classes
    at each time step.

    >>> import gradus
    >>> log_probs = gradus.full((2, 1, 2), 0.5).log()
    >>> loss = gradus.nn.functional.ctc_loss(log_probs, gradus.tensor([[1]]), [2], [1])
    >>> round(loss.exp().item(), 4)
    1.3333
    """
    alone = log_probs.dim() == 2
    log_probs = log_probs.unsqueeze(1) if alone else log_probs

    def lengths(given):
        given = given.reshape(-1).tolist() if isinstance(given, Tensor) else [given] if isinstance(given, int) else list(given)
        return [int(n) for n in given]

    times, sizes = lengths(input_lengths), lengths(target_lengths)
    steps, n, classes = log_probs.shape
    if len(times) != n or len(sizes) != n or max(times) > steps or not 0 <= blank < classes:
        raise ValueError(f"lengths {times} and {sizes} and blank {blank} do not fit log_probs of {tuple(log_probs.shape)}")
    labels = _labels(targets.unsqueeze(0) if alone and targets.dim() == 1 else targets, sizes)
    width = 2 * labels.shape[1] + 1
    # blank, label, blank, …: the labels are at odd positions.
    place = arange(width)
    rows = labels.repeat_interleave(2, 1)
    rows = stack([rows[:, max(k - 1, 0)] if rows.shape[1] else place[:1].expand(n) for k in range(width)], 1)
    path = where((place % 2 == 1).unsqueeze(0), rows, as_tensor(blank))
    twice = place.unsqueeze(0) >= 2
    before = path[:, (place - 2).clamp(min=0)]
    skips = twice & (path != blank) & (path != before)
    scores = log_probs.gather(2, path.unsqueeze(0).expand(steps, n, width))
    never = full((n, width), _NEVER, dtype=log_probs.dtype)
    alpha = where(place.unsqueeze(0) < 2, scores[0], never)
    ends = as_tensor(times).unsqueeze(1)
    for t in range(1, steps):
        one = where(place.unsqueeze(0) >= 1, alpha[:, (place - 1).clamp(min=0)], never)
        two = where(skips, alpha[:, (place - 2).clamp(min=0)], never)
        new = logaddexp(logaddexp(alpha, one), two) + scores[t]
        alpha = where(ends > t, new, alpha)
    last = (2 * as_tensor(sizes)).unsqueeze(1)
    final = alpha.gather(1, last).squeeze(1)
    label = where(last.squeeze(1) > 0, alpha.gather(1, (last - 1).clamp(min=0)).squeeze(1), _NEVER)
    loss = -logaddexp(final, label)
    impossible = loss > -_NEVER / 2
    loss = where(impossible, 0.0 if zero_infinity else float("inf"), loss)
    if reduction == "mean":
        return (loss / as_tensor(sizes, dtype=loss.dtype).clamp(min=1)).mean()
    if reduction == "sum":
        return loss.sum()
    if reduction != "none":
        raise ValueError(f"reduction {reduction!r} is not one of 'none', 'mean', 'sum'")
    return loss[0] if alone else loss


from .._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
