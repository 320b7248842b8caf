"""Names that scripts written for PyTorch use in addition to functions and layers: each program runs with both packages if PyTorch is
installed.

A program is a function of the library that returns values to compare; random programs return values that do not depend on the draws.
"""

import importlib

import numpy as np
import pytest

import gradus
from oracle import peer_or_skip, same, torch as pytorch

rng = np.random.default_rng(5)
A, B, V = rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), rng.standard_normal(5)
IMAGE, GRID = rng.standard_normal((2, 3, 5, 4)), 2.6 * rng.random((2, 6, 3, 2)) - 1.3
LOGITS = rng.standard_normal((6, 3, 5))
TABLE = rng.standard_normal((7, 3))


def leaf(t, x):
    return t.tensor(x, requires_grad=True)


def out_arguments(t):
    x, y = t.tensor(A), t.tensor(B)
    o, empty, values, places = t.empty(3, 4, dtype=t.float64), t.empty(0, dtype=t.float64), t.empty(0, dtype=t.float64), t.empty(0, dtype=t.long)
    given = t.add(x, y, out=o)
    t.exp(x, out=empty)
    t.max(x, 1, out=(values, places))
    z = t.zeros(2, 3, dtype=t.float64)
    t.matmul(x[:2], y.t(), out=z)
    c = t.empty(6, 4, dtype=t.float64)
    t.cat([x, y], out=c)
    return given is o, o, empty, values, places, z, c


def input_keyword(t):
    x = t.tensor(A)
    return [t.exp(input=x), t.add(input=x, other=1), t.sum(input=x, dim=1), t.softmax(input=x, dim=-1), t.clamp(input=x, min=0), t.reshape(input=x, shape=(4, 3)), t.permute(x, dims=(1, 0)), t.flip(x, dims=[0])]


def in_place(t):
    def x():
        return t.tensor(A)

    mask = t.tensor(A > 0)
    index = t.tensor([[0, 1, 2, 0]])
    return [
        x().tril_(), x().triu_(1), x().fill_diagonal_(7.0), x().clip_(-0.5, 0.5), x().unsqueeze(0).squeeze_(), x().unsqueeze_(1), x().t_(),
        x().masked_scatter_(mask, t.tensor(B)), x().scatter_reduce_(0, index, t.tensor(B[:1]), "sum"), x().index_put_((t.tensor([0, 2]),), t.tensor(5.0, dtype=t.float64)),
        x().transpose_(0, 1), x().cumsum_(1),
    ]


def in_place_with_gradients(t):
    x = leaf(t, A)
    y = x * 2
    y.tril_()
    y.unsqueeze_(0)
    (y * t.tensor(B)).sum().backward()
    return y.shape == (1, 3, 4), x.grad


def random_in_place(t):
    t.manual_seed(0)
    e, r = t.empty(20000).exponential_(2.0), t.zeros(1000).random_(3, 6)
    return abs(e.mean().item() - 0.5) < 0.02, bool((e >= 0).all()), sorted(set(r.tolist()))


def hooks_of_tensors(t):
    x, seen = leaf(t, V), []
    y = x * 3
    first = y.register_hook(lambda g: seen.append(g.clone()))
    y.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g + 1)
    y.retain_grad()
    (y * y).sum().backward(retain_graph=True)
    first.remove()
    once = x.grad.clone()
    (y * y).sum().backward()
    return seen, once, x.grad, y.grad, t.autograd.grad((x * x).sum(), x)[0], len(seen)


def a_hook_that_raises(t):
    x = t.ones(2, requires_grad=True)

    def bad(g):
        raise KeyError("mine")

    x.register_hook(bad)
    try:
        (x * 2).sum().backward()
    except KeyError as error:
        return str(error), x.grad is None


