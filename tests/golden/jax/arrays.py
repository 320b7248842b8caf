"""Second derivatives of functions of whole arrays: reductions, contractions, indexing, sorting, convolution."""

import jax
import jax.numpy as np
from jax import grad, hessian, jacfwd, jacrev, lax

from record import case, distinct, given, hvp, ints, p, r


@case(r(4))
def second_derivatives_of_softmax(x):
    return jacfwd(jacrev(jax.nn.softmax))(x), jacrev(jacfwd(jax.nn.log_softmax))(x)


@case(r(2, 3))
def third_of_logsumexp(x):
    return jacfwd(hessian(lambda x: np.sum(jax.nn.logsumexp(x, 1) ** 2)))(x)


@case(given([0.7, 0.0, -1.3, 0.4]))
def hessian_of_prod_with_a_zero(x):
    return jacfwd(jacrev(np.prod))(x), jacrev(jacfwd(jacrev(np.prod)))(x)


@case(given([[0.7, 0.0, -1.3], [0.0, 1.1, 0.0]]))
def hessian_of_prod_with_zeros(x):
    return hessian(lambda x: np.sum(np.prod(x, 1)) + 0.5 * np.sum(np.prod(x, 0) ** 2))(x)


@case(given([0.7, 0.0, -1.3, 0.4]), r(4))
def hessian_of_cumprod_with_a_zero(x, w):
    return jacfwd(np.cumprod)(x), hessian(lambda x: np.sum(w * np.cumprod(x)))(x)


@case(r(3, 4), r(3, 4))
def hvp_of_cumsum(x, v):
    return hvp(lambda x: np.sum(np.sin(np.cumsum(x, 1)) * np.cumsum(x, 0) ** 2), (x,), (v,))


@case(r(5))
def hessian_of_logcumsumexp(x):
    return jacfwd(jacrev(lambda x: lax.cumlogsumexp(x)))(x)


@case(distinct(6))
def hessian_of_cummax(x):
    return hessian(lambda x: np.sum(lax.cummax(x**2) * lax.cummin(np.sin(x))))(x)


@case(distinct(3, 4), distinct(3, 4))
def hvp_of_max_and_min(x, v):
    f = lambda x: np.sum(np.max(x**3, 1) * np.min(x, 1)) + np.sum(np.max(np.sin(x), 0) ** 2)
    return hvp(f, (x,), (v,))


@case(distinct(6), r(6))
def hessian_of_sort(x, w):
    return hessian(lambda x: np.sum(w * np.sort(x) ** 3))(x), hessian(lambda x: np.sum(w * -np.sort(-x * x)))(x)


@case(distinct(3, 4), r(3, 4), r(3, 4))
def hvp_of_sort_along_an_axis(x, w, v):
    f = lambda x: np.sum(np.sort(x, 0) * w * np.cumsum(np.sort(x**3, 1), 1))
    return hvp(f, (x,), (v,))


@case(distinct(6), r(6))
def gradient_through_argsort(x, y):
    f = lambda x, y: np.sum(np.sin(y[np.argsort(x)]) * np.sort(x) * y)
    return grad(f, (0, 1))(x, y), jacfwd(grad(f, 1))(x, y)


@case(distinct(7))
def hessian_of_topk(x):
    f = lambda x: np.prod(lax.top_k(x, 3)[0]) - np.sum(np.exp(-lax.top_k(-x, 2)[0]))
    return hessian(f)(x)


@case(r(5, 2), ints(3, 0, 3, 1), r(5, 2))
def hvp_of_repeated_rows(x, ids, v):
    return hvp(lambda x: np.sum(np.tanh(x[ids]) * np.sum(x**2)), (x,), (v,))


@case(r(3, 4), given([[2, 0], [1, 1], [3, 0]], "int64"))
def hessian_of_gather(x, ids):
    f = lambda x: np.sum(np.take_along_axis(x, ids, 1) ** 3) + np.sum(np.sin(np.take_along_axis(x[:, :2], ids[:2], 0)))
    return hessian(f)(x)


@case(r(4), ints(1, 3, 1), r(3))
def hessian_of_scatter_add(x, ids, y):
    f = lambda x, y: np.sum(np.exp(x.at[ids].add(y * y) * 0.5) * x)
    return hessian(f, (0, 1))(x, y)


@case(r(4, 2), ints(2, 0), r(2, 2), r(4, 2), r(2, 2))
def hvp_of_scatter(x, ids, y, v, w):
    return hvp(lambda x, y: np.sum((x.at[ids].set(np.sin(y)) * x) ** 2), (x, y), (v, w))


@case(p(4, 3), p(5, 3), r(4, 3), r(5, 3))
def hvp_of_einsum_of_three(a, b, v, w):
    f = lambda a, b: np.sum(np.einsum("ik,jk,jl->il", a, b, b) ** 2) + np.einsum("ik,jk->", a**2, np.log(b))
    return hvp(f, (a, b), (v, w))


