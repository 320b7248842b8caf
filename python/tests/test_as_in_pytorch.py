"""Behaviour that programs rely on in addition to functions: writes through views, classes of exceptions, hooks, draws, distributions,
lazy layers, gradient checks. Each case is run with both packages."""

import copy
import warnings

import numpy as np
import pytest

import gradus
from oracle import array, needs_torch, same, torch


def both(case, **tolerance):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = case(torch)
    same(case(gradus), theirs, what=case.__name__, **tolerance)


# --- views ------------------------------------------------------------------------------------------------------


def of_diagonals(t):
    x = t.arange(12.0).reshape(3, 4).clone()
    x.diagonal().mul_(10)
    x.diagonal(1)[0] = -1
    return x


def of_windows(t):
    x = t.arange(6.0)
    x.unfold(0, 2, 2)[1] = 0
    return x


def of_strides(t):
    x = t.arange(12.0).reshape(3, 4).clone()
    x.as_strided((2, 2), (5, 1), 1).fill_(100)
    y = x.t()
    found = [y.as_strided((2, 3), (1, 2)), x[1:].as_strided((2,), (2,)), x[1:].as_strided((2,), (2,), 0)]
    y[1:].as_strided((2,), (4,)).zero_()
    return [x, *found]


def of_strides_differentiated(t):
    x = t.arange(12.0, requires_grad=True)
    y = (x * 2).reshape(3, 4).t()
    (y.as_strided((3, 2), (1, 1)) ** 2).sum().backward()
    return x.grad


def where_elements_lie(t):
    x = t.zeros(3, 4, 5)
    views = [x, x[1], x[:, 1:, ::2], x.permute(2, 0, 1), x.transpose(0, 1)[1], x[1].t()]
    return [t.tensor([v.storage_offset(), *v.stride()]) for v in views]


def of_parts(t):
    z = t.tensor([1 + 2j, 3 - 1j])
    z.real.add_(10)
    z.imag[1] = 7
    t.view_as_real(z)[0, 1] = -5
    pairs = t.ones(2, 2)
    t.view_as_complex(pairs).mul_(2j)
    return [z, pairs]


def of_adjoints(t):
    m = t.tensor([[1 + 2j, 3j], [4 + 0j, 5 - 1j]])
    m.adjoint()[0, 1] = 1j
    m.H[1, 1] = 2j
    r = t.arange(4.0).reshape(2, 2).clone()
    r.adjoint()[0, 1] = 9
    return [m, r, m.mH * 1, m.adjoint() * 1]


def of_bytes(t):
    x = t.tensor([1.0, 2.0])
    x.view(t.int32)[0] = 0
    return [x, x.view(t.int32)]


@needs_torch
@pytest.mark.parametrize("case", [of_diagonals, of_windows, of_strides, of_strides_differentiated, where_elements_lie, of_parts, of_adjoints, of_bytes])
def test_views(case):
    both(case)


# --- exceptions ---------------------------------------------------------------------------------------------------

