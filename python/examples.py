"""Writes the examples in docstrings. Each example is an expression below; its output is computed when this script runs.

    python python/examples.py          # writes the files
    python python/examples.py --check  # checks whether the files are up to date

Examples of native functions and methods go to `crates/python/src/examples.rs`, which is included in their
documentation. Examples of functions written in Python go to `python/gradus/_examples.py`, and `documented` appends them to
docstrings. In-place methods, and functions with the name of a method, have the example of the method.
"""

import contextlib
import inspect
import io
import re
import sys
from pathlib import Path

import gradus
from gradus import Tensor, _native, catalog

ROOT = Path(__file__).resolve().parents[1]

#: Definitions that expressions use; an example shows only those that it needs.
GIVEN = {
    "F": "from gradus.nn import functional as F",
    "linalg": "from gradus import linalg",
    "fft": "from gradus import fft",
    "init": "from gradus.nn import init",
    "u": "u = gradus.tensor([0.25, 0.5])",
    "v": "v = gradus.tensor([1.0, -2.0, 3.0])",
    "w": "w = gradus.tensor([2.0, 2.0, 0.5])",
    "i": "i = gradus.tensor([5, 6])",
    "j": "j = gradus.tensor([3, 1])",
    "b": "b = gradus.tensor([True, False])",
    "m": "m = gradus.tensor([[1.0, 2.0], [3.0, 4.0]])",
    "s": "s = gradus.tensor([[2.0, 1.0], [1.0, 2.0]])",
    "p": "p = gradus.tensor([0.2, 0.8])",
    "t": "t = gradus.tensor([1.0, 0.0])",
    "image": "image = gradus.arange(16.0).reshape(1, 1, 4, 4)",
    "line": "line = gradus.tensor([[[1.0, 3.0, 2.0, 4.0]]])",
    "cube": "cube = gradus.arange(8.0).reshape(1, 1, 2, 2, 2)",
    "logits": "logits = gradus.tensor([[2.0, 0.0, 1.0]])",
    "one": "one = gradus.tensor([0])",
}

#: `u.name()`
UNARY = """
abs absolute acos arccos asin arcsin asinh atan arctan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix
floor frac hardsigmoid hardswish lgamma log log10 log1p log2 logit logsigmoid mish nan_to_num neg negative rad2deg reciprocal relu
relu6 round rsqrt selu sgn sigmoid expit sign silu sin sinc sinh softsign sqrt square tan tanh tanhshrink trunc positive gelu
leaky_relu softplus clone contiguous detach detach_ ravel isneginf isposinf isreal signbit cpu share_memory_ pin_memory angle conj
cumsum cumprod msort
""".split()
#: `v.name(w)`
BINARY = """
add sub subtract mul multiply div divide true_divide fmod remainder floor_divide maximum minimum atan2 arctan2 hypot copysign logaddexp
logaddexp2 heaviside eq ne not_equal lt less le less_equal gt greater ge greater_equal fmax fmin dot outer inner vdot ger rsub isclose
allclose equal dist float_power kron ldexp
""".split()
# Ops of the catalog that have no other name in Python.
UNARY += [name for name, domains in catalog.INSTALLED.items() if len(domains) == 1]
BINARY += [name for name, domains in catalog.INSTALLED.items() if len(domains) == 2]
#: `i.name(j)`
INTEGERS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()
#: `b.name(~b)`
TRUTHS = "logical_and logical_or logical_xor".split()
#: `m.name()`
MATRICES = """
sum mean prod max min amax amin argmax argmin std var median norm trace det logdet inverse pinverse matrix_exp t fliplr flipud
tril triu flatten adjoint unique numel nelement dim tolist count_nonzero std_mean var_mean aminmax nansum nanmean nanmedian corrcoef cov
is_contiguous is_floating_point is_complex element_size stride size is_pinned get_device
""".split()
#: `v.name()`
VECTORS = "isnan isinf isfinite argsort sort nonzero argwhere diag diag_embed diagflat diff mode".split()
#: `u.name()`: conversions to another dtype
DTYPES = "bfloat16 bool byte char double float half int long cfloat cdouble".split()

