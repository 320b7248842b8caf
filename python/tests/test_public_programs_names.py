"""Names and arguments that public PyTorch programs use at import and in their first lines, each compared with PyTorch."""

import importlib
import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from oracle import needs_torch, same, torch

import gradus

#: Expressions of the package `t`, evaluated with both packages.
EXPRESSIONS = """
t.tensor([1, 2]).type(t.FloatTensor)
t.tensor([1, 2]).type("torch.FloatTensor")
t.tensor([1.5, 2]).type(t.LongTensor)
t.tensor([0.0, 2]).type("torch.BoolTensor")
t.tensor([1.5]).type(t.DoubleTensor)
t.tensor([1, 2]).type(t.float64, non_blocking=True)
t.FloatTensor([1, 2])
t.FloatTensor(2, 3).shape
t.FloatTensor(t.Size([2, 3])).shape
t.FloatTensor(np.array([1.0, 2.0], dtype=np.float32))
t.LongTensor([1, 2])
t.LongTensor(3).shape
t.IntTensor([1]), t.ByteTensor([1]), t.BoolTensor([True]), t.DoubleTensor([1]), t.HalfTensor([1]), t.CharTensor([1])
[isinstance(t.ones(2), k) for k in (t.FloatTensor, t.LongTensor, t.DoubleTensor)]
[isinstance(t.tensor([1]), k) for k in (t.FloatTensor, t.LongTensor)]
t.Tensor(np.array([1.0, 2.0])), t.Tensor(np.array([1, 2]))
t.device("cuda").type, t.device("cuda:1").index, str(t.device("cuda", 1)), repr(t.device("cuda:0"))
t.device("cuda") == t.device("cuda:0"), t.device("cuda", 0) == t.device("cuda:0"), t.device("cpu") == "cpu"
len({t.device("cuda"), t.device("cuda"), t.device("cpu")})
t.ones(2).device == t.device("cpu")
t.logspace(0, 1, 3, device="cpu"), t.linspace(0, 1, 3, device="cpu"), t.asarray([1], device="cpu")
t.hann_window(4, device="cpu"), t.hamming_window(4, dtype=t.float64, device="cpu"), t.tril_indices(2, 2, device="cpu"), t.triu_indices(2, 2, device="cpu")
t.full((2,), 1, layout=t.strided), t.arange(3, layout=t.strided), t.eye(2, pin_memory=False), t.tensor([1], pin_memory=False)
t.zeros(2, pin_memory=False), t.ones(2, layout=t.strided), t.empty(2, memory_format=t.contiguous_format).shape
t.zeros_like(t.ones(2), layout=t.strided), t.empty_like(t.ones(2), memory_format=t.preserve_format).shape
t.normal(0.0, 0.0, (2,), device="cpu"), t.randint(3, (2,), device="cpu").shape, t.randperm(3, pin_memory=False).shape
t.logspace(0, 1, 3, requires_grad=True).requires_grad
t.ones(2).new_zeros(size=(2, 3)), t.ones(2).new_tensor([1], device="cpu"), t.ones(2).new_ones((2,), layout=t.strided)
t.full_like(t.ones(2), 3.0, memory_format=t.preserve_format), t.rand_like(t.ones(2), memory_format=t.contiguous_format).shape, t.randn_like(t.ones(2), memory_format=t.preserve_format).shape
t.ones(2).float(memory_format=t.preserve_format), t.ones(2).double(memory_format=t.preserve_format), t.ones(2).long(memory_format=t.preserve_format)
t.ones(2).half(memory_format=t.contiguous_format), t.ones(2).bool(memory_format=t.preserve_format), t.ones(2).cpu(memory_format=t.preserve_format)
t.ones(1, 2, 3, 4).contiguous(memory_format=t.channels_last), t.ones(2).clone(memory_format=t.contiguous_format)
t.ones(1, 2, 3, 4).to(memory_format=t.channels_last), t.ones(1, 2, 3, 4).to("cpu", t.float64, memory_format=t.channels_last)
t.ones(2).to("cpu", t.float64), t.ones(2).to("cpu", t.float64, False, True), t.ones(2).to(t.float64, False, True), t.ones(2).to(t.tensor([1]), False, True)
[x.to(t.float32, False, True) is x for x in [t.ones(2)]], [x.to(t.float32, False, False) is x for x in [t.ones(2)]], [x.to("cpu", t.float32, True) is x for x in [t.ones(2)]]
t.arange(3).flip(dims=[0]), t.arange(4).reshape(2, 2).flip(dims=(0, 1)), t.arange(3).flip(0)
t.ones(2, 3).permute(dims=(1, 0)), t.ones(2, 3).reshape(shape=(3, 2)), t.ones(2, 3).view(size=(3, 2)), t.ones(1, 3).expand(size=(2, 3)), t.ones(2, 3).tile(dims=(1, 2)), t.ones(2, 3).repeat(repeats=(1, 2)), t.ones(2).view(dtype=t.int32)
t.tensor([[2.0, 1.0], [4.0, 3.0]]).lu()
t.tensor([[2.0, 1.0], [4.0, 3.0]]).lu(get_infos=True)
t.ones(2, 3).untyped_storage().nbytes(), len(t.ones(2, 3).untyped_storage()), t.ones(3, dtype=t.float64).storage().size(), t.ones(3)[1:].storage_offset()
[x.untyped_storage().data_ptr() == x[1:].untyped_storage().data_ptr() for x in [t.ones(3)]]
t.einsum("ij,jk->ik", (t.ones(2, 3), t.ones(3, 2))), t.einsum("ij,jk->ik", [t.ones(2, 3), t.ones(3, 2)])
t.nn.MSELoss(size_average=False)(t.ones(2), t.zeros(2)), t.nn.MSELoss(reduce=False)(t.ones(2), t.zeros(2)), t.nn.L1Loss(False)(t.ones(2), t.zeros(2))
t.nn.CrossEntropyLoss(None, False, 1).reduction, t.nn.CrossEntropyLoss(None, None, 1).ignore_index, t.nn.NLLLoss(None, True).reduction, t.nn.BCEWithLogitsLoss(None, False).reduction
F.mse_loss(t.ones(2), t.zeros(2), False), F.mse_loss(t.ones(2), t.zeros(2), reduce=False), F.mse_loss(t.ones(2), t.zeros(2), None, None, "sum")
F.cross_entropy(t.eye(3).double(), t.tensor([0, 1, 2]), None, False), F.cross_entropy(t.eye(3).double(), t.tensor([0, 1, 2]), None, None, 1), F.nll_loss(t.eye(3), t.tensor([0, 1, 2]), t.ones(3), None, -100, False)
F.binary_cross_entropy(t.full((2,), 0.5), t.ones(2), None, False), F.kl_div(t.zeros(2), t.ones(2), False), F.smooth_l1_loss(t.ones(2), t.zeros(2), size_average=False), F.soft_margin_loss(t.ones(2), t.ones(2), False)
F.dropout2d(t.ones(2, 3), 0.5, False), F.dropout2d(t.ones(2, 3), 1.0, True), F.dropout3d(t.ones(2, 3), 1.0, True), F.dropout2d(t.ones(2, 3, 4), 1.0)
t.nn.GRU(2, 3, 2, bidirectional=True)._flat_weights_names, t.nn.LSTM(2, 3, bias=False)._flat_weights_names, [len(w) for w in t.nn.GRU(2, 3).all_weights]
[tuple(w.shape) for w in t.nn.LSTM(4, 3, proj_size=2)._flat_weights]
list(t.nn.ModuleList([None, t.nn.ReLU()]))[0], len(t.nn.ModuleList([None, t.nn.ReLU()])), list(t.nn.ModuleList([None, t.nn.Linear(1, 1)]).state_dict())
t.nn.SyncBatchNorm.convert_sync_batchnorm(t.nn.Sequential(t.nn.BatchNorm2d(3), t.nn.Linear(1, 1))).__repr__()
t.__version__ >= "2.0", t.__version__ >= (2, 1), t.__version__ < "3", t.__version__ > "2.4", t.__version__.split(".")[0], t.__version__ == t.__version__, t.version.hip
t.utils.data.Sampler[int] is not None, t.utils.data.Dataset[int] is not None
t.compiler.is_compiling(), t.compiler.disable(lambda x: x + 1)(1), t.compiler.allow_in_graph(lambda x: x + 1)(1)
issubclass(t._C._LinAlgError, RuntimeError)
t.jit.Final[int] is not None, t.jit.is_scripting(), t.jit.annotate(int, 3)
t.fx.wrap("len"), t.onnx.is_in_onnx_export(), t.distributed.is_nccl_available() in (True, False)
t.overrides.has_torch_function((t.ones(1),)), t._assert(True, "no")
t.float8_e4m3fn.itemsize, t.int16.itemsize, t.uint16.is_signed, t.int16.is_floating_point
""".strip().split("\n")


