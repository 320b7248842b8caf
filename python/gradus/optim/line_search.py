"""Line search by the strong Wolfe conditions.

Steps grow until two points bracket a minimum, then the bracket shrinks around the minimum of the cubic through its ends (Nocedal
and Wright, Numerical Optimization, algorithms 3.5 and 3.6).
"""

import math
from collections import namedtuple

Point = namedtuple("Point", ["at", "value", "slope", "gradient"])

_DECREASE = 1e-4  # required decrease, as a fraction of that predicted by the slope
_CURVATURE = 0.9  # largest remaining slope, as a fraction of the first


def search(first, guess, size, tolerance, evaluate, limit):
    """Returns a point that meets the conditions, or the best found, and the number of evaluations.

    `size` is the largest element of the direction; distances that change no parameter by `tolerance` count as equal. After `limit`
    evaluations, not counting the first, the best point found is returned.
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
        if near and (slow or at >= most or at <= least):  # too near an end twice in a row: move inside by a tenth
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
    """Returns the minimum of the cubic through two points with their slopes, within bounds; their middle if there is none."""
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