RAISING = """
F.cross_entropy(t.randn(2, 3), t.tensor([0, 5]))
F.nll_loss(t.randn(2, 3), t.tensor([0, 5]))
F.embedding(t.tensor([7]), t.randn(3, 2))
t.randn(3)[5]
t.randn(3)[t.tensor([5])]
t.randn(3, 4)[t.tensor([True, False])]
t.randn(3, 4)[t.ones(3, 3, dtype=t.bool)]
t.randn(3)[1.5]
t.ones(3)[t.tensor([0.5])]
t.randn(3).gather(0, t.tensor([5]))
t.randn(3).scatter(0, t.tensor([5]), 1.0)
F.one_hot(t.tensor([5]), 3)
t.multinomial(t.tensor([-1.0, 2.0]), 1)
t.nn.BatchNorm1d(3)(t.ones(1, 3))
t.randint(5, 3, (2,))
t.zeros(-1)
t.linalg.inv(t.zeros(2, 2))
t.linalg.cholesky(-t.eye(2))
t.linalg.lu_factor(t.zeros(2, 2))
t.linalg.lu_factor(t.stack([t.eye(2), t.ones(2, 2)]))
t.put(t.zeros(3), t.tensor([5]), t.ones(1))
t.zeros(3).put(t.tensor([-4]), t.ones(1))
t.zeros(3).put_(t.tensor([0, 3]), t.ones(2))
t.normal(0.0, -1.0, (2,))
t.normal(t.zeros(2), t.tensor([1.0, -1.0]))
t.bernoulli(t.tensor([2.0]))
t.randn(3).topk(5)
t.split(t.ones(5), [2, 2])
t.ones(2, 3).permute(0, 0)
t.nn.ModuleList([1])
t.randn(3, dtype=t.int64)
t.rand(3, dtype=t.int64)
t.nn.MultiheadAttention(5, 2)
float(t.ones(2))
int(t.ones(0))
t.stack([])
t.linalg.vander(t.ones(2), N=1)
t.ones(2).geometric_(1.5)
t.nn.LazyLinear(3).weight + 1
t.nn.LazyLinear(3).weight.shape
t.exp(t.nn.LazyLinear(3).bias)
""".strip().splitlines()


@needs_torch
@pytest.mark.parametrize("text", RAISING)
def test_classes_of_exceptions(text):
    raised = []
    for t in (torch, gradus):
        with pytest.raises(Exception) as found:
            eval(text, {"t": t, "F": t.nn.functional})
        raised.append(found.value)
    theirs, ours = raised
    if type(theirs).__name__ == "_LinAlgError":
        assert isinstance(ours, gradus.linalg.LinAlgError) and isinstance(ours, RuntimeError)
    else:
        assert isinstance(ours, type(theirs)), (type(ours).__mro__, type(theirs))


# --- indices and dtypes ----------------------------------------------------------------------------------------


def ranges(t):
    x = t.arange(12).reshape(3, 4).clone()
    x[range(2), range(1, 3)] = -1
    return [x, x[range(0, 3, 2)], x[:, range(2)], x[range(3), [0, 1, 2]]]


def dtypes(t):
    x = t.ones(2)
    names = [x.to(d).type().split(".")[-1] for d in (t.float32, t.float64, t.int64, t.bool, t.uint8)]
    assert names == ["FloatTensor", "DoubleTensor", "LongTensor", "BoolTensor", "ByteTensor"]
    return [x.dtype is t.float32, x.double().dtype is t.float64, t.get_default_dtype() is t.float32, (x > 0).dtype is t.bool, t.float is t.float32]


def steps_between_numbers(t):
    values = [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 3.0, float("inf"), -float("inf"), float("nan"), 2.0]
    found = []
    for dtype in (t.float32, t.float64):
        a = t.tensor(values, dtype=dtype)
        found += [t.nextafter(a, t.tensor(to, dtype=dtype)) for to in (2.0, -2.0, float("inf"), 0.0)]
    return found


def quantised(t):
    x = t.tensor([-1.0, 0.26, 0.249, 0.05, 9.0, 12.6], requires_grad=True)
    y = t.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 100)
    (y * t.arange(1.0, 7.0)).sum().backward()
    return [y, x.grad]


def powers(t):
    x = t.tensor([0.0, 2.0, 3.0])
    return [t.vander(x), t.vander(x, 2, True), t.linalg.vander(x), t.linalg.vander(t.stack([x, x + 1]), N=4)]


@needs_torch
@pytest.mark.parametrize("case", [ranges, dtypes, steps_between_numbers, quantised, powers])
def test_indices_and_numbers(case):
    both(case, rtol=1e-6, atol=0)


