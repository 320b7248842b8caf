"""Derivatives of networks in typical uses: curvature, gradient penalties, training inside of training."""

import jax
import jax.numpy as np
from jax import checkpoint, grad, hessian, jacfwd, jacrev, jvp, lax, vjp, vmap

from record import case, hvp, ints, r, u


def mlp(x, w1, b1, w2, b2):
    return np.tanh(x @ w1 + b1) @ w2 + b2


def mlp_loss(x, y, *params):
    return np.mean((mlp(x, *params) - y) ** 2)


SIZES = [(3, 4), (4,), (4, 2), (2,)]
PARAMS = [r(*s) for s in SIZES]


@case(r(5, 3), r(5, 2), *PARAMS, *PARAMS)
def hvp_of_mlp(x, y, *rest):
    return hvp(lambda *params: mlp_loss(x, y, *params), rest[:4], rest[4:])


@case(r(5, 3), r(5, 2), *PARAMS)
def gradients_of_mlp_examples(x, y, *params):
    return vmap(grad(lambda x, y, *params: mlp_loss(x, y, *params), (2, 3, 4, 5)), (0, 0) + (None,) * 4)(x, y, *params)


@case(r(5, 3), *PARAMS, *PARAMS)
def gauss_newton_product_of_mlp(x, *rest):
    f = lambda *params: mlp(x, *params)
    out, tangent = jvp(f, rest[:4], rest[4:])
    return vjp(f, *rest[:4])[1](tangent * jax.nn.sigmoid(out))


@case(r(3), *PARAMS)
def jacobians_of_mlp(x, *params):
    return jacfwd(mlp)(x, *params), jacrev(mlp, 1)(x, *params), jacfwd(jacrev(mlp))(x, *params)


@case(r(4, 3), *PARAMS)
def gradient_of_the_laplacian_of_mlp(x, *params):
    laplacian = lambda x, *p: np.trace(hessian(lambda x: np.sum(mlp(x, *p)))(x))
    f = lambda *p: np.sum(vmap(lambda x: laplacian(x, *p) ** 2)(x))
    return grad(f, (0, 2))(*params)


@case(r(4, 3), r(4, 2), *PARAMS)
def gradient_penalty_of_mlp(x, y, *params):
    def f(*p):
        g = vmap(grad(lambda x: np.sum(mlp(x, *p))))(x)
        return np.mean((np.sqrt(np.sum(g**2, 1)) - 1.0) ** 2) + mlp_loss(x, y, *p)

    return grad(f, (0, 1, 2))(*params)


@case(r(4, 3), r(4, 2), r(4, 3), r(4, 2), *PARAMS)
def gradient_after_two_inner_steps(x, y, x2, y2, *params):
    def f(*p):
        for _ in range(2):
            g = grad(lambda *p: mlp_loss(x, y, *p), (0, 1, 2, 3))(*p)
            p = tuple(a - 0.1 * b for a, b in zip(p, g))
        return mlp_loss(x2, y2, *p)

    return jax.value_and_grad(f, (0, 1, 2, 3))(*params)


@case(r(5, 3), r(5, 2), *PARAMS)
def hessian_of_a_layer(x, y, *params):
    w1, b1, w2, b2 = params
    return hessian(lambda b1, w2: mlp_loss(x, y, w1, b1, w2, b2), (0, 1))(b1, w2)


@case(r(2, 4), r(4), r(4))
def second_derivatives_of_layer_norm(x, w, b):
    def norm(x):
        c = x - np.mean(x, -1, keepdims=True)
        return c / np.sqrt(np.mean(c**2, -1, keepdims=True) + 1e-5) * w + b

    return jacfwd(jacrev(norm))(x)


@case(r(2, 4), r(4), r(2, 4), r(4))
def hvp_of_rms_norm(x, w, v, u):
    norm = lambda x, w: x / np.sqrt(np.mean(x**2, -1, keepdims=True) + 1e-6) * w
    return hvp(lambda x, w: np.sum(np.sin(norm(x, w))), (x, w), (v, u))


@case(r(3, 2, 4), r(2), r(2), r(3, 2, 4))
def hvp_of_batch_norm(x, w, b, v):
    def f(x):
        c = x - np.mean(x, (0, 2), keepdims=True)
        y = c / np.sqrt(np.mean(c**2, (0, 2), keepdims=True) + 1e-5)
        return np.sum(jax.nn.silu(y * w[:, None] + b[:, None]) ** 2)

    return hvp(f, (x,), (v,))


@case(r(2, 6, 3), r(6), r(6))
def hessian_of_group_norm(x, w, b):
    def f(x):
        g = x.reshape(2, 2, 9)
        c = g - np.mean(g, -1, keepdims=True)
        y = (c / np.sqrt(np.mean(c**2, -1, keepdims=True) + 1e-5)).reshape(2, 6, 3)
        return np.sum(np.exp(0.4 * (y * w[:, None] + b[:, None])))

    return grad(lambda x: np.sum(grad(f)(x) ** 2))(x)