def hooks_of_modules(t):
    layer = t.nn.Linear(4, 2).double()
    with t.no_grad():
        layer.weight.copy_(t.tensor(A[:2]))
        layer.bias.zero_()
    seen = []
    layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))
    handle = layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].clone(), go[0].clone())))
    x = leaf(t, B)
    layer(x).sum().backward()
    handle.remove()
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
    layer(x).sum().backward()
    return seen, x.grad, layer.weight.grad


def memory(t):
    x = t.ones(3)
    return x.data_ptr() != 0, x.storage_offset(), x.is_cpu, x.is_pinned(), x.get_device(), t.ones(2).share_memory_()


def settings(t):
    t.backends.cudnn.benchmark = True
    t.set_float32_matmul_precision("high")
    return t.backends.mps.is_available(), t.backends.cudnn.benchmark, t.get_float32_matmul_precision(), t.cuda.is_available()


def mixed_precision(t):
    w = t.nn.Parameter(t.ones(2))
    optimizer = t.optim.SGD([w], lr=0.5)
    scaler = t.amp.GradScaler("cpu", enabled=False)
    with t.autocast("cpu", enabled=False):
        loss = (w * w).sum()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()

    @t.amp.autocast("cpu", enabled=False)
    def double(x):
        return x * 2

    return w, double(t.ones(2))


def checkpoints(t):
    from_module = importlib.import_module(f"{t.__name__}.utils.checkpoint")
    x = leaf(t, V)
    from_module.checkpoint(lambda x: x.sin() * x, x, use_reentrant=False).sum().backward()
    y = leaf(t, V)
    from_module.checkpoint_sequential(t.nn.Sequential(t.nn.Tanh(), t.nn.Sigmoid(), t.nn.Tanh()), 2, y, use_reentrant=False).sum().backward()
    return x.grad, y.grad


def sequences(t):
    rnn = importlib.import_module(f"{t.__name__}.nn.utils.rnn")
    parts = [t.tensor(LOGITS[:n, i]) for i, n in enumerate((4, 6, 2))]
    padded = rnn.pad_sequence(parts, batch_first=True, padding_value=-1.0)
    packed = rnn.pack_padded_sequence(padded, t.tensor([4, 6, 2]), batch_first=True, enforce_sorted=False)
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=9.0)
    sorted_ = rnn.pack_sequence([parts[1], parts[0], parts[2]])
    return padded, packed.data, packed.batch_sizes, packed.sorted_indices, back, lengths, sorted_.data, rnn.unpack_sequence(packed)


def packed_through(kind, bidirectional):
    def run(t):
        rnn = importlib.import_module(f"{t.__name__}.nn.utils.rnn")
        net = getattr(t.nn, kind)(5, 4, num_layers=2, bidirectional=bidirectional).double()
        state = np.random.default_rng(3)
        with t.no_grad():
            for p in net.parameters():
                p.copy_(t.tensor(state.standard_normal(tuple(p.shape)) * 0.3))
        x = leaf(t, LOGITS)
        packed = rnn.pack_padded_sequence(x, t.tensor([4, 6, 2]), enforce_sorted=False)
        out, last = net(packed)
        padded, lengths = rnn.pad_packed_sequence(out)
        last = last if isinstance(last, tuple) else (last,)
        (padded.sin().sum() + sum((s * s).sum() for s in last)).backward()
        return padded, lengths, last, x.grad, [p.grad for p in net.parameters()]

    return run