@needs_torch
@pytest.mark.parametrize("size, options", [
    ((4, 3), {}), ((13, 17), {}), ((5, 16), {"align_corners": True}), (None, {"scale_factor": 0.4}), (None, {"scale_factor": (1.7, 0.3)}),
    (None, {"scale_factor": 0.4, "recompute_scale_factor": True}),
])
@pytest.mark.parametrize("mode, antialias", [("bilinear", True), ("bicubic", True), ("bilinear", False), ("bicubic", False), ("nearest", False), ("nearest-exact", False)])
def test_resampling(mode, antialias, size, options):
    if options.get("align_corners") and "nearest" in mode:
        return
    x = np.random.default_rng(0).standard_normal((2, 3, 9, 8))

    def case(t):
        image = t.tensor(x, requires_grad=True)
        y = t.nn.functional.interpolate(image, size, mode=mode, antialias=antialias, **options)
        y.pow(2).sum().backward()
        return [y, image.grad]

    both(case, rtol=1e-9, atol=1e-9)


# --- draws ------------------------------------------------------------------------------------------------------


def test_complex_draws_have_a_variance_of_one():
    gradus.manual_seed(0)
    for dtype in (gradus.complex64, gradus.complex128):
        z = gradus.randn(200000, dtype=dtype)
        assert z.dtype == dtype
        for part in (z.real, z.imag):
            assert abs(part.mean().item()) < 0.01 and abs(part.var().item() - 0.5) < 0.01
        assert abs((z.real * z.imag).mean().item()) < 0.01
        z = gradus.empty(200000, dtype=dtype).normal_()
        assert abs(z.imag.var().item() - 0.5) < 0.01
        u = gradus.rand(200000, dtype=dtype)
        assert abs(u.imag.mean().item() - 0.5) < 0.01 and abs(u.real.mean().item() - 0.5) < 0.01


def test_draws_in_place():
    gradus.manual_seed(1)
    x = gradus.empty(200000, dtype=gradus.float64)
    assert abs(x.geometric_(0.25).mean().item() - 4) < 0.05 and x.min().item() == 1
    assert abs(gradus.empty(200000, dtype=gradus.int64).geometric_(0.5).double().mean().item() - 2) < 0.05
    assert abs(x.exponential_(2.0).mean().item() - 0.5) < 0.01 and (x > 0).all()
    assert abs(x.log_normal_(0.5, 0.25).log().mean().item() - 0.5) < 0.01 and abs(x.log().std().item() - 0.25) < 0.01
    quarters = x.cauchy_(3.0, 2.0).quantile(gradus.tensor([0.25, 0.5, 0.75], dtype=gradus.float64)).tolist()
    np.testing.assert_allclose(quarters, [1.0, 3.0, 5.0], atol=0.06)


# --- distributions ------------------------------------------------------------------------------------------------

REFUSED = """
d.Normal(0.0, -1.0)
d.Normal(t.tensor([0.0, float("nan")]), 1.0)
d.Normal(0.0, 1.0).log_prob(t.tensor(float("nan")))
d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(4))
d.Normal(0.0, 1.0).log_prob(1.0)
d.Uniform(2.0, 1.0)
d.Uniform(0.0, 1.0).log_prob(t.tensor(2.0))
d.Bernoulli(1.5)
d.Bernoulli(0.5).log_prob(t.tensor(0.5))
d.Categorical(t.tensor([-1.0, 2.0]))
d.Categorical(logits=t.tensor([float("nan"), 0.0]))
d.Categorical(t.ones(3)).log_prob(t.tensor(3))
d.MultivariateNormal(t.zeros(2), -t.eye(2))
d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2, 2))
d.MultivariateNormal(t.zeros(2), t.eye(2)).log_prob(t.zeros(3))
""".strip().splitlines()


@needs_torch
@pytest.mark.parametrize("text", REFUSED)
def test_arguments_of_distributions(text):
    for t in (torch, gradus):
        with pytest.raises(ValueError):
            eval(text, {"t": t, "d": t.distributions})


