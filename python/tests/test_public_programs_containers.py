"""Lists and dictionaries of parameters, nested containers (pytrees), and saved modules and arrays."""

import io
import json
import sys
import types
from collections import OrderedDict, deque, namedtuple

import numpy as np
import pytest
from oracle import needs_torch, torch

import gradus
from gradus import nn

Point = namedtuple("Point", "x y")


def _described(t):
    """Returns the contents of lists and dictionaries of parameters, as texts."""
    nn, found = t.nn, []
    nested = nn.ParameterList()
    nested.append(nn.ParameterList([t.ones(1), t.ones(2)]))
    nested.append(nn.ParameterList([t.ones(3)]))
    found += [len(nested), list(nested.state_dict()), len(list(nested.parameters())), [type(x).__name__ for x in nested]]
    mixed = nn.ParameterList([t.ones(1), 5, nn.Linear(1, 2), None, "text", nn.ParameterDict({"a": t.ones(4)})])
    found += [len(mixed), list(mixed.state_dict()), repr(mixed), [type(x).__name__ for x in mixed], repr(mixed[1:3]), mixed[-2], [n for n, _ in mixed.named_parameters()]]
    mixed[1] = t.ones(2)
    mixed.extend([t.zeros(1)])
    mixed += [t.zeros(2)]
    found += [len(mixed), list(mixed.state_dict()), type(mixed[1]).__name__]
    named = nn.ParameterDict({"b": t.ones(1), "a": nn.ParameterList([t.ones(2)]), "c": 3})
    found += [list(named), list(named.keys()), list(named.state_dict()), repr(named), named["c"], len(named), list(reversed(named)), "a" in named]
    ordered = nn.ParameterDict(OrderedDict(z=t.ones(1), y=t.ones(1)))
    found += [list(ordered.keys()), list((ordered | named).keys()), list(ordered.copy().keys()), ordered.get("q", 7), list(ordered.setdefault("w", t.ones(1)).shape)]
    found += [ordered.popitem()[0], list(ordered.pop("z").shape), list(ordered.keys()), list(ordered.state_dict())]
    ordered.update([("k", t.ones(1)), ("j", 2)])
    found += [list(ordered.items())[1][0], ordered["j"], len(list(ordered.parameters()))]
    ordered.clear()
    found += [len(ordered), list(ordered.state_dict())]
    layers = nn.ModuleList([None, nn.ReLU()])
    found += [repr(layers), len(layers), list(layers)[0]]
    return [str(x).replace("torch.", "").replace("gradus.", "") for x in found]


@needs_torch
def test_lists_and_dictionaries_of_parameters():
    assert _described(gradus) == _described(torch)


@needs_torch
def test_lists_of_lists_of_parameters_train():
    def trained(t):
        params = t.nn.ParameterList([t.nn.ParameterList([t.ones(2)]) for _ in range(2)])
        optimizer = t.optim.SGD(params.parameters(), lr=0.5)
        sum((i + 1) * (p[0] ** 2).sum() for i, p in enumerate(params)).backward()
        optimizer.step()
        return [p[0].tolist() for p in params]

    assert trained(gradus) == trained(torch) == [[0.0, 0.0], [-1.0, -1.0]]


TREE = {"b": [1, (2, 3)], "a": Point(4, {"z": 5}), "d": deque([6], maxlen=3), "o": OrderedDict(q=7), "n": None, "e": []}


def _walked(p):
    leaves, spec = p.tree_flatten(TREE)
    doubled = p.tree_map(lambda x: x if x is None else 2 * x, TREE)
    return [leaves, spec.num_leaves, spec.num_nodes, spec.num_children, p.tree_unflatten(leaves, spec) == TREE, doubled, p.tree_leaves(TREE),
            p.tree_map_only(int, lambda x: -x, TREE), p.tree_all(lambda x: x is None or x > 0, TREE), p.tree_any_only(int, lambda x: x > 6, TREE),
            [(p.keystr(path), leaf) for path, leaf in p.tree_flatten_with_path(TREE)[0]],
            p.tree_map(lambda x, y: (x, y), [1, {"k": 2, "j": 4}], [3, {"j": 5, "k": 6}]), p.tree_flatten(3)[0],
            p.tree_map(len, [[1, 2], [3]], is_leaf=lambda x: isinstance(x, list) and isinstance(x[0], int)),
            p.tree_flatten([1, 2])[1] == p.tree_flatten([5, 6])[1], p.tree_flatten([1, 2])[1] == p.tree_flatten((1, 2))[1]]


@needs_torch
def test_pytrees():
    from torch.utils import _pytree as theirs

    from gradus.utils import _pytree as ours

    assert _walked(ours) == _walked(theirs)
    for p in (ours, theirs):
        spec = p.tree_flatten([1, 2])[1]
        with pytest.raises(ValueError, match="leaves"):
            p.tree_unflatten([1], spec)
        with pytest.raises(ValueError):
            p.tree_map(lambda a, b: a, [1, 2], (3, 4))

        class Pair:
            def __init__(self, a, b):
                self.a, self.b = a, b

        p.register_pytree_node(Pair, lambda x: ([x.a, x.b], None), lambda values, _: Pair(*values))
        made = p.tree_map(lambda x: x + 1, [Pair(1, 2)])
        assert (made[0].a, made[0].b) == (2, 3)
        with pytest.raises(ValueError, match="already registered"):
            p.register_pytree_node(Pair, None, None)


