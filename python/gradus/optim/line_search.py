"""How far to go along a direction: far enough, and not too far, by the strong Wolfe conditions.

Steps grow until two points enclose a minimum, then the enclosure shrinks around the least cubic through its ends (Nocedal
and Wright, Numerical Optimization, algorithms 3.5 and 3.6).
"""

import math
from collections import namedtuple

Point = namedtuple("Point", ["at", "value", "slope", "gradient"])

_DECREASE = 1e-4  # decrease that is asked for, as a part of what the slope promises
_CURVATURE = 0.9  # slope that may be left, as a part of the first


def search(first, guess, size, tolerance, evaluate, limit):
    """A point that meets the conditions, or the best found, and how many evaluations it took.

    `size` is the largest element of the direction; distances that change no parameter by `tolerance` are alike. After `limit`
    evaluations the first is not one of, the best found is taken.
    """

    def high(p):
        return p.value > first.value + _DECREASE * p.at * first.slope

    def flat(p):
        return abs(p.slope) <= -_CURVATURE * first.slope

    last, new, taken = first, evaluate(guess), 1
    while True:
        if taken > limit:
            ends = [first, new]
            break
        if high(new) or (taken > 2 and new.value >= last.value):
            ends = [last, new]
            break
        if flat(new):
            return new, taken
        if new.slope >= 0:
            ends = [last, new]
            break
        following = _least(last, new, (new.at + 0.01 * (new.at - last.at), new.at * 10))
        last, new = new, evaluate(following)
        taken += 1

    low = int(ends[0].value > ends[1].value)  # which end is better
    slow = False
    while taken <= limit and abs(ends[1].at - ends[0].at) * size >= tolerance:
        least, most = sorted(end.at for end in ends)
        at = _least(*ends)
        margin = 0.1 * (most - least)
        near = min(most - at, at - least) < margin
        if near and (slow or at >= most or at <= least):  # too near an end twice in a row: a tenth of the way inside
            at = most - margin if abs(at - most) < abs(at - least) else least + margin
            slow = False
        else:
            slow = near
        new = evaluate(at)
        taken += 1
        if high(new) or new.value >= ends[low].value:
            ends[1 - low] = new
            low = int(ends[0].value > ends[1].value)
            continue
        if flat(new):
            return new, taken
        if new.slope * (ends[1 - low].at - ends[low].at) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = new
    return ends[low], taken


def _least(a, b, bounds=None):
    """Where the cubic through two points with their slopes is least within bounds; their middle if it is nowhere."""
    start, end = bounds or sorted((a.at, b.at))
    bend = a.slope + b.slope - 3 * (a.value - b.value) / (a.at - b.at)
    square = bend * bend - a.slope * b.slope
    if not square >= 0:
        return (start + end) / 2
    if a.at > b.at:
        a, b = b, a
    root = math.sqrt(square)
    at = b.at - (b.at - a.at) * ((b.slope + root - bend) / (b.slope - a.slope + 2 * root))
    return min(max(at, start), end)