#: Everything else: the name, then the lines of its example.
OTHERS = """
acosh | w.clamp_min(1.0).acosh()
addbmm | m.addbmm(m.unsqueeze(0), m.unsqueeze(0))
addcdiv | v.addcdiv(v, w)
addcmul | v.addcmul(v, w)
addmm | m.addmm(m, m)
addmv | gradus.zeros(2).addmv(m, u)
addr | m.addr(u, u)
all | b.all()
any | b.any()
backward | x = gradus.tensor(3.0, requires_grad=True) ; (x * x).backward() ; x.grad
baddbmm | gradus.zeros(1, 2, 2).baddbmm(m.unsqueeze(0), m.unsqueeze(0))
bernoulli | t.bernoulli()
bernoulli_ | gradus.empty(2).bernoulli_(1.0)
bincount | i.bincount()
bitwise_not | i.bitwise_not()
bmm | m.unsqueeze(0).bmm(m.unsqueeze(0))
broadcast_to | u.broadcast_to((2, 2))
bucketize | v.bucketize(gradus.tensor([0.0, 2.0]))
cholesky | s.cholesky()
chunk | v.chunk(2)
clamp | v.clamp(-1.0, 1.0)
clamp_max | v.clamp_max(0.0)
clamp_min | v.clamp_min(0.0)
clip | v.clip(-1.0, 1.0)
combinations | i.combinations()
copy_ | gradus.zeros(2).copy_(u)
cross | v.cross(w)
cuda | gradus.cuda.is_available()
cummax | v.cummax(0).values
cummin | v.cummin(0).values
cumprod | v.cumprod(0)
cumsum | v.cumsum(0)
data_ptr | u.data_ptr() == u.data_ptr()
diagonal | m.diagonal()
dsplit | cube[0].dsplit(2)[0].shape
expand | u.expand(2, 2)
expand_as | u.expand_as(m)
exponential_ | bool((gradus.empty(3).exponential_() >= 0).all())
fill_ | gradus.zeros(2).fill_(7.0)
flip | v.flip(0)
gather | m.gather(1, gradus.tensor([[1], [0]]))
histc | v.histc(bins=2, min=-3, max=3)
hsplit | m.hsplit(2)
index_add | gradus.zeros(4).index_add(0, j, u)
index_copy | gradus.zeros(4).index_copy(0, j, u)
index_fill | v.index_fill(0, gradus.tensor([0]), 9.0)
index_reduce | v.index_reduce(0, gradus.tensor([0, 0]), gradus.tensor([5.0, 4.0]), "amax")
put | v.put(gradus.tensor([0, -1]), gradus.tensor([7.0, 8.0]))
select_scatter | m.select_scatter(u, 0, 1)
slice_scatter | m.slice_scatter(u.reshape(1, 2), 0, 1)
diagonal_scatter | m.diagonal_scatter(u)
index_put | v.index_put((gradus.tensor([0]),), gradus.tensor(9.0))
index_select | m.index_select(1, one)
item | gradus.tensor(2.5).item()
kthvalue | v.kthvalue(2).values
lerp | v.lerp(w, 0.5)
log_softmax | u.log_softmax(0)
logsumexp | m.logsumexp(0)
logcumsumexp | u.logcumsumexp(0)
logical_not | b.logical_not()
masked_fill | v.masked_fill(v < 0, 0.0)
masked_scatter | v.masked_scatter(v < 0, w)
masked_select | v.masked_select(v > 0)
matmul | m.matmul(u)
matrix_power | m.matrix_power(2)
mm | m.mm(m)
moveaxis | gradus.zeros(2, 3, 4).moveaxis(0, -1).shape
movedim | gradus.zeros(2, 3, 4).movedim(0, -1).shape
multinomial | t.multinomial(1)
mv | m.mv(u)
mvlgamma | w.clamp_min(1.0).mvlgamma(1)
narrow | v.narrow(0, 1, 2)
new_empty | u.new_empty((2, 3)).shape
new_full | u.new_full((2,), 7.0)
new_ones | u.new_ones(2)
new_tensor | u.new_tensor([1, 2])
new_zeros | u.new_zeros(2)
normal_ | gradus.empty(3).normal_(0.0, 0.0)
numpy | u.numpy()
permute | gradus.zeros(2, 3, 4).permute(2, 0, 1).shape
polygamma | u.polygamma(1)
pow | v.pow(2)
quantile | v.quantile(0.5)
nanquantile | gradus.tensor([1.0, gradus.nan, 3.0]).nanquantile(0.5)
repeat | u.repeat(2)
repeat_interleave | u.repeat_interleave(2)
requires_grad_ | gradus.zeros(1).requires_grad_()
reshape | v.reshape(3, 1)
reshape_as | gradus.arange(4).reshape_as(m)
retain_grad | x = gradus.ones(2, requires_grad=True) ; y = x * 2 ; y.retain_grad() ; y.sum().backward() ; y.grad
roll | v.roll(1)
rot90 | m.rot90()
scatter | gradus.zeros(1, 3).scatter(1, gradus.tensor([[2]]), 5.0)
scatter_add | gradus.zeros(3).scatter_add(0, gradus.tensor([0, 0]), u)
scatter_reduce | gradus.zeros(3).scatter_reduce(0, gradus.tensor([0, 0]), u, "amax")
searchsorted | gradus.tensor([0.0, 2.0]).searchsorted(v)
select | m.select(0, 1)
softmax | u.softmax(0)
softmin | u.softmin(0)
split | v.split(2)
split_with_sizes | v.split_with_sizes([1, 2])
storage_offset | v[1:].storage_offset()
squeeze | gradus.zeros(1, 2).squeeze().shape
swapaxes | gradus.zeros(2, 3).swapaxes(0, 1).shape
swapdims | gradus.zeros(2, 3).swapdims(0, 1).shape
take | m.take(gradus.tensor([0, 3]))
take_along_dim | m.take_along_dim(gradus.tensor([[1], [0]]), 1)
tensor_split | v.tensor_split(2)
tile | u.tile(2)
to | u.to(gradus.float64)
topk | v.topk(2).values
transpose | gradus.zeros(2, 3).transpose(0, 1).shape
type | u.type()
type_as | i.type_as(u)
unbind | m.unbind(0)
unflatten | gradus.arange(4).unflatten(0, (2, 2))
unfold | gradus.arange(4).unfold(0, 2, 1)
uniform_ | bool((gradus.empty(3).uniform_() < 1).all())
unique_consecutive | gradus.tensor([1, 1, 2, 1]).unique_consecutive()
unravel_index | gradus.tensor([3]).unravel_index((2, 2))
unsqueeze | u.unsqueeze(0).shape
view_as | gradus.arange(4).view_as(m)
vsplit | m.vsplit(2)[0]
where | gradus.where(v > 0, v, 0.0)
xlogy | u.xlogy(u)
zero_ | gradus.ones(2).zero_()
BoolTensor | gradus.BoolTensor([1, 0])
ByteTensor | gradus.ByteTensor([1, 2])
DoubleTensor | gradus.DoubleTensor([1, 2])
FloatTensor | gradus.FloatTensor([1, 2])
HalfTensor | gradus.HalfTensor([1, 2])
IntTensor | gradus.IntTensor([1, 2])
LongTensor | gradus.LongTensor([1, 2])
adaptive_avg_pool1d | F.adaptive_avg_pool1d(line, 2)
adaptive_avg_pool2d | F.adaptive_avg_pool2d(image, 1)
adaptive_avg_pool3d | F.adaptive_avg_pool3d(cube, 1).item()
adaptive_max_pool1d | F.adaptive_max_pool1d(line, 2)
adaptive_max_pool2d | F.adaptive_max_pool2d(image, 1)
adaptive_max_pool3d | F.adaptive_max_pool3d(cube, 1).item()
as_tensor | gradus.as_tensor([1, 2])
asarray | gradus.asarray([1, 2])
atleast_1d | gradus.atleast_1d(gradus.tensor(1.0))
atleast_2d | gradus.atleast_2d(u)
atleast_3d | gradus.atleast_3d(u).shape
avg_pool1d | F.avg_pool1d(line, 2)
avg_pool2d | F.avg_pool2d(image, 2)
avg_pool3d | F.avg_pool3d(cube, 2).item()
batch_norm | F.batch_norm(m, None, None, training=True)
bilinear | F.bilinear(u, u, gradus.ones(1, 2, 2))
binary_cross_entropy | F.binary_cross_entropy(p, t)
binary_cross_entropy_with_logits | F.binary_cross_entropy_with_logits(u, t)
blackman_window | gradus.blackman_window(4)
block_diag | gradus.block_diag(m, u)
broadcast_shapes | gradus.broadcast_shapes((2, 1), (3,))
broadcast_tensors | gradus.broadcast_tensors(gradus.ones(2, 1), u)[0]
cartesian_prod | gradus.cartesian_prod(i, j)
cat | gradus.cat([u, u])
cdist | gradus.cdist(m, m)
celu | F.celu(v)
chain_matmul | gradus.chain_matmul(m, m, m)
channel_shuffle | gradus.channel_shuffle(gradus.arange(4.0).reshape(1, 4, 1, 1), 2).reshape(-1)
checkpoint | gradus.checkpoint(lambda x: x.sin(), u)
column_stack | gradus.column_stack([u, u])
complex | gradus.complex(u, u)
conv1d | F.conv1d(line, gradus.ones(1, 1, 2))
conv2d | F.conv2d(image, gradus.ones(1, 1, 3, 3))
conv3d | F.conv3d(cube, gradus.ones(1, 1, 2, 2, 2)).item()
conv_transpose1d | F.conv_transpose1d(line, gradus.ones(1, 1, 2))
conv_transpose2d | F.conv_transpose2d(gradus.ones(1, 1, 1, 1), gradus.ones(1, 1, 2, 2))
conv_transpose3d | F.conv_transpose3d(gradus.ones(1, 1, 1, 1, 1), gradus.ones(1, 1, 2, 2, 2)).shape
cosine_embedding_loss | F.cosine_embedding_loss(m, m, gradus.tensor([1, 1]))
cosine_similarity | F.cosine_similarity(v, w, dim=0)
dropout | F.dropout(v, 0.5, training=False)
dstack | gradus.dstack([u, u]).shape
eig | gradus.linalg.eig(s).eigenvalues.real.sort().values
eigh | gradus.linalg.eigh(s).eigenvalues
eigvals | gradus.linalg.eigvals(s).real.sort().values
eigvalsh | gradus.linalg.eigvalsh(s)
elu | F.elu(v)
embedding | F.embedding(one, m)
empty | gradus.empty(2, 3).shape
empty_like | gradus.empty_like(m).shape
eye | gradus.eye(2)
fold | F.fold(gradus.ones(1, 4, 4), (3, 3), (2, 2))
from_dlpack | gradus.from_dlpack(u)
from_numpy | import numpy ; gradus.from_numpy(numpy.arange(3))
full | gradus.full((2,), 7.0)
full_like | gradus.full_like(u, 7.0)
gaussian_nll_loss | F.gaussian_nll_loss(u, u, gradus.ones(2))
get_default_dtype | gradus.get_default_dtype()
get_float32_matmul_precision | gradus.get_float32_matmul_precision() in ("highest", "high", "medium")
get_rng_state | gradus.set_rng_state(gradus.get_rng_state())
glu | F.glu(gradus.tensor([1.0, 2.0, 0.0, 0.0]))
group_norm | F.group_norm(gradus.tensor([[1.0, 3.0]]), 1)
hamming_window | gradus.hamming_window(4)
hann_window | gradus.hann_window(4)
hardshrink | F.hardshrink(v, 1.5)
hardtanh | F.hardtanh(v)
hinge_embedding_loss | F.hinge_embedding_loss(u, gradus.tensor([1, -1]))
hstack | gradus.hstack([u, u])
huber_loss | F.huber_loss(v, w)
imag | gradus.imag(gradus.tensor([1 + 2j]))
instance_norm | F.instance_norm(line)
interpolate | F.interpolate(line, scale_factor=2)
inv | gradus.linalg.inv(s)
is_grad_enabled | gradus.is_grad_enabled()
is_nonzero | gradus.is_nonzero(gradus.tensor([0.0]))
is_tensor | gradus.is_tensor(u)
is_tracing | gradus.is_tracing()
isin | gradus.isin(i, j)
kl_div | F.kl_div(p.log(), p)
l1_loss | F.l1_loss(v, w)
layer_norm | F.layer_norm(m, (2,))
linear | F.linear(u, m)
linearize | y, push = gradus.linearize(lambda x: x * x, u) ; push(gradus.ones(2))
linspace | gradus.linspace(0, 1, 3)
load | import tempfile, os ; path = os.path.join(tempfile.mkdtemp(), "x") ; gradus.save({"u": u}, path) ; gradus.load(path)
load_safetensors | import tempfile, os ; path = os.path.join(tempfile.mkdtemp(), "x") ; gradus.save({"u": u}, path) ; gradus.load_safetensors(path)[0]
save_safetensors | import tempfile, os ; path = os.path.join(tempfile.mkdtemp(), "x") ; gradus.save_safetensors(path, {"u": u}, {}) ; gradus.load(path)
local_response_norm | F.local_response_norm(line, 1)
logspace | gradus.logspace(0, 2, 3)
lu | gradus.linalg.lu(s)[2]
margin_ranking_loss | F.margin_ranking_loss(v, w, gradus.ones(3))
max_pool1d | F.max_pool1d(line, 2)
max_pool2d | F.max_pool2d(image, 2)
max_pool3d | F.max_pool3d(cube, 2).item()
meshgrid | gradus.meshgrid(i, j, indexing="ij")[0]
mse_loss | F.mse_loss(v, w)
multi_dot | gradus.linalg.multi_dot([m, m, m])
nll_loss | F.nll_loss(logits.log_softmax(1), one)
normal | gradus.normal(0.0, 1.0, (2, 3)).shape
normalize | F.normalize(v, dim=0)
one_hot | F.one_hot(gradus.tensor([0, 2]), 3)
ones | gradus.ones(2)
ones_like | gradus.ones_like(u)
pad | F.pad(u, (1, 1))
pairwise_distance | F.pairwise_distance(m, m + 1)
pdist | F.pdist(m)
pinv | gradus.linalg.pinv(s)
pixel_shuffle | F.pixel_shuffle(gradus.arange(4.0).reshape(1, 4, 1, 1), 2)
pixel_unshuffle | F.pixel_unshuffle(image, 2).shape
poisson_nll_loss | F.poisson_nll_loss(v, w)
polar | gradus.polar(gradus.ones(1), gradus.zeros(1))
prelu | F.prelu(v, gradus.tensor([0.5]))
qr | q, r = gradus.linalg.qr(s) ; r
rand | gradus.rand(2, 3).shape
rand_like | gradus.rand_like(u).shape
randint | gradus.randint(3, 4, (2,))
randint_like | gradus.randint_like(i, 3, 4)
randn | gradus.randn(2, 3).shape
randn_like | gradus.randn_like(u).shape
randperm | gradus.randperm(3).sort().values
range | gradus.range(0, 2)
real | gradus.real(gradus.tensor([1 + 2j]))
rms_norm | F.rms_norm(m, (2,))
rope | gradus.rope(gradus.ones(1, 2))
rope_at | gradus.rope_at(gradus.ones(1, 2), gradus.tensor([0]))
rope_with | gradus.rope_with(gradus.ones(1, 2), gradus.tensor([[0.0]]), gradus.tensor([[1.0]]))
row_stack | gradus.row_stack([u, u])
scalar_tensor | gradus.scalar_tensor(2.0)
poisson | gradus.poisson(gradus.zeros(2))
bartlett_window | gradus.bartlett_window(4)
kaiser_window | gradus.kaiser_window(4)
scaled_dot_product_attention | F.scaled_dot_product_attention(m, m, m)
set_default_dtype | gradus.set_default_dtype(gradus.float32)
set_printoptions | gradus.set_printoptions(precision=2) ; print(u / 3) ; gradus.set_printoptions(profile="default")
set_rng_state | gradus.set_rng_state(gradus.get_rng_state())
slogdet | gradus.linalg.slogdet(s).logabsdet
smooth_l1_loss | F.smooth_l1_loss(v, w)
soft_margin_loss | F.soft_margin_loss(u, gradus.tensor([1.0, -1.0]))
softshrink | F.softshrink(v)
solve | gradus.linalg.solve(s, m)
solve_triangular | gradus.linalg.solve_triangular(m.triu(), m, upper=True)
stack | gradus.stack([u, u])
svd | gradus.linalg.svd(s).S
svdvals | gradus.linalg.svdvals(s)
switch | gradus.switch(gradus.tensor(1), [lambda x: x, lambda x: -x], u)
tensordot | gradus.tensordot(m, m, dims=2)
threshold | F.threshold(v, 0.5, 9.0)
cumulative_trapezoid | gradus.cumulative_trapezoid(v)
trapezoid | gradus.trapezoid(v)
trapz | gradus.trapz(v)
tril_indices | gradus.tril_indices(2, 2)
triplet_margin_loss | F.triplet_margin_loss(m, m, m + 1)
triu_indices | gradus.triu_indices(2, 2)
vander | gradus.vander(v)
vstack | gradus.vstack([u, u])
zeros | gradus.zeros(2)
zeros_like | gradus.zeros_like(u)
are_deterministic_algorithms_enabled | gradus.use_deterministic_algorithms(False) ; gradus.are_deterministic_algorithms_enabled()
is_deterministic_algorithms_warn_only_enabled | gradus.use_deterministic_algorithms(False) ; gradus.is_deterministic_algorithms_warn_only_enabled()
get_default_device | gradus.get_default_device()
get_num_interop_threads | gradus.get_num_interop_threads() >= 1
get_num_threads | gradus.get_num_threads() >= 1
set_num_threads | gradus.set_num_threads(gradus.get_num_threads())
initial_seed | generator = gradus.manual_seed(5) ; gradus.initial_seed()
as_strided | v.as_strided((2, 2), (1, 1))
cholesky_inverse | gradus.cholesky_inverse(s.cholesky())
cholesky_solve | gradus.cholesky_solve(m, s.cholesky())
gcd | gradus.gcd(i, j)
lcm | gradus.lcm(i, j)
gcd_ | i.gcd_(j)
lcm_ | i.lcm_(j)
i0 | gradus.i0(v)
i0_ | v.i0_()
is_conj | gradus.is_conj(v)
is_neg | gradus.is_neg(v)
is_same_size | gradus.is_same_size(v, w)
is_signed | gradus.is_signed(v)
istft | spectra = gradus.stft(v, 2, 1, return_complex=True) ; gradus.istft(spectra, 2, 1)
stft | gradus.stft(v, 2, 1, return_complex=True).abs()
renorm | gradus.renorm(m, 2, 0, 1.0)
renorm_ | m.renorm_(2, 0, 1.0)
resolve_conj | v.resolve_conj()
resolve_neg | v.resolve_neg()
sum_to_size | m.sum_to_size(1, 2)
addbmm_ | m.addbmm_(m.unsqueeze(0), s.unsqueeze(0))
baddbmm_ | x = m.unsqueeze(0) ; x.baddbmm_(x, x)
addmv_ | u.addmv_(m, u)
addr_ | m.addr_(u, u)
clamp_max_ | v.clamp_max_(2.0)
clamp_min_ | v.clamp_min_(0.0)
float_power_ | w.double().float_power_(2)
ldexp_ | v.ldexp_(gradus.tensor(1))
mvlgamma_ | gradus.tensor([2.0]).mvlgamma_(2)
round_ | v.round_()
arccosh | gradus.arccosh(gradus.tensor([1.0, 2.0]))
arcsinh | gradus.arcsinh(u)
arctanh | gradus.arctanh(u)
alpha_dropout | F.alpha_dropout(v, training=False)
feature_alpha_dropout | F.feature_alpha_dropout(line, training=False)
fractional_max_pool2d | F.fractional_max_pool2d(image, 2, output_size=3).shape
fractional_max_pool3d | F.fractional_max_pool3d(cube, 1, output_ratio=0.5)
fractional_max_pool2d_with_indices | F.fractional_max_pool2d_with_indices(image, 4, output_size=1)
fractional_max_pool3d_with_indices | F.fractional_max_pool3d_with_indices(cube, 2, output_size=1)
max_pool1d_with_indices | F.max_pool1d_with_indices(line, 2)
max_pool2d_with_indices | F.max_pool2d_with_indices(image, 4)
max_pool3d_with_indices | F.max_pool3d_with_indices(cube, 2)
adaptive_max_pool1d_with_indices | F.adaptive_max_pool1d_with_indices(line, 2)
adaptive_max_pool2d_with_indices | F.adaptive_max_pool2d_with_indices(image, 1)
adaptive_max_pool3d_with_indices | F.adaptive_max_pool3d_with_indices(cube, 1)
linear_cross_entropy | F.linear_cross_entropy(m, m, gradus.tensor([0, 1]))
upsample_nearest | F.upsample_nearest(line, scale_factor=2)
upsample_bilinear | F.upsample_bilinear(image, size=(2, 2))
dropout1d | F.dropout1d(line, training=False)
dropout2d | F.dropout2d(image, training=False).shape
dropout3d | F.dropout3d(cube, training=False).shape
gumbel_softmax | F.gumbel_softmax(logits, hard=True).sum()
lp_pool1d | F.lp_pool1d(line, 2, 2)
lp_pool2d | F.lp_pool2d(image, 2, 4)
max_unpool1d | F.max_unpool1d(gradus.tensor([[[3.0]]]), gradus.tensor([[[1]]]), 2)
max_unpool2d | F.max_unpool2d(gradus.ones(1, 1, 1, 1), gradus.zeros(1, 1, 1, 1, dtype=gradus.long), 2)
max_unpool3d | F.max_unpool3d(gradus.ones(1, 1, 1, 1, 1), gradus.zeros(1, 1, 1, 1, 1, dtype=gradus.long), 2).shape
multi_margin_loss | F.multi_margin_loss(logits, one)
multilabel_margin_loss | F.multilabel_margin_loss(logits, gradus.tensor([[0, -1, -1]]))
multilabel_soft_margin_loss | F.multilabel_soft_margin_loss(logits, gradus.tensor([[1.0, 0.0, 0.0]]))
rrelu | F.rrelu(v)
triplet_margin_with_distance_loss | F.triplet_margin_with_distance_loss(m, m, m + 1)
upsample | F.upsample(line, scale_factor=2).shape
cond | linalg.cond(s)
matrix_norm | linalg.matrix_norm(m)
matrix_rank | linalg.matrix_rank(m)
norm | linalg.norm(v)
vecdot | linalg.vecdot(v, w)
vector_norm | linalg.vector_norm(v)
fft | fft.fft(v).real
fft2 | fft.fft2(m).real
fftn | fft.fftn(m).real
fftfreq | fft.fftfreq(4)
fftshift | fft.fftshift(v)
ifft | fft.ifft(fft.fft(v)).real
ifft2 | fft.ifft2(fft.fft2(m)).real
ifftn | fft.ifftn(fft.fftn(m)).real
ifftshift | fft.ifftshift(v)
irfft | fft.irfft(fft.rfft(v), n=3)
rfft | fft.rfft(v).real
rfft2 | fft.rfft2(m).real
irfft2 | fft.irfft2(fft.rfft2(m), s=(2, 2))
irfftn | fft.irfftn(fft.rfftn(m), s=(2, 2))
hfft | fft.hfft(fft.ihfft(v), n=3)
ihfft | fft.ihfft(v).real
rfftfreq | fft.rfftfreq(4)
rfftn | fft.rfftn(m).real
constant_ | init.constant_(gradus.empty(2), 3.0)
dirac_ | init.dirac_(gradus.empty(1, 1, 3))
eye_ | init.eye_(gradus.empty(2, 2))
kaiming_normal_ | init.kaiming_normal_(gradus.empty(2, 3)).shape
kaiming_uniform_ | init.kaiming_uniform_(gradus.empty(2, 3)).shape
ones_ | init.ones_(gradus.empty(2))
orthogonal_ | q = init.orthogonal_(gradus.empty(2, 2)) ; gradus.allclose(q @ q.t(), gradus.eye(2), atol=1e-5)
sparse_ | (init.sparse_(gradus.empty(4, 2), 0.5) == 0).sum()
trunc_normal_ | bool((init.trunc_normal_(gradus.empty(100)).abs() <= 2).all())
xavier_normal_ | init.xavier_normal_(gradus.empty(2, 3)).shape
xavier_uniform_ | init.xavier_uniform_(gradus.empty(2, 3)).shape
zeros_ | init.zeros_(gradus.empty(2))
tensor | gradus.tensor([[1, 2], [3, 4]])
arange | gradus.arange(0, 1, 0.25)
einsum | gradus.einsum("ij,jk->ik", m, m)
relu_ | v.relu_()
cross_entropy | F.cross_entropy(logits, one)
alias_copy | gradus.alias_copy(v)
as_strided_copy | gradus.as_strided_copy(v, (2, 2), (1, 1))
as_strided_scatter | v.as_strided_scatter(u, (2,), (2,))
conj_physical | gradus.conj_physical(gradus.tensor([1 + 2j]))
constant_pad_nd | gradus.constant_pad_nd(u, (1, 1), 9.0)
detach_copy | gradus.detach_copy(v)
diagonal_copy | gradus.diagonal_copy(m)
expand_copy | gradus.expand_copy(u, (2, 2))
fill | gradus.fill(u, 7.0)
narrow_copy | v.narrow_copy(0, 1, 2)
permute_copy | gradus.permute_copy(m, (1, 0))
resize_as_ | v.resize_as_(u)
select_copy | gradus.select_copy(m, 0, 1)
slice_copy | gradus.slice_copy(v, 0, 1)
split_copy | gradus.split_copy(v, 2)
split_with_sizes_copy | gradus.split_with_sizes_copy(v, [1, 2])
squeeze_copy | gradus.squeeze_copy(gradus.zeros(1, 2)).shape
t_copy | gradus.t_copy(m)
transpose_copy | gradus.transpose_copy(m, 0, 1)
unbind_copy | gradus.unbind_copy(m)
unfold_copy | gradus.unfold_copy(gradus.arange(4), 0, 2, 1)
unsafe_chunk | v.unsafe_chunk(2)
unsafe_split | v.unsafe_split(2)
unsafe_split_with_sizes | v.unsafe_split_with_sizes([1, 2])
unsqueeze_copy | gradus.unsqueeze_copy(u, 0).shape
view_as_complex_copy | gradus.view_as_complex_copy(gradus.tensor([[1.0, 2.0]]))
view_as_real_copy | gradus.view_as_real_copy(gradus.tensor([1 + 2j]))
view_copy | gradus.view_copy(v, (3, 1)).shape
"""


