"""Derivatives and batches of choices and loops."""

import jax
import jax.numpy as np
from jax import grad, hessian, jacfwd, jacrev, jvp, lax, vjp, vmap

from record import case, given, hvp, ints, p, r


# ---- scan ----


def rnn(h, xs, w, u):
    """Returns the last state and the output of each step."""

    def step(h, x):
        h = np.tanh(w @ h + u @ x)
        return h, np.sum(h * h) + x[0]

    return lax.scan(step, h, xs)


def rnn_loss(h, xs, w, u):
    h, ys = rnn(h, xs, w, u)
    return np.sum(h**2) + np.sum(np.sin(ys))


RNN = [r(3), r(5, 2), r(3, 3), r(3, 2)]


@case(*RNN)
def gradient_of_scan(*xs):
    return jax.value_and_grad(rnn_loss, (0, 1, 2, 3))(*xs)


@case(*RNN, *RNN)
def hvp_of_scan(*xs):
    return hvp(rnn_loss, xs[:4], xs[4:])


@case(*RNN)
def hessian_of_scan(h, xs, w, u):
    return hessian(rnn_loss)(h, xs, w, u), jacrev(jacfwd(rnn_loss, 3), 1)(h, xs, w, u)


@case(*RNN)
def jacobians_of_scan(h, xs, w, u):
    return jacfwd(rnn)(h, xs, w, u), jacrev(rnn, 1)(h, xs, w, u)


@case(r(3), r(4, 5, 2), r(3, 3), r(3, 2))
def batched_scan_gradients(h, xs, w, u):
    return vmap(grad(rnn_loss, (0, 1, 2)), (None, 0, None, None))(h, xs, w, u)


@case(r(3), r(5, 2), r(4, 3, 3), r(3, 2))
def batched_scan_parameters(h, xs, w, u):
    return vmap(rnn, (None, None, 0, None))(h, xs, w, u), vmap(grad(rnn_loss, 2), (None, None, 0, None))(h, xs, w, u)


@case(r(4, 3), r(4, 5, 2), r(3, 3), r(3, 2))
def gradient_of_a_batch_of_scans(h, xs, w, u):
    f = lambda h, xs, w: np.sum(vmap(lambda h, xs: rnn_loss(h, xs, w, u))(h, xs) ** 2)
    return grad(f, (0, 1, 2))(h, xs, w)


@case(*RNN, *RNN)
def tangent_of_pullback_of_scan(*xs):
    pull = lambda *a: vjp(rnn, *a)[1]((np.sin(a[0]), np.cos(a[1][:, 0])))
    return jvp(pull, xs[:4], xs[4:])[1]


@case(r(3), r(6, 3), r(3))
def reverse_scan_second_order(h, xs, v):
    def f(h, xs):
        c, ys = lax.scan(lambda c, x: (np.sin(c * x) + x, c * c), h, xs, reverse=True)
        return np.sum(c * ys[0]) + np.sum(ys[3] ** 2)

    return grad(f, (0, 1))(h, xs), jvp(lambda h: grad(f, 1)(h, xs), (h,), (v,))[1]


@case(r(), r(7))
def third_of_scan(c, xs):
    f = lambda c: lax.scan(lambda c, x: (np.sin(c) + x * c, None), c, xs)[0]
    return grad(grad(grad(f)))(c), jvp(grad(grad(f)), (c,), (1.0,))


def long_scan(h, xs, w, v):
    f = lambda w: np.sum(lax.scan(lambda h, x: (np.tanh(w @ h + x), h * x), h, xs)[1] ** 2)
    return grad(f)(w), hvp(f, (w,), (v,))[0]


# The choice of values that Gradus keeps from a scan does not change its results.
@case(r(2), r(10, 2), r(2, 2), r(2, 2))
def scan_that_keeps_every_third(h, xs, w, v):
    return long_scan(h, xs, w, v)


@case(r(2), r(10, 2), r(2, 2), r(2, 2))
def scan_that_keeps_a_root(h, xs, w, v):
    return long_scan(h, xs, w, v)


@case(r(2), r(11, 2), r(2, 2), r(2, 2))
def scan_that_keeps_a_logarithm(h, xs, w, v):
    return long_scan(h, xs, w, v)


@case(r(2), r(3, 4, 2), r(2), r(2))
def nested_scans_second_order(h, xs, w, v):
    def outer(w):
        inner = lambda c, x: (np.sin(c * w + x), c * x)
        total = lambda c, rows: (lambda d, ys: (d * 0.5 + c, np.sum(ys, 0)))(*lax.scan(inner, c, rows))
        c, ys = lax.scan(total, h, xs)
        return np.sum(c**2) + np.sum(ys * w)

    return grad(outer)(w), hvp(outer, (w,), (v,))[0], hessian(outer)(w)


