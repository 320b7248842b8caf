"""Which tensors change when one of them is written to, and where that is recorded; compared with PyTorch where it is installed."""

import subprocess
import sys
import threading

import pytest

import gradus
from gradus import nn
from oracle import torch

WRITES = {
    "copy_": lambda h, w: h.copy_(w),
    "fill_": lambda h, w: h.fill_(w[0]),
    "slice": lambda h, w: h.__setitem__(slice(None), w),
    "ellipsis": lambda h, w: h.__setitem__(..., w),
    "data.copy_": lambda h, w: h.data.copy_(w),
    "data=": lambda h, w: setattr(h, "data", w.data.clone()),
    "detach().copy_": lambda h, w: h.detach().copy_(w),
    "view.copy_": lambda h, w: h.view(1, 2).copy_(w),
    "set_": lambda h, w: h.set_(w.detach().clone()),
    "real": lambda h, w: h.real.copy_(w),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_tensor_that_copies_a_leaf_does_not_share_its_memory(write):
    w, h = nn.Parameter(gradus.zeros(2)), gradus.ones(2)
    with gradus.no_grad():
        WRITES[write](h, w)
        h += 1
        assert (w.tolist(), h.tolist(), h.requires_grad) == ([0, 0], [1, 1], False)
        w += 5
    assert (w.tolist(), h.tolist()) == ([5, 5], [1, 1])


def test_copies_of_leaves_are_recorded():
    w, h = gradus.ones(3, requires_grad=True), gradus.zeros(3)
    h.copy_(w)
    assert not h.is_leaf and h.requires_grad
    h[0] = 5.0
    (h * h).sum().backward()
    assert (w.tolist(), h.tolist(), w.grad.tolist()) == ([1, 1, 1], [5, 1, 1], [0, 2, 2])


def test_copies_of_leaves_in_compiled_functions():
    w, h = nn.Parameter(gradus.zeros(2)), gradus.zeros(2)

    @gradus.jit
    def step():
        with gradus.no_grad():
            h.copy_(w)
            w.add_(1)
        return h * 1

    assert [step().tolist() for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]
    assert (h.tolist(), w.tolist()) == ([2, 2], [3, 3])


def detached_part(t):
    w, h = t.ones(3, requires_grad=True), t.zeros(3).detach()
    h[0] = w[0] * 5
    ((h * 2).sum() + w.sum()).backward()
    return w.grad, h


def detached_product(t):
    base, w = t.ones(4, requires_grad=True) * 2, t.ones(4, requires_grad=True)
    h = base.detach()
    h *= w
    (h * h).sum().backward()
    return w.grad, h, base


def part_of_detached(t):
    base, w = t.zeros(4), t.ones(4, requires_grad=True)
    h = base.detach()[1:]
    h[1] += w[1] * 3
    (h * 2).sum().backward()
    return w.grad, h, base, t.tensor([h.requires_grad, base.requires_grad])


def source_written_later(t):
    base, w = t.zeros(3), t.ones(3, requires_grad=True)
    h = base.detach()
    h += w * 2
    base[1] = 7.0
    with t.no_grad():
        h[2] = 9.0
    h.sum().backward()
    return w.grad, h, base


def data_of_a_leaf(t):
    p, w = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    h = p.data
    h[0] = w[0] * 2
    (p.sum() * 3 + h.sum()).backward()
    return p, p.grad, w.grad


def window(t):
    a = t.arange(6.0)
    a.unfold(0, 2, 1)[2] = t.tensor([100.0, 200.0])
    return a


def windows_at_an_array(t):
    a = t.arange(8.0).reshape(4, 2, 1)
    a.unfold(0, 2, 1)[-3, [0]] = t.tensor([[[100.0, 200.0]]])
    return a


def an_element_of_windows(t):
    a = t.arange(6.0)
    v = a.unfold(0, 3, 1)
    v[1, 2] = -1
    v[v == 4.0] = 40.0
    return a, v


def strided(t):
    a = t.arange(6.0)
    v = a.as_strided((3, 3), (1, 1))
    v[0] = t.tensor([10.0, 20.0, 30.0])
    return a, v


def rows_of_an_expanded(t):
    a = t.arange(3.0)
    a.expand(2, 3)[[1], [0]] = t.tensor([9.0])
    a.expand(2, 3)[t.tensor([[False, False, False], [False, True, False]])] = t.tensor([8.0])
    return a


def filled(t):
    x, y = t.zeros(3, dtype=t.int64), t.zeros(2, dtype=t.bool)
    return x.masked_fill_(x == 0, 2.7), y.masked_fill_(~y, 0.5), t.zeros(2).masked_fill_(~y, float("-inf"))


def scalars(t):
    return t.tensor(1.0).movedim(0, 0), t.tensor(2.0).movedim(-1, 0), t.movedim(t.arange(6.0).reshape(1, 2, 3), (0, -1), (1, 0))


PROGRAMS = {
    detached_part: [[11, 1, 1], [5, 0, 0]],
    detached_product: [[8, 8, 8, 8], [2, 2, 2, 2], [2, 2, 2, 2]],
    part_of_detached: [[0, 6, 0, 0], [0, 3, 0], [0, 0, 3, 0], [True, False]],
    source_written_later: [[2, 2, 2], [2, 7, 9], [2, 7, 9]],
    data_of_a_leaf: [[2, 1], [3, 3], [2, 0]],
    window: [[0, 1, 100, 200, 4, 5]],
    windows_at_an_array: None,
    an_element_of_windows: [[0, 1, 2, -1, 40, 5], [[0, 1, 2], [1, 2, -1], [2, -1, 40], [-1, 40, 5]]],
    strided: [[10, 20, 30, 3, 4, 5], [[10, 20, 30], [20, 30, 3], [30, 3, 4]]],
    rows_of_an_expanded: [[9, 8, 2]],
    filled: [[2, 2, 2], [True, True], [0, 0]],
    scalars: None,
}


def plain(result):
    return [x.detach().tolist() for x in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_that_write(program):
    ours, known = plain(program(gradus)), PROGRAMS[program]
    assert known is None or ours == known
    if torch is not None:
        assert ours == plain(program(torch))


def test_detached_tensors_in_traced_functions():
    def loss(w):
        h = gradus.zeros(3).detach()
        h[0] = w[0] * 5
        h *= w
        return (h * 2).sum() + w.sum()

    w = gradus.ones(3)
    assert gradus.grad(loss)(w).tolist() == [21, 1, 1]
    assert gradus.jit(gradus.grad(loss))(w).tolist() == [21, 1, 1]


def test_overlapping_windows_cannot_be_written_together():
    with pytest.raises(RuntimeError, match="share memory"):
        gradus.arange(6.0).unfold(0, 2, 1).mul_(2)
    a = gradus.arange(6.0)
    a.unfold(0, 2, 1).fill_(3)
    a.unfold(0, 2, 2).mul_(2)
    assert a.tolist() == [6] * 6


def test_versions_count_writes():
    x = gradus.zeros(3)
    v = x[1:]
    x += 1
    v.mul_(2)
    x[0] = 4.0
    assert (x._version, v._version, x.tolist()) == (3, 3, [4, 2, 2])
    p = nn.Parameter(gradus.zeros(2))
    with gradus.no_grad():
        p.add_(1)
        p[0] = 3.0
    assert (p._version, p.tolist()) == (2, [3, 1])


ELEMENTS = {
    "+=": lambda s, k: s.__setitem__(k, s[k] + 1),
    "view": lambda s, k: s[k : k + 1].add_(1.0),
    "array": lambda s, k: s.__setitem__([k], s[[k]] + 1),
    "matrix": lambda s, k: s.view(-1, 4)[k // 4, k % 4].add_(1.0),
}


def together(*works):
    """Runs each function in a thread, all started at once; raises their exceptions."""
    start, failed = threading.Barrier(len(works)), []

    def run(work):
        start.wait()
        try:
            work()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failed and not any(t.is_alive() for t in threads), failed


def training(model, optimiser):
    """Makes a compiled training step."""

    @gradus.jit
    def step(x, y):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()
        return loss

    return step


@pytest.mark.parametrize("size", [8, 1 << 16])
@pytest.mark.parametrize("write", ELEMENTS)
def test_threads_write_to_different_elements(write, size):
    s = gradus.zeros(size)

    def work(k):
        for _ in range(50):
            ELEMENTS[write](s, k)

    together(*(lambda k=k: work(k) for k in range(8)))
    assert s[:8].tolist() == [50] * 8


def test_first_calls_of_a_compiled_step_by_several_threads():
    gradus.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 4))
    optimiser = gradus.optim.Adam(model.parameters(), 1e-3)
    step, losses = training(model, optimiser), []
    x, y = gradus.randn(16, 8), gradus.randint(0, 4, (16,))

    def work():
        for n in (16, 16, 8, 16, 4, 8):
            losses.append(step(x[:n], y[:n]).item())

    together(*[work] * 4)
    assert len(losses) == 24
    assert model[1].num_batches_tracked.item() == 24
    assert optimiser.state_dict()["state"][0]["step"] == 24


def test_functional_has_the_top_level_functions():
    f, a = gradus.functional, gradus.arange(6.0).reshape(2, 3)
    assert f.einsum("ij,kj->ik", a, a).tolist() == [[5, 14], [14, 50]]
    assert f.matmul(a, a.T).tolist() == [[5, 14], [14, 50]]
    assert f.gather(a, 1, gradus.tensor([[2], [0]])).tolist() == [[2], [3]]
    assert not hasattr(f, "no_such_function") and not hasattr(f, "float32")


def test_errors_of_slices_at_traced_indices_name_a_remedy():
    with pytest.raises(RuntimeError, match=r"x\[i \+ gradus.arange\(n\)\]"):
        gradus.jit(lambda x, i: x[i:])(gradus.arange(4.0), gradus.tensor(1))
    taken = gradus.jit(lambda x, i: x[i + gradus.arange(2)])(gradus.arange(4.0), gradus.tensor(1))
    assert taken.tolist() == [1, 2]


def test_threads_that_read_parameters_wait_for_the_step():
    gradus.manual_seed(3)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
    step = training(model, gradus.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9))
    x, y = gradus.randn(128, 64), gradus.randint(0, 4, (128,))
    losses, done = [step(x, y).item()], threading.Event()

    def read():
        while not done.is_set():
            assert tuple(model[0].weight.shape) == (256, 64)
            assert model[0].weight[3].sum().isfinite() and len(model.state_dict()) == 4
            assert model(x[:2]).shape == (2, 4)

    def train():
        losses.extend(step(x, y).item() for _ in range(40))
        done.set()

    together(train, read, read)
    assert losses[-1] < losses[0]


