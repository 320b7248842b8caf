"""Compares `grad_fn`, the recorded operations of a tensor, with PyTorch's."""

import pytest

import gradus
from oracle import needs_torch, torch

pytestmark = needs_torch


def shape_of(node):
    """Returns the graph before a node: operations and leaves with their edges, numbered in the order of a traversal."""
    numbers, nodes, todo = {}, [], [node]
    while todo:
        at = todo.pop()
        if at in numbers:
            continue
        numbers[at] = len(numbers)
        nodes.append(at)
        todo.extend(f for f, _ in reversed(at.next_functions) if f is not None)
    # PyTorch's names of leaves have their namespace in front.
    return [(n.name().split("::")[-1], [None if f is None else numbers[f] for f, _ in n.next_functions]) for n in nodes]


@pytest.mark.parametrize("expression", [
    "a * b", "(a * b + c).tanh().sum()", "a * a", "(a * b) + (a * b).exp()", "a.detach() * b", "(a - b) / c", "a.exp().exp().sum()",
])
def test_the_graph_is_that_of_pytorch(expression):
    found = []
    for package in (gradus, torch):
        a, b, c = (package.tensor([x, 2.0], requires_grad=True) for x in (0.5, 1.5, 2.5))
        found.append(shape_of(eval(expression, {"a": a, "b": b, "c": c}).grad_fn))
    ours, theirs = found
    assert ours == theirs
    ends = [name for name, edges in ours if not any(e is not None for e in edges)]
    assert ends and set(ends) == {"AccumulateGrad"}


def test_leaves_in_the_history():
    x = gradus.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3).sum()
    assert x.grad_fn is None and x.detach().exp().grad_fn is None
    product = y.grad_fn.next_functions[0][0]
    (leaf, number), (nothing, _) = product.next_functions
    assert (leaf.name(), number, nothing, leaf.next_functions) == ("AccumulateGrad", 0, None, ())
    leaf.variable.grad = gradus.ones(2)
    assert x.grad.tolist() == [1.0, 1.0]  # the same leaf
    assert y.grad_fn == y.grad_fn and hash(y.grad_fn) == hash(y.grad_fn) and y.grad_fn != product
    with pytest.raises(AttributeError):
        product.variable


def test_a_history_is_a_graph():
    x = gradus.tensor([1.0, 2.0], requires_grad=True)
    graph = (x * x).tanh().sum().history()
    assert graph.equations() == "T1[i] = x[i] x[i]\nT2[i] = tanh(T1[i])\nY = T2[i]\nexport Y\n"
    assert graph.inputs == ["x"] and graph.svg().startswith("<svg")
    with pytest.raises(RuntimeError, match="no recorded history"):
        x.detach().history()


def test_a_freed_history_is_an_error():
    x = gradus.tensor([1.0, 2.0], requires_grad=True)
    y = x.square().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="freed"):
        y.history()
