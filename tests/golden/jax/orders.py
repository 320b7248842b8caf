"""Derivatives of high and mixed order of pointwise functions, in all combinations of modes."""

import jax
import jax.numpy as np
from jax import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from jax.scipy.special import digamma, erf, erfc, erfinv, gammaln

from record import case, given, hvp, p, r, u


def nth(f, n):
    for _ in range(n):
        f = grad(f)
    return f


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def bumpy(x):
    """A vector function in which every result depends on every element."""
    return np.sin(x * np.sum(x)) + np.cumsum(np.exp(x * 0.5)) * x[::-1]


@case(r())
def third_of_sine_times_exp(x):
    return nth(lambda x: np.sin(x) * np.exp(x * 0.5), 3)(x)


@case(r(4))
def fifth_of_tanh(x):
    return vmap(nth(np.tanh, 5))(x)


@case(p(4))
def fourth_of_log(x):
    return vmap(nth(np.log, 4))(x)


@case(p(4))
def third_of_lgamma(x):
    return vmap(nth(gammaln, 3))(x), vmap(nth(digamma, 2))(x)


@case(r(4))
def fourth_of_erf(x):
    return vmap(nth(erf, 4))(x), vmap(nth(erfc, 3))(x)


@case(u(-0.8, 0.8, 4))
def third_of_erfinv(x):
    return vmap(nth(erfinv, 3))(x)


@case(u(-0.8, 0.8, 4))
def third_of_inverse_functions(x):
    return [vmap(nth(f, 3))(x) for f in (np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arctanh)]


@case(u(1.2, 3.0, 4))
def third_of_roots(x):
    return [vmap(nth(f, 3))(x) for f in (np.sqrt, jax.lax.rsqrt, np.cbrt, np.arccosh, np.log1p, np.expm1)]


@case(r(5))
def third_of_activations(x):
    exact = lambda x: jax.nn.gelu(x, approximate=False)
    return [
        vmap(nth(f, 3))(x)
        for f in (exact, jax.nn.gelu, jax.nn.silu, jax.nn.softplus, jax.nn.mish, jax.nn.sigmoid, jax.nn.log_sigmoid)
    ]


@case(p(2))
def hessian_of_pow(x):
    return hessian(lambda x: x[0] ** x[1])(x)


@case(r(2))
def third_of_atan2(x):
    return jacfwd(hessian(lambda x: np.arctan2(x[0], x[1])))(x)


@case(r(3))
def third_of_hypot(x):
    return jacrev(hessian(lambda x: np.hypot(x[0], x[1] * x[2])))(x)


@case(r(3))
def third_of_logaddexp(x):
    return jacfwd(hessian(lambda x: np.logaddexp(x[0] * x[1], x[2])))(x)


@case(r(), r(), r())
def mixed_third(x, y, z):
    f = lambda x, y, z: np.sin(x * y * z) + x * y**2 * np.exp(z)
    return grad(grad(grad(f, 0), 1), 2)(x, y, z)


@case(r(), r())
def no_confusion_of_levels(x, y):
    inner = lambda x: grad(lambda y: x + y * x)(y)
    deeper = lambda x: x * jvp(lambda y: x * y * grad(lambda t: x * y * t**2)(y), (y,), (1.0,))[1]
    return grad(lambda x: x * inner(x))(x), grad(deeper)(x)


@case(r(4))
def rosenbrock_forward_reverse(x):
    return jacfwd(jacrev(rosenbrock))(x)


@case(r(4))
def rosenbrock_reverse_forward(x):
    return jacrev(jacfwd(rosenbrock))(x)


@case(r(4))
def rosenbrock_forward_forward(x):
    return jacfwd(jacfwd(rosenbrock))(x)


@case(r(4))
def rosenbrock_reverse_reverse(x):
    return jacrev(jacrev(rosenbrock))(x)


@case(r(3))
def third_derivatives_of_a_vector_function(x):
    return jacfwd(jacrev(jacfwd(bumpy)))(x), jacrev(jacfwd(jacrev(bumpy)))(x)


@case(r(3))
def fourth_derivative_tensor(x):
    f = lambda x: np.sum(np.sin(x) * np.prod(x))
    return jacfwd(jacfwd(jacrev(jacrev(f))))(x)


@case(r(), r())
def four_nested_tangents(x, v):
    f = lambda x: np.exp(np.sin(x))
    for _ in range(4):
        f = (lambda g: lambda x: jvp(g, (x,), (v,))[1])(f)
    return f(x)


@case(r(3), r(3), r(3))
def tangent_of_pullback(x, v, c):
    pull = lambda x, c: vjp(bumpy, x)[1](c)[0]
    return jvp(pull, (x, c), (v, np.cos(v)))


@case(r(3), r(3), r(3), r(3))
def pullback_of_tangent(x, v, c, d):
    push = lambda x, v: jvp(bumpy, (x,), (v,))
    return vjp(push, x, v)[1]((c, d))


@case(r(3), r(3), r(3))
def pullback_of_pullback(x, c, d):
    pull = lambda x, c: vjp(bumpy, x)[1](c)[0]
    out, again = vjp(pull, x, c)
    return out, again(d)


@case(r(3), r(3), r(3))
def tangent_of_tangent(x, v, w):
    push = lambda x, v: jvp(bumpy, (x,), (v,))[1]
    return jvp(push, (x, v), (w, np.sin(w)))


@case(r(3), r(3), r(3))
def linear_part_of_a_gradient(x, v, w):
    _, linear = linearize(grad(lambda x: np.sum(bumpy(x) ** 2)), x)
    return linear(v), linear(w)


@case(r(3), r(3))
def gradient_of_a_squared_tangent(x, v):
    f = lambda x, v: np.sum(jvp(bumpy, (x,), (v,))[1] ** 2)
    return grad(f, (0, 1))(x, v)


@case(r(3), r(2, 3), r(3), r(2, 3))
def hvp_of_two_arguments(x, a, v, b):
    return hvp(lambda x, a: np.sum(np.tanh(a @ bumpy(x))) + np.sum(a**3), (x, a), (v, b))


@case(r(3), r(3))
def gradient_of_hvp(x, v):
    f = lambda x: np.sum(bumpy(x) ** 3)
    return grad(lambda x: np.sum(np.sin(hvp(f, (x,), (v,))[0])))(x)


@case(given([-1.2, -0.4, 0.3, 1.7]))
def second_of_guarded_log(x):
    f = lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), x**3)
    return vmap(nth(f, 2))(x), hessian(lambda x: np.sum(f(x) * x[::-1]))(x)


@case(r(4), p(4))
def third_of_quotients(x, y):
    f = lambda x, y: np.sin(x) / (y + x**2)
    return vmap(grad(grad(grad(f, 1), 0), 1))(x, y)


@case(r(5))
def stopped_gradients(x):
    stop = jax.lax.stop_gradient
    f = lambda x: np.sum(stop(np.sin(x)) * x**3 + stop(x) * x)
    return grad(f)(x), hessian(f)(x)


@case(r(5))
def straight_through_rounding(x):
    through = lambda x: x + jax.lax.stop_gradient(np.round(x * 2.0) - x)
    f = lambda x: np.sum(np.exp(0.3 * through(x) * x))
    return grad(f)(x), hessian(f)(x)
