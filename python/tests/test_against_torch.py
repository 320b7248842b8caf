"""Compares functions with PyTorch: each line is evaluated with both libraries; values and gradients are compared in float64.

In an expression `t` is the library, `F` its `nn.functional`, and `x, y, z, w` are the inputs in order. Gradients of all
floating point inputs are compared, from random cotangents. The bound is 1e-9 unless a line states another.
"""

import numpy as np
import pytest

import gradus
from oracle import needs_torch, pull_back, same, tensors, torch

rng = np.random.default_rng(2024)


def f(*shape):
    """Draws normal numbers."""
    return rng.standard_normal(shape)


def pos(*shape):
    """Draws numbers between 0.3 and 2.3."""
    return 0.3 + 2 * rng.random(shape)


def unit(*shape):
    """Draws numbers between -0.9 and 0.9."""
    return 1.8 * rng.random(shape) - 0.9


def prob(*shape):
    """Draws numbers between 0.05 and 0.95."""
    return 0.05 + 0.9 * rng.random(shape)


def ints(high, *shape):
    return rng.integers(0, high, shape)


def mask(*shape):
    return rng.random(shape) < 0.5


def spd(*shape):
    """Draws a symmetric positive definite matrix."""
    a = rng.standard_normal(shape)
    return a @ a.swapaxes(-1, -2) + 0.5 * np.eye(shape[-1])


A, V = (3, 4), (5,)

UNARY = {
    f: "exp expm1 exp2 sin cos tanh sinh cosh asinh atan sigmoid erf erfc abs neg square sign floor ceil round trunc frac "
       "sinc rad2deg deg2rad relu isfinite isnan isinf logical_not nan_to_num positive",
    pos: "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma",
    unit: "asin acos tan atanh erfinv arcsin arccos arctan",
    lambda *s: pos(*s) + 1: "acosh",
    prob: "logit",
}
BINARY = "add sub mul div maximum minimum fmax fmin hypot atan2 logaddexp eq ne lt le gt ge copysign"