def distributions(t):
    d = importlib.import_module(f"{t.__name__}.distributions")
    loc, scale = leaf(t, V), leaf(t, np.abs(V) + 0.5)
    normal, uniform = d.Normal(loc, scale), d.Uniform(t.tensor(V), t.tensor(V + 2))
    chances, logits = t.tensor(np.abs(A) + 0.1), leaf(t, A)
    categorical, by_logits = d.Categorical(chances), d.Categorical(logits=logits)
    bernoulli, other = d.Bernoulli(t.tensor(1 / (1 + np.exp(-A)))), d.Bernoulli(logits=leaf(t, B))
    classes, bits = t.tensor([1, 0, 3]), t.tensor((B > 0) * 1.0)
    value = t.tensor(V + 0.3)
    found = [normal.log_prob(value), normal.entropy(), normal.cdf(value), normal.variance, uniform.log_prob(value), uniform.entropy(), uniform.mean,
             categorical.log_prob(classes), categorical.entropy(), by_logits.log_prob(classes), by_logits.entropy(), by_logits.probs, bernoulli.log_prob(bits),
             bernoulli.entropy(), other.log_prob(bits), other.entropy(), bernoulli.variance, d.kl_divergence(normal, d.Normal(t.tensor(0.0, dtype=t.float64), t.tensor(1.0, dtype=t.float64))),
             d.kl_divergence(categorical, by_logits), d.kl_divergence(bernoulli, other)]
    sum(f.sum() for f in found).backward()
    return found, loc.grad, scale.grad, logits.grad


def draws(t):
    d = importlib.import_module(f"{t.__name__}.distributions")
    t.manual_seed(0)
    normal = d.Normal(t.tensor([1.0, -2.0]), t.tensor([0.5, 2.0])).sample((20000,))
    classes = d.Categorical(t.tensor([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])).sample((20000,))
    bits = d.Bernoulli(t.tensor([0.25, 1.0])).sample((20000,))
    uniform = d.Uniform(t.tensor(2.0), t.tensor(4.0)).sample((20000,))
    close = [abs(normal.mean(0) - t.tensor([1.0, -2.0])).max() < 0.06, abs(normal.std(0) - t.tensor([0.5, 2.0])).max() < 0.06,
             abs((classes[:, 0] == 2).float().mean() - 0.7) < 0.02, (classes[:, 1] == 0).all(), abs(bits.mean(0) - t.tensor([0.25, 1.0])).max() < 0.02,
             abs(uniform.mean() - 3.0) < 0.03]
    return [bool(c) for c in close], tuple(classes.shape), classes.dtype == t.int64, bits.dtype == t.float32


def closeness(t):
    def message(a, b, **how):
        try:
            t.testing.assert_close(a, b, **how)
        except AssertionError as error:
            return str(error).split("\n")[0]
        return None

    x = t.tensor(A)
    return [message(x, x + 1e-9), message(x, x + 1e-3), message(x, x + 1e-3, rtol=0.0, atol=1e-2), message(x, x.float()) is not None,
            message(x, x[:2]) is not None, message([x, {"a": x}], [x, {"a": x + 1}]) is not None, message(t.tensor([1]), t.tensor([2])),
            message(t.tensor([float("nan")]), t.tensor([float("nan")]), equal_nan=True)]


def complex_views(t):
    z = t.tensor(A + 1j * B)
    return t.view_as_real(z), t.view_as_complex(t.tensor(np.stack([A, B], -1)))


def views_of_bytes(t):
    x = t.tensor(A.astype(np.float32))
    return x.view(t.int32), x.view(t.uint8), t.tensor(np.arange(16, dtype=np.uint8)).view(t.float32)


