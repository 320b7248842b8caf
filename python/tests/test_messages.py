"""Errors: compiled functions name the line that fails at run time, and messages use Python's names."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import gradus
from gradus import nn
from gradus.nn import functional as F
from oracle import peer_or_skip

SOURCES = Path(__file__).parents[2] / "crates"


def line_of(function, part):
    """Returns the number of the line of a function that contains this text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if part in line)


def failing(call, kind):
    with pytest.raises(kind) as raised:
        call()
    return str(raised.value)


def loss(x, y):
    h = x * 2
    return F.cross_entropy(h, y)  # the line


def nested(x, y):
    return loss(x, y) * 3


X, BAD = gradus.randn(4, 5), gradus.tensor([0, 1, 9, 2])


def in_steps(x, y):
    def step(carry, row):
        return carry + row.take(y).sum(), carry  # the step

    return gradus.scan(step, gradus.tensor(0.0), x)[0]


@pytest.mark.parametrize("call", [
    lambda: gradus.jit(loss)(X, BAD),
    lambda: gradus.jit(nested)(X, BAD),
    lambda: gradus.jit(gradus.grad(loss))(X, BAD),
    lambda: gradus.jit(gradus.grad(lambda x, y: nested(x, y)))(X, BAD),
    lambda: gradus.vmap(loss)(X.expand(2, 4, 5), BAD.expand(2, 4)),
    lambda: gradus.checkpoint(loss, X, BAD),
], ids=["jit", "jit of a call", "jit of grad", "jit of grad of a call", "vmap", "checkpoint"])
def test_a_compiled_function_names_call_and_line(call):
    text = failing(call, IndexError)
    assert re.match("cross_entropy: (take|scatter): index", text), text
    assert "(operands float32[4,5], int64[4])" in text, text
    assert f'File "{__file__}", line {line_of(loss, "# the line")}, in loss' in text, text


def test_a_step_with_a_backward_pass_names_its_line():
    model = nn.Linear(5, 5)
    optimizer = gradus.optim.SGD(model.parameters(), 0.1)

    @gradus.jit
    def step(x, y):
        optimizer.zero_grad()
        value = F.nll_loss(F.log_softmax(model(x), -1), y)  # the loss
        value.backward()
        optimizer.step()
        return value

    before = model.weight.detach().clone()
    text = failing(lambda: step(X, BAD), IndexError)
    assert "nll_loss" in text and f"line {line_of(test_a_step_with_a_backward_pass_names_its_line, '# the loss')}, in step" in text
    assert gradus.equal(model.weight, before)


def test_a_step_of_a_loop_names_its_line():
    text = failing(lambda: gradus.jit(in_steps)(X, BAD), IndexError)
    assert f"line {line_of(in_steps, '# the step')}, in step" in text, text


def test_equal_functions_name_their_own_lines():
    def first(x, i):
        return x.index_select(0, i) + 1  # first

    def second(x, i):
        return x.index_select(0, i) + 1  # second

    for function in (first, second):
        text = failing(lambda: gradus.jit(function)(X, BAD), IndexError)
        assert f"in {function.__name__}" in text, text


def test_eager_errors_have_no_line_of_their_own():
    text = failing(lambda: loss(X, BAD), IndexError)
    assert text.startswith("cross_entropy: index 9 is out of range for extent") and "File" not in text and ".rs" not in text


def messages():
    """Yields the messages of the core that contain a word in backquotes, or a word that may be a name of Rust only."""
    for file in sorted(SOURCES.glob("tensor/src/**/*.rs")):
        code = "\n".join(line for line in file.read_text().splitlines() if not line.lstrip().startswith("//"))
        code = code.split("#[cfg(test)]")[0]
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
            if re.search(r"`|REST|\bcells?\b|\b(?:bf16|[fiuc]\d+)\b", text) and " " in text and not text.startswith("[") and not text.endswith("."):
                yield text


def test_messages_of_the_core_use_python_names():
    texts = list(messages())
    assert len(texts) > 12
    for text in texts:
        assert not re.search(r"REST|\bcells?\b|to_vec|backward_with|&|::|data_\(\)|\b(?:bf16|[fiuc]\d+)\b", text), text
        for name in re.findall(r"`\.?(\w+)", text):
            known = hasattr(gradus, name) or hasattr(gradus.Tensor, name) or hasattr(F, name)
            arguments = ("enable_gqa", "allow_unused", "retain_graph", "inputs", "requires_grad", "padding", "name", "term", "labels", "c", "same")
            assert known or name in arguments, (name, text)