def test_arguments_without_validation():
    d = gradus.distributions
    assert d.Uniform(0.0, 1.0, validate_args=False).log_prob(gradus.tensor(2.0)).item() == -float("inf")
    d.Normal(0.0, -1.0, validate_args=False)
    d.Distribution.set_default_validate_args(False)
    try:
        d.Normal(0.0, -1.0)
    finally:
        d.Distribution.set_default_validate_args(True)
    f = gradus.jit(lambda s, x: d.Normal(0.0, s).log_prob(x))
    assert abs(f(gradus.tensor(1.0), gradus.tensor(0.0)).item() + 0.9189385) < 1e-6


MADE = """
d.Normal(0.0, 1.0)
d.Normal(t.zeros(3), t.ones(3))
d.Uniform(t.zeros(2), 1.0)
d.Bernoulli(0.25)
d.Bernoulli(logits=t.zeros(2))
d.Categorical(t.ones(3))
d.Categorical(logits=t.ones(2, 3))
d.MultivariateNormal(t.zeros(2), t.eye(2))
d.MultivariateNormal(t.zeros(2), scale_tril=t.eye(2))
d.Independent(d.Normal(t.zeros(2, 3), 1.0), 1)
d.Independent(d.Bernoulli(t.full((2, 3), 0.25)), 2)
""".strip().splitlines()


@needs_torch
@pytest.mark.parametrize("text", MADE)
def test_distributions_are_expanded_and_printed(text):
    def case(t):
        made = eval(text, {"t": t, "d": t.distributions})
        grown = made.expand((4, *made.batch_shape))
        value = made.sample() * 0
        return [t.tensor([*grown.batch_shape, *grown.event_shape]), grown.log_prob(value), grown.entropy(), t.tensor(grown.sample((2,)).shape)]

    both(case, rtol=1e-6, atol=1e-6)
    ours, theirs = (repr(eval(text, {"t": t, "d": t.distributions})) for t in (gradus, torch))
    assert ours == theirs.replace("torch.", "gradus.")


# --- modules ------------------------------------------------------------------------------------------------------


def order_of_hooks(t):
    layer, seen = t.nn.Linear(2, 2).double(), []
    with t.no_grad():
        layer.weight.copy_(t.tensor([[1.0, 2.0], [3.0, 4.0]]))
        layer.bias.zero_()
    layer.register_forward_hook(lambda m, args, out: out * 10)
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: seen.extend([grad_in[0].clone(), grad_out[0].clone()]))
    layer.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 2,))
    x = t.ones(1, 2, dtype=t.float64, requires_grad=True)
    layer(x).pow(2).sum().backward()
    return [*seen, x.grad, layer.weight.grad]


@needs_torch
def test_order_of_hooks():
    both(order_of_hooks)


def test_lazy_parameters():
    layer = gradus.nn.LazyLinear(3, dtype=gradus.float64)
    assert layer.has_uninitialized_params() and gradus.nn.parameter.UninitializedParameter is type(layer.weight)
    with pytest.raises(ValueError, match="uninitialized"):
        gradus.ones(2) * layer.weight
    with pytest.raises(ValueError, match="uninitialized"):
        layer.weight.sum()
    opt = gradus.optim.SGD(layer.parameters(), lr=0.5)
    layer.float()
    layer.bias.requires_grad_(False)
    twin = copy.deepcopy(layer)
    out = layer(gradus.ones(2, 5))
    assert out.dtype == gradus.float32 and tuple(layer.weight.shape) == (3, 5) and type(layer.weight) is gradus.nn.Parameter
    assert not layer.bias.requires_grad and layer.weight.requires_grad and layer.weight.is_leaf
    before = layer.weight.detach().clone()
    out.sum().backward()
    opt.step()
    np.testing.assert_allclose(array(layer.weight), array(before) - 1.0, rtol=1e-6)
    assert twin.has_uninitialized_params()
    twin.load_state_dict(layer.state_dict())
    assert gradus.equal(twin.weight, layer.weight)