#: The step of one thread changes the parameter, and another thread writes the parameter into a tensor that a third reads.
THREE = """
import threading
import gradus

p, x, done = gradus.nn.Parameter(gradus.ones(64, 64)), gradus.zeros(2, 64, 64), threading.Event()

@gradus.jit
def step():
    with gradus.no_grad():
        y = p
        for _ in range(100):
            y = (y @ p).tanh()
        p.add_(y * 1e-6)

def steps():
    for _ in range(50):
        step()
    done.set()

def writes():
    with gradus.no_grad():
        while not done.is_set():
            x[0] = p

def reads():
    while not done.is_set():
        x.sum().item()

step()
threads = [threading.Thread(target=f) for f in (steps, writes, reads)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(x[1].sum().item())
"""


def test_a_thread_that_waits_for_a_step_does_not_block_readers():
    # Runs in its own process, because threads in a deadlock hold the interpreter lock.
    run = subprocess.run([sys.executable, "-c", THREE], capture_output=True, text=True, timeout=100)
    assert run.stdout == "0.0\n", run.stderr


def _parts_stay(t):
    p = t.nn.Parameter(t.tensor([1.0, 2.0]))
    kept, part, recorded = p.data, p.detach()[1:], p * 1
    p.data = t.tensor([5.0, 6.0])
    assert kept.tolist() == [1.0, 2.0] and part.tolist() == [2.0] and recorded.tolist() == [1.0, 2.0] and p.tolist() == [5.0, 6.0]
    kept += 1
    assert part.tolist() == [3.0] and p.tolist() == [5.0, 6.0] and p.requires_grad and p.is_leaf
    p.data = kept
    assert p.tolist() == [2.0, 3.0]
    view = p[:1]
    p.data = t.tensor([7.0, 8.0])
    (view * 3).sum().backward()
    assert view.tolist() == [2.0] and p.grad.tolist() == [3.0, 0.0]