def promotion(t):
    names = ("uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "bool")
    found = [str(t.promote_types(getattr(t, a), getattr(t, b))).split(".")[-1] for a in names for b in names]
    found += [str(r).split(".")[-1] for r in (t.result_type(t.ones(2, dtype=t.int32), 1.5), t.result_type(t.ones(2, dtype=t.float32), t.tensor(2.0, dtype=t.float64)), t.result_type(2, t.ones(2, dtype=t.uint8)))]
    return found


def sampled_grids(t):
    F, found = t.nn.functional, []
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                x, g = leaf(t, IMAGE), leaf(t, GRID)
                y = F.grid_sample(x, g, mode=mode, padding_mode=padding, align_corners=corners)
                (y * y).sum().backward()
                found += [y, x.grad] + ([g.grad] if mode == "bilinear" else [])
    theta = leaf(t, rng2())
    grids = [F.affine_grid(theta, (2, 3, 4, 5), align_corners=c) for c in (False, True)]
    sum((g**2).sum() for g in grids).backward()
    return found, grids, theta.grad


def rng2():
    return np.random.default_rng(8).standard_normal((2, 2, 3))


def bags(t):
    F, found = t.nn.functional, []
    ids, offsets = t.tensor([1, 2, 4, 5, 4, 3, 2, 6]), t.tensor([0, 3, 3, 5])
    for mode in ("sum", "mean", "max"):
        w = leaf(t, TABLE)
        parts = [F.embedding_bag(ids, w, offsets, mode=mode), F.embedding_bag(ids.view(2, 4), w, mode=mode), F.embedding_bag(ids, w, offsets, mode=mode, padding_idx=4)]
        sum((p * p).sum() for p in parts).backward()
        found += [parts, w.grad]
    weights = leaf(t, np.linspace(0.1, 0.8, 8))
    y = F.embedding_bag(ids, t.tensor(TABLE), offsets, mode="sum", per_sample_weights=weights)
    (y * y).sum().backward()
    return found, y, weights.grad


def temporal_classification(t):
    F, found = t.nn.functional, []
    for reduction in ("none", "mean", "sum"):
        for targets in (t.tensor([[1, 2, 2], [3, 3, 0], [4, 0, 0]]), t.tensor([1, 2, 2, 3, 3, 4])):
            x = leaf(t, LOGITS)
            loss = F.ctc_loss(F.log_softmax(x, -1), targets, t.tensor([6, 5, 4]), t.tensor([3, 2, 1]), reduction=reduction)
            loss.sum().backward()
            found += [loss, x.grad]
    alone = F.ctc_loss(F.log_softmax(t.tensor(LOGITS[:, 0]), -1), t.tensor([1, 2]), t.tensor(6), t.tensor(2))
    never = F.ctc_loss(F.log_softmax(t.tensor(LOGITS[:2, :1]), -1), t.tensor([[1, 1, 1]]), t.tensor([2]), t.tensor([3]), reduction="none", zero_infinity=True)
    return found, alone, never


def mapped(t):
    x, y = t.tensor(A), {"w": t.tensor(B.T.copy()), "b": t.tensor(V[:2])}
    one = t.func.vmap(lambda x, p: (x * p["w"]).sum() + p["b"].sum(), in_dims=(0, {"w": 1, "b": None}), randomness="same")(x, y)
    two = t.func.vmap(lambda p: p[0] * p[1], in_dims=((0, None),))((x, t.tensor(2.0, dtype=t.float64)))
    return one, two


def printed(t):
    x = t.ones(2, requires_grad=True)
    g = t.manual_seed(3)
    return repr(x), repr(x * 2), repr((x + 1).sum()).split("=")[0], g.initial_seed(), type(g).__name__, (x * 2).grad_fn.name(), x.grad_fn


PROGRAMS = [
    out_arguments, input_keyword, in_place, in_place_with_gradients, random_in_place, hooks_of_tensors, a_hook_that_raises, hooks_of_modules, memory, settings,
    mixed_precision, checkpoints, sequences, packed_through("GRU", True), packed_through("LSTM", True), packed_through("RNN", False), distributions, draws, closeness,
    complex_views, views_of_bytes, promotion, sampled_grids, bags, temporal_classification, mapped, printed,
]


def plain(x):
    """Converts tensors to arrays; returns other objects unchanged."""
    if hasattr(x, "detach"):
        x = x.detach()
        x = x.resolve_conj() if hasattr(x, "resolve_conj") else x
        return x.numpy()
    if isinstance(x, (tuple, list)):
        return [plain(part) for part in x]
    return x


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__qualname__.split(".")[0])
def test_scripts(program):
    ours = program(gradus)
    peer_or_skip("torch")
    compare(plain(ours), plain(program(pytorch)), program.__name__)


