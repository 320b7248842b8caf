"""Functions with custom derivatives that differ from the true ones, so that a test shows whether the rule was used."""

import jax
import jax.numpy as np
from jax import grad, hessian, jacfwd, jacrev, jvp, lax, vmap

from record import case, r


@jax.custom_vjp
def product_with_vjp(x, y):
    return np.sin(x) * y


# The custom gradients have factors that no derivation would give.
product_with_vjp.defvjp(
    lambda x, y: (product_with_vjp(x, y), (x, y)),
    lambda kept, g: (2.0 * g * np.cos(kept[0]) * kept[1], 0.5 * g * np.tanh(kept[0] * kept[1])),
)


@jax.custom_vjp
def exp_with_vjp(x):
    return np.exp(x)


# The rule uses the saved result.
exp_with_vjp.defvjp(lambda x: (exp_with_vjp(x), exp_with_vjp(x)), lambda y, g: (g * y,))


@jax.custom_vjp
def sum_and_square_with_vjp(x):
    return np.sum(x), x * x


sum_and_square_with_vjp.defvjp(lambda x: (sum_and_square_with_vjp(x), x), lambda x, g: (3.0 * g[0] * x + g[1] * np.cos(x),))


@jax.custom_jvp
def product_with_jvp(x, y):
    return np.sin(x) * y


@product_with_jvp.defjvp
def _(xs, ts):
    (x, y), (dx, dy) = xs, ts
    return product_with_jvp(x, y), 1.5 * np.cos(x) * y * dx + 0.5 * np.exp(-x * x) * dy


@jax.custom_jvp
def bump_and_cubes_with_jvp(x):
    return np.exp(-x * x), np.sum(x**3)


@bump_and_cubes_with_jvp.defjvp
def _(xs, ts):
    (x,), (dx,) = xs, ts
    return bump_and_cubes_with_jvp(x), (-2.0 * x * np.exp(-x * x) * dx, np.sum(np.cos(x) * dx))


def vjp_energy(x, y):
    return np.sum(np.tanh(product_with_vjp(x, y)) * x)


def jvp_energy(x, y):
    return np.sum(np.tanh(product_with_jvp(x, y)) * x)


@case(r(4), r(4))
def custom_gradients(x, y):
    return vjp_energy(x, y), grad(vjp_energy, (0, 1))(x, y)


@case(r(4), r(4))
def custom_gradient_of_a_gradient(x, y):
    slope = lambda x, y: sum(np.sum(np.sin(g)) for g in grad(vjp_energy, (0, 1))(x, y))
    return grad(slope, (0, 1))(x, y)


@case(r(3), r(3))
def custom_gradient_hessian(x, y):
    return jacrev(jacrev(vjp_energy))(x, y), jacrev(grad(vjp_energy, 1), 0)(x, y)


@case(r(3))
def custom_gradient_third(x):
    return jacrev(jacrev(jacrev(lambda x: np.sum(exp_with_vjp(x) * exp_with_vjp(np.sin(x))))))(x)


@case(r(4))
def custom_gradient_of_two_results(x):
    def f(x):
        total, squares = sum_and_square_with_vjp(x)
        return np.sin(total) * np.sum(np.cos(squares))

    return grad(f)(x), jacrev(grad(f))(x)


def grad_norm(x, y):
    return np.sum(grad(vjp_energy)(x, y) ** 2)


@case(r(3, 4), r(4))
def custom_gradients_of_examples(x, y):
    return vmap(grad(vjp_energy, (0, 1)), (0, None))(x, y), vmap(grad(grad_norm), (0, None))(x, y)


@case(r(3, 4), r(4))
def custom_gradient_of_a_batch(x, y):
    return grad(lambda x, y: np.sum(vmap(vjp_energy, (0, None))(x, y) ** 2), (0, 1))(x, y)


@case(r(3), r(5, 3))
def custom_gradient_in_a_loop(x, ys):
    def f(x, ys):
        step = lambda c, y: (np.tanh(product_with_vjp(c, y)), np.sum(exp_with_vjp(0.3 * c)))
        last, sums = lax.scan(step, x, ys)
        return np.sum(last) + np.sum(sums)

    return grad(f, (0, 1))(x, ys)


@case(r(4), r(4), r(4), r(4))
def custom_tangents(x, y, v, w):
    return jvp(product_with_jvp, (x, y), (v, w)), jvp(jvp_energy, (x, y), (v, w))


@case(r(4), r(4))
def custom_tangents_reversed(x, y):
    return grad(jvp_energy, (0, 1))(x, y), jax.vjp(product_with_jvp, x, y)[1](np.cos(y))


@case(r(3), r(3))
def custom_tangents_twice(x, y):
    forward = jacfwd(jacfwd(jvp_energy))(x, y), jacfwd(jacrev(jvp_energy))(x, y)
    return forward, jacrev(jacfwd(jvp_energy))(x, y), jacrev(jacrev(jvp_energy, 1), 0)(x, y)


@case(r(3), r(3))
def custom_tangents_thrice(x, y):
    return jacfwd(hessian(jvp_energy))(x, y), jacrev(hessian(jvp_energy, 1), 0)(x, y)


@case(r(4), r(4))
def custom_tangents_of_two_results(x, v):
    def f(x):
        bumps, cubes = bump_and_cubes_with_jvp(x)
        return np.sum(bumps**2) * cubes

    return jvp(bump_and_cubes_with_jvp, (x,), (v,)), grad(f)(x), hessian(f)(x)


@case(r(3, 4), r(4), r(3, 4))
def custom_tangents_of_examples(x, y, v):
    many = vmap(lambda x, v: jvp(lambda x: product_with_jvp(x, y), (x,), (v,)))(x, v)
    return many, vmap(grad(jvp_energy, (0, 1)), (0, None))(x, y), vmap(hessian(jvp_energy), (0, None))(x, y)


@case(r(3, 4), r(4), r(3, 4))
def custom_tangent_of_a_batch(x, y, v):
    f = lambda x: np.sum(vmap(jvp_energy, (0, None))(x, y) ** 2)
    return jvp(f, (x,), (v,)), jvp(grad(f), (x,), (v,))[1]


@case(r(3), r(5, 3))
def custom_tangents_in_a_loop(x, ys):
    def f(x, ys):
        last, sums = lax.scan(lambda c, y: (np.tanh(product_with_jvp(c, y)), bump_and_cubes_with_jvp(c)[1]), x, ys)
        return np.sum(last) + np.sum(sums)

    # In JAX, reverse mode through a scan ignores the rule for values that it keeps; forward mode and an unrolled loop use it.
    return grad(f, (0, 1))(x, ys), jacfwd(jacfwd(f))(x, ys)
