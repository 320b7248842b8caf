"""Files: loading returns what was saved, with its types; files of other programs are read; only data is accepted."""

import io
import json
import math
import struct

import numpy as np
import pytest

import gradus
from gradus import nn, optim
from oracle import array, peer_or_skip


def equal(a, b):
    if isinstance(a, gradus.Tensor):
        return isinstance(b, gradus.Tensor) and a.dtype == b.dtype and np.array_equal(array(a), array(b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


def test_state_dict_is_a_plain_file(tmp_path):
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    path = tmp_path / "model.safetensors"
    gradus.save(net.state_dict(), path)
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    assert set(header) - {"__metadata__"} == set(net.state_dict())
    assert header["0.weight"]["shape"] == [4, 3] and header["1.num_batches_tracked"]["dtype"] == "I64"
    other = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    other.load_state_dict(gradus.load(path))
    assert equal(dict(net.state_dict()), dict(other.state_dict()))


def test_training_state(tmp_path):
    def make():
        net = nn.Linear(3, 2)
        return net, optim.Adam(net.parameters(), lr=0.1)

    def step(net, opt):
        opt.zero_grad()
        (net(gradus.ones(2, 3)) ** 2).sum().backward()
        opt.step()

    net, opt = make()
    for _ in range(3):
        step(net, opt)
    path = str(tmp_path / "run")
    gradus.save({"model": net.state_dict(), "optim": opt.state_dict(), "epoch": 3, "losses": [0.5, math.inf]}, path)
    saved = gradus.load(path)
    assert saved["epoch"] == 3 and saved["losses"] == [0.5, math.inf]
    other, other_opt = make()
    other.load_state_dict(saved["model"])
    other_opt.load_state_dict(saved["optim"])
    for _ in range(3):
        step(net, opt)
        step(other, other_opt)
    np.testing.assert_array_equal(array(net.weight), array(other.weight))


def test_nests_keep_their_types(tmp_path):
    x = gradus.arange(6).reshape(2, 3)
    value = {
        "a": [x, (1, 2.5, None, True), {"deep": {0: x.double(), "0": gradus.tensor(7)}}],
        "nan": math.nan, "inf": -math.inf, "z": 1 - 2j, "text": "ü\"\n", "big": 10**30, 5: gradus.zeros(0, 3), (1, "k"): x > 2,
    }
    gradus.save(value, tmp_path / "f")
    assert equal(gradus.load(tmp_path / "f"), value)
    gradus.save(x, tmp_path / "t")
    assert equal(gradus.load(tmp_path / "t"), x)
    gradus.save({}, tmp_path / "e")
    assert gradus.load(tmp_path / "e") == {}


def test_keys_that_contain_dots(tmp_path):
    value = {"a.b": gradus.ones(1), "a": {"b": gradus.zeros(2)}, "n": 1}
    gradus.save(value, tmp_path / "f")
    assert equal(gradus.load(tmp_path / "f"), value)


def test_views_and_dtypes(tmp_path):
    x = gradus.arange(12).reshape(3, 4)
    value = {"t": x.T, "s": x[::2, 1:], "e": x[0].expand(3, 4), "p": nn.Parameter(gradus.ones(2))}
    for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "uint8", "bool"):
        value[dtype] = x.to(getattr(gradus, dtype))
    gradus.save(value, tmp_path / "f")
    loaded = gradus.load(tmp_path / "f")
    for k, v in value.items():
        assert loaded[k].dtype == v.dtype and loaded[k].to(gradus.float64).tolist() == v.to(gradus.float64).tolist(), k
    assert loaded["p"].requires_grad and isinstance(loaded["p"], nn.Parameter)


@pytest.mark.parametrize("nested", [False, True])
def test_sharing_and_requires_grad_are_restored(tmp_path, nested):
    t, leaf = gradus.arange(3.0), gradus.ones(2, requires_grad=True)
    value = {"a": t, "b": t, "leaf": leaf, "w": nn.Parameter(t), "frozen": nn.Parameter(t, requires_grad=False), "result": leaf * 2}
    gradus.save([value, 1] if nested else value, tmp_path / "f")
    loaded = gradus.load(tmp_path / "f")
    loaded = loaded[0] if nested else loaded
    assert equal(loaded, {k: v.detach() for k, v in value.items()})
    assert loaded["a"] is loaded["b"] and loaded["w"] is not loaded["a"]
    assert [loaded[k].requires_grad for k in value] == [False, False, True, True, False, True] and loaded["result"].is_leaf
    assert [type(loaded[k]) is nn.Parameter for k in value] == [False, False, False, True, True, False]
    loaded["a"][0] = 7
    assert loaded["b"][0] == 7 and loaded["w"][0] == 0


def test_tied_weights_are_a_plain_file_too(tmp_path):
    theirs = peer_or_skip("safetensors.numpy")
    t = gradus.arange(3)
    gradus.save({"a": t, "b": t}, tmp_path / "f")
    assert {k: v.tolist() for k, v in theirs.load_file(str(tmp_path / "f")).items()} == {"a": [0, 1, 2], "b": [0, 1, 2]}


def test_sets_come_back(tmp_path):
    gradus.save({"a": {1, 2}}, tmp_path / "f")
    assert gradus.load(tmp_path / "f") == {"a": {1, 2}}


def test_files_in_memory():
    buffer = io.BytesIO()
    gradus.save({"x": gradus.ones(2), "n": 1}, buffer)
    buffer.seek(0)
    assert equal(gradus.load(buffer), {"x": gradus.ones(2), "n": 1})


def test_errors_name_the_unsupported_entry(tmp_path):
    with pytest.raises(TypeError, match=r"a\.1.*object"):
        gradus.save({"a": [1, object()]}, tmp_path / "f")
    with pytest.raises(TypeError, match="state_dict"):
        gradus.save(gradus.optim.SGD([gradus.ones(1)], lr=0.1), tmp_path / "f")
    assert not (tmp_path / "f").exists()
    with pytest.raises(FileNotFoundError):
        gradus.load(tmp_path / "none")


def test_broken_files(tmp_path):
    gradus.save({"x": gradus.ones(100)}, tmp_path / "f")
    raw = (tmp_path / "f").read_bytes()
    for bad in (b"", raw[:7], raw[:40], raw[:-5], b"\xff" * 64):
        (tmp_path / "g").write_bytes(bad)
        with pytest.raises(Exception) as error:
            gradus.load(tmp_path / "g")
        assert isinstance(error.value, (ValueError, RuntimeError, OSError)) or "safetensors" in type(error.value).__module__ + type(error.value).__name__.lower()


def test_interchange_with_the_safetensors_package(tmp_path):
    theirs = peer_or_skip("safetensors.numpy")
    theirs.save_file({"w": np.arange(6, dtype=np.float32).reshape(2, 3)}, str(tmp_path / "f"))
    assert gradus.load(tmp_path / "f")["w"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    gradus.save({"w": gradus.arange(3)}, tmp_path / "g")
    assert theirs.load_file(str(tmp_path / "g"))["w"].tolist() == [0, 1, 2]
