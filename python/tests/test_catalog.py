"""Pointwise ops of the catalog in Python: every op has a name, and those without another name are installed."""

import numpy as np
import pytest

import gradus
from gradus import Tensor, catalog
from oracle import peer

OPS = {name: (docs, domains) for name, docs, domains in gradus._native._pointwise_ops()}


def resolve(path):
    found = gradus
    for part in path.split("."):
        found = getattr(found, part)
    return found


def samples(name, count=16):
    rng = np.random.default_rng(sum(map(ord, name)))
    return [gradus.tensor(rng.uniform(low, high, count)) for low, high in OPS[name][1]]


@pytest.mark.parametrize("name", OPS)
def test_every_op_has_a_name_in_python(name):
    path = catalog.NAMES.get(name, name)
    assert path is None or callable(resolve(path) if hasattr(gradus, path.split(".")[0]) else getattr(Tensor, path))


def test_the_table_of_names_has_no_others():
    assert set(catalog.NAMES) <= set(OPS)


@pytest.mark.parametrize("name", catalog.INSTALLED)
def test_installed_ops(name):
    x, *others = (t.to(gradus.float64) for t in samples(name))
    expected = gradus._native._pointwise(name, x, *others)
    assert gradus.equal(getattr(x, name)(*others), expected) and gradus.equal(getattr(gradus, name)(x, *others), expected)
    assert gradus.equal(getattr(x.clone(), f"{name}_")(*others), expected)
    assert OPS[name][0].split("\n")[0] in getattr(Tensor, name).__doc__ and ">>>" in getattr(Tensor, name).__doc__
    with pytest.raises(TypeError, match="operands"):
        getattr(x, name)(*others, x)
    torch = peer("torch")
    if torch is not None and hasattr(torch, name):
        theirs = getattr(torch, name)(*(torch.tensor(t.numpy()) for t in (x, *others)))
        np.testing.assert_allclose(expected.numpy(), theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", catalog.INSTALLED)
def test_derivatives_of_installed_ops(name):
    operands = [t.to(gradus.float64).requires_grad_() for t in samples(name)]
    weights = gradus.tensor(np.random.default_rng(1).normal(size=16))
    (getattr(operands[0], name)(*operands[1:]) * weights).sum().backward()
    h = 1e-5
    for at, operand in enumerate(operands):
        moved = [[t.detach() + (sign * h if i == at else 0) for i, t in enumerate(operands)] for sign in (1, -1)]
        above, below = (getattr(ops[0], name)(*ops[1:]) for ops in moved)
        np.testing.assert_allclose(operand.grad.numpy(), (weights * (above - below) / (2 * h)).numpy(), rtol=1e-7, atol=1e-8)
