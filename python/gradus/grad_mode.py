"""Contexts, also usable as decorators, that turn the recording of operations for gradients on and off."""

import functools
import inspect

from ._native import _set_grad_enabled, is_grad_enabled


class set_grad_enabled:
    """Sets whether operations are recorded; as a context, until its end.

    >>> import gradus
    >>> x = gradus.ones(2, requires_grad=True)
    >>> with gradus.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode):
        self._mode = bool(mode)
        self._before = [_set_grad_enabled(self._mode)]
        self._called = True

    def __enter__(self):
        if self._called:  # the constructor has set the mode already
            self._called = False
        else:
            self._before.append(_set_grad_enabled(self._mode))
        return self

    def __exit__(self, *exc):
        _set_grad_enabled(self._before.pop())

    def __call__(self, function):
        if self._called:  # used as a decorator, so the constructor's change must not affect later code
            self._called = False
            _set_grad_enabled(self._before.pop())
        return _decorated(function, lambda: _Mode(self._mode))


class _Mode:
    """A reusable context in which operations are recorded or not."""

    def __init__(self, mode):
        self._mode, self._before = mode, []

    def __enter__(self):
        self._before.append(_set_grad_enabled(self._mode))

    def __exit__(self, *exc):
        _set_grad_enabled(self._before.pop())


def _decorated(function, context):
    if inspect.isclass(function):
        function.__init__ = _decorated(function.__init__, context)
        return function
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def stream(*args, **kwargs):
            # The mode applies inside the generator, and not to code that runs between its steps.
            items = function(*args, **kwargs)
            try:
                while True:
                    with context():
                        item = next(items)
                    yield item
            except StopIteration as end:
                return end.value
            finally:
                items.close()

        return stream

    @functools.wraps(function)
    def call(*args, **kwargs):
        with context():
            return function(*args, **kwargs)

    return call


class no_grad(_Mode):
    """A context or decorator in which nothing is recorded for gradients.

    >>> import gradus
    >>> x = gradus.ones(2, requires_grad=True)
    >>> with gradus.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> @gradus.no_grad()
    ... def double(x):
    ...     return x * 2
    >>> double(x).requires_grad
    False
    """

    def __new__(cls, function=None):
        return cls()(function) if function is not None else super().__new__(cls)

    def __init__(self, function=None):
        super().__init__(type(self)._value)

    _value = False

    def __call__(self, function):
        return _decorated(function, type(self))


class enable_grad(no_grad):
    """A context or decorator in which operations are recorded for gradients, also inside `no_grad`.

    >>> import gradus
    >>> x = gradus.ones(2, requires_grad=True)
    >>> with gradus.no_grad(), gradus.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    _value = True


class inference_mode(no_grad):
    """`no_grad`, under the name that PyTorch programs use for inference; `inference_mode(False)` changes nothing.

    >>> import gradus
    >>> x = gradus.ones(2, requires_grad=True)
    >>> with gradus.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, mode=True):
        return super().__new__(cls, mode if callable(mode) else None)

    def __init__(self, mode=True):
        _Mode.__init__(self, False if mode else is_grad_enabled())