CASES = [(f"t.{name}(x)", [draw(*A)]) for draw, names in UNARY.items() for name in names.split()]
CASES += [(f"t.{name}(x, y)", [f(3, 1), f(4)]) for name in BINARY.split()]
CASES += [
    # pointwise functions with more arguments
    ("t.pow(x, y)", [pos(3, 4), f(4)]), ("x ** 3", [f(*A)]), ("x ** 2.5", [pos(*A)]), ("2.0 ** x", [f(*A)]), ("x ** -1", [pos(*A)]),
    ("t.remainder(x, y)", [f(*A), pos(4)]), ("t.fmod(x, y)", [f(*A), pos(4)]), ("x // y", [f(*A), pos(4)], {"grad": False}), ("x % 0.7", [f(*A)]),
    ("t.true_divide(x, y)", [f(*A), pos(4)]), ("t.floor_divide(x, y)", [f(*A), pos(4)], {"grad": False}), ("t.div(x, y, rounding_mode='trunc')", [f(*A), pos(4)]),
    ("t.add(x, y, alpha=2.5)", [f(*A), f(4)]), ("t.sub(x, y, alpha=2)", [f(*A), f(4)]), ("t.xlogy(x, y)", [pos(*A), pos(4)]),
    ("t.clamp(x, -0.5, 0.7)", [f(*A)]), ("t.clamp(x, min=0.1)", [f(*A)]), ("x.clip(max=0.3)", [f(*A)]), ("t.lerp(x, y, 0.3)", [f(*A), f(*A)]),
    ("t.lerp(x, y, z)", [f(*A), f(*A), f(4)]), ("t.addcmul(x, y, z, value=0.5)", [f(*A), f(*A), f(4)]),
    ("t.addcdiv(x, y, z, value=0.5)", [f(*A), f(*A), pos(4)]), ("t.where(x, y, z)", [mask(*A), f(*A), f(4)]), ("t.where(x > 0, x, 0.0)", [f(*A)]),
    ("t.heaviside(x, y)", [f(*A), f(4)], {"grad": False}), ("t.logical_and(x, y)", [mask(*A), mask(4)]), ("t.logical_or(x, y)", [mask(*A), mask(4)]),
    ("t.logical_xor(x, y)", [mask(*A), mask(4)]), ("x & y", [ints(9, 3, 4), ints(9, 4)]), ("x | y", [ints(9, 3, 4), ints(9, 4)]), ("x ^ y", [ints(9, 3, 4), ints(9, 4)]),
    ("~x", [ints(9, 3, 4)]), ("x << 2", [ints(9, 3, 4)]), ("x >> 1", [ints(9, 3, 4)]), ("x / 2", [ints(9, 3, 4)]), ("x // 2", [ints(9, 3, 4) - 4]), ("x % 3", [ints(9, 3, 4) - 4]),
    ("1 - x", [f(*A)]), ("1 / x", [pos(*A)]), ("-x + 3 * x - x / 2", [f(*A)]), ("abs(x)", [f(*A)]), ("t.polygamma(1, x)", [pos(*A)]), ("t.mvlgamma(x, 2)", [pos(*A) + 1]),
    ("t.isclose(x, y)", [f(*A), f(*A)]), ("t.logaddexp2(x, y)", [f(*A), f(4)]), ("t.bitwise_not(x)", [mask(*A)]),
    # reductions
    ("x.sum()", [f(*A)]), ("t.sum(x, 1)", [f(*A)]), ("x.sum((0, 2), keepdim=True)", [f(2, 3, 4)]), ("t.mean(x)", [f(*A)]), ("x.mean(-1, keepdim=True)", [f(*A)]),
    ("x.prod()", [f(*A)]), ("t.prod(x, 1)", [f(*A)]), ("t.max(x)", [f(*A)]), ("t.max(x, 1)", [f(*A)]), ("x.min(0, keepdim=True)", [f(*A)]), ("t.min(x)", [f(*A)]),
    ("t.amax(x, (0, 2))", [f(2, 3, 4)]), ("t.amin(x, 1, keepdim=True)", [f(*A)]), ("t.aminmax(x, dim=1)", [f(*A)]), ("t.argmax(x)", [f(*A)]), ("x.argmax(1)", [f(*A)]), ("t.argmin(x, 0, keepdim=True)", [f(*A)]),
    ("t.var(x)", [f(*A)]), ("t.var(x, 1, unbiased=False)", [f(*A)]), ("x.std(0)", [f(*A)]), ("t.std(x, 1, correction=0, keepdim=True)", [f(*A)]), ("t.var_mean(x, 1)", [f(*A)]), ("t.std_mean(x)", [f(*A)]),
    ("t.logsumexp(x, 1)", [f(*A)]), ("t.logsumexp(x, (0, 1), keepdim=True)", [f(*A)]), ("t.norm(x)", [f(*A)]), ("x.norm(1, dim=1)", [f(*A)]), ("t.norm(x, 3, 0)", [f(*A)]), ("t.norm(x, float('inf'), 1)", [f(*A)]),
    ("t.cumsum(x, 1)", [f(*A)]), ("t.cumprod(x, 1)", [f(*A)]), ("t.cummax(x, 1)", [f(*A)]), ("t.cummin(x, 0)", [f(*A)]), ("t.logcumsumexp(x, 1)", [f(*A)]),
    ("t.all(x)", [mask(*A)]), ("t.any(x, 1)", [mask(*A)]), ("t.count_nonzero(x)", [ints(3, 3, 4)]), ("t.median(x, 1)", [f(3, 5)]), ("t.quantile(x, 0.3)", [f(11)]), ("t.nansum(x)", [f(*A)]),
    ("t.sort(x, 1)", [f(*A)]), ("x.sort(0, descending=True)", [f(*A)]), ("t.argsort(x, 1)", [f(*A)]), ("t.topk(x, 2, 1)", [f(*A)]), ("t.topk(x, 2, 0, largest=False)", [f(*A)]), ("t.kthvalue(x, 2, 1)", [f(*A)]),
    ("t.diff(x)", [f(*A)]), ("t.unique(x)", [ints(5, 12)]), ("t.bincount(x)", [ints(6, 20)]), ("t.searchsorted(x, y)", [np.sort(f(8)), f(3, 4)], {"grad": False}), ("t.bucketize(x, y)", [f(3, 4), np.sort(f(5))], {"grad": False}),
    # movement
    ("x.reshape(4, 3)", [f(*A)]), ("x.view(-1)", [f(*A)]), ("t.reshape(x, (2, -1))", [f(*A)]), ("x.permute(2, 0, 1)", [f(2, 3, 4)]), ("t.permute(x, (1, 0, 2))", [f(2, 3, 4)]), ("t.transpose(x, 0, 2)", [f(2, 3, 4)]),
    ("x.T", [f(*A)]), ("x.mT", [f(2, 3, 4)]), ("x.t()", [f(*A)]), ("x.expand(2, 3, 4)", [f(3, 1)]), ("x.expand(-1, 5)", [f(3, 1)]), ("t.squeeze(x)", [f(3, 1, 4, 1)]), ("x.squeeze(1)", [f(3, 1, 4, 1)]), ("t.unsqueeze(x, -1)", [f(*A)]),
    ("t.flatten(x, 1)", [f(2, 3, 4)]), ("x.unflatten(1, (2, 3))", [f(4, 6)]), ("t.flip(x, (0, 1))", [f(*A)]), ("t.fliplr(x)", [f(*A)]), ("t.roll(x, 2, 1)", [f(*A)]), ("t.roll(x, (1, -2), (0, 1))", [f(*A)]), ("t.rot90(x)", [f(*A)]),
    ("t.cat([x, y], 1)", [f(3, 2), f(3, 4)]), ("t.stack([x, y], 1)", [f(*A), f(*A)]), ("t.hstack([x, y])", [f(3, 2), f(3, 4)]), ("t.vstack([x, y])", [f(2, 4), f(3, 4)]), ("t.dstack([x, y])", [f(*A), f(*A)]),
    ("t.split(x, 2, 1)", [f(3, 5)]), ("x.split([1, 3, 1], 1)", [f(3, 5)]), ("t.chunk(x, 3, 1)", [f(3, 7)]), ("t.tensor_split(x, 3)", [f(7, 2)]), ("t.unbind(x, 1)", [f(*A)]), ("x.repeat(2, 1, 3)", [f(*A)]), ("t.tile(x, (2, 2))", [f(*A)]),
    ("t.repeat_interleave(x, 3, 1)", [f(*A)]), ("t.movedim(x, 0, 2)", [f(2, 3, 4)]), ("t.swapaxes(x, 0, 1)", [f(2, 3, 4)]), ("x.unfold(1, 3, 2)", [f(2, 7)]), ("x.narrow(1, 1, 2)", [f(*A)]), ("t.select(x, 1, 2)", [f(*A)]),
    ("t.broadcast_to(x, (2, 3, 4))", [f(3, 1)]), ("t.meshgrid(x, y, indexing='ij')", [f(3), f(4)]), ("t.diag(x)", [f(4, 4)]), ("t.diag(x, 1)", [f(4)]), ("t.diagonal(x, 1, 0, 2)", [f(3, 2, 4)]), ("t.diag_embed(x)", [f(2, 3)]),
    ("t.tril(x, -1)", [f(4, 4)]), ("t.triu(x, 1)", [f(2, 4, 4)]), ("t.trace(x)", [f(4, 4)]), ("x.contiguous().view(6, 2)", [f(*A)]), ("t.ravel(x)", [f(*A)]), ("t.atleast_2d(x)", [f(3)]), ("x.reshape_as(y)", [f(12), f(*A)]), ("x.expand_as(y)", [f(4), f(*A)]),
    ("t.broadcast_tensors(x, y)", [f(3, 1), f(4)]), ("t.cartesian_prod(x, y)", [f(2), f(3)]), ("t.block_diag(x, y)", [f(2, 3), f(1, 2)]),
    # indexing
    ("x[1]", [f(*A)]), ("x[:, 1:3]", [f(*A)]), ("x[::2, None, ..., -1]", [f(4, 2, 3)]), ("x[y]", [f(5, 3), ints(5, 2, 4)]), ("x[:, y]", [f(3, 5), ints(5, 4)]), ("x[y, z]", [f(5, 6), ints(5, 4), ints(6, 4)]), ("x[y]", [f(*A), mask(*A)]),
    ("x[y]", [f(4, 3), np.array([True, False, True, True])]), ("t.gather(x, 1, y)", [f(3, 5), ints(5, 3, 4)]), ("t.index_select(x, 1, y)", [f(3, 5), ints(5, 4)]), ("t.take(x, y)", [f(3, 5), ints(15, 4)]), ("t.take_along_dim(x, y, 1)", [f(3, 5), ints(5, 3, 4)]),
    ("t.masked_select(x, y)", [f(*A), mask(*A)]), ("t.masked_fill(x, y, 2.5)", [f(*A), mask(4)]), ("x.scatter(1, y, z)", [f(3, 5), np.array([[0, 3], [2, 1], [4, 0]]), f(3, 2)]), ("x.scatter(1, y, 1.5)", [f(3, 5), np.array([[0, 3], [2, 1], [4, 0]])]),
    ("t.scatter_add(x, 1, y, z)", [f(3, 5), ints(5, 3, 4), f(3, 4)]), ("x.scatter_reduce(0, y, z, 'sum')", [f(5), ints(5, 7), f(7)]), ("x.scatter_reduce(0, y, z, 'amax')", [f(5), ints(5, 7), f(7)]),
    ("x.index_add(0, y, z)", [f(5, 3), ints(5, 4), f(4, 3)]), ("x.index_fill(0, y, 2.0)", [f(5, 3), np.array([1, 3])]), *((f"x.index_reduce(0, y, z, '{how}', include_self={own})", [f(5, 3), np.array([1, 3, 1]), f(3, 3)]) for how in ("prod", "mean", "amax", "amin") for own in (True, False)), ("x.index_copy(0, y, z)", [f(5, 3), np.array([3, 1]), f(2, 3)]), ("t.nonzero(x)", [ints(2, 3, 4)]), ("t.index_put(x, (y,), z)", [f(5, 3), np.array([3, 1]), f(2, 3)]),
    # products
    ("x @ y", [f(3, 4), f(4, 5)]), ("t.matmul(x, y)", [f(2, 1, 3, 4), f(5, 4, 2)]), ("x @ y", [f(4), f(4)]), ("x @ y", [f(3, 4), f(4)]), ("x @ y", [f(4), f(2, 4, 3)]), ("t.mm(x, y)", [f(3, 4), f(4, 5)]), ("t.bmm(x, y)", [f(2, 3, 4), f(2, 4, 5)]),
    ("t.mv(x, y)", [f(3, 4), f(4)]), ("t.dot(x, y)", [f(4), f(4)]), ("t.outer(x, y)", [f(3), f(4)]), ("t.inner(x, y)", [f(3, 4), f(2, 4)]), ("t.kron(x, y)", [f(2, 3), f(2, 2)]), ("t.cross(x, y, dim=1)", [f(4, 3), f(4, 3)]),
    ("t.addmm(x, y, z, beta=0.5, alpha=2.0)", [f(3, 5), f(3, 4), f(4, 5)]), ("t.baddbmm(x, y, z)", [f(2, 3, 5), f(2, 3, 4), f(2, 4, 5)]), ("t.tensordot(x, y, dims=2)", [f(2, 3, 4), f(3, 4, 5)]), ("t.tensordot(x, y, dims=([0], [1]))", [f(3, 4), f(2, 3)]),
    ("t.einsum('bij,bjk->bik', x, y)", [f(2, 3, 4), f(2, 4, 5)]), ("t.einsum('ii->i', x)", [f(4, 4)]), ("t.einsum('...i,i->...', x, y)", [f(2, 3, 4), f(4)]), ("t.einsum('ij,jk,kl->il', x, y, z)", [f(2, 3), f(3, 4), f(4, 5)]), ("t.einsum('i,j', x, y)", [f(3), f(4)]),
    ("t.cdist(x, y)", [f(4, 3), f(5, 3)]), ("t.vander(x)", [f(4)], {"grad": False}), ("t.chain_matmul(x, y, z)", [f(2, 3), f(3, 4), f(4, 5)]), ("t.linalg.multi_dot([x, y, z])", [f(2, 3), f(3, 4), f(4, 5)]), ("t.cov(x)", [f(3, 6)]), ("t.corrcoef(x)", [f(3, 6)]),
    # linear algebra
    ("t.linalg.inv(x)", [spd(4, 4)]), ("t.inverse(x)", [spd(2, 3, 3)]), ("t.linalg.det(x)", [f(3, 3)]), ("t.linalg.slogdet(x)", [f(3, 3)]), ("t.logdet(x)", [spd(3, 3)]), ("t.linalg.solve(x, y)", [spd(4, 4), f(4, 2)]), ("t.linalg.cholesky(x)", [spd(4, 4)]),
    ("t.linalg.svd(x, full_matrices=False)[1]", [f(5, 3)]), ("t.linalg.svd(x)[0].abs()[:, :3]", [f(5, 3)], {"grad": False}), ("t.linalg.svd(x)[2].abs()[:3]", [f(3, 5)], {"grad": False}), ("t.svd(x)[2].abs()", [f(5, 3)]), ("(lambda u, s, v: u @ t.diag(s) @ v.T)(*t.svd(x))", [f(4, 3)]),
    ("(lambda u, s, v: (u.T @ u, v.T @ v))(*t.svd(x, some=False))[0].round()", [f(4, 3)], {"grad": False}), ("t.linalg.qr(x, mode='complete')[1].abs()", [f(5, 3)], {"grad": False}), ("t.linalg.qr(x, mode='r')[1].abs()", [f(5, 3)], {"grad": False}), ("t.linalg.solve(x, y, left=False)", [spd(3, 3), f(2, 3)]), ("t.linalg.pinv(x, rtol=0.1)", [f(4, 3)], {"grad": False}), ("t.linalg.pinv(x, atol=0.5, rtol=0.01)", [f(3, 4)], {"grad": False}), ("t.linalg.eigvalsh(x, UPLO='U')", [spd(4, 4)]), ("t.linalg.eigh(x, 'U')[0]", [spd(4, 4)]), ("t.linalg.inv(x)", [spd(3, 3)]),
    ("t.linalg.qr(x)[1].abs()", [f(5, 3)]), ("t.linalg.svdvals(x)", [f(4, 3)]), ("t.linalg.eigvalsh(x)", [spd(4, 4)]), ("t.linalg.pinv(x)", [f(4, 3)]), ("t.linalg.matrix_power(x, 3)", [f(3, 3)]), ("t.linalg.matrix_power(x, -2)", [spd(3, 3)]),
    ("t.matrix_exp(x)", [f(3, 3)]), ("t.linalg.norm(x)", [f(3, 4)]), ("t.linalg.vector_norm(x, 3)", [f(3, 4)]), ("t.linalg.matrix_norm(x)", [f(3, 4)]), ("t.linalg.solve_triangular(x, y, upper=True)", [np.triu(spd(3, 3)), f(3, 2)]), ("t.linalg.lstsq(x, y).solution", [f(5, 3), f(5, 2)], {"grad": False}),
    # Fourier transforms
    ("t.fft.fftn(x, s=(4, 3), dim=(0, 2)).abs()", [f(3, 2, 5)]), ("t.fft.rfftn(x, (4, 6)).abs()", [f(2, 3, 8)]), ("t.fft.irfft2(t.fft.rfft2(x) * 2, s=(3, 7))", [f(2, 3, 7)]),
    ("t.fft.irfftn(t.fft.rfftn(x), norm='ortho')", [f(3, 4, 6)]), ("t.fft.irfftn(t.fft.fft(x), dim=1)", [f(3, 4)]), ("t.fft.fft2(x, (2, 9)).imag", [f(3, 4)]),
    ("t.fft.ifft2(x, dim=(0, 2), norm='forward').real", [f(3, 2, 4)]), ("t.fft.hfft(t.fft.fft(x), n=5)", [f(3, 4)]), ("t.fft.ihfft(x, norm='ortho').abs()", [f(3, 6)]),
    ("t.fft.fft(x).abs()", [f(3, 8)]), ("t.fft.rfft(x, n=6).real", [f(3, 8)]), ("t.fft.ifft(t.fft.fft(x)).real", [f(8)]), ("t.fft.irfft(t.fft.rfft(x), n=7)", [f(2, 7)]), ("t.fft.fft2(x).imag", [f(3, 4)]), ("t.fft.fftn(x, dim=(0, 1)).real", [f(3, 4, 2)]),
    ("t.fft.fftshift(x)", [f(5)]), ("t.fft.ifftshift(x, dim=1)", [f(2, 5)]), ("t.fft.fftfreq(7, 0.5, dtype=t.float64)", []), ("t.fft.rfftfreq(8, dtype=t.float64)", []), ("t.fft.fftfreq(6, dtype=t.float64)", []),
    # layers as functions
    ("F.linear(x, y, z)", [f(2, 3, 4), f(5, 4), f(5)]), ("F.bilinear(x, y, z, w)", [f(6, 3), f(6, 4), f(5, 3, 4), f(5)]), ("F.embedding(x, y)", [ints(7, 2, 5), f(7, 3)]), ("F.one_hot(x, 6)", [ints(6, 3)]),
    ("F.conv1d(x, y, z, padding=1)", [f(2, 3, 8), f(4, 3, 3), f(4)]), ("F.conv2d(x, y, z, stride=2, padding=(1, 0), dilation=(1, 2))", [f(2, 3, 8, 9), f(4, 3, 3, 2), f(4)]), ("F.conv2d(x, y, padding='same', groups=2)", [f(2, 4, 6, 5), f(6, 2, 3, 3)]), ("F.conv3d(x, y)", [f(1, 2, 4, 5, 4), f(3, 2, 2, 3, 2)]),
    ("F.conv_transpose1d(x, y, stride=2)", [f(2, 3, 5), f(3, 4, 3)]), ("F.conv_transpose2d(x, y, z, 2, 1, 1)", [f(2, 3, 5, 4), f(3, 4, 3, 3), f(4)]), ("F.conv_transpose3d(x, y)", [f(1, 2, 3, 3, 3), f(2, 3, 2, 2, 2)]),
    ("F.max_pool1d(x, 3, 2)", [f(2, 3, 9)]), ("F.max_pool2d(x, 2)", [f(2, 3, 6, 5)]), ("F.max_pool3d(x, 2)", [f(1, 2, 4, 4, 4)]), ("F.avg_pool1d(x, 2)", [f(2, 3, 9)]), ("F.avg_pool2d(x, 3, 2, 1)", [f(2, 3, 6, 5)]), ("F.avg_pool3d(x, 2)", [f(1, 2, 4, 4, 4)]),
    ("F.adaptive_avg_pool2d(x, (3, 2))", [f(2, 3, 7, 5)]), ("F.adaptive_max_pool2d(x, 3)", [f(2, 3, 7, 5)]), ("F.layer_norm(x, (4,), y, z)", [f(2, 3, 4), f(4), f(4)]), ("F.rms_norm(x, (4,), y, 1e-6)", [f(2, 3, 4), f(4)]), ("F.group_norm(x, 2, y, z)", [f(3, 4, 5), f(4), f(4)]),
    ("F.batch_norm(x, None, None, y, z, training=True)", [f(6, 3, 2), f(3), f(3)]), ("F.instance_norm(x, weight=y, bias=z)", [f(2, 3, 5), f(3), f(3)]), ("F.local_response_norm(x, 3)", [f(2, 5, 4)]), ("F.local_response_norm(x, 8)", [f(2, 5, 4)]), ("F.local_response_norm(x, 30, 0.5)", [f(2, 5, 3)]), ("F.normalize(x, dim=1)", [f(3, 4)]), ("F.normalize(x, p=3.0, dim=0)", [f(3, 4)]),
    ("F.scaled_dot_product_attention(x, y, z)", [f(2, 3, 5, 4), f(2, 3, 6, 4), f(2, 3, 6, 7)]), ("F.scaled_dot_product_attention(x, y, z, is_causal=True)", [f(2, 5, 4), f(2, 5, 4), f(2, 5, 4)]), ("F.scaled_dot_product_attention(x, y, z, attn_mask=w)", [f(2, 5, 4), f(2, 6, 4), f(2, 6, 4), f(5, 6)]),
    ("F.pad(x, (1, 2))", [f(3, 4)]), ("F.pad(x, (1, -1, 0, 2), value=1.5)", [f(3, 4)]), ("F.pad(x, (2, 1), mode='reflect')", [f(2, 3, 4)]), ("F.pad(x, (2, 1), mode='replicate')", [f(2, 3, 4)]), ("F.pad(x, (2, 1), mode='circular')", [f(2, 3, 4)]),
    ("F.interpolate(x, scale_factor=2)", [f(2, 3, 4, 5)]), ("F.interpolate(x, size=(7, 3), mode='bilinear')", [f(2, 3, 4, 5)]), ("F.interpolate(x, size=6, mode='linear', align_corners=True)", [f(2, 3, 4)]), ("F.unfold(x, 2)", [f(2, 3, 4, 5)]), ("F.fold(x, (4, 5), 2)", [f(2, 12, 12)]), ("F.pixel_shuffle(x, 2)", [f(2, 8, 3, 3)]),
    ("F.cosine_similarity(x, y)", [f(4, 5), f(4, 5)]), ("F.pairwise_distance(x, y)", [f(4, 5), f(4, 5)]), ("F.dropout(x, 0.5, training=False)", [f(3, 4)]), ("F.softmax(x, 1)", [f(*A)]), ("t.softmax(x, -1)", [f(*A)]), ("F.log_softmax(x, 1)", [f(*A)]), ("F.softmin(x, 0)", [f(*A)]), ("x.softmax(0)", [f(*A)]), ("x.log_softmax(-1)", [f(*A)]),
    ("F.glu(x, 1)", [f(3, 4)]), ("F.prelu(x, y)", [f(2, 3, 4), f(3)]), ("F.gelu(x, approximate='tanh')", [f(*A)]), ("F.leaky_relu(x, 0.2)", [f(*A)]), ("F.softplus(x, 2.0, 3.0)", [f(*A)]), ("F.hardtanh(x, -0.5, 0.5)", [f(*A)]), ("F.threshold(x, 0.1, -1.0)", [f(*A)]), ("F.elu(x, 0.7)", [f(*A)]), ("F.celu(x, 0.7)", [f(*A)], {"bound": 1e-7}),
    ("F.softshrink(x, 0.2)", [f(*A)]), ("F.hardshrink(x, 0.2)", [f(*A)]),
    ("t.isposinf(x)", [f(*A)]), ("t.isreal(x)", [f(*A)]), ("t.float_power(x, 2)", [pos(*A)]), ("t.ldexp(x, y)", [f(*A), ints(5, 4)]), ("t.rsub(x, y, alpha=2)", [f(*A), f(*A)]), ("t.nanmedian(x)", [f(7)]), ("t.mode(x, 1)", [ints(3, 4, 9)]), ("t.mode(x, 0)", [ints(2, 7, 3) * 1.5]),
    ("t.msort(x)", [f(5, 3)]), ("t.trapezoid(x)", [f(3, 6)]), ("t.trapezoid(x, y, dim=0)", [f(6, 3), np.sort(f(6))]), ("t.dist(x, y)", [f(*A), f(*A)]), ("t.pdist(x)", [f(5, 3)]), ("t.isin(x, y)", [ints(6, 3, 4), ints(6, 3)]), ("t.histc(x, 5, -1, 1)", [f(40)], {"grad": False}), ("t.histc(x, 4)", [f(40)], {"grad": False}),
    ("t.unique_consecutive(x, return_inverse=True, return_counts=True)", [ints(2, 15)]), ("t.moveaxis(x, 0, 1)", [f(2, 3, 4)]), ("t.split_with_sizes(x, [1, 2], 0)", [f(3, 4)]), ("t.dsplit(x, 2)", [f(2, 3, 4)]), ("t.diagflat(x, 1)", [f(2, 2)]), ("t.masked_scatter(x, y, z)", [f(*A), mask(*A), f(12)]),
    ("t.unravel_index(x, (3, 5))", [ints(15, 6)]), ("t.addbmm(x, y, z, beta=0.5)", [f(3, 5), f(2, 3, 4), f(2, 4, 5)]), ("t.ger(x, y)", [f(3), f(4)]), ("t.addmv(x, y, z)", [f(3), f(3, 4), f(4)]), ("t.addr(x, y, z, alpha=2.0)", [f(3, 4), f(3), f(4)]), ("t.combinations(x, 3)", [f(5)]),
    ("t.hann_window(7, dtype=t.float64)", []), ("t.hamming_window(6, False, dtype=t.float64)", []), ("t.blackman_window(9, dtype=t.float64)", []), ("t.bartlett_window(7, dtype=t.float64)", []), ("t.kaiser_window(6, False, 8.0, dtype=t.float64)", []), ("t.arange(0, 1, 0.1, dtype=t.float64)", []), ("t.arange(3, -4, -2)", []), ("t.arange(2.5)", []), ("t.eye(3, 2, dtype=t.int64)", []), ("t.full((2, 3), -0.0)", []), ("t.range(1, 4)", []), ("t.LongTensor([1, 2])", []), ("t.hsplit(x, 2)", [f(3, 4)]), ("t.column_stack([x, y])", [f(3), f(3, 2)]),
    ("t.quantile(x, 0.4, 1, keepdim=True)", [f(3, 8)]), ("t.nanmean(x, 1)", [f(3, 8)]), ("t.index_put(x, (y, z), w, accumulate=True)", [f(4, 5), ints(4, 6), ints(5, 6), f(6)]), ("t.linalg.vecdot(x, y)", [f(3, 4), f(3, 4)]), ("t.linalg.cond(x)", [spd(3, 3)]), ("t.linalg.matrix_norm(x, 'nuc')", [f(3, 4)]), ("t.linalg.norm(x, 2)", [f(3, 4)]),
    ("F.lp_pool1d(x, 2.0, 3, 2)", [pos(2, 3, 9)]), ("F.lp_pool2d(x, 2.0, 2)", [pos(2, 3, 6, 4)]), ("F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)", [f(2, 3, 6, 4)]), ("F.rrelu(x)", [f(*A)]), ("F.channel_shuffle(x, 2)", [f(2, 6, 3)]),
    ("t.gcd(x, y)", [ints(60, 3, 4) - 20, ints(60, 4)]), ("t.lcm(x, y)", [ints(20, 3, 4) - 5, ints(20, 4)]), ("t.i0(x)", [40 * unit(3, 4)]), ("t.special.i0e(x)", [90 * unit(3, 4)]),
    ("t.special.i1(x)", [40 * unit(3, 4)]), ("t.special.i1e(x)", [90 * unit(3, 4)]), ("t.special.i1(x)", [1e-9 * unit(3)]), ("t.special.entr(x)", [pos(3, 4)]), ("t.special.xlog1py(x, y)", [f(3, 4), pos(4)]),
    ("t.special.ndtr(x)", [f(3, 4)]), ("t.special.ndtri(x)", [prob(3, 4)]), ("t.special.log_ndtr(x)", [12 * f(3, 4)]), ("t.special.erfcx(x)", [4 * f(3, 4)], {"grad": False}), ("t.special.erfcx(x)", [90 * prob(3, 4)]), ("t.special.expit(x)", [f(3)]),
    ("t.special.psi(x)", [pos(3)]), ("t.special.gammaln(x)", [pos(3)]), ("t.special.multigammaln(x, 2)", [pos(3) + 1]),
    ("t.as_strided(x, (2, 3), (1, 2), 1)", [f(10)]), ("x.as_strided((3, 3), (1, 1))", [f(5)]), ("x.sum_to_size(3, 1)", [f(2, 3, 4)]), ("t.renorm(x, 2, 0, 1.5)", [f(4, 5)]), ("t.renorm(x, 1, 1, 0.7)", [f(4, 3, 2)]),
    ("t.cholesky_solve(x, t.linalg.cholesky(y))", [f(4, 2), spd(4, 4)]), ("t.cholesky_solve(x, t.linalg.cholesky(y).mT, upper=True)", [f(4, 2), spd(4, 4)]), ("t.cholesky_inverse(t.linalg.cholesky(x))", [spd(3, 3)]), ("x.mH", [f(2, 3, 4)]),
    ("t.stft(x, 8, 3, window=y, return_complex=True).abs()", [f(2, 30), pos(8)]), ("t.stft(x, 8, win_length=6, center=False, normalized=True, return_complex=False)", [f(30)]), ("t.stft(x, 6, onesided=False, pad_mode='constant', return_complex=True).real", [f(30)]),
    ("t.istft(t.stft(x, 8, 2, window=y, return_complex=True), 8, 2, window=y, length=30)", [f(2, 30), pos(8)]), ("t.istft(t.complex(x, y), 8, 2, normalized=True)", [f(5, 6), f(5, 6)]),
    ("F.interpolate(x, scale_factor=1.7, mode='bilinear')", [f(2, 3, 5, 6)]), ("F.interpolate(x, scale_factor=0.5, mode='bilinear', align_corners=True)", [f(2, 3, 5, 6)]), ("F.interpolate(x, scale_factor=(1.5, 0.7))", [f(2, 3, 5, 6)]), ("F.interpolate(x, scale_factor=2.3, mode='nearest-exact')", [f(2, 3, 7)]), ("F.interpolate(x, scale_factor=0.9, mode='linear', recompute_scale_factor=True)", [f(2, 3, 7)]),
    ("F.interpolate(x, size=(7, 3), mode='bicubic')", [f(2, 3, 4, 5)]), ("F.interpolate(x, size=(7, 8), mode='bicubic', align_corners=True)", [f(2, 3, 4, 5)]), ("F.interpolate(x, scale_factor=2.3, mode='bicubic')", [f(1, 2, 4, 5)]), ("F.interpolate(x, scale_factor=(1.7, 0.6), mode='bicubic', recompute_scale_factor=True)", [f(1, 2, 4, 5)]),
    ("F.multi_head_attention_forward(x, x, x, 4, 2, y, None, None, None, False, 0.0, z, None)", [f(3, 2, 4), f(12, 4), f(4, 4)]), ("F.multi_head_attention_forward(x, x, x, 4, 2, y, None, w, w, True, 0.0, z, None, need_weights=False)", [f(3, 2, 4), f(12, 4), f(4, 4), f(1, 1, 4)]),
    ("t.special.ndtri(x)", [np.array([1e-300, 1e-20, 1e-8, 0.03, 0.4, 0.96])]), ("F.lp_pool3d(x, 2.0, 2)", [pos(2, 3, 4, 4, 2)]),
    ("t.mul(2.0, x)", [f(*A)]), ("t.add(2, x, alpha=3)", [f(*A)]), ("t.sub(2.5, x, alpha=2)", [f(*A)]), ("t.div(1, x)", [pos(*A)]), ("t.div(7.5, x, rounding_mode='floor')", [pos(*A)], {"grad": False}), ("t.true_divide(1., x)", [pos(*A)]), ("t.remainder(5, x)", [pos(*A)], {"grad": False}),
    ("t.floor_divide(5, x)", [pos(*A)], {"grad": False}), ("t.bitwise_and(5, x)", [ints(9, 3, 4)]), ("t.bitwise_or(5, x)", [ints(9, 3, 4)]), ("t.bitwise_xor(5, x)", [ints(9, 3, 4)]), ("t.bitwise_left_shift(5, x)", [ints(9, 3, 4)]), ("t.bitwise_right_shift(500, x)", [ints(9, 3, 4)]), ("t.xlogy(2, x)", [pos(*A)]),
    ("t.nanquantile(x, y, dim=0).nansum()", [np.array([[1, np.nan], [2, np.nan]]), np.array(0.5)]), ("t.isin(x, y, assume_unique=True)", [rng.permutation(90)[:42].reshape(6, 7), rng.permutation(90)[:40]]), ("t.isin(x, y, invert=True)", [np.array([1, np.inf, np.nan, 7.5, -3]), np.append(np.arange(40), [np.nan, 7.5])], {"grad": False}),
    ("t.isin(x, y)", [np.array([1, np.inf, np.nan]), np.append(np.arange(40), [np.nan, np.inf])], {"grad": False}), ("t.isin(x, y)", [ints(90, 6, 7), 0.5 * ints(180, 50)], {"grad": False}), ("t.isin(7, x)", [np.arange(30)]),
    ("t.nansum(x, 0, dtype=t.float64)", [ints(9, 3, 4)]), ("t.nanmean(x, 0, dtype=t.float64)", [np.array([[1, np.nan], [2, 5]])]), ("x.norm(dtype=t.float64)", [f(*A).astype("float32")], {"bound": 1e-6}), ("t.norm(x, 3, 1, dtype=t.float64)", [f(*A)]),
    ("t.stft(x, 8, 2, 6, y, center=False, return_complex=True, align_to_window=True).abs()", [f(30), pos(6)]), ("t.stft(x, 8, 2, 6, y, center=False, return_complex=True, align_to_window=False).abs()", [f(30), pos(6)]),
    ("t.pinverse(x, rcond=0.5)", [np.diag([4.0, 3.0, 1.0]) + 0.1], {"grad": False}), ("x.pinverse(rcond=0.1)", [f(4, 3)], {"grad": False}), ("t.max(x, other=y)", [f(*A), f(4)]), ("t.min(x, other=y)", [f(*A), f(4)]), ("t.bernoulli(x, p=1.0)", [f(*A)], {"grad": False}), ("x.bernoulli(0.0)", [f(*A)], {"grad": False}),
    ("t.unravel_index(x, 3)", [ints(3, 6)]), ("t.mm(x, mat2=y)", [f(3, 4), f(4, 2)]), ("t.outer(x, vec2=y)", [f(3), f(4)]), ("t.dot(x, tensor=y)", [f(3), f(3)]), ("t.heaviside(x, values=y)", [np.array([-1.0, 0, 2]), f(3)], {"grad": False}), ("t.linalg.det(A=x)", [f(3, 3)]), ("t.linalg.solve_triangular(x, B=y, upper=True)", [np.triu(spd(3, 3)), f(3, 2)]),
    *((f"t.segment_reduce(x, '{how}', {ranges}, unsafe={unsafe}, initial={first})", [f(4, 3), np.array(numbers)]) for how in ("sum", "mean", "max", "min") for first in (None, 0.5) for unsafe, ranges, numbers in ((False, "lengths=y", [1, 3]), (False, "offsets=y", [0, 3, 4]), (True, "lengths=y", [2, 2]))),
    ("t.segment_reduce(x, 'sum', lengths=y)", [f(4), np.array([2, 0, 2])]), ("t.segment_reduce(x, 'max', lengths=y)", [f(4), np.array([2, 0, 2])], {"grad": False}), ("t.segment_reduce(x, 'mean', lengths=y)", [f(4), np.array([2, 0, 2])], {"grad": False}),
    # losses as functions
    ("F.multi_margin_loss(x, y)", [f(6, 5), ints(5, 6)]), ("F.multi_margin_loss(x, y, p=2, margin=0.5, weight=z, reduction='none')", [f(6, 5), ints(5, 6), pos(5)], {"constant": [2]}), ("F.multilabel_margin_loss(x, y)", [f(2, 4), np.array([[3, 0, -1, 1], [1, -1, 2, 0]])]), ("F.multilabel_soft_margin_loss(x, y)", [f(3, 5), mask(3, 5).astype(float)], {"constant": [1]}),
    ("F.triplet_margin_with_distance_loss(x, y, z, swap=True)", [f(4, 5), f(4, 5), f(4, 5)]),
    ("F.mse_loss(x, y)", [f(*A), f(*A)]), ("F.l1_loss(x, y, reduction='sum')", [f(*A), f(*A)]), ("F.smooth_l1_loss(x, y, beta=0.5)", [f(*A), f(*A)]), ("F.huber_loss(x, y, delta=0.5)", [f(*A), f(*A)]), ("F.cross_entropy(x, y)", [f(6, 5), ints(5, 6)]), ("F.cross_entropy(x, y, reduction='none')", [f(2, 5, 3), ints(5, 2, 3)]), ("F.cross_entropy(x, y, weight=z, label_smoothing=0.1, ignore_index=2)", [f(6, 5), ints(5, 6), pos(5)], {"constant": [2]}),
    ("F.nll_loss(x, y)", [f(6, 5), ints(5, 6)]), ("F.binary_cross_entropy(x, y)", [prob(*A), prob(*A)]), ("F.binary_cross_entropy_with_logits(x, y)", [f(*A), prob(*A)]), ("F.kl_div(x, y, reduction='batchmean')", [f(*A), prob(*A)]), ("F.poisson_nll_loss(x, y)", [f(*A), pos(*A)]), ("F.gaussian_nll_loss(x, y, z)", [f(*A), f(*A), pos(*A)]),
    ("F.triplet_margin_loss(x, y, z)", [f(4, 5), f(4, 5), f(4, 5)]), ("F.cosine_embedding_loss(x, y, z)", [f(4, 5), f(4, 5), np.array([1, -1, 1, -1])]), ("F.margin_ranking_loss(x, y, z, margin=0.3)", [f(4), f(4), np.array([1, -1, 1, -1])]), ("F.hinge_embedding_loss(x, y)", [f(4), np.array([1, -1, 1, -1])]), ("F.soft_margin_loss(x, y)", [f(4), np.array([1.0, -1.0, 1.0, -1.0])], {"constant": [1]}),
]
CASES += [(f"F.{name}(x)", [f(*A)]) for name in (
    "relu relu6 elu selu celu gelu silu mish softplus softsign logsigmoid tanhshrink softshrink hardshrink hardtanh hardswish "
    "leaky_relu sigmoid tanh").split()]