def stacked_models(t):
    models = [t.nn.Linear(2, 3).double() for _ in range(4)]
    for i, model in enumerate(models):
        with t.no_grad():
            model.weight.fill_(i + 1.0)
            model.bias.fill_(0.5 * i)
    params, buffers = t.func.stack_module_state(models)
    x = t.ones(5, 2, dtype=t.float64)
    out = t.func.vmap(lambda p, x: t.func.functional_call(models[0], p, (x,)), in_dims=(0, None))(params, x)
    return [params["weight"], params["bias"].is_leaf, params["bias"].requires_grad, len(buffers), out]


@needs_torch
def test_stacked_models():
    both(stacked_models)


class Noted(gradus.Tensor):
    pass


def test_copies_of_subclasses_keep_attributes():
    x = gradus.ones(2).as_subclass(Noted)
    x.note, x.parts = "mine", [gradus.zeros(1)]
    y = copy.deepcopy(x)
    y.add_(1)
    y.parts[0].add_(1)
    assert type(y) is Noted and y.note == "mine" and x.tolist() == [1, 1] and x.parts[0].item() == 0
    p = gradus.ones(2, requires_grad=True)
    q = copy.deepcopy(p)
    assert q.requires_grad and q.is_leaf and q is not p


def divergences_of_several(t):
    d = t.distributions
    p, q = (d.Independent(d.Normal(t.tensor([[0.0, 1.0], [2.0, x]]), 1.5), 1) for x in (0.0, 3.0))
    return d.kl_divergence(p, q)


@needs_torch
def test_divergences_of_several_distributions():
    both(divergences_of_several, rtol=1e-6, atol=1e-7)


# --- transforms of what draws and changes -------------------------------------------------------------------------


def test_draws_inside_transforms():
    F = gradus.nn.functional
    x = gradus.ones(64, requires_grad=True)
    gradus.manual_seed(0)
    first, second = (gradus.utils.checkpoint.checkpoint(lambda x: F.dropout(x, 0.5), x) for _ in range(2))
    assert not gradus.equal(first, second)
    second.sum().backward()
    assert gradus.equal(x.grad, second), "what is computed again draws the same"
    slopes = gradus.grad(lambda x: F.dropout(x, 0.5).sum())(x.detach())
    assert set(slopes.tolist()) == {0.0, 2.0}
    rows = gradus.vmap(lambda x: x + gradus.rand(()))(gradus.zeros(5))
    assert len(set(rows.tolist())) == 1
    f = gradus.jit(lambda x: gradus.utils.checkpoint.checkpoint(lambda x: F.dropout(x, 0.5), x))
    assert not gradus.equal(f(x.detach()), f(x.detach()))


