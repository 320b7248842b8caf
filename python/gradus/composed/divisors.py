"""Functions of integers: greatest common divisor and least common multiple."""

from ..transforms import while_loop


def gcd(input, other):
    """Computes the greatest common divisor."""
    together = input + other * 0
    if together.is_floating_point() or together.is_complex():
        raise NotImplementedError(f"gcd is for integers, not for {together.dtype}")
    first, _ = while_loop(lambda pair: (pair[1] != 0).any(), _euclid, (together, other + together * 0))
    return first.abs()


def _euclid(pair):
    a, b = pair
    done = b == 0
    return a.where(done, b), (a % b.masked_fill(done, 1)).masked_fill(done, 0)


def lcm(input, other):
    """Computes the least common multiple; 0 if either is 0."""
    divisor = gcd(input, other)
    return (input // divisor.masked_fill(divisor == 0, 1) * other).abs()