def _plain(x):
    """Writes dtypes, devices and texts of either package with the names that both packages use."""
    if isinstance(x, (list, tuple)):
        return [_plain(y) for y in x]
    if hasattr(x, "detach"):
        return x
    return str(x).replace("torch.", "").replace("gradus.", "")


def _evaluated(t, expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _plain(eval(expression, {"t": t, "np": np, "F": t.nn.functional}))


def _compare(ours, theirs, what):
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), what
        for a, b in zip(ours, theirs):
            _compare(a, b, what)
    elif isinstance(theirs, str):
        assert ours == theirs, what
    else:
        same(ours, theirs, what=what)


@needs_torch
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_of_public_programs(expression):
    import torch.fx  # noqa: F401
    import torch.onnx  # noqa: F401

    _compare(_evaluated(gradus, expression), _evaluated(torch, expression), expression)


#: Modules that programs import, each with a name that they take from it.
MODULES = """
accelerator.is_available onnx.export fx.wrap fx.Proxy fx.Tracer fx.GraphModule fx.proxy.Proxy jit.Final jit.script jit.annotations.BroadcastingList2 distributed.nn.all_reduce
compiler.disable compiler.is_compiling compiler.allow_in_graph utils._pytree.tree_map serialization.safe_globals serialization.add_safe_globals
hub.load_state_dict_from_url utils.model_zoo.load_url utils.hooks.RemovableHandle multiprocessing.Process overrides.handle_torch_function
types.Device version.cuda sparse.mm storage.UntypedStorage _C._LinAlgError _utils._flatten_dense_tensors optim.lr_scheduler._LRScheduler
nn.parallel.distributed.DistributedDataParallel nn.init.kaiming_normal utils.checkpoint.get_device_states
distributions.bernoulli.Bernoulli distributions.beta.Beta distributions.binomial.Binomial distributions.categorical.Categorical
distributions.cauchy.Cauchy distributions.chi2.Chi2 distributions.constraints.Constraint distributions.dirichlet.Dirichlet
distributions.distribution.Distribution distributions.exponential.Exponential distributions.gamma.Gamma distributions.geometric.Geometric
distributions.gumbel.Gumbel distributions.half_cauchy.HalfCauchy distributions.half_normal.HalfNormal distributions.independent.Independent
distributions.inverse_gamma.InverseGamma distributions.kl.kl_divergence distributions.kl.register_kl distributions.laplace.Laplace
distributions.log_normal.LogNormal distributions.mixture_same_family.MixtureSameFamily distributions.multinomial.Multinomial
distributions.multivariate_normal.MultivariateNormal distributions.negative_binomial.NegativeBinomial distributions.normal.Normal
distributions.one_hot_categorical.OneHotCategorical distributions.pareto.Pareto distributions.poisson.Poisson
distributions.relaxed_bernoulli.RelaxedBernoulli distributions.relaxed_categorical.RelaxedOneHotCategorical distributions.studentT.StudentT
distributions.transformed_distribution.TransformedDistribution distributions.transforms.Transform distributions.uniform.Uniform
distributions.utils.broadcast_all distributions.utils.probs_to_logits distributions.utils.lazy_property distributions.weibull.Weibull
""".split()


