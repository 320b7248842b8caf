"""Every example in a docstring of the package runs and gives what it says."""

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