def table():
    """Returns all expressions by name."""
    found = {}
    for names, call in ((UNARY, "u.{}()"), (BINARY, "v.{}(w)"), (INTEGERS, "i.{}(j)"), (TRUTHS, "b.{}(~b)"), (MATRICES, "m.{}()"),
                        (VECTORS, "v.{}()"), (DTYPES, "u.{}()")):
        found.update({name: call.format(name) for name in names})
    for line in OTHERS.strip().splitlines():
        name, _, code = line.partition(" | ")
        found[name] = code
    # In-place methods have the examples of the other methods.
    for name in dir(Tensor):
        base = name[:-1]
        if name.endswith("_") and not name.startswith("_") and name not in found and base in found and f".{base}(" in found[base]:
            found[name] = found[base].replace(f".{base}(", f".{name}(")
    return found


def example(code):
    """Runs an expression; returns its lines and its output as lines of a docstring."""
    lines = [part.strip() for part in code.split(" ; ")]
    words = set(re.findall(r"(?<![.\w\"'])[A-Za-z_]\w*", code))
    given = [text for name, text in GIVEN.items() if name in words]
    names, out = {}, []
    for line in ["import gradus", *given, *lines]:
        out.append(f">>> {line}")
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            try:
                exec(compile(line, "<example>", "single"), names)
            except Exception as error:
                raise SystemExit(f"{line}: {type(error).__name__}: {error}")
        out += shown.getvalue().rstrip("\n").splitlines()
    return "\n".join(out)


