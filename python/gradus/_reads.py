"""Records the outside values that a function reads while it is compiled.

During tracing, the code of every Python frame that begins is analysed. It can read global names, variables of enclosing functions,
and attributes of these and of its arguments. The current value of each is recorded (`_Guard`), before the
frame can change it. The compiled program applies to calls for which all values are unchanged.
"""

import array
import builtins
import contextvars
import dis
import functools
import gc
import operator
import os
import random
import sys
import sysconfig
import time
import types
import weakref
from collections import deque
from collections.abc import Iterator

from ._native import Tensor, _Guard, _note_module, jit

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.abspath(sysconfig.get_path("stdlib")) + os.sep
_NOTHING = object()
_PLAIN = (type(None), bool, int, float, complex, str, bytes, Tensor)
_SEQUENCES = (list, tuple, set, frozenset, deque)
_BYTES = (bytearray, memoryview, array.array)
# Methods that Python's syntax calls.
_IMPLICIT = ("__call__", "__getitem__", "__len__", "__iter__", "__contains__", "__getattr__", "__enter__", "__bool__")
_OF_FUNCTION = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__")
_OF_PARTIAL = operator.attrgetter("func", "args", "keywords")
# Instructions after which the loaded value is still on the stack.
_KEEPS_VALUE = ("COPY", "DUP_TOP", "CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOP", "PRECALL")


class _Code:
    """Names that code reads. `chains` are chains of names (`a.b.c`) that begin with a global name, an argument or a variable of an
    enclosing function. `loose` are names of attributes of other objects."""

    _known = weakref.WeakKeyDictionary()

    def __init__(self, code):
        begun, self.loose, self.attributes, assigned, chain = [], set(), set(), set(), None
        for op in dis.get_instructions(code):
            name, value = op.opname, op.argval
            if name in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL") or name.startswith(("LOAD_FAST", "LOAD_DEREF", "STORE_DEREF")):
                chain = []
                begun.append(("GLOBAL" in name or "NAME" in name, value[-1] if isinstance(value, tuple) else value, chain))
            elif name in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR"):
                self.attributes.add(value)
                (self.loose.add if chain is None else chain.append)(value)
            elif name.startswith("STORE_FAST"):
                assigned.update(value if isinstance(value, tuple) else [value])
                chain = None
            elif name not in _KEEPS_VALUE:
                chain = None
        several = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
        self.given = [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several], *code.co_freevars]
        self.chains = {(from_module, first, tuple(rest)) for from_module, first, rest in begun if from_module or first in self.given}
        for from_module, first, rest in begun:
            if not from_module and (first not in self.given or first in assigned):
                self.loose.update(rest)
        # Attribute names passed to `getattr` are among the constants, if they are literal.
        self.any_name = bool({"getattr", "vars", "__dict__"} & {*code.co_names})
        written = [x for x in code.co_consts if isinstance(x, str) and x.isidentifier()]
        self.literal_names = written if {"getattr", "hasattr"} & {*code.co_names} else []
        self.is_ours = os.path.abspath(code.co_filename).startswith(_OURS)
        in_library = code.co_filename.startswith(_STANDARD) and "site-packages" not in code.co_filename
        self.reads_module = not in_library and not code.co_filename.startswith("<frozen")

    @classmethod
    def of(cls, code):
        found = cls._known.get(code)
        if found is None:
            found = cls._known[code] = cls(code)
        return found


def _is_ours(module):
    return isinstance(module, str) and (module == "gradus" or module.startswith("gradus."))


def _optimises(kind):
    return any(base.__module__.startswith("gradus.optim") for base in kind.__mro__)


def _holds_settings(kind):
    """Returns true if all attributes of objects of this class are guarded. These are classes of the package, except optimizers, which
    register what a program depends on, and context managers, which only store what they restore."""
    ours = any(_is_ours(base.__module__) for base in kind.__mro__)
    return ours and not hasattr(kind, "__enter__") and not _optimises(kind)


