"""Small classes that native functions return: sizes, and named tuples of results."""

from collections import namedtuple


class Size(tuple):
    """The extents of a tensor.

    >>> Size((2, 3)).numel()
    6
    """

    __slots__ = ()

    def numel(self):
        """Returns the number of elements."""
        n = 1
        for extent in self:
            n *= extent
        return n

    def __getitem__(self, index):
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __repr__(self):
        return f"gradus.Size([{', '.join(map(str, self))}])"


def _named(name, *fields):
    return namedtuple(name, fields)


max = _named("max", "values", "indices")
min = _named("min", "values", "indices")
median = _named("median", "values", "indices")
sort = _named("sort", "values", "indices")
topk = _named("topk", "values", "indices")
cummax = _named("cummax", "values", "indices")
cummin = _named("cummin", "values", "indices")
qr = _named("qr", "Q", "R")
svd = _named("svd", "U", "S", "Vh")
eigh = _named("eigh", "eigenvalues", "eigenvectors")
eig = _named("eig", "eigenvalues", "eigenvectors")
slogdet = _named("slogdet", "sign", "logabsdet")
lu = _named("lu", "P", "L", "U")
lu_factor = _named("lu_factor", "LU", "pivots")
solve_ex = _named("solve_ex", "result", "info")
inv_ex = _named("inv_ex", "inverse", "info")
cholesky_ex = _named("cholesky_ex", "L", "info")
lstsq = _named("lstsq", "solution", "residuals", "rank", "singular_values")
lu_factor_ex = _named("lu_factor_ex", "LU", "pivots", "info")
ldl_factor = _named("ldl_factor", "LD", "pivots")
ldl_factor_ex = _named("ldl_factor_ex", "LD", "pivots", "info")
geqrf = _named("geqrf", "a", "tau")
polar = _named("polar", "U", "H")
triangular_solve = _named("triangular_solve", "solution", "cloned_coefficient")
frexp = _named("frexp", "mantissa", "exponent")
