"""Names of arguments, parameters and optimizer state in graphs, equations, drawings and errors."""

import functools

import gradus
import pytest
from gradus import nn


def inputs(graph):
    """Returns the names of a graph's inputs; checks that its text and `inputs` agree."""
    head = next(line for line in repr(graph).splitlines() if line.startswith("graph ("))
    assert all(f"{name}: " in head for name in graph.inputs)
    return graph.inputs


def test_arguments_have_the_names_of_the_signature():
    def loss(features, weight, *rest, scale=2.0):
        return (features @ weight).tanh().sum() * scale + sum(r.sum() for r in rest)

    ones = gradus.ones
    graph = gradus.trace(loss, ones(2, 3), ones(3), ones(1), ones(2))
    assert inputs(graph) == ["features", "weight", "rest.0", "rest.1"]
    text = graph.equations(grad=True)
    assert "Grad_features[" in text and "Grad_weight[" in text and "rest_1" in text
    assert ">weight<" in graph.svg() and "∂weight" in graph.svg(grad=True)
    nested = gradus.trace(lambda pair, options: pair[0] * pair[1] + options["bias"], [ones(2), ones(2)], {"bias": ones(2)})
    assert inputs(nested) == ["pair.0", "pair.1", "options.bias"]
    assert inputs(gradus.trace(gradus.exp, ones(2)))[0].isidentifier()
    assert inputs(gradus.trace(functools.partial(loss, ones(2, 3)), ones(3))) == ["weight"]


def test_compiled_functions_take_arguments_by_name():
    @gradus.jit
    def minus(a, b):
        return a - b

    a, b = gradus.tensor([5.0, 7.0]), gradus.tensor([2.0, 3.0])
    assert minus(b=b, a=a).tolist() == minus(a, b).tolist() == minus(a, b=b).tolist() == [3.0, 4.0]
    assert inputs(minus.graph(a, b)) == inputs(minus.graph(a, b=b)) == ["a", "b"]
    assert sorted(inputs(minus.graph(b=b, a=a))) == ["a", "b"]
    assert minus.equations(a, b) == "Y[i] = a[i] - b[i]\nexport Y\n"


def test_words_of_the_equation_language_are_renamed():
    exp, i, export = gradus.tensor([1.0, 2.0, 3.0]), gradus.tensor(2.0), gradus.ones(3)
    graph = gradus.trace(lambda exp, i, export: (exp.exp() * i + export).sum(), exp, i, export)
    text = graph.equations()
    assert graph.inputs == ["exp", "i", "export"] and "exp_[" in text and "export_[" in text
    found = gradus.Program(text).run(exp_=exp, i=i, export_=export)["Y"]
    assert found.item() == pytest.approx((exp.exp() * 2 + 1).sum().item(), rel=1e-6)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))

    def forward(self, x):
        return self.layers(x)


PATHS = ["layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"]


def test_parameters_have_their_paths():
    net, x = Net(), gradus.ones(5, 3)
    assert inputs(gradus.trace(net, x)) == ["x", *PATHS]
    assert inputs(gradus.trace(net.forward, x)) == ["x", *PATHS]
    assert inputs(gradus.trace(lambda batch: net(batch).sum(), x)) == ["batch", *PATHS]
    assert inputs(gradus.jit(net.forward).graph(x)) == ["x", *PATHS]
    assert "Grad_layers_0_weight[" in gradus.trace(lambda batch: net(batch).sum(), x).equations(grad=True)
    other = Net()
    both = inputs(gradus.trace(lambda batch: net(batch) + other(batch), x))
    assert both == ["batch", *(f"net.{path}" for path in PATHS), *(f"other.{path}" for path in PATHS)]


def test_variables_from_outside_have_their_names():
    w = gradus.ones(3, requires_grad=True)
    scales = [gradus.tensor(2.0, requires_grad=True)]
    assert inputs(gradus.trace(lambda x: x * w * scales[0], gradus.ones(3))) == ["x", "w", "scales.0"]

    class Holder:
        def __init__(self):
            self.slope = gradus.ones(3, requires_grad=True)

        def line(self, x):
            return x * self.slope

    assert inputs(gradus.trace(Holder().line, gradus.ones(3))) == ["x", "slope"]


@pytest.mark.parametrize("kind, state", [("SGD", ["momentum_buffer"]), ("Adam", ["exp_avg", "exp_avg_sq"])])
def test_a_training_step_names_parameters_and_state(kind, state):
    x, y = gradus.ones(5, 3), gradus.zeros(5, 2)
    options = {"momentum": 0.9} if kind == "SGD" else {}

    def training():
        gradus.manual_seed(0)
        net = Net()
        optimizer = getattr(gradus.optim, kind)(net.parameters(), lr=0.1, **options)

        def step(batch, target):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(batch), target)
            loss.backward()
            optimizer.step()
            return loss

        return step

    plain, step = training(), gradus.jit(training())
    losses = [plain(x, y).item() for _ in range(3)]
    assert [step(x, y).item() for _ in range(3)] == pytest.approx(losses, rel=1e-5)
    names = inputs(step.graph(x, y))
    assert names[:2] == ["batch", "target"]
    for path in PATHS:
        assert path in names
        assert all(f"{path}.{key}" in names for key in state), names
    assert not [name for name in names if name.startswith(("cell", "outer"))], names