# PyTorch's gradients of `hardsigmoid`, and of `celu` above, hold constants in float32, also for float64.
CASES += [("F.hardsigmoid(x)", [f(*A)], {"bound": 1e-7})]
CASES = [(*case, {})[:3] for case in CASES]


def test_the_table_is_long_enough():
    functions = {text.split("(")[0] for text, _, _ in CASES}
    assert len(CASES) >= 300 and len(functions) >= 150, (len(CASES), len(functions))


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text, inputs, options", CASES, ids=[text for text, _, _ in CASES])
def test_function(text, inputs, options):
    runs = []
    for library in (gradus, torch):
        given = tensors(library, inputs, grad=options.get("grad", True))
        for i in options.get("constant", ()):
            given[i] = given[i].detach()
        names = {"t": library, "F": library.nn.functional, **dict(zip("xyzw", given))}
        result = eval(text, names)
        result = list(result) if isinstance(result, tuple) else result
        pull_back(result)
        grads = [None if x.grad is None else x.grad for x in given]
        runs.append((result, grads))
    (ours, our_grads), (theirs, their_grads) = runs
    bound = options.get("bound", 1e-9)
    same(ours, theirs, rtol=bound, atol=bound, what="values")
    for i, (a, b) in enumerate(zip(our_grads, their_grads)):
        if a is None or b is None:  # a gradient of zeros may also be `None`
            for g in (a, b):
                assert g is None or not np.any(np.asarray(g.numpy())), f"gradient {i}: ours {a}, theirs {b}"
        else:
            same(a, b, rtol=bound, atol=bound, what=f"gradient {i}")
