"""Batches inside and outside of derivatives."""

import jax
import jax.numpy as np
from jax import grad, hessian, jacfwd, jacrev, jvp, lax, vjp, vmap

from arrays import conv
from record import case, distinct, given, hvp, p, r


def energy(x, a):
    return np.sum(np.tanh(a @ x) ** 2) + np.prod(np.cos(x))


@case(r(5, 3), r(2, 3))
def gradients_of_examples(x, a):
    return vmap(grad(energy, (0, 1)), (0, None))(x, a)


@case(r(5, 3), r(2, 3))
def gradient_of_a_batch(x, a):
    return grad(lambda x, a: np.sum(vmap(energy, (0, None))(x, a) ** 2), (0, 1))(x, a)


@case(r(4, 3), r(2, 3))
def hessians_of_examples(x, a):
    return vmap(hessian(energy), (0, None))(x, a)


@case(r(3, 4), r(2, 3, 2))
def gradients_over_two_axes(x, a):
    # The columns of x, and for each the last axis of a.
    return vmap(lambda x: vmap(lambda a: grad(energy)(x, a), 2)(a), 1)(x)


@case(r(4, 3), r(5, 2, 3))
def outer_product_of_batches(x, a):
    return vmap(vmap(grad(energy, 1), (None, 0)), (0, None))(x, a)


@case(r(3, 2), r(4, 3, 2))
def jacobians_over_the_middle_axis(x, a):
    f = lambda x, a: np.sin(a @ x)
    return vmap(jacfwd(f), (0, 1))(x, a), vmap(jacrev(f, 1), (None, 1))(x[0], a)


@case(r(4, 3), r(4, 3), r(2, 3))
def hvps_of_examples(x, v, a):
    return vmap(lambda x, v: hvp(lambda x: energy(x, a), (x,), (v,))[0])(x, v)


@case(r(3), r(4, 3), r(2, 3))
def tangents_in_many_directions(x, v, a):
    return vmap(lambda v: jvp(lambda x: grad(energy)(x, a), (x,), (v,))[1])(v)


@case(r(3), r(4, 3))
def pullbacks_of_many_cotangents(x, c):
    pull = vjp(lambda x: np.exp(x) * np.sum(x**2), x)[1]
    return vmap(lambda c: pull(c)[0])(c), grad(lambda c: np.sum(vmap(lambda c: pull(c)[0])(c) ** 3))(c)


@case(r(4, 3), r(2, 3))
def hessian_through_a_batch(x, a):
    return hessian(lambda a: np.sum(vmap(lambda x: energy(x, a))(x)))(a)


@case(r(4, 3), r(2, 3))
def gradient_of_a_batch_of_gradients(x, a):
    return grad(lambda a: np.sum(vmap(lambda x: grad(energy)(x, a))(x) ** 2))(a)


@case(distinct(4, 5), r(5))
def batched_sort_gradients(x, w):
    return vmap(grad(lambda x: np.sum(w * np.sort(x) ** 2)))(x), vmap(hessian(lambda x: np.sum(w * np.sort(x) ** 3)))(x)


@case(r(3, 4), given([[0, 2], [3, 3], [1, 0]], "int64"))
def batched_gather_hessians(x, ids):
    f = lambda x, ids: np.prod(x[ids]) * np.sum(x)
    return vmap(hessian(f))(x, ids), vmap(hessian(f), (None, 0))(x[0], ids)


@case(r(3, 4), given([[0, 2], [3, 3], [1, 0]], "int64"), r(3, 2))
def batched_scatter_gradients(x, ids, y):
    f = lambda x, ids, y: np.sum(np.sin(x.at[ids].add(y)) * x)
    return vmap(grad(f, (0, 2)))(x, ids, y), vmap(jacfwd(grad(f, 2), 0), (None, 0, 0))(x[0], ids, y)


@case(r(3, 1, 2, 5), r(3, 2, 2, 3))
def batched_kernels(x, w):
    f = lambda x, w: np.sum(np.tanh(conv(x, w)) ** 2)
    return vmap(grad(f, (0, 1)))(x, w), vmap(grad(f, 1), (None, 0))(x[0], w)


@case(r(3, 4), r(3, 4, 2))
def batched_contractions(a, b):
    f = lambda a, b: np.einsum("i,ij,kj,k->", a, b, np.sin(b), a)
    return vmap(grad(f, (0, 1)))(a, b), vmap(hessian(f), (0, None))(a, b[1])


@case(given([[0.5, 0.0, -1.2], [1.3, 0.7, 0.0]]))
def batched_prod_hessians(x):
    return vmap(hessian(np.prod))(x), vmap(jacfwd(np.cumprod), 1)(x)


@case(r(3, 4))
def batched_softmax_hessians(x):
    return vmap(jacfwd(jacrev(jax.nn.softmax)))(x)


@case(p(3, 4), r(3))
def batched_reductions(x, s):
    f = lambda x, s: np.max(x * s) + np.std(x) * s + lax.cumlogsumexp(x)[2] * np.sum(np.cumsum(x**s))
    return vmap(grad(f, (0, 1)))(x, s)


@case(r(2, 3, 2))
def three_batches_deep(x):
    f = lambda a, b: np.sin(a * b) * a
    g = vmap(vmap(vmap(grad(grad(f, 1), 0), (0, None)), (None, 0)), (0, 0))
    return g(x[:, :, 0], x[:, :, 1])


@case(r(3, 2), r(3, 2))
def tangent_of_a_batch_of_hessians(x, v):
    f = lambda x: np.exp(x[0] * x[1]) + np.sum(x**4)
    return jvp(vmap(hessian(f)), (x,), (v,))