@case(r(3), r(3, 3))
def gradient_descent_in_a_scan(x, a):
    def f(x, a):
        loss = lambda x: np.sum(np.cos(a @ x)) + 0.5 * np.sum(x**2)
        step = lambda x, _: (x - 0.1 * grad(loss)(x), loss(x))
        x, losses = lax.scan(step, x, None, length=5)
        return loss(x) + np.sum(losses**2)

    return grad(f, (0, 1))(x, a), jacfwd(grad(f))(x, a)


@case(r(2), r(4, 2), r(2))
def tangents_in_a_scan(x, vs, w):
    def f(x, w):
        step = lambda c, v: (jvp(lambda c: np.sin(c * w) * np.sum(c), (c,), (v,))[1], c)
        c, ys = lax.scan(step, x, vs)
        return np.sum(c**2) + np.sum(ys**3)

    return hessian(f, (0, 1))(x, w)


@case(r(3), r(6, 3), r(3))
def scan_with_a_counter_and_a_choice(h, xs, w):
    def f(h, w):
        def step(carry, x):
            i, h = carry
            h = lax.cond(i % 2 == 0, lambda h: np.sin(h * w), lambda h: h * x + w**2, h)
            return (i + 1, h), h * i

        (_, h), ys = lax.scan(step, (0, h), xs)
        return np.sum(h * ys[2]) + np.sum(ys**2)

    return grad(f, (0, 1))(h, w), hessian(f)(h, w)


@case(r(4), r(4, 5, 2), r(3, 2))
def hvp_of_lstm(b, w, xs):
    def f(w, b):
        def step(carry, x):
            h, c = carry
            i, o, g, k = [w[j] @ np.concatenate([h, c, x, b[j : j + 1]]) for j in range(4)]
            c = jax.nn.sigmoid(g) * c + jax.nn.sigmoid(i) * np.tanh(k)
            h = jax.nn.sigmoid(o) * np.tanh(c)
            return (h, c), h

        (h, c), hs = lax.scan(step, (b[:1], b[1:2]), xs)
        return np.sum(h * c) + np.sum(hs**2)

    return hvp(f, (w[:, :, 0].reshape(4, 1, 5), b), (w[:, :, 1].reshape(4, 1, 5), np.sin(b)))


@case(p(2, 3), r(6, 2), r(6, 2), r(6, 2))
def gradients_of_a_selective_scan(a, x, b, c):
    def f(a, x, b, c):
        def step(h, slices):
            x, b, c = slices
            delta = jax.nn.softplus(x)
            h = h * np.exp(-delta[:, None] * a) + (delta * b * x)[:, None]
            return h, np.sum(h * c[:, None], 1)

        _, ys = lax.scan(step, np.zeros((2, 3)), (x, b, c))
        return np.sum(ys**2)

    return grad(f, (0, 1, 2, 3))(a, x, b, c), hvp(lambda a: f(a, x, b, c), (a,), (np.cos(a),))[0]


# ---- while ----


def root(a):
    """Computes the square root by Newton's method, until the error is small."""
    inexact = lambda c: np.abs(c[0] * c[0] - c[1]) > 1e-13
    return lax.while_loop(inexact, lambda c: ((c[0] + c[1] / c[0]) * 0.5, c[1]), (a, a))[0]


def bounded(condition, step, init, bound):
    """Runs a while loop in a form that JAX can reverse: a scan whose carry stays constant once the condition is false."""

    def masked(c, _):
        go = condition(c)
        # A branch that is not taken must not change the gradient.
        new = step(jax.tree.map(lambda c: np.where(go, c, lax.stop_gradient(c)), c))
        return jax.tree.map(lambda n, o: np.where(go, n, o), new, c), None

    return lax.scan(masked, init, None, length=bound)[0]


def grow(x, w):
    """Multiplies a vector by 1.5 and adds a sine, until its norm is large."""
    return bounded(lambda c: np.sum(c * c) < 20.0, lambda c: c * 1.5 + np.sin(c * w), x, 12)


@case(p(), p(), r())
def tangents_of_while(a, b, v):
    f = lambda a, b: root(a) * root(b) + root(a * b)
    return jvp(f, (a, b), (v, 1.0)), jvp(lambda a: jvp(root, (a,), (v,))[1], (a,), (1.0,))


@case(p(5), r(5))
def batched_while_tangents(a, v):
    return jvp(vmap(root), (a,), (v,)), vmap(lambda a, v: jvp(root, (a,), (v,))[1])(a, v), jacfwd(vmap(root))(a)


@case(r(3), r(3))
def gradient_of_bounded_while(x, w):
    f = lambda x, w: np.sum(grow(x, w) ** 2)
    return grow(x, w), grad(f, (0, 1))(x, w)


@case(r(3), r(3), r(3), r(3))
def hvp_of_bounded_while(x, w, v, u):
    f = lambda x, w: np.sum(np.sin(grow(x, w)))
    return hvp(f, (x, w), (v, u)), hessian(f)(x, w)


