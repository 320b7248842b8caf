"""Graphs as pictures: gradients next to values, and the order of evaluation as numbers."""

import gradus


def test_order_of_evaluation_in_a_picture():
    graph = gradus.trace(lambda a, b, e, f: ((a * b) * (e + f)).sum(), *(gradus.ones(2) for _ in range(4)))
    forward, both = graph.svg(order=True), graph.svg(grad=True, order=True)
    numbers = [f">({n}) </tspan>" for n in range(1, 13)]
    assert [n in forward for n in numbers] == [True] * 4 + [False] * 8
    assert [n in both for n in numbers] == [True] * 12
    assert "tspan" not in graph.svg() and "∂a" in graph.svg(grad=True) and "∂a" not in graph.svg()
