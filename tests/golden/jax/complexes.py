"""Complex functions, with gradients as Gradus has them: the conjugates of JAX's."""

import jax.numpy as np
from jax import hessian, jacfwd, jvp, lax, vmap

from record import case, cgrad, cvjp, p, r, z


def square(w):
    return np.sum(np.real(w) ** 2 + np.imag(w) ** 2)


def smooth(w):
    """Neither holomorphic nor antiholomorphic."""
    return np.exp(w * 0.5) * np.conj(w) + np.sin(w) / (2.0 + w * np.conj(w))


@case(z(4))
def complex_gradient(w):
    return cgrad(lambda w: square(np.sin(w) * np.exp(w)))(w)


@case(z(4))
def complex_gradients_of_functions(w):
    functions = (np.exp, np.sin, np.cos, np.tanh, np.sqrt, np.log, np.sinh, np.reciprocal, np.square)
    return [cgrad(lambda w: square(f(w)))(w) for f in functions]


@case(z(4))
def complex_gradient_of_a_gradient(w):
    inner = cgrad(lambda w: square(smooth(w)))
    return cgrad(lambda w: square(inner(w) + w))(w)


@case(z(4), z(4))
def complex_hvp(w, v):
    return jvp(cgrad(lambda w: square(smooth(w))), (w,), (v,))[1]


@case(z(4), z(4))
def complex_pullback(w, c):
    out, pull = cvjp(smooth, w)
    return out, pull(c)[0]


@case(z(3), z(3), z(3), z(3))
def complex_tangent_of_pullback(w, c, v, b):
    return jvp(lambda w, c: cvjp(smooth, w)[1](c)[0], (w, c), (v, b))


@case(z(3), z(3), z(3), z(3))
def complex_pullback_of_tangent(w, v, c, b):
    return cvjp(lambda w, v: jvp(smooth, (w,), (v,)), w, v)[1]((c, b))


@case(z(2, 3), z(3, 2), r(2))
def complex_matmul_gradients(a, b, s):
    f = lambda a, b, s: square(np.exp(0.3 * (a @ b)) * s + np.conj(a @ b).T)
    return cgrad(f, (0, 1, 2))(a, b, s)


@case(z(2, 3), z(3, 3), z(2, 3))
def complex_einsum_second(a, b, v):
    g = cgrad(lambda a: square(np.einsum("ij,jk,lk->il", a, b, np.conj(a))))
    return jvp(g, (a,), (v,))


@case(r(3))
def real_hessian_through_complex(x):
    def f(x):
        w = lax.complex(x, np.sin(x)) * np.exp(1j * np.sum(x))
        return np.sum(np.real(w * w * w)) + np.sum(np.abs(w + 2.0) ** 3)

    return hessian(f)(x)


@case(r(3), p(3))
def real_jacobian_of_polar(angle, radius):
    def f(angle):
        w = radius * np.exp(1j * angle)
        return np.stack([np.real(w / (1.0 + w)), np.imag(np.sqrt(w))])

    return jacfwd(jacfwd(f))(angle)


@case(z(3), z(3))
def complex_gradients_of_examples(w, c):
    f = lambda w, c: square(w * w / (c + 2.0)) + np.real(w * np.conj(c))
    return vmap(cgrad(f, (0, 1)))(w, c)


@case(z(3))
def complex_abs_and_angle(w):
    f = lambda w: np.sum(np.abs(w) ** 3 * np.angle(w))
    return cgrad(f)(w), jvp(cgrad(f), (w,), (np.conj(w),))[1]


@case(z(3), z(5, 3), z(3))
def complex_scan(a, u, v):
    # A diagonal state space, whose state rotates and decays.
    def loss(a, u):
        step = lambda h, u: ((h * np.exp(-0.3 + 1j * a) + u), np.real(h * np.conj(u)))
        h, ys = lax.scan(step, np.zeros(3, np.complex128), u)
        return square(h) + np.sum(np.sin(ys))

    return cgrad(loss, (0, 1))(a, u), jvp(lambda a: cgrad(loss)(a, u), (a,), (v,))[1]