@pytest.mark.parametrize("call, kind, part", [
    (lambda: gradus.ones(2, requires_grad=True).backward(), RuntimeError, "pass `gradient`"),
    (lambda: gradus.ones(2).sum().backward(), RuntimeError, "requires_grad=True"),
    (lambda: gradus.ones(2, requires_grad=True).add_(1), RuntimeError, "no_grad()"),
    (lambda: gradus.jit(lambda x: x[x > 0])(gradus.ones(2)), RuntimeError, "use `where`"),
    (lambda: gradus.ones(2, 3) @ gradus.ones(2, 3), RuntimeError, "float32[2,3]"),
    (lambda: gradus.autograd.grad(gradus.ones(2, requires_grad=True).sum(), gradus.ones(2, requires_grad=True)), RuntimeError, "allow_unused=True"),
    (lambda: gradus.tensor([1]).exp_(), RuntimeError, "a result of float32 cannot be written in place to a tensor of int64"),
    (lambda: [1, 2][gradus.tensor(1.0)], TypeError, "a tensor of float32 cannot be an index"),
    (lambda: gradus.zeros(2**70), ValueError, f"{2**70} does not fit in 64 bits"),
    (lambda: gradus.ones(2, 3)[0, 0, 0], IndexError, "too many indices for a tensor of dimension 2"),
    (lambda: gradus.ones(2, 3)[..., ..., 0], IndexError, "only one ellipsis"),
    (lambda: gradus.ones(2).__setitem__((0, 0), 1), IndexError, "too many indices"),
])
def test_messages(call, kind, part):
    assert part in failing(call, kind)


@pytest.mark.parametrize("call", [
    lambda t, x: x // 0, lambda t, x: x % 0, lambda t, x: x // t.tensor([1, 0, 1]), lambda t, x: x % t.tensor([1, 0, 1]), lambda t, x: x**-1,
    lambda t, x: t.div(x, 0, rounding_mode="floor"), lambda t, x: t.div(x, 0, rounding_mode="trunc"), lambda t, x: t.fmod(x, 0), lambda t, x: t.pow(x, -2),
    lambda t, x: 1 // (x * 0),
])
def test_integer_calls_that_pytorch_refuses(call):
    failing(lambda: call(gradus, gradus.tensor([1, 2, 3])), RuntimeError)
    torch = peer_or_skip("torch")
    failing(lambda: call(torch, torch.tensor([1, 2, 3])), RuntimeError)