@pytest.mark.parametrize("path", MODULES)
@pytest.mark.parametrize("package", ["gradus", pytest.param("torch", marks=needs_torch)])
def test_modules_of_public_programs(package, path):
    module, _, name = path.rpartition(".")
    assert hasattr(importlib.import_module(f"{package}.{module}"), name)


def test_distributions_are_the_same_class_everywhere():
    from gradus.distributions.categorical import Categorical

    assert Categorical is gradus.distributions.Categorical


def test_a_device_can_be_a_default_argument_without_a_gpu():
    def make(x, device=gradus.device("cuda")):
        return gradus.zeros(x, device=device)

    with pytest.raises(RuntimeError, match="cuda"):
        make(2)
    assert make(2, device=gradus.device("cpu")).tolist() == [0.0, 0.0]
    for use in (lambda: gradus.ones(2).to("cuda"), lambda: gradus.ones(2).cuda(), lambda: gradus.nn.Linear(1, 1).to(gradus.device("cuda:0")),
                lambda: gradus.logspace(0, 1, 2, device="cuda"), lambda: gradus.cuda.FloatTensor(2), lambda: gradus.ones(2).type("torch.cuda.FloatTensor")):
        with pytest.raises(RuntimeError, match="(?i)cuda"):
            use()
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        gradus.device("gpu")