def _is_random_source(x):
    """Returns true if an object is a NumPy random generator, or a method of one."""
    if type(x).__name__ in ("builtin_function_or_method", "cython_function_or_method"):
        x = getattr(x, "__self__", None)
    return type(x).__module__.startswith("numpy.random")


def _state_reader(x):
    """Returns a function that reads the current state of a function or of an object implemented in C, or None."""
    if isinstance(x, types.FunctionType):
        code = _Code.of(x.__code__)
        return functools.partial(_OF_FUNCTION, x) if code.reads_module and not code.is_ours else None
    if isinstance(x, functools.partial):
        return functools.partial(_OF_PARTIAL, x)
    if isinstance(x, weakref.ref):
        return x
    if isinstance(x, contextvars.ContextVar):
        return functools.partial(x.get, None)
    if isinstance(x, functools._lru_cache_wrapper):  # detects whether its cache was cleared
        known = x.cache_info().misses
        return lambda: x.cache_info().misses >= known
    return functools.partial(bytes, x) if isinstance(x, _BYTES) else None


def _parts(value):
    """Returns the leaves of a value: itself, or the contents of a container."""
    todo, seen = [value], set()
    while todo:
        x = todo.pop()
        if isinstance(x, _PLAIN) or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, dict):
            todo.extend(x.values())
        elif isinstance(x, _SEQUENCES):
            todo.extend(x)
        elif isinstance(x, (weakref.ref, contextvars.ContextVar)):
            todo.append(_state_reader(x)())
        else:
            yield x
            if "_modules" in getattr(x, "__dict__", ()) and _is_ours(type(x).__module__):  # containers of modules
                todo.extend(x._modules.values())


