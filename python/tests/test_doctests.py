"""Runs every example in a docstring of the package, and compares its output."""

import doctest
import importlib
import pkgutil

import pytest

import gradus

MODULES = sorted(m.name for m in pkgutil.walk_packages(gradus.__path__, "gradus.") if not m.name.endswith("_native"))


@pytest.mark.parametrize("name", ["gradus", *MODULES])
def test_docstrings(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    own = [t for t in finder.find(module, name, module=module) if t.examples] if name != "gradus" else []
    if name == "gradus":
        own = [doctest.DocTestParser().get_doctest(module.__doc__, {}, name, module.__file__, 0)]
    runner = doctest.DocTestRunner()
    report = []
    for test in own:
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_public_classes_have_docstrings():
    for module in (gradus.nn, gradus.optim, gradus.data, gradus.optim.lr_scheduler, gradus.nn.init, gradus.nn.utils):
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            if callable(value) and not name.startswith("_") and getattr(value, "__module__", "").startswith("gradus"):
                assert value.__doc__, f"{module.__name__}.{name} has no docstring"


def test_public_classes_have_examples():
    missing = [f"{module.__name__}.{name}" for module in (gradus.nn, gradus.optim, gradus.data, gradus.optim.lr_scheduler)
               for name, value in vars(module).items()
               if isinstance(value, type) and value.__module__.startswith("gradus") and not name.startswith("_") and ">>>" not in (value.__doc__ or "")
               and name not in ("LRScheduler", "Counter")]
    assert not missing, missing


def public():
    """Returns every public function and method once, with its name."""
    F, seen = gradus.nn.functional, set()
    places = [("gradus.Tensor", gradus.Tensor), ("gradus", gradus), ("gradus.nn.functional", F), ("gradus.linalg", gradus.linalg), ("gradus.fft", gradus.fft),
              ("gradus.func", gradus.func), ("gradus.autograd", gradus.autograd), ("gradus.nn.init", gradus.nn.init), ("gradus.nn.utils", gradus.nn.utils),
              ("gradus.nn.utils.rnn", gradus.nn.utils.rnn), ("gradus.cuda", gradus.cuda), ("gradus.testing", gradus.testing),
              ("gradus.special", gradus.special), ("gradus.random", gradus.random), ("gradus.nn.utils.parametrize", gradus.nn.utils.parametrize),
              ("gradus.nn.utils.parametrizations", gradus.nn.utils.parametrizations), ("gradus.optim.swa_utils", gradus.optim.swa_utils), ("gradus.nn.Module", gradus.nn.Module),
              ("gradus.optim.Optimizer", gradus.optim.Optimizer), ("gradus.optim.lr_scheduler.LRScheduler", gradus.optim.lr_scheduler.LRScheduler)]
    for where, place in places:
        for name in dir(place):
            value = getattr(place, name)
            module = getattr(value, "__module__", None) or ""
            ours = module.startswith("gradus") or type(value).__name__ in ("method_descriptor", "builtin_function_or_method")
            if not name.startswith("_") and callable(value) and not isinstance(value, type) and ours and id(value) not in seen:
                seen.add(id(value))
                yield f"{where}.{name}", value


def test_every_function_has_a_meaning_and_an_example():
    assert len(list(public())) > 700
    bare = [name for name, value in public() if not (value.__doc__ or "").strip()]
    missing = [name for name, value in public() if ">>>" not in (value.__doc__ or "")]
    assert not bare and not missing, (bare, missing)


def test_examples_of_native_classes_run():
    runner, report = doctest.DocTestRunner(), []
    for name in ("Graph", "LinearMap", "Structure", "dtype", "jit", "Generator", "Tensor"):
        value = getattr(gradus._native, name)
        assert ">>>" in value.__doc__, name
        runner.run(doctest.DocTestParser().get_doctest(value.__doc__, {}, name, "native", 0), out=report.append)
    assert runner.failures == 0, "".join(report)


def test_a_compiled_function_has_the_docstring_and_name_of_the_function():
    def f(x):
        """Twice as much."""
        return 2 * x

    compiled = gradus.jit(f)
    assert compiled.__doc__ == "Twice as much." and compiled.__name__ == "f" and gradus.jit(lambda x: x).__doc__ is None
    assert compiled(gradus.ones(1)).item() == 2 and "program" in gradus.jit.__doc__


def test_examples_of_native_functions_run():
    runner, report = doctest.DocTestRunner(), []
    for name, value in public():
        if not hasattr(value, "__code__"):
            runner.run(doctest.DocTestParser().get_doctest(value.__doc__, {}, name, "native", 0), out=report.append)
    assert runner.failures == 0 and runner.tries > 1000, "".join(report)


def test_examples_are_up_to_date():
    import importlib.util
    from pathlib import Path

    spec = importlib.util.spec_from_file_location("examples", Path(__file__).parents[1] / "examples.py")
    examples = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(examples)
    stale = [path.name for path, text in examples.files().items() if not path.exists() or path.read_text() != text]
    assert not stale, f"run `python python/examples.py`: {stale}"