def compare(a, b, where):
    if isinstance(b, list):
        assert isinstance(a, list) and len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b)):
            compare(x, y, f"{where}, {i}")
    elif isinstance(b, np.ndarray):
        same(a, b, rtol=1e-7, atol=1e-8, what=where)
    else:
        assert a == b, f"{where}: {a!r}, not {b!r}"


def test_cond_with_known_and_traced_conditions():
    assert gradus.cond(True, lambda x: x + 1, lambda x: x - 1, (gradus.tensor(1.0),)).item() == 2
    assert gradus.cond(False, lambda x: x + 1, lambda x: x - 1, gradus.tensor(1.0)).item() == 0
    both = gradus.jit(lambda p, x, y: gradus.cond(p, lambda a, b: a + b, lambda a, b: a * b, (x, y)))
    assert both(gradus.tensor(True), gradus.tensor(3.0), gradus.tensor(4.0)).item() == 7
    assert both(gradus.tensor(False), gradus.tensor(3.0), gradus.tensor(4.0)).item() == 12


IMPORTS = """
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.distributed import init_process_group, destroy_process_group
import torch.distributed as dist; dist.is_initialized()
from torch.utils.data.distributed import DistributedSampler
from torch.utils.data.dataset import Dataset, random_split
from torch.utils.data.sampler import SubsetRandomSampler
from torch.utils.data.dataloader import default_collate
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd, Conv2d
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.modules.batchnorm import _NormBase; from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.modules.conv import _ConvTransposeNd; from torch.nn.modules.dropout import _DropoutNd; from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.modules.activation import MultiheadAttention; from torch.nn.modules.fold import Unfold; from torch.nn.modules.distance import CosineSimilarity
from torch.nn.modules.pixelshuffle import PixelShuffle; from torch.nn.modules.channelshuffle import ChannelShuffle; from torch.nn.modules.rnn import RNNBase
import torch.nn.modules.sparse, torch.nn.modules.padding; torch.nn.modules.padding.ZeroPad2d, torch.nn.RNNCellBase
from torch.nn.modules.utils import _pair, _single, _triple, _ntuple
from torch.nn.modules import Module, Linear
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.cuda.amp import autocast, GradScaler, custom_fwd
from torch.nn.utils import prune
import torch.nn.utils.prune as prune; prune.l1_unstructured
import torch; torch.jit.ignore(lambda x: x), torch.jit.unused(lambda x: x), torch.jit.is_scripting(), torch.jit.ScriptModule
"""


@pytest.mark.parametrize("line", [line for line in IMPORTS.splitlines() if line])
def test_imports_that_programs_begin_with(line):
    exec(line.replace("torch", "gradus"), {})
    if pytorch is not None:
        exec(line, {})


def parts_of_layers(t):
    import importlib

    modules = importlib.import_module(f"{t.__name__}.nn.modules")

    class Mine(modules.loss._WeightedLoss):
        def forward(self, x):
            return x.mean() if self.reduction == "mean" else x

    loss = Mine(t.ones(2), reduction="none")
    kinds = [isinstance(getattr(t.nn, name)(), base) for name in "MSELoss CrossEntropyLoss NLLLoss BCELoss BCEWithLogitsLoss CTCLoss".split()
             for base in (modules.loss._Loss, modules.loss._WeightedLoss)]
    kinds += [isinstance(t.nn.LSTM(2, 3), modules.rnn.RNNBase), isinstance(t.nn.Dropout2d(), modules.dropout._DropoutNd)]
    kinds += [isinstance(t.nn.BatchNorm2d(2), modules.batchnorm._BatchNorm), isinstance(t.nn.ConvTranspose1d(1, 1, 2), modules.conv._ConvNd)]
    return loss(t.tensor(V)), list(loss.state_dict()), kinds, modules.utils._pair(3), modules.utils._triple([1, 2, 3]), modules.Linear is t.nn.Linear


