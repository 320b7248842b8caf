"""Differentiable exchanges between processes. There is one process, so each raises an error.

>>> import gradus.distributed.nn
>>> gradus.distributed.nn.all_reduce(gradus.ones(2))
Traceback (most recent call last):
RuntimeError: all_reduce: no process group is initialized, and none can be: processes do not train together here
"""

from . import _COLLECTIVES, _absent

for _name in _COLLECTIVES:
    globals()[_name] = _absent(_name)
