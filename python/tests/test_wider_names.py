"""More names of scripts written for PyTorch: modules that are computed or lazy, averages of models, checks of gradients, settings,
subclasses. Each program runs with both packages if PyTorch is installed."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import gradus
from oracle import peer_or_skip, torch as pytorch
from test_torch_names import compare, plain

rng = np.random.default_rng(8)
A, B, V, SQUARE = rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), rng.standard_normal(5), rng.standard_normal((4, 4))
IMAGE = rng.standard_normal((2, 3, 5, 4))


def filled(t, module, seed=0):
    """Fills a float64 module with drawn parameters, the same for both packages."""
    draw = np.random.default_rng(seed)
    module = module.double()
    with t.no_grad():
        for _, p in sorted(module.named_parameters()):
            p.copy_(t.tensor(draw.standard_normal(tuple(p.shape))))
    return module


def lazy_layers(t):
    found = []
    for make, x in [(lambda: t.nn.LazyLinear(3), B), (lambda: t.nn.LazyConv2d(4, 3, padding=1), IMAGE), (lambda: t.nn.LazyConvTranspose2d(2, 3), IMAGE),
                    (lambda: t.nn.LazyBatchNorm2d(), IMAGE), (lambda: t.nn.LazyConv1d(2, 3, groups=1, bias=False), IMAGE[0])]:
        layer = make()
        shown = repr(layer)
        layer(t.tensor(x, dtype=t.float32))
        optimizer = t.optim.SGD(list(layer.parameters()), lr=0.1)
        layer = filled(t, layer)
        y = layer(t.tensor(x))
        y.square().sum().backward()
        optimizer.step()
        found += [y, type(layer).__name__, sorted(layer.state_dict()), [p for _, p in sorted(layer.named_parameters())], shown.split("(")[0]]
    return found


def lazy_layers_are_loaded(t):
    layer = t.nn.Sequential(t.nn.LazyConv2d(4, 3), t.nn.ReLU(), t.nn.LazyLinear(2))
    own = filled(t, t.nn.Sequential(t.nn.Conv2d(3, 4, 3), t.nn.ReLU(), t.nn.Linear(2, 2)))
    layer.load_state_dict(own.float().state_dict())
    return layer(t.tensor(IMAGE, dtype=t.float32)).double().round(decimals=4), [type(m).__name__ for m in layer]


def pass_through(t):
    layer = filled(t, t.nn.DataParallel(t.nn.Linear(4, 2)))
    return layer(t.tensor(A)), sorted(layer.state_dict())


def weight_norms(t):
    x, found = t.tensor(A), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = filled(t, t.nn.utils.weight_norm(t.nn.Linear(4, 2)))
    new = filled(t, t.nn.utils.parametrizations.weight_norm(t.nn.Linear(4, 2)))
    whole = filled(t, t.nn.utils.parametrizations.weight_norm(t.nn.Linear(4, 2), dim=None))
    for layer in (old, new, whole):
        y = layer(x)
        y.square().sum().backward()
        found += [y, sorted(layer.state_dict()), [p.grad for _, p in sorted(layer.named_parameters())]]
    t.nn.utils.remove_weight_norm(old)
    t.nn.utils.parametrize.remove_parametrizations(new, "weight")
    return found, sorted(old.state_dict()), sorted(new.state_dict()), old(x), new(x), type(new).__name__


def spectral_norms(t):
    x, found = t.tensor(A), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layers = [t.nn.utils.spectral_norm(t.nn.Linear(4, 2)), t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(4, 2)),
                  t.nn.utils.parametrizations.spectral_norm(t.nn.ConvTranspose1d(4, 2, 3))]
    for layer in layers:
        layer = filled(t, layer)
        with t.no_grad():
            for name, buffer in layer.named_buffers():
                n = buffer.shape[0]
                buffer.copy_(t.arange(1, n + 1).double() / t.arange(1, n + 1).double().norm())
        given = x if isinstance(layer, t.nn.Linear) else x.t().unsqueeze(0)
        for _ in range(3):
            y = layer(given)
        y.square().sum().backward()
        evaluated = layer.eval()(given)
        found += [y, evaluated, sorted(layer.state_dict()), [p.grad for _, p in sorted(layer.named_parameters())]]
    return found


def orthogonal_weights(t):
    found = []
    for map_ in ("matrix_exp", "cayley", "householder"):
        for shape in ((4, 4), (4, 3), (3, 4)):
            layer = t.nn.utils.parametrizations.orthogonal(t.nn.Linear(shape[1], shape[0]).double(), orthogonal_map=map_)
            listed = layer.parametrizations.weight
            with t.no_grad():
                if map_ == "householder":
                    listed.original.add_(t.tensor(0.1 * SQUARE[:shape[0], :shape[1]]) * (1 - t.eye(*shape)))
                else:
                    listed.original.copy_(t.tensor(0.3 * SQUARE[:shape[0], :shape[1]]))
                n = max(shape)
                listed[0].base.copy_(t.eye(n, dtype=t.float64))
            (layer.weight * t.tensor(SQUARE[:shape[0], :shape[1]])).sum().backward()
            found += [layer.weight, listed.original.grad, sorted(layer.state_dict())]
    return found


def own_parametrization(t):
    class Symmetric(t.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    class Doubled(t.nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    P = t.nn.utils.parametrize
    layer = filled(t, t.nn.Linear(4, 4))
    before = layer.weight.detach().clone()
    P.register_parametrization(layer, "weight", Doubled())
    same = layer.weight.detach().clone() - before
    P.register_parametrization(layer, "bias", t.nn.Tanh())
    layer.weight = before * 3
    with P.cached():
        once = layer.weight is layer.weight
    shown = repr(layer)
    copied = copy.deepcopy(layer)(t.tensor(SQUARE))
    names = [name for name, _ in layer.named_parameters()]
    two = P.register_parametrization(filled(t, t.nn.Linear(4, 4)), "weight", Symmetric())
    return same, layer.weight, once, shown, copied, names, two.weight, P.is_parametrized(two), P.is_parametrized(two, "bias")


def averaged_models(t):
    model = filled(t, t.nn.Sequential(t.nn.Linear(4, 2), t.nn.BatchNorm1d(2)))
    s = t.optim.swa_utils
    plain_, ema = s.AveragedModel(model), s.AveragedModel(model, multi_avg_fn=s.get_ema_multi_avg_fn(0.7), use_buffers=True)
    optimizer = t.optim.SGD(model.parameters(), lr=0.05)
    schedule = s.SWALR(optimizer, swa_lr=0.01, anneal_epochs=3)
    rates = []
    for _ in range(5):
        optimizer.zero_grad()
        model(t.tensor(A)).square().sum().backward()
        optimizer.step()
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
        plain_.update_parameters(model)
        ema.update_parameters(model)
    s.update_bn([t.tensor(A), t.tensor(B)], plain_)
    return list(plain_.state_dict().values()), list(ema.state_dict().values()), sorted(plain_.state_dict()), [round(r, 9) for r in rates]


def checked_gradients(t):
    x = t.tensor(V, requires_grad=True)

    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g

    right = t.autograd.gradcheck(lambda x: (x.sin(), x * x.sum()), (x,)), t.autograd.gradgradcheck(lambda x: x.sin() * x, (x,))
    wrong = t.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)
    try:
        t.autograd.gradcheck(Wrong.apply, (x,))
    except RuntimeError as error:
        return right, wrong, str(error).split(",")[0]


def anomalies(t):
    x = t.tensor([0.0, 1.0], requires_grad=True)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for context in (t.autograd.detect_anomaly, lambda: t.autograd.set_detect_anomaly(True)):
            with context():
                try:
                    (x.sqrt() * 0).sum().backward()
                except RuntimeError as error:
                    found.append("nan" in str(error).lower())
    (x.sqrt() * 0).sum().backward()
    return found, bool(x.grad[0].isnan())


def switches(t):
    before = t.get_num_threads()
    t.set_num_threads(1)
    one = t.get_num_threads()
    t.set_num_threads(before)
    t.use_deterministic_algorithms(True)
    on = t.are_deterministic_algorithms_enabled()
    t.use_deterministic_algorithms(False)
    t.set_default_device("cpu")
    t.manual_seed(7)
    with t.device("cpu"), t.random.fork_rng():
        drawn = t.rand(3)
    return one, t.get_num_threads() == before, on, str(t.get_default_device()), t.initial_seed(), t.random.initial_seed(), bool((drawn == t.rand(3)).all())


def orders_in_memory(t):
    x = t.tensor(IMAGE).to(memory_format=t.channels_last)
    layer = filled(t, t.nn.Conv2d(3, 2, 3)).to(memory_format=t.channels_last)
    y = layer(x.contiguous(memory_format=t.channels_last).clone(memory_format=t.preserve_format))
    return y, t.zeros_like(x, memory_format=t.contiguous_format), t.ones(2).is_contiguous(memory_format=t.contiguous_format), x.layout == t.strided, x.is_sparse, x.is_quantized


def in_place_functions(t):
    F, found = t.nn.functional, []
    for f in (t.relu_, t.sigmoid_, t.tanh_, t.exp_, t.abs_, t.neg_, t.floor_, t.sin_, F.relu_, F.elu_, F.selu_, F.celu_, F.leaky_relu_, F.hardtanh_, lambda x: F.threshold_(x, 0.1, 2.0)):
        x = t.tensor(A)
        found += [f(x) is x, x]
    return found, t.tensor([12, 18]).gcd_(t.tensor(8)), t.zeros(2).resize_(3).shape == (3,), t.tensor(V).clamp_min_(0.1), t.tensor(V).round_(decimals=1)


def steps_have_gradient_zero(t):
    found = []
    for f in (t.floor, t.ceil, t.round, t.trunc, t.sign, lambda x: x.frac() - x):
        x = t.tensor(A, requires_grad=True)
        y = f(x)
        y.sum().backward()
        found += [y.requires_grad, x.grad]
    x = t.tensor(A, requires_grad=True)
    (g,) = t.autograd.grad((x + (x.round() - x).detach() + x.sign()).sum(), x, create_graph=True)
    return found, g, x.floor().grad_fn.name(), t.func.grad(lambda x: (x.floor() * x).sum())(t.tensor(A))


def backward_for_some(t):
    x, y = t.tensor(A, requires_grad=True), t.tensor(B, requires_grad=True)
    (x * y).sum().backward(inputs=[x])
    none = y.grad is None
    (x * y * y).sum().backward(inputs=y)
    (x * y).sum().backward(inputs=[x, y])
    t.autograd.backward([(x * x).sum()], inputs=[x])
    try:
        (x * y).sum().backward(inputs=[])
    except RuntimeError as error:
        return none, x.grad, y.grad, str(error)


def hooks_after_gradients(t):
    x, seen = t.tensor(V, requires_grad=True), []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    (x * 2).sum().backward()
    t.autograd.grad((x * x).sum(), x)
    (x * x).sum().backward()
    handle.remove()
    x.sum().backward()
    y = x * 2
    before = y.retains_grad
    y.retain_grad()
    try:
        y.register_post_accumulate_grad_hook(print)
    except RuntimeError as error:
        return seen, before, y.retains_grad, x.retains_grad, str(error)


def formats(t):
    x = t.tensor(1.23456, dtype=t.float64)
    found = [f"{x}", f"{x:.3f}", f"{t.tensor(7)}", f"{t.tensor([1.5])}", f"{x * 2:>8.2f}", f"{t.tensor(True)}", "%.2f" % x, "{:d}".format(t.tensor(3))]
    try:
        f"{t.tensor([1.0, 2.0]):.2f}"
    except TypeError as error:
        found.append(str(error))
    return found


def shown(t):
    inf, nan = float("inf"), float("nan")
    rows = [[nan, inf, 1.0], [nan, 0.0], [-inf, 1.5], [nan], [inf, 1e-8, 100.0], [0.0, 0.0], [nan, 12345.0], [1e10, nan]]
    rows += [[1 + 2j, nan], [1.5 - 2j, 100 + 0j], [0j, 1j], [1e-9 + 1j, 2 + 0j]]
    return [repr(t.tensor(row)) for row in rows]


def numbers_that_do_not_fit(t):
    found = []
    for value, dtype in [([300], t.int8), ([-1], t.uint8), ([-200], t.uint8), ([-300], t.uint8), ([2**40], t.int32), (1e10, t.int8), ([-129.0], t.int8), ([127.9], t.int8), ([float("nan")], t.int32), ([1e30], t.int64)]:
        try:
            found.append(t.tensor(value, dtype=dtype).tolist())
        except RuntimeError as error:
            found.append(str(error))
    for f in (lambda: t.full((2,), 300, dtype=t.int8), lambda: t.zeros(2, dtype=t.int8).fill_(300), lambda: t.ones(3).kthvalue(0), lambda: t.ones(3).kthvalue(4), lambda: t.ones(3).quantile(2.0), lambda: t.ones(3, dtype=t.long).quantile(0.5)):
        try:
            f()
            found.append("fits")
        except RuntimeError as error:
            found.append(str(error).split(" type")[0])
    return found


def subclasses(t):
    class Image(t.Tensor):
        def double_it(self):
            return self * 2

    class Small(Image):
        pass

    x = t.tensor(A).as_subclass(Image)
    results = [x + 1, 1 + x, x.sum(0), x[0], x.t(), x.T, t.exp(x), t.cat([x, x]), x.double_it(), x.max(1).values, x.split(2, 1)[0], -x, x > 0, x.clone(), x.detach()]
    small = t.tensor(A).as_subclass(Small).double_it()
    leaf = t.Tensor._make_subclass(Image, t.tensor(A), True)
    (leaf * leaf).sum().backward()
    p = t.nn.Parameter(t.tensor(A))
    return [type(r).__name__ for r in results], type(small).__name__, results[0].as_subclass(t.Tensor), type(p * 2).__name__, leaf.grad.as_subclass(t.Tensor), leaf.is_leaf, isinstance(small, Image)


def parameter_subclasses(t):
    class Own(t.nn.Parameter):
        pass

    layer = t.nn.Module()
    layer.w = Own(t.tensor(A))
    layer.w.extra = 3
    copied = copy.deepcopy(layer)
    buffered = t.nn.Module()
    buffered.b, buffered.c = t.nn.Buffer(t.tensor(A)), t.nn.Buffer(t.tensor(B), persistent=False)
    return [type(p).__name__ for p in layer.parameters()], type(copied.w).__name__, isinstance(copied.w, t.nn.Parameter), type(layer.w * 2).__name__, sorted(buffered.state_dict()), len(list(buffered.buffers()))


def vectors_of_hessians(t):
    def f(x):
        return (x**3).sum()

    x, v = t.tensor(V), t.tensor(V[::-1].copy())
    return t.autograd.functional.hvp(f, x, v), t.autograd.functional.jacobian(lambda x: x**2, x), t.autograd.functional.hessian(f, x), t.autograd.functional.jacobian(lambda a, b: a * b, (x, v)), t.func.jacrev(lambda a, b: a * b, argnums=(0, 1))(x, v)


def normal_vectors(t):
    D = t.distributions
    covariance = t.tensor(SQUARE @ SQUARE.T + np.eye(4))
    mean = t.tensor(A, requires_grad=True)
    p = D.MultivariateNormal(mean, covariance)
    q = D.MultivariateNormal(t.zeros(4, dtype=t.float64), scale_tril=t.linalg.cholesky(covariance) * 2)
    r = D.MultivariateNormal(t.zeros(4, dtype=t.float64), precision_matrix=covariance)
    value = p.log_prob(t.tensor(B))
    value.sum().backward()
    t.manual_seed(0)
    draws = q.sample((20000,))
    near = bool(((draws.t() @ draws / 20000 - q.covariance_matrix).abs() < 0.05 * q.covariance_matrix.abs().max()).all())
    return value, mean.grad, p.entropy(), q.variance, r.covariance_matrix, p.precision_matrix, D.kl_divergence(p, q), near, p.batch_shape == (3,), p.event_shape == (4,)


def temporal_loss(t):
    x = t.tensor(rng_logits, requires_grad=True)
    loss = t.nn.CTCLoss(blank=1, reduction="sum")(x.log_softmax(2), t.tensor([[2, 0, 3], [3, 3, 0]]), t.tensor([6, 5]), t.tensor([3, 2]))
    loss.backward()
    return loss, x.grad, repr(t.nn.CTCLoss())


rng_logits = rng.standard_normal((6, 2, 5))

PROGRAMS = [
    lazy_layers, lazy_layers_are_loaded, pass_through, weight_norms, spectral_norms, orthogonal_weights, own_parametrization, averaged_models, checked_gradients, anomalies,
    switches, orders_in_memory, in_place_functions, steps_have_gradient_zero, backward_for_some, hooks_after_gradients, formats, shown, numbers_that_do_not_fit, subclasses,
    parameter_subclasses, vectors_of_hessians, normal_vectors, temporal_loss,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_scripts(program):
    ours = program(gradus)
    peer_or_skip("torch")
    compare(plain(ours), plain(program(pytorch)), program.__name__)


@pytest.mark.parametrize("set_", ["x.copy_(t)", "x.data = t", "x[:] = t", "x.data.copy_(t)", "y.data = t", "y.set_(t)", "x.detach().copy_(t)"])
def test_data_set_from_an_array_is_copied(set_):
    a = np.ones((2, 3), np.float32)
    x, y = gradus.nn.Parameter(gradus.zeros(2, 3)), gradus.nn.Parameter(gradus.zeros(5))
    with gradus.no_grad():
        exec(set_, {"x": x, "y": y, "t": gradus.from_numpy(a)})
    a[:] = 7
    assert (x if set_[0] == "x" else y).tolist() == [[1.0] * 3] * 2


def test_transforms_called_with_arguments():
    x = gradus.tensor([1.0, 2.0])
    assert gradus.jacobian(lambda x: x**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert gradus.hessian(lambda x: (x**3).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert gradus.hvp(lambda x: (x**3).sum(), x, gradus.ones(2)).tolist() == [6.0, 12.0]
    assert gradus.hvp(lambda x: (x**3).sum(), (x,), (gradus.ones(2),))[0].tolist() == [6.0, 12.0]
    for wrong in (gradus.grad, gradus.value_and_grad, gradus.vmap):
        with pytest.raises(TypeError, match="returns a function"):
            wrong(lambda x: x.sum(), x)
    with pytest.raises(TypeError, match="argnums"):
        gradus.hessian(lambda x: x.sum(), "x")


def test_formats_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(gradus.channels_last)) is gradus.channels_last
    assert repr(gradus.strided) == "gradus.strided"


def test_threads_give_the_same_bits():
    x, before = gradus.randn(300, 300), gradus.get_num_threads()
    results = []
    for n in (1, 3):
        gradus.set_num_threads(n)
        results.append((x @ x).sum().item())
    gradus.set_num_threads(before)
    assert results[0] == results[1]
    with pytest.raises(RuntimeError, match="positive"):
        gradus.set_num_threads(0)