def is_native(name):
    method = getattr(Tensor, name, None)
    own = getattr(_native, name, None)
    return type(own).__name__ == "builtin_function_or_method" or type(method).__name__ in ("method_descriptor", "builtin_function_or_method")


def is_python(name):
    """Returns true if some module has a function of that name that is written in Python."""
    modules = (gradus, gradus.composed, gradus.nn.functional, gradus.linalg, gradus.fft, gradus.nn.init)
    found = [getattr(module, name, None) for module in modules] + [getattr(Tensor, name, None)]
    return any(hasattr(inspect.unwrap(f), "__code__") for f in found if callable(f))


def files():
    """Returns the files to write, with their contents."""
    gradus.manual_seed(0)
    texts = {name: example(code) for name, code in sorted(table().items())}
    rust = ["//! Examples of functions and methods, by name. Written by python/examples.py. Do not edit.", "",
            "/// The example of a function or method, which is appended to its docstring.",
            "#[rustfmt::skip]", "macro_rules! example {"]
    for name in sorted(texts):
        if is_native(name):
            quoted = ("\n" + texts[name]).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            rust.append(f'    ({name}) => {{ "{quoted}" }};')
    rust += ["    ($other:ident) => { \"\" };", "}", ""]
    python = ['"""Examples of functions that are written in Python, by name. Written by python/examples.py. Do not edit."""', "",
              "EXAMPLES = {"]
    python += [f"    {name!r}: {text!r}," for name, text in sorted(texts.items()) if is_python(name)]
    python += ["}", "", "",
               "def documented(names):", '    """Appends examples to the docstrings of functions that have none."""',
               "    for name, value in names.items():",
               "        text = EXAMPLES.get(name)",
               "        if text and hasattr(value, \"__code__\") and \">>>\" not in (value.__doc__ or \"\"):",
               '            lines = "\\n    ".join(text.splitlines())',
               '            value.__doc__ = f"{(value.__doc__ or name).rstrip()}\\n\\n    {lines}\\n    "', ""]
    return {ROOT / "crates/python/src/examples.rs": "\n".join(rust), ROOT / "python/gradus/_examples.py": "\n".join(python)}


if __name__ == "__main__":
    stale = [path for path, text in files().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        sys.exit(f"stale: {[path.name for path in stale]}" if stale else 0)
    for path, text in files().items():
        path.write_text(text)