def attend(q, k, v, causal=False):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    return jax.nn.softmax(scores) @ v


@case(r(3, 2), r(4, 2), r(4, 2))
def hessian_of_attention(q, k, v):
    f = lambda q, k, v: np.sum(np.sin(attend(q, k, v)))
    return hessian(f, (0, 1, 2))(q, k, v)


@case(r(2, 4, 3), r(2, 4, 3), r(2, 4, 3), r(2, 4, 3), r(2, 4, 3), r(2, 4, 3))
def hvp_of_causal_attention(q, k, v, a, b, c):
    return hvp(lambda q, k, v: np.sum(attend(q, k, v, True) ** 2), (q, k, v), (a, b, c))


def block(x, wq, wk, wv, w1, w2):
    def norm(x):
        c = x - np.mean(x, -1, keepdims=True)
        return c / np.sqrt(np.mean(c**2, -1, keepdims=True) + 1e-5)

    h = norm(x)
    x = x + attend(h @ wq, h @ wk, h @ wv, True)
    return x + jax.nn.gelu(norm(x) @ w1, approximate=False) @ w2


BLOCK = [r(4, 4), r(4, 4), r(4, 4), r(4, 6), r(6, 4)]


@case(r(3, 4), *BLOCK, *BLOCK)
def hvp_of_a_transformer_block(x, *rest):
    return hvp(lambda *p: np.mean(block(x, *p) ** 2), rest[:5], rest[5:])


@case(r(2, 3, 4), *BLOCK)
def gradient_norms_of_transformer_examples(x, *params):
    f = lambda x, *p: np.mean(np.sin(block(x, *p)))
    norm = lambda *p: np.sum(vmap(lambda x: np.sum(grad(f)(x, *p) ** 2))(x))
    return grad(norm, (0, 3))(*params)


@case(r(4, 3), ints(2, 0, 1, 1), r(4, 3))
def hvp_of_cross_entropy(x, classes, v):
    def f(x):
        return -np.mean(np.take_along_axis(jax.nn.log_softmax(x**2), classes[:, None], 1))

    return hvp(f, (x,), (v,)), hessian(f)(x)


@case(r(5, 3), ints(1, 4, 1, 0), r(3, 2), r(5, 3), r(3, 2))
def hvp_of_embedding(table, ids, w, t, u):
    return hvp(lambda table, w: np.mean(np.tanh(table[ids] @ w) ** 2), (table, w), (t, u))


@case(r(4, 3), u(0.1, 0.9, 4, 2), *PARAMS, *PARAMS)
def hvp_of_binary_cross_entropy(x, y, *rest):
    def f(*p):
        s = mlp(x, *p)
        return np.mean(jax.nn.softplus(s) - s * y)

    return hvp(f, rest[:4], rest[4:])


@case(r(4, 3), *PARAMS)
def stopped_target(x, *params):
    # The target network is the same network, held constant.
    f = lambda *p: np.mean((mlp(x, *p) - lax.stop_gradient(mlp(np.sin(x), *p))) ** 2)
    return grad(f, (0, 1, 2))(*params), jvp(grad(f, 2), params, params)[1]


@case(r(5, 3), r(5, 2), *PARAMS, *PARAMS)
def hvp_of_checkpointed_mlp(x, y, *rest):
    def f(w1, b1, w2, b2):
        h = checkpoint(lambda x: np.tanh(x @ w1 + b1))(x)
        return np.mean((checkpoint(lambda h: np.sin(h @ w2) * b2)(h) - y) ** 2)

    return hvp(f, rest[:4], rest[4:])


@case(r(4, 3), r(3, 3))
def gradients_of_nested_checkpoints(x, w):
    inner = checkpoint(lambda x, w: np.tanh(x @ w))
    outer = checkpoint(lambda x, w: inner(inner(x, w) * x, w.T))
    f = lambda x, w: np.sum(outer(x, w) ** 2)
    return vmap(grad(f, (0, 1)), (0, None))(x, w), hessian(f)(x[0], w)


@case(r(4), r(4, 4))
def hamiltonian_field(s, a):
    energy = lambda s: np.sum(np.cos(a @ s)) + 0.5 * np.sum(s**2)

    def field(s):
        g = grad(energy)(s)
        return np.concatenate([g[2:], -g[:2]])

    return field(s), jacfwd(field)(s), grad(lambda s: np.sum(field(field(s)) ** 2))(s)


@case(r(3, 2), r(3), r(2), r())
def kernel_derivatives(x, a, q, s):
    # The mean of a Gaussian process: its gradient with respect to the query, and the derivative of that with respect to the
    # length scale.
    mean = lambda q, s: a @ np.exp(-np.sum((x - q) ** 2, 1) * np.exp(s))
    return jacfwd(grad(mean), 1)(q, s), jacrev(hessian(mean), 1)(q, s)
