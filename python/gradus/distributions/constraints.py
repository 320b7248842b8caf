"""Constraints on parameters and values of distributions, under PyTorch's names."""


class Constraint:
    """A condition on the elements of a tensor, or on its last axes.

    >>> import gradus
    >>> gradus.distributions.constraints.positive.check(gradus.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, text, check, event_dim=0, is_discrete=False):
        self._text, self._check, self.event_dim, self.is_discrete = text, check, event_dim, is_discrete

    def check(self, value):
        """Returns a tensor of booleans: true where the condition is satisfied."""
        return self._check(value)

    def __repr__(self):
        return self._text


def independent(base, dims):
    """Returns the condition that another condition holds for all elements of the last `dims` axes."""

    def check(value):
        found = base.check(value)
        return found.flatten(-dims).all(-1) if dims else found

    return Constraint(f"IndependentConstraint({base}, {dims})", check, base.event_dim + dims, base.is_discrete)


def greater_than(low):
    """Returns the condition that a value is greater than `low`."""
    return Constraint(f"GreaterThan(lower_bound={low})", lambda x: x > low)


def greater_than_eq(low):
    """Returns the condition that a value is at least `low`."""
    return Constraint(f"GreaterThanEq(lower_bound={low})", lambda x: x >= low)


def less_than(high):
    """Returns the condition that a value is less than `high`."""
    return Constraint(f"LessThan(upper_bound={high})", lambda x: x < high)


def interval(low, high):
    """Returns the condition that a value is at least `low` and at most `high`."""
    return Constraint(f"Interval(lower_bound={low}, upper_bound={high})", lambda x: (x >= low) & (x <= high))


def half_open_interval(low, high):
    """Returns the condition that a value is at least `low` and less than `high`."""
    return Constraint(f"HalfOpenInterval(lower_bound={low}, upper_bound={high})", lambda x: (x >= low) & (x < high))


def integer_interval(low, high):
    """Returns the condition that a value is an integer, at least `low` and at most `high`."""
    check = lambda x: (x % 1 == 0) & (x >= low) & (x <= high)  # noqa: E731
    return Constraint(f"IntegerInterval(lower_bound={low}, upper_bound={high})", check, is_discrete=True)


def _simplex(x):
    return (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6)


def _lower_cholesky(x):
    return (x.tril() == x).flatten(-2).all(-1) & (x.diagonal(0, -2, -1) > 0).all(-1)


def _positive_definite(x):
    from .. import linalg

    symmetric = ((x - x.mT).abs() <= 1e-6 + 1e-5 * x.mT.abs()).flatten(-2).all(-1)
    return symmetric & (linalg.eigvalsh((x + x.mT) / 2) > 0).all(-1)


real = Constraint("Real()", lambda x: x == x)
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda x: (x % 1 == 0) & (x >= 0), is_discrete=True)
boolean = Constraint("Boolean()", lambda x: (x == 0) | (x == 1), is_discrete=True)
one_hot = Constraint("OneHot()", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), 1, True)
simplex = Constraint("Simplex()", _simplex, 1)
lower_cholesky = Constraint("LowerCholesky()", _lower_cholesky, 2)
positive_definite = Constraint("PositiveDefinite()", _positive_definite, 2)
