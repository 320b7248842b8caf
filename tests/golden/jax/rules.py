"""Functions with custom derivatives that differ from the true ones, so that a test shows whether the rule was used."""

import jax
import jax.numpy as np
from jax import grad, hessian, jacfwd, jacrev, jvp, lax, vmap

from record import case, r


@jax.custom_vjp
def pulled(x, y):
    return np.sin(x) * y


# The custom gradients have factors that no derivation would give.
pulled.defvjp(
    lambda x, y: (pulled(x, y), (x, y)),
    lambda kept, g: (2.0 * g * np.cos(kept[0]) * kept[1], 0.5 * g * np.tanh(kept[0] * kept[1])),
)


@jax.custom_vjp
def grown(x):
    return np.exp(x)


# The rule uses the saved result.
grown.defvjp(lambda x: (grown(x), grown(x)), lambda y, g: (g * y,))


@jax.custom_vjp
def both(x):
    return np.sum(x), x * x


both.defvjp(lambda x: (both(x), x), lambda x, g: (3.0 * g[0] * x + g[1] * np.cos(x),))


@jax.custom_jvp
def pushed(x, y):
    return np.sin(x) * y


@pushed.defjvp
def _(xs, ts):
    (x, y), (dx, dy) = xs, ts
    return pushed(x, y), 1.5 * np.cos(x) * y * dx + 0.5 * np.exp(-x * x) * dy


@jax.custom_jvp
def parts(x):
    return np.exp(-x * x), np.sum(x**3)


@parts.defjvp
def _(xs, ts):
    (x,), (dx,) = xs, ts
    return parts(x), (-2.0 * x * np.exp(-x * x) * dx, np.sum(np.cos(x) * dx))


def pulled_energy(x, y):
    return np.sum(np.tanh(pulled(x, y)) * x)


def pushed_energy(x, y):
    return np.sum(np.tanh(pushed(x, y)) * x)


@case(r(4), r(4))
def custom_gradients(x, y):
    return pulled_energy(x, y), grad(pulled_energy, (0, 1))(x, y)


@case(r(4), r(4))
def custom_gradient_of_a_gradient(x, y):
    slope = lambda x, y: sum(np.sum(np.sin(g)) for g in grad(pulled_energy, (0, 1))(x, y))
    return grad(slope, (0, 1))(x, y)


@case(r(3), r(3))
def custom_gradient_hessian(x, y):
    return jacrev(jacrev(pulled_energy))(x, y), jacrev(grad(pulled_energy, 1), 0)(x, y)


@case(r(3))
def custom_gradient_third(x):
    return jacrev(jacrev(jacrev(lambda x: np.sum(grown(x) * grown(np.sin(x))))))(x)


@case(r(4))
def custom_gradient_of_two_results(x):
    def f(x):
        total, squares = both(x)
        return np.sin(total) * np.sum(np.cos(squares))

    return grad(f)(x), jacrev(grad(f))(x)


def grad_norm(x, y):
    return np.sum(grad(pulled_energy)(x, y) ** 2)


@case(r(3, 4), r(4))
def custom_gradients_of_examples(x, y):
    return vmap(grad(pulled_energy, (0, 1)), (0, None))(x, y), vmap(grad(grad_norm), (0, None))(x, y)


@case(r(3, 4), r(4))
def custom_gradient_of_a_batch(x, y):
    return grad(lambda x, y: np.sum(vmap(pulled_energy, (0, None))(x, y) ** 2), (0, 1))(x, y)


@case(r(3), r(5, 3))
def custom_gradient_in_a_loop(x, ys):
    def f(x, ys):
        step = lambda c, y: (np.tanh(pulled(c, y)), np.sum(grown(0.3 * c)))
        last, sums = lax.scan(step, x, ys)
        return np.sum(last) + np.sum(sums)

    return grad(f, (0, 1))(x, ys)


@case(r(4), r(4), r(4), r(4))
def custom_tangents(x, y, v, w):
    return jvp(pushed, (x, y), (v, w)), jvp(pushed_energy, (x, y), (v, w))


@case(r(4), r(4))
def custom_tangents_reversed(x, y):
    return grad(pushed_energy, (0, 1))(x, y), jax.vjp(pushed, x, y)[1](np.cos(y))


@case(r(3), r(3))
def custom_tangents_twice(x, y):
    forward = jacfwd(jacfwd(pushed_energy))(x, y), jacfwd(jacrev(pushed_energy))(x, y)
    return forward, jacrev(jacfwd(pushed_energy))(x, y), jacrev(jacrev(pushed_energy, 1), 0)(x, y)


@case(r(3), r(3))
def custom_tangents_thrice(x, y):
    return jacfwd(hessian(pushed_energy))(x, y), jacrev(hessian(pushed_energy, 1), 0)(x, y)


@case(r(4), r(4))
def custom_tangents_of_two_results(x, v):
    def f(x):
        bumps, cubes = parts(x)
        return np.sum(bumps**2) * cubes

    return jvp(parts, (x,), (v,)), grad(f)(x), hessian(f)(x)


@case(r(3, 4), r(4), r(3, 4))
def custom_tangents_of_examples(x, y, v):
    many = vmap(lambda x, v: jvp(lambda x: pushed(x, y), (x,), (v,)))(x, v)
    return many, vmap(grad(pushed_energy, (0, 1)), (0, None))(x, y), vmap(hessian(pushed_energy), (0, None))(x, y)


@case(r(3, 4), r(4), r(3, 4))
def custom_tangent_of_a_batch(x, y, v):
    f = lambda x: np.sum(vmap(pushed_energy, (0, None))(x, y) ** 2)
    return jvp(f, (x,), (v,)), jvp(grad(f), (x,), (v,))[1]


@case(r(3), r(5, 3))
def custom_tangents_in_a_loop(x, ys):
    def f(x, ys):
        last, sums = lax.scan(lambda c, y: (np.tanh(pushed(c, y)), parts(c)[1]), x, ys)
        return np.sum(last) + np.sum(sums)

    # In JAX, reverse mode through a scan ignores the rule for values that it keeps; forward mode and an unrolled loop use it.
    return grad(f, (0, 1))(x, ys), jacfwd(jacfwd(f))(x, ys)