def test_random_sampler_draws_lazily():
    sampler = gradus.utils.data.RandomSampler(range(7), replacement=True, num_samples=int(1e10))
    assert len(sampler) == int(1e10)
    drawn = list(itertools.islice(sampler, 3000))
    assert set(drawn) == set(range(7))
    loader = gradus.utils.data.DataLoader(list(range(7)), sampler=sampler, batch_size=4)
    assert next(iter(loader)).shape == (4,)
    assert len(list(gradus.utils.data.RandomSampler(range(3), replacement=True, num_samples=2500))) == 2500


def test_dtypes_without_tensors_can_be_named():
    with pytest.raises(TypeError, match="int16"):
        gradus.zeros(2, dtype=gradus.int16)


def test_onnx_fx_and_hub_say_what_is_missing():
    with pytest.raises(NotImplementedError, match="ONNX"):
        gradus.onnx.export(gradus.nn.Linear(1, 1), gradus.ones(1), "f.onnx")
    with pytest.raises(NotImplementedError, match="gradus.trace"):
        gradus.fx.symbolic_trace(gradus.nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match="gradus.trace"):
        gradus.fx.Tracer()
    with pytest.raises(RuntimeError, match="downloaded"):
        gradus.hub.load_state_dict_from_url("x")
    with pytest.raises(RuntimeError, match="process group"):
        gradus.distributed.all_reduce(gradus.ones(1))


def test_older_arguments_of_losses_warn():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        gradus.nn.MSELoss(size_average=False)
    with pytest.warns(UserWarning, match="reduction='none'"):
        gradus.nn.functional.mse_loss(gradus.ones(1), gradus.ones(1), reduce=False)
    with pytest.warns(UserWarning, match="dropout2d"):
        gradus.nn.functional.dropout2d(gradus.ones(2, 3))


@needs_torch
@pytest.mark.parametrize("axes, shape", [(1, (64, 5)), (1, (8, 64, 5)), (2, (64, 64)), (2, (8, 64, 5)), (2, (8, 64, 5, 2)), (2, (8, 64, 2, 2, 2)),
                                         (3, (64, 9)), (3, (64, 9, 3)), (3, (64, 9, 3, 2)), (3, (8, 64, 2, 2, 2))])
def test_axes_of_dropout_masks(axes, shape):
    """Tests along which axes the mask of dropout varies."""

    def varies(t):
        t.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = getattr(t.nn.functional, f"dropout{axes}d")(t.ones(shape), 0.5, True)
        return [not bool((y == y.select(d, 0).unsqueeze(d)).all()) for d in range(len(shape))]

    assert varies(gradus) == varies(torch)


