"""The version of PyTorch whose behaviour the package follows, and the version of the package.

>>> import gradus
>>> gradus.__version__ >= "2.0", gradus.__version__ >= (2, 4), gradus.version.cuda is None
(True, True, True)
>>> gradus.version.gradus.count(".")
2
"""

import functools
import re

from ._native import __version__ as gradus  # noqa: F401

cuda = hip = xpu = rocm = None
debug, git_version = False, "unknown"


def _numbers(version):
    """Returns the numbers before any suffix, with which versions are compared."""
    if isinstance(version, str):
        release = re.match(r"\d+(\.\d+)*", version)
        if release is None:
            raise ValueError(f"{version!r} does not start with the numbers of a version")
        version = release.group().split(".")
    numbers = [int(part) for part in version]
    while numbers and numbers[-1] == 0:  # 2.0 and 2.0.0 are the same version
        numbers.pop()
    return numbers


@functools.total_ordering
class TorchVersion(str):
    """A version string that is compared with strings and tuples by its numbers.

    >>> from gradus.version import TorchVersion
    >>> TorchVersion("2.15.0") > "2.4", TorchVersion("2.15.0") >= (2, 15), "2.15" in TorchVersion("2.15.0")
    (True, True, True)
    """

    __slots__ = ()

    def __eq__(self, other):
        try:
            return _numbers(self) == _numbers(other)
        except (TypeError, ValueError):
            return str.__eq__(self, other)

    def __lt__(self, other):
        return _numbers(self) < _numbers(other)

    def __gt__(self, other):
        return _numbers(self) > _numbers(other)

    def __le__(self, other):
        return _numbers(self) <= _numbers(other)

    def __ge__(self, other):
        return _numbers(self) >= _numbers(other)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(f"2.15.0+gradus.{gradus}")