def test_statistics_inside_transforms():
    x = gradus.randn(8, 3, dtype=gradus.float64)
    plain, wrapped, graded = (gradus.nn.BatchNorm1d(3).double() for _ in range(3))
    for _ in range(2):
        expected = plain(x)
        found = gradus.utils.checkpoint.checkpoint(wrapped, x)
        gradus.grad(lambda x: graded(x).pow(3).sum())(x)
        np.testing.assert_allclose(array(found), array(expected), rtol=1e-12)
    for name, value in plain.state_dict().items():
        np.testing.assert_allclose(array(wrapped.state_dict()[name]), array(value), rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(array(graded.state_dict()[name]), array(value), rtol=1e-12, err_msg=name)
    before = {name: plain.state_dict()[name].clone() for name in ("running_mean", "running_var")}
    with pytest.raises(RuntimeError, match="elements of the batch"):
        gradus.vmap(lambda x: plain(x))(x.reshape(2, 4, 3))
    for name, value in before.items():
        assert gradus.equal(plain.state_dict()[name], value)
    plain(x)  # and it still works


def test_tensors_made_inside_a_transform_can_be_changed():
    def f(x):
        total = gradus.tensor([0.0, 0.0])
        total[0] = x * 2
        total += x
        return (total**2).sum()

    assert gradus.grad(f)(gradus.tensor(1.0)).item() == 20.0


# --- gradients ----------------------------------------------------------------------------------------------------


def gradients_in_all_ways(t):
    x, y = t.tensor([1.0, 2.0], requires_grad=True), t.ones(3, requires_grad=True)
    out = x**3
    a = t.autograd.grad(out, x, t.eye(2), retain_graph=True, is_grads_batched=True)
    b = t.autograd.grad(out.sum(), [x, y], only_inputs=True, retain_graph=True, materialize_grads=True)
    c = t.autograd.grad(out.sum(), [x, y], allow_unused=True)
    return [*a, *b, c[0], c[1] is None]


@needs_torch
def test_all_ways_to_compute_gradients():
    both(gradients_in_all_ways)


def functions_with_gradients(t):
    seen = []

    class Scale(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, factor):
            ctx.save_for_backward(x, w)
            ctx.factor = factor
            return x * w * factor

        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            x, w = ctx.saved_tensors
            return g * w * ctx.factor if ctx.needs_input_grad[0] else None, g * x * ctx.factor, None

    x, w = t.ones(2), t.full((2,), 3.0, requires_grad=True)
    Scale.apply(x, w, 2.0).sum().backward()
    return [w.grad, t.tensor(seen[-1])]


@needs_torch
def test_functions_know_which_gradients_are_needed():
    both(functions_with_gradients)


@needs_torch
@pytest.mark.parametrize("text", ["z.abs().pow(2)", "z.real * z.imag", "(z * z).abs()", "z * z.conj() * 2j", "z.exp()", "t.view_as_real(z).sin()", "(x * z).abs() + x.sum()"])
def test_checks_of_functions_of_complex_numbers(text):
    for t in (torch, gradus):
        z = t.tensor([1 + 2j, -0.5 + 0.3j], dtype=t.complex128, requires_grad=True)
        x = t.tensor([0.5, -1.5], dtype=t.float64, requires_grad=True)
        assert t.autograd.gradcheck(lambda z, x: eval(text, {"t": t, "z": z, "x": x}), (z, x))

        class Wrong(t.autograd.Function):
            @staticmethod
            def forward(ctx, z):
                return z * 1.0

            @staticmethod
            def backward(ctx, g):
                return g * (1 + 1j)

        with pytest.raises(RuntimeError, match="mismatch"):
            t.autograd.gradcheck(lambda z: Wrong.apply(z).abs(), (z,))


def test_notebooks_show_compiled_functions():
    f = gradus.jit(lambda x: (x * 2).exp())
    assert "&lt;lambda&gt;" in f._repr_html_()
    f(gradus.ones(2))
    assert f._repr_html_().startswith("<svg") and "exp" in f._repr_html_()


def written_without_recording(t):
    """An assignment to the data of an inner tensor replaces its value, but not its history."""
    out = []
    for write in (
        lambda h: h.data.clamp_(min=0),
        lambda h: h.detach().mul_(3),
        lambda h: h.data.__setitem__(0, 1.0),
        lambda h: h.data[1:].zero_(),
        lambda h: h.data.copy_(t.ones(3)),
    ):
        w = t.tensor([1.0, -2.0, 3.0], requires_grad=True)
        v = t.tensor([0.5, 0.25, 2.0], requires_grad=True)
        h = w * 2
        write(h)
        ((h * v) ** 2).sum().backward()
        out += [h.detach().clone(), w.grad, v.grad]
    w = t.tensor([1.0, -2.0], requires_grad=True)
    h = w + 1
    with t.no_grad():
        h[0] = 0.0
        h.add_(1)
    (h**2).sum().backward()
    return [*out, h.detach().clone(), w.grad]


@needs_torch
def test_writing_without_recording_keeps_history():
    both(written_without_recording)