def test_floor_division_by_zero_and_negative_integer_powers():
    assert (gradus.tensor([1.0]) // 0).isinf().all()
    assert (gradus.tensor([1, 2]) ** gradus.tensor([-1, -1])).tolist() == [1, 0]


def test_byte_tensors_are_masks():
    x = gradus.tensor([5.0, 6.0, 7.0])
    mask = gradus.tensor([1, 0, 1], dtype=gradus.uint8)
    assert x[mask].tolist() == [5.0, 7.0]
    x[mask] = 0
    assert x.tolist() == [0.0, 6.0, 0.0]


def test_errors_of_pickled_files_name_a_remedy(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "safetensors.torch.save_file" in failing(lambda: gradus.load(path), ValueError)
    with open(path, "rb") as file:
        assert "load_state_dict" in failing(lambda: gradus.load(file), ValueError)
    torch = peer_or_skip("torch")
    for kwargs in ({}, {"_use_new_zipfile_serialization": False}):
        torch.save({"w": torch.ones(2)}, path, **kwargs)
        assert "pickle of torch.save" in failing(lambda: gradus.load(path), ValueError)


def test_a_program_is_drawn():
    from xml.etree import ElementTree

    text = "H[i] = relu(W[i,j] X[j])\nA[i] when H[i] > 0 = B[i]\nY = H[i] A[i]"
    p = gradus.Program(text)
    tree = ElementTree.fromstring(p._repr_html_())
    words = ["".join(t.itertext()) for t in tree.iter() if t.tag.endswith("text")]
    for name in ("W", "X", "B", "H", "A", "Y"):
        assert name in words
    assert "A[i] when H[i] > 0 = B[i]" in words and "H[i] = relu(W[i,j] X[j])" in words
    needs = {t.text for t in tree.iter() if t.tag.endswith("title")}
    assert {"H needs W", "H needs X", "A needs B", "A needs H", "Y needs H", "Y needs A"} <= needs
    wires = [t for t in tree.iter() if t.get("class") in ("wire", "flow")]
    assert len(wires) == 6 and all(t.get("class") == "wire" for t in wires)
    graph = p.graph(W=np.ones((2, 3)), X=np.ones(3), B=np.ones(2))
    assert ElementTree.fromstring(graph._repr_html_()) is not None


def test_a_recurrence_is_drawn():
    from xml.etree import ElementTree

    tree = ElementTree.fromstring(gradus.Program("S[i, *t+1] = A[i,j] S[j, *t] + X[i, *t]")._repr_html_())
    assert any(t.text == "S needs X" for t in tree.iter())


def test_messages_name_the_called_function():
    x = gradus.ones(3, 2)
    watched = gradus.ones(2, requires_grad=True)
    watched.register_hook(lambda g: gradus.ones(3))
    program = gradus.Program("L = W[i] X[i]\nexport L")

    def put(index, value):
        y = x.clone()
        y[index] = value

    cases = [
        (lambda: gradus.jit(lambda x: x if x.sum() > 0 else -x)(x), RuntimeError, "use `where` or `cond`"),
        (lambda: gradus.vmap(lambda x, i: x.gather(0, i))(gradus.ones(2, 3), gradus.tensor([[0, 5], [1, 1]])), IndexError, "index 5 is out of range for extent 3"),
        (lambda: gradus.vmap(lambda x, i: x[i])(gradus.ones(2, 3), gradus.tensor([[0, 5], [1, 1]])), IndexError, "index 5 is out of range for extent 3"),
        (lambda: gradus.vmap(gradus.vmap(lambda x, i: x[i]))(gradus.ones(2, 2, 3), gradus.tensor([[0, 5], [1, 1]])), IndexError, "index 5 is out of range for extent 3"),
        (lambda: gradus.vmap(lambda x, i: x.scatter(0, i, 1.0))(gradus.ones(2, 3), gradus.tensor([[0], [3]])), IndexError, "index 3 is out of range for extent 3"),
        (lambda: gradus.jit(lambda x, i: x.gather(1, i))(gradus.ones(2, 3), gradus.tensor([[0, 4], [1, 1]])), IndexError, "index 4 is out of range for extent 3"),
        (lambda: F.pad(x, (-5, 0)), RuntimeError, "crops more than the 2 elements"), (lambda: F.pad(x.unsqueeze(0), (5, 0), mode="reflect"), RuntimeError, "at most 1"),
        (lambda: x.topk(5), ValueError, "topk: k = 5"), (lambda: gradus.cat([x, gradus.ones(3, 4)]), RuntimeError, "^cat: "), (lambda: put(0, gradus.ones(5)), RuntimeError, "^index_put: "),
        (lambda: x.index_select(0, gradus.tensor([7])), IndexError, "^index_select: "), (lambda: (watched * 2).sum().backward(), RuntimeError, "^register_hook: "),
        (lambda: program.run(W=gradus.ones(2)), ValueError, r"give it \(run\(X=…\)\)"), (lambda: program.grad("L", 3), TypeError, "a name or a list of names"),
    ]
    for call, kind, words in cases:
        text = failing(call, kind)
        assert re.search(words, text), text
    assert str(program.grad("L", "W")) == str(program.grad("L", ["W"]))
    assert list(program.run(W=gradus.ones(2), X=gradus.ones(2), only="L")) == ["L"]


def test_an_invalid_class_is_named_as_passed():
    loss = gradus.jit(gradus.nn.functional.cross_entropy)
    for wrong in (-1, 5, -7):
        with pytest.raises(IndexError, match=f"index {wrong} is out of range for extent 5"):
            loss(gradus.zeros(4, 5), gradus.tensor([0, wrong, 2, 3]))
    assert abs(loss(gradus.zeros(4, 5), gradus.tensor([0, -100, 2, 3])).item() - 1.6094379) < 1e-6
    with pytest.raises(ValueError, match="at least 1"):
        gradus.multinomial(gradus.ones(3), 0)