class Reads:
    """Observes a function that is traced inside of a `with` block. `guards` are the recorded values."""

    def __init__(self, function, arguments):
        self._guards, self._lasting, self._functions, self._seen, self._before = {}, {}, {}, set(), None
        self._inner, self._undo, self._given = set(), [], (function, arguments)
        self.transient = []

    @property
    def guards(self):
        """Returns all guards."""
        return list(self._guards.values())

    def __enter__(self):
        for x in self._given:
            self._keep(x)
        self._before = sys.getprofile()
        if hasattr(self._before, "disable"):  # a profiler of C
            self._before.disable()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exception):
        sys.setprofile(None)
        if hasattr(self._before, "enable"):
            self._before.enable()
        else:
            sys.setprofile(self._before)
        while self._undo:
            self._undo.pop()(self)

    def _event(self, frame, event, value):
        if event == "call":
            self._begin(frame)
        elif event == "c_call":
            self._check_native_call(frame, value)
        elif event == "return" and not isinstance(value, _PLAIN) and frame.f_back is not None:
            caller = _Code.of(frame.f_back.f_code)
            if not caller.is_ours:
                self._look_for(caller.attributes, [value])
        if callable(self._before):
            self._before(frame, event, value)

    def _check_native_call(self, frame, function):
        """Checks a call of C code. Results of clocks, random generators and files are valid for one call only, and are added to `transient`."""
        owner = getattr(function, "__self__", None)
        transient = owner is time or isinstance(owner, random.Random) or function is open or (
            isinstance(owner, type) and owner.__module__ == "datetime" and function.__name__ in ("now", "today", "utcnow")
        )
        while transient and frame is not None and frame.f_globals.get("__name__") == "random":
            frame = frame.f_back
        if transient and frame is not None and _Code.of(frame.f_code).reads_module and not _Code.of(frame.f_code).is_ours:
            self.transient.append(f"{function.__name__}()")

    def function(self, function):
        """Registers the call of a function that is not reachable by names."""
        self._keep(function)

    def undo(self, function):
        """Registers a function to call with this object when the observation has ended, such as one that undoes a step."""
        self._undo.append(function)

    def knows(self, owner, key):
        """Returns true if the item `key` of the dictionary `owner` was read."""
        return ("item", id(owner), key) in self._guards

    def module(self, module):
        """Registers that a module is called or inspected."""
        for name in module._buffers:
            self.guard("item", module._buffers, name, f"{type(module).__name__}.{name}")
        for hooks in (module._forward_pre_hooks, module._forward_hooks, module._backward_pre_hooks, module._backward_hooks):
            self._keep(list(hooks.values()))

    def _begin(self, frame):
        code = _Code.of(frame.f_code)
        if code.is_ours:
            return
        variables = frame.f_locals
        given = {name: variables[name] for name in code.given if name in variables}
        key = (frame.f_code, *(id(x) for x in given.values() if not isinstance(x, Tensor)))
        if key in self._seen:
            return
        self._seen.add(key)
        self._find(frame)
        self._inner.update(x for x in frame.f_code.co_consts if isinstance(x, types.CodeType))
        for function in self._functions.get(frame.f_code, ()):
            for name, cell in zip(frame.f_code.co_freevars, function.__closure__ or ()):
                self.guard("cell", cell, None, name)
        self._look(code, frame.f_globals, given)

    def _find(self, frame):
        """Guards the function of a frame, if it was not reached by names and not created during the trace."""
        code, name = frame.f_code, frame.f_code.co_name
        known = code in self._functions or code in self._inner
        if known or not _Code.of(code).reads_module or (name[0] == "<" and name != "<lambda>"):
            return
        self._functions[code] = []
        own = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        of_class = [vars(base).get(name) for base in (own if isinstance(own, type) else type(own)).__mro__]
        for found in [*of_class, frame.f_globals.get(name)]:
            found = getattr(found, "__func__", found)
            if isinstance(found, types.FunctionType) and found.__code__ is code:
                return self._keep(found)
        for found in gc.get_referrers(code):
            if isinstance(found, types.FunctionType):
                self._keep(found)

    def _look(self, code, names, given):
        """Guards what code reads, starting from global names and its arguments."""
        found = list(given.values())
        for from_module, first, rest in code.chains:
            if not from_module:
                value = given.get(first, _NOTHING)
            elif code.reads_module and (first in names or not hasattr(builtins, first)):
                value = names.get(first, _NOTHING)
                if not isinstance(value, types.ModuleType):
                    self.guard("item", names, first, first)
            else:
                continue
            for name in rest:
                found.append(value)
                value = self._attribute(value, name, True)
            found.append(value)
        self._look_for(code.loose, found, code)

    def _look_for(self, names, values, code=None):
        """Guards attributes with these names on any of the values."""
        if not names and not (code and (code.any_name or code.literal_names)):
            return
        todo, seen = list(_parts(values)), set()
        while todo:
            x = todo.pop()
            if id(x) in seen or id(x) not in self._lasting:
                continue
            seen.add(id(x))
            for name in names:
                todo.extend(_parts(self._attribute(x, name)))
            for name in code.literal_names if code else ():
                todo.extend(_parts(self._attribute(x, name, True)))
            if _optimises(type(x)) or isinstance(x, types.ModuleType):
                continue
            if code and code.any_name and isinstance(getattr(x, "__dict__", None), dict):
                for name in list(x.__dict__):
                    todo.extend(_parts(self._attribute(x, name)))

    def _keep(self, value):
        """Guards an object that existed before the function began, with its contents."""
        todo = [value]
        while todo:
            x = todo.pop()
            if isinstance(x, _PLAIN) or id(x) in self._lasting:
                continue
            self._lasting[id(x)] = x
            if isinstance(x, Iterator) or _is_random_source(x):
                self.transient.append(getattr(x, "__name__", type(x).__name__))
            state = _state_reader(x)
            if state is not None and ("computed", id(x), None) not in self._guards:
                guard = _Guard("computed", state, None, getattr(x, "__name__", type(x).__name__))
                self._guards["computed", id(x), None] = guard
                todo.append(guard.before)
            if isinstance(x, dict):
                todo.extend(x.values())
            elif isinstance(x, _SEQUENCES):
                todo.extend(x)
            elif isinstance(x, types.FunctionType):
                self._functions.setdefault(x.__code__, []).append(x)
                todo += [x.__defaults__, x.__kwdefaults__, getattr(x, "__wrapped__", None)]
            elif isinstance(x, types.MethodType):
                todo += [x.__self__, x.__func__]
            elif isinstance(x, jit):
                todo.append(x.__wrapped__)
            elif isinstance(x, functools._lru_cache_wrapper):
                todo.append(x.__wrapped__)
                self._look_at_cached(x.__wrapped__)
            elif isinstance(x, (staticmethod, classmethod)):
                todo.append(x.__func__)
            elif isinstance(x, property):
                todo += [x.fget, x.fset]
            elif "_modules" in getattr(x, "__dict__", ()):
                _note_module(x)
                todo.extend(x._modules.values())
            elif _holds_settings(type(x)):
                # Frames of the package itself are not observed, so everything that such an object holds is guarded.
                own = getattr(x, "__dict__", None)
                for name in list(own) if isinstance(own, dict) else ():
                    self.guard("item", own, name, f"{type(x).__name__}.{name}")
            if not isinstance(x, (type, types.ModuleType)) and not _is_ours(type(x).__module__):
                for name in _IMPLICIT:
                    if isinstance(self._of_class(type(x), name), types.FunctionType):
                        self._attribute(type(x), name)

    def _look_at_cached(self, function):
        """Guards what a cached function reads. The function does not run now, but it would run if its cache were cleared."""
        if not isinstance(function, types.FunctionType):
            return
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        for name, cell in cells.items():
            self.guard("cell", cell, None, name)
        self._keep(function)
        self._look(_Code.of(function.__code__), function.__globals__,
                   {name: cell.cell_contents for name, cell in cells.items() if cell != types.CellType()})

    def guard(self, kind, owner, key, name):
        """Guards the current value at a location."""
        location = (kind, id(owner), key)
        if location not in self._guards:
            guard = self._guards[location] = _Guard(kind, owner, key, name)
            self._keep(guard.before)

    @staticmethod
    def _of_class(kind, name):
        for base in kind.__mro__:
            if name in base.__dict__:
                return _NOTHING if _is_ours(base.__module__) else base.__dict__[name]
        return _NOTHING

    def _attribute(self, x, name, precisely=False):
        """Returns and guards the current value of an attribute; `_NOTHING` if it is missing or computed."""
        if isinstance(x, types.ModuleType):
            value = x.__dict__.get(name, _NOTHING)
            if value is not _NOTHING and not isinstance(value, (types.ModuleType, type)):
                self.guard("item", x.__dict__, name, f"{x.__name__}.{name}")
            return value
        if isinstance(x, type):
            value = self._of_class(x, name)
            if value is not _NOTHING:
                self.guard("attribute", x, name, f"{x.__name__}.{name}")
                self._keep(value)
            return value
        if id(x) not in self._lasting or isinstance(x, _PLAIN):
            return _NOTHING
        kind = type(x)
        own, label = getattr(x, "__dict__", None), f"{kind.__name__}.{name}"
        if _is_ours(kind.__module__) and "_modules" not in (own or ()) and not _optimises(kind):
            return _NOTHING
        of_class = self._of_class(kind, name)
        if isinstance(of_class, types.MemberDescriptorType):
            self.guard("attribute", x, name, label)
            return getattr(x, name, _NOTHING)
        if isinstance(of_class, property):
            self._attribute(kind, name)
            return _NOTHING
        if isinstance(own, dict):
            for register in ("_parameters", "_buffers", "_modules"):
                if name not in own and name in own.get(register, ()):
                    self.guard("item", own[register], name, label)
                    return own[register][name]
            if name in own or precisely or of_class is not _NOTHING:
                self.guard("item", own, name, label)
            if name in own:
                return own[name]
        return self._attribute(kind, name) if of_class is not _NOTHING else _NOTHING