class Net(nn.Module):
    """A model with all kinds of attributes."""

    made = 0

    def __init__(self):
        super().__init__()
        Net.made += 1
        self.body = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU())
        self.tied, self.count, self.act, self.kind = self.body[0], 3, gradus.tanh, gradus.float64
        self.extent, self.names = gradus.ones(2, 3).shape, {"a": (1, [2.5])}
        self.register_buffer("mask", gradus.ones(3), persistent=False)
        self.more = nn.ParameterList([gradus.ones(1), nn.ParameterList([gradus.ones(2)])])

    def forward(self, x):
        return self.act(self.body(x)) * self.count * self.mask


def _saved(obj):
    file = io.BytesIO()
    gradus.save(obj, file)
    file.seek(0)
    return file


def test_a_module_is_saved_by_its_class_and_state():
    model = Net()
    model(gradus.randn(5, 2))  # changes the running statistics
    file, made = _saved({"model": model, "epoch": 3}), Net.made
    with pytest.raises(ValueError, match="not allowed.*add_safe_globals"):
        gradus.load(file)
    file.seek(0)
    with gradus.serialization.safe_globals([Net]):
        loaded = gradus.load(file, weights_only=False)["model"]
    assert gradus.serialization.get_safe_globals() == [] and Net.made == made  # __init__ is not called
    x = gradus.randn(4, 2)
    assert gradus.equal(loaded.eval()(x), model.eval()(x)) and repr(loaded) == repr(model)
    assert loaded.tied is loaded.body[0] and loaded.kind is gradus.float64 and loaded.extent == (2, 3) and loaded.names == {"a": (1, [2.5])}
    assert list(loaded.state_dict()) == list(model.state_dict()) and [n for n, _ in loaded.named_parameters()] == [n for n, _ in model.named_parameters()]
    assert all(p.requires_grad for p in loaded.parameters()) and type(loaded.more[1][0]).__name__ == "Parameter"
    loaded.train()(x).sum().backward()
    assert loaded.body[0].weight.grad is not None


def test_add_safe_globals_lasts():
    gradus.serialization.add_safe_globals([Net])
    try:
        assert type(gradus.load(_saved(Net()))) is Net
    finally:
        gradus.serialization.clear_safe_globals()


def test_the_packages_own_layers_need_no_permission():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    x = gradus.randn(1, 3, 4)
    assert gradus.equal(gradus.load(_saved(layer))(x), layer(x))


def test_files_cannot_name_other_code():
    layer = nn.ReLU()

    def with_name(name, old="gradus.nn.activation.ReLU", key=None):
        name = name if key is None else f"{json.dumps(key)}: {json.dumps(name)}"
        file = _saved({"m": layer, "x": gradus.ones(1)})
        raw = file.getvalue()
        assert b"gradus.nn.activation.ReLU" in raw
        length = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:8 + length])
        header["__metadata__"]["gradus.tree"] = header["__metadata__"]["gradus.tree"].replace(old, name)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        return io.BytesIO(len(text).to_bytes(8, "little") + text + raw[8 + length:])

    refused = ["os.system", "subprocess.Popen", "gradus.nn.os", "gradus.load", "gradus.hub.os.system", "builtins.eval", "gradus.nn.Module.__class__", "nothing.Here",
               "gradus.core.builtins.globals", "gradus.core.builtins.eval", "gradus.core.builtins.exec", "gradus.nn.Module.forward", "gradus.Tensor.tolist",
               "gradus.nn.module.Module.__init_subclass__", "gradus.serialization.load", "gradus.serialization.save", "gradus._native.save_safetensors",
               "gradus._native._save_model", "gradus.hub.load", "gradus.nn.functional._in_place", "gradus.nn.functional.tanh", "gradus", "gradus.nn", ""]
    for module, values in [(name, dict(vars(module))) for name, module in sys.modules.items() if name.split(".")[0] == "gradus"]:
        for key, value in values.items():  # what modules import
            if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] != "gradus":
                refused += [f"{module}.{key}.{name}" for name in ("system", "open", "eval", "reduce", "getcwd") if hasattr(value, name)]
            elif callable(value) and (getattr(value, "__module__", "") or "").split(".")[0] not in ("gradus", ""):
                refused.append(f"{module}.{key}")
    for name in refused:
        with pytest.raises(ValueError, match="not allowed|not a Module class"):
            gradus.load(with_name(name))
        with pytest.raises(ValueError, match="not allowed"):
            gradus.load(with_name({"name": name}, '"inplace": false', "extra_repr"))
    assert "gradus.core.builtins.globals" in refused and any(name.endswith(".os.system") for name in refused[8:])
    assert gradus.load(with_name({"name": "gradus.tanh"}, '"inplace": false', "act"))["m"].act is gradus.tanh


def test_hooks_and_local_classes_are_refused():
    layer = nn.Linear(1, 1)
    layer.register_forward_hook(lambda *args: None)
    with pytest.raises(TypeError, match="hooks.*state_dict"):
        _saved(layer)

    class Local(nn.Module):
        pass

    with pytest.raises(TypeError, match="local.*state_dict"):
        _saved(Local())


@pytest.mark.parametrize("dtype", ["float64", "float16", "int16", "uint16", "bool", "complex128", ">f4"])
def test_arrays_come_back(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    back = gradus.load(_saved({"a": array, "part": array[:, ::2]}))
    for name, expected in (("a", array), ("part", array[:, ::2])):
        assert isinstance(back[name], np.ndarray) and back[name].dtype == expected.dtype and (back[name] == expected).all()
    with pytest.raises(TypeError, match="objects"):
        _saved(np.array([object()]))