@case(r(3, 3))
def hessian_of_einsum_with_diagonals(a):
    return hessian(lambda a: np.einsum("ii,ij,jj->", a, a, np.sin(a)))(a)


@case(r(2, 3, 4), r(4, 3), r(2, 3, 4), r(4, 3))
def tangent_of_pullback_of_matmul(a, b, v, w):
    f = lambda a, b: np.tanh(a @ b)
    pull = lambda a, b: jax.vjp(f, a, b)[1](np.cos(a @ b))
    return jax.jvp(pull, (a, b), (v, w))


@case(r(3, 3))
def third_of_a_matrix_power(a):
    return jacfwd(hessian(lambda a: np.trace(a @ a @ a @ a)))(a)


@case(r(2, 2), r(2, 3))
def hessian_of_kron(a, b):
    return hessian(lambda a, b: np.sum(np.sin(np.kron(a, b))), (0, 1))(a, b)


@case(r(5))
def hessian_of_norms(x):
    l3 = lambda x: np.sum(np.abs(x) ** 3) ** (1 / 3)
    return hessian(lambda x: np.sqrt(np.sum(x**2)))(x), hessian(l3)(x), jacfwd(jacrev(lambda x: x / l3(x)))(x)


@case(r(2, 4))
def hessian_of_variance(x):
    f = lambda x: np.sum(np.var(x, 1, ddof=1) ** 2) + np.sum(np.std(x, 0) * np.mean(x**2, 0))
    return hessian(f)(x)


@case(r(3, 2), r(4, 2), r(3, 2), r(4, 2))
def hvp_of_distances(a, b, v, w):
    far = lambda a, b: np.sqrt(np.sum((a[:, None] - b[None]) ** 2, -1))
    return hvp(lambda a, b: np.sum(np.exp(-far(a, b))), (a, b), (v, w))


@case(r(2, 3))
def hessian_through_movement(x):
    def f(x):
        wide = np.concatenate([np.flip(x, 1), np.roll(x, 1, 0).T.reshape(2, 3)], 1)
        return np.sum(np.pad(wide, ((1, 0), (0, 2)))[::-1, ::2] ** 3 * np.tril(np.ones((3, 4)), 1)) * np.sum(x)

    return hessian(f)(x)


def conv(x, w, stride=1, padding=0, dilation=1, groups=1):
    n = x.ndim - 2
    return lax.conv_general_dilated(
        x, w, (stride,) * n, [(padding, padding)] * n, rhs_dilation=(dilation,) * n, feature_group_count=groups
    )


@case(r(2, 3, 5, 4), r(2, 3, 3, 2), r(2, 3, 5, 4), r(2, 3, 3, 2))
def hvp_of_conv2d(x, w, v, u):
    return hvp(lambda x, w: np.sum(np.tanh(conv(x, w, padding=1))), (x, w), (v, u))


@case(r(1, 4, 9), r(6, 2, 3), r(1, 4, 9), r(6, 2, 3))
def hvp_of_conv1d_with_everything(x, w, v, u):
    f = lambda x, w: np.sum(np.sin(conv(x, w, stride=2, padding=2, dilation=2, groups=2)) ** 2)
    return hvp(f, (x, w), (v, u))


@case(r(1, 1, 4, 4), r(1, 1, 2, 2))
def hessian_of_conv2d(x, w):
    return hessian(lambda w: np.sum(np.exp(0.3 * conv(x, w, stride=2))))(w), jacfwd(
        jacrev(lambda w: conv(x, np.sin(w), stride=2))
    )(w)


@case(r(1, 2, 5, 5), r(3, 2, 3, 3))
def gradient_of_a_conv_gradient(x, w):
    loss = lambda x, w: np.sum(jax.nn.softplus(conv(x, w, stride=2, padding=1)) ** 2)
    return grad(lambda x, w: np.sum(grad(loss)(x, w) ** 2), (0, 1))(x, w)


@case(r(1, 2, 4), r(2, 3, 3), r(1, 2, 4), r(2, 3, 3))
def hvp_of_conv_transpose(x, w, v, u):
    def up(x, w):
        # The transpose of a convolution with stride 2, written as a convolution of the spread input.
        w = np.flip(np.swapaxes(w, 0, 1), 2)
        return lax.conv_general_dilated(x, w, (1,), [(2, 2)], lhs_dilation=(2,))

    return hvp(lambda x, w: np.sum(np.tanh(up(x, w)) ** 2), (x, w), (v, u))


@case(distinct(1, 2, 4, 6), r(1, 2, 4, 6))
def hvp_of_pools(x, v):
    window = lambda x, init, op: lax.reduce_window(x, init, op, (1, 1, 2, 3), (1, 1, 2, 3), "VALID")
    f = lambda x: np.sum(window(x**2, -np.inf, lax.max) * window(np.sin(x), 0.0, lax.add) / 6.0)
    return hvp(f, (x,), (v,))