@case(given([[0.1, 0.2], [0.9, -1.4], [2.5, 4.1], [-0.4, 0.05]]), r(2))
def batched_bounded_while(x, w):
    f = lambda x, w: np.sum(np.sin(grow(x, w)))
    return vmap(grow, (0, None))(x, w), vmap(grad(f, (0, 1)), (0, None))(x, w), vmap(hessian(f), (0, None))(x, w)


@case(given([[0.1, 0.2], [0.9, -1.4], [-0.4, 0.05]]), r(2))
def gradient_of_a_batch_of_whiles(x, w):
    f = lambda x, w: np.sum(vmap(lambda x: grow(x, w))(x) ** 2)
    return grad(f, (0, 1))(x, w)


@case(r(2), r(2))
def while_in_a_while(x, w):
    def f(x, w):
        inner = lambda c: bounded(lambda c: np.sum(c * c) < 4.0, lambda c: c * 1.3 + 0.1 * w, c, 8)
        return np.sum(bounded(lambda c: np.sum(c) < 9.0, lambda c: inner(c) + np.cosh(c * 0.3), x, 10) ** 2)

    return grad(f, (0, 1))(x, w), jacfwd(grad(f))(x, w)


@case(r(4, 2), r(2))
def while_in_a_scan(xs, w):
    def f(xs, w):
        step = lambda c, x: (np.sin(grow(c * x + 0.1, w)), np.sum(c))
        c, ys = lax.scan(step, w, xs)
        return np.sum(c * c) + np.sum(ys**2)

    return grad(f, (0, 1))(xs, w), hvp(lambda w: f(xs, w), (w,), (np.cos(w),))[0]


@case(r(3))
def while_with_a_counter(x):
    # Sums a power series up to a number of terms that depends on the data.
    def f(x):
        go = lambda c: (c[0] < 9) & (np.max(np.abs(c[2])) > 1e-2)
        step = lambda c: (c[0] + 1, c[1] + c[2], c[2] * x / (c[0] + 1.0))
        return np.prod(bounded(go, step, (0, np.zeros(3), np.ones(3)), 10)[1])

    return grad(f)(x), hessian(f)(x)


# ---- cond and switch ----


def branch(x, w):
    yes = lambda x: np.sum(np.sin(x * w))
    return lax.cond(np.sum(x) > 0, yes, lambda x: np.sum(x**3) * w[0], x)


@case(given([0.4, -1.1, 1.2]), given([-0.4, -1.1, 1.2]), r(3))
def gradients_of_cond(x, y, w):
    return [g(x, w) for g in (grad(branch, (0, 1)), hessian(branch, (0, 1)))] + [grad(branch, (0, 1))(y, w), hessian(branch)(y, w)]


@case(given([[0.4, -1.1, 1.2], [-0.4, -1.1, 1.2], [-0.9, 0.3, 0.1], [0.5, 0.6, 0.7]]), r(3))
def batched_cond(x, w):
    return (
        vmap(branch, (0, None))(x, w),
        vmap(grad(branch, (0, 1)), (0, None))(x, w),
        vmap(hessian(branch), (0, None))(x, w),
        grad(lambda w: np.sum(vmap(branch, (0, None))(x, w) ** 2))(w),
    )


@case(given([[0.4, -1.1], [-0.4, -1.1], [-0.9, 1.3], [0.5, 0.6]]), r(2))
def nested_conds(x, w):
    def f(x, w):
        deep = lambda x: lax.cond(x[1] > 0, lambda x: np.prod(x * w), lambda x: np.exp(x[0] * w[1]), x)
        return lax.cond(x[0] > 0, deep, lambda x: np.sum(x * x) * deep(x * 0.5), x) ** 2

    return vmap(grad(f, (0, 1)), (0, None))(x, w), vmap(hessian(f), (0, None))(x, w)


def choose(i, x, w):
    return lax.switch(i, [lambda x: np.sum(x**3), lambda x: np.prod(x) * w, lambda x: np.sum(np.exp(x * w))], x)


@case(ints(2, 0, 1, 2), r(4, 3), r())
def batched_switch(i, x, w):
    g = grad(choose, (1, 2))
    return vmap(choose, (0, 0, None))(i, x, w), vmap(g, (0, 0, None))(i, x, w), vmap(g, (0, None, None))(i, x[0], w)


@case(ints(1, 0, 2), r(3, 3), r())
def second_order_of_switch(i, x, w):
    f = lambda x, w: np.sum(vmap(lambda i, x: choose(i, x, w))(i, x) ** 2)
    return hessian(f, 1)(x, w), jacfwd(grad(f), 1)(x, w), hvp(f, (x, w), (np.sin(x), w * 0.5))


@case(r(5), r(3))
def scan_over_branches(xs, w):
    def f(xs, w):
        step = lambda c, x: (lambda c: (c, c * x))(lax.switch((x > 0).astype(np.int64), [lambda c: c * x + w[0], lambda c: np.sin(c * w[1]) + x * w[2]], c))
        c, ys = lax.scan(step, w[0] * w[1], xs)
        return c * np.sum(ys**2)

    return grad(f, (0, 1))(xs, w), hessian(f, 1)(xs, w)