IN_PLACE = [
    "nn.ReLU(True)", "nn.ReLU6(True)", "nn.SELU(True)", "nn.SiLU(True)", "nn.Mish(True)", "nn.Hardswish(True)",
    "nn.LeakyReLU(0.1, True)", "nn.ELU(1.0, True)", "nn.CELU(1.0, True)", "nn.Hardtanh(-1.0, 1.0, True)", "nn.Threshold(0.1, 2.0, True)",
    "nn.RReLU(inplace=True).eval()", "nn.Dropout(1.0, True)", "nn.Dropout(0.5, True).eval()", "lambda x: F.relu(x, inplace=True)",
    "lambda x: F.relu(x, True)", "lambda x: F.leaky_relu(x, 0.1, True)", "lambda x: F.dropout(x, 1.0, True, True)", "lambda x: F.elu(x, inplace=True)",
]


@needs_torch
@pytest.mark.parametrize("text", IN_PLACE)
def test_inplace_activations_change_their_argument(text):
    """Tests a residual block that reads its input again after an in-place activation, with gradients."""

    def run(t):
        layer = eval(text, {"nn": t.nn, "F": t.nn.functional})
        x = t.tensor(np.linspace(-2.0, 3.0, 12).reshape(3, 4), requires_grad=True)
        y = x * 1.5
        branch = layer(y)
        assert branch is y
        total = branch * 2 + y
        (total * t.tensor(np.cos(np.arange(12.0)).reshape(3, 4))).sum().backward()
        data = t.tensor([-1.0, 2.0], dtype=t.float64)
        layer(data)
        return [total, x.grad, data]

    same(run(gradus), run(torch), what=text)


def test_a_function_without_backward_says_which():
    class Twice(gradus.autograd.Function):
        @staticmethod
        def forward(ctx, n, x):
            return x * n

    x = gradus.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"Twice has no backward method.*argument\(s\) 1"):
        Twice.apply(2, x).sum().backward()
    assert Twice.apply(2, gradus.ones(2)).tolist() == [2.0, 2.0]


def test_backward_of_several_elements_says_what_to_pass():
    x = gradus.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"only for scalar outputs.*\[2, 3\].*ones_like"):
        (x * 2).backward()


def test_cotangents_as_arrays_and_lists():
    for cotangent in (np.array([1.0, 3.0]), [1.0, 3.0], gradus.tensor([1.0, 3.0])):
        x = gradus.ones(2, requires_grad=True)
        (x * 2).backward(cotangent)
        assert x.grad.tolist() == [2.0, 6.0]
    array, x = np.array([1.0, 3.0]), gradus.ones(2, requires_grad=True)
    assert gradus.autograd.grad(x * 2, x, array)[0].tolist() == [2.0, 6.0]
    assert gradus.autograd.grad([x * 2, x * 3], x, [array, array.astype(np.float32)])[0].tolist() == [5.0, 15.0]
    batched = gradus.autograd.grad(x * 2, x, np.eye(2), is_grads_batched=True)[0]
    assert batched.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    gradus.autograd.backward(x * 2, array)
    assert x.grad.tolist() == [2.0, 6.0]
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        gradus.autograd.grad([x * 2, x * 3], x, [array])


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_attention_kernel_settings_are_stored():
    names = ("flash", "math", "mem_efficient", "cudnn")

    def reported(t):
        settings = t.backends.cuda
        flags = lambda: [getattr(settings, f"{name}_sdp_enabled")() for name in names]  # noqa: E731
        before = flags()
        x = t.arange(24.0).reshape(1, 2, 3, 4) / 10
        with settings.sdp_kernel(enable_flash=False, enable_math=True, enable_mem_efficient=False):
            inside, y = flags(), t.nn.functional.scaled_dot_product_attention(x, x, x)
        settings.enable_flash_sdp(False)
        changed = flags()
        settings.enable_flash_sdp(True)
        return [before, inside, changed, flags()], y

    (ours, values), (theirs, wanted) = reported(gradus), reported(torch)
    assert ours == theirs
    same(values, wanted, rtol=1e-6)


def test_the_packages_own_version_is_reachable():
    assert gradus.version.gradus == gradus._native.__version__
    assert gradus.__version__.endswith(gradus.version.gradus)


def test_import_does_not_load_numpy_or_torch():
    code = "import gradus, sys; print('numpy' in sys.modules, 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["False", "False"]