def shares_of_processes(t):
    sampler = t.utils.data.distributed.DistributedSampler
    parts = [list(sampler(range(7), num_replicas=3, rank=k, shuffle=False, drop_last=d)) for k in range(3) for d in (False, True)]
    mixed = [sampler(range(8), num_replicas=2, rank=k, seed=3) for k in range(2)]
    for part in mixed:
        part.set_epoch(4)
    return parts, sorted(i for part in mixed for i in part), [len(part) for part in mixed]


def pruned(t):
    prune = importlib.import_module(f"{t.__name__}.nn.utils.prune")

    def layer(k):
        made = t.nn.Linear(4, 3).double()
        made.load_state_dict({"weight": t.tensor(A * k), "bias": t.tensor(V[:3])})
        return made

    m, a, b, out = layer(1), layer(2), layer(-3), []
    for change in (lambda: prune.l1_unstructured(m, "weight", amount=0.5), lambda: prune.l1_unstructured(m, "weight", amount=2),
                   lambda: prune.ln_structured(m, "weight", amount=0.4, n=2, dim=0), lambda: prune.custom_from_mask(m, "bias", t.tensor([1, 0, 1])),
                   lambda: prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=0.3),
                   lambda: prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=4)):
        change()
        out += [m(t.tensor(A)), a.weight, b.weight, sorted(m.state_dict())]
    m(t.tensor(A)).sum().backward()
    out += [m.weight_orig.grad, prune.is_pruned(m)]
    prune.remove(m, "weight")
    prune.remove(m, "bias")
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(m, "bias")
    return out, m.weight, sorted(m.state_dict()), prune.is_pruned(m)


def pruned_by_classes(t):
    prune = importlib.import_module(f"{t.__name__}.nn.utils.prune")

    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    layer = t.nn.Linear(4, 3).double()
    layer.load_state_dict({"weight": t.tensor(A), "bias": t.tensor(V[:3])})
    first = prune.L1Unstructured.apply(layer, "weight", amount=3)
    out = [layer.weight, first.amount, type(first).__name__]
    out += [prune.LnStructured(amount=1, n=1, dim=1).prune(t.tensor(A)), prune.Identity().prune(t.tensor(A))]
    EveryOther.apply(layer, "weight")
    both = prune.LnStructured.apply(layer, "weight", amount=1, n=2, dim=0, importance_scores=-t.tensor(A))
    out += [layer.weight, layer.weight_mask, len(both), [type(one).__name__ for one in both], isinstance(both, prune.PruningContainer)]
    prune.CustomFromMask.apply(layer, "bias", mask=t.tensor([0, 1, 1]))
    prune.RandomUnstructured.apply(layer, "bias", amount=1)
    prune.RandomStructured.apply(layer, "weight", amount=1, dim=1)
    out += [(layer.bias == 0).sum(), (layer.weight_mask.sum(0) == 0).any(), len(layer._forward_pre_hooks)]
    with pytest.raises(TypeError, match="unstructured"):
        prune.global_unstructured([(layer, "weight")], prune.LnStructured, amount=1, n=2)
    with pytest.raises(ValueError, match="amount"):
        prune.L1Unstructured(amount=1.5)
    prune.remove(layer, "weight")
    return out, sorted(layer.state_dict())


@pytest.mark.parametrize("program", [parts_of_layers, shares_of_processes, pruned, pruned_by_classes], ids=lambda f: f.__name__)
def test_more_programs(program):
    found = program(gradus)
    if pytorch is not None:
        importlib.import_module("torch.utils.data.distributed")
        assert str(flattened(found)) == str(flattened(program(pytorch)))


def flattened(x):
    return [flattened(part) for part in x] if isinstance(x, (list, tuple)) else x.tolist() if hasattr(x, "tolist") else x