def _overwritten(t):
    for write in (lambda y: y.zero_(), lambda y: y.fill_(2.0), lambda y: y.copy_(t.zeros(2)), lambda y: y.copy_(t.ones(2).requires_grad_())):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        write(y)
        assert y.requires_grad and not y.is_leaf
        (y * y).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]


def _elements_alone(t):
    w = t.ones(2, requires_grad=True)
    computed, kept = w * 2, t.zeros(2)
    apart = computed.detach()
    with t.no_grad():
        kept.copy_(computed)
        apart.copy_(computed)
    assert not kept.requires_grad and not apart.requires_grad and kept.tolist() == [2.0, 2.0]
    (kept * w).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def _booleans_of_numbers(t):
    mask = t.tensor([True, False, True])
    assert t.full((2,), 2, dtype=t.bool).tolist() == [True, True]
    assert t.tensor([False, False, True]).masked_fill_(mask, 2).tolist() == [True, False, True]
    assert t.zeros(3, dtype=t.bool).index_fill_(0, t.tensor([1]), 2).tolist() == [False, True, False]
    assert t.tensor([1, 2, 3]).masked_fill(mask, 2.7).tolist() == [2, 2, 2]
    assert t.tensor([1, 2, 3]).masked_fill_(mask, t.tensor(2.7)).tolist() == [2, 2, 2]


def _rows_chosen_in_large_tensors(t):
    x = t.zeros(300, 50)
    x[[1, -1]] = t.ones(2, 50)
    x[t.tensor([[3, 4], [4, 5]])] = 2.0
    assert x.sum().item() == 400 and x[3:6, 0].tolist() == [2.0, 2.0, 2.0] and x[299].sum().item() == 50
    x[x > 1.5] = 7.0
    assert x.sum().item() == 1150
    x[t.arange(300) % 3 == 0] = t.arange(50.0)
    assert x[0].sum().item() == 1225 and x[4].sum().item() == 350 and x[297, 1].item() == 1


@pytest.mark.parametrize("check", [_parts_stay, _overwritten, _elements_alone, _booleans_of_numbers, _rows_chosen_in_large_tensors])
@pytest.mark.parametrize("package", [gradus] + ([torch] if torch else []), ids=lambda package: package.__name__)
def test_writes_behave_as_in_pytorch(check, package):
    check(package)
