"""Linear algebra: values, gradients and second derivatives; of factors, what does not depend on phases and order."""

import jax
import jax.numpy as np
from jax import hessian, jacfwd, lax, vmap
from jax.numpy import linalg
from jax.scipy.linalg import expm, lu, solve_triangular

from record import case, heavy, orders, p, r, z

real, complex_, batch = heavy(3, 3), heavy(3, 3, imag=0.7), heavy(2, 3, 3)
tall, complex_tall, wide = heavy(4, 2), heavy(3, 2, imag=0.7), heavy(2, 4)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def scale_columns_and_multiply(v, w, back):
    return (v * w[..., None, :]) @ back


def projector_on_first(v):
    return v[..., :1] @ adjoint(v[..., :1])


def squared_magnitudes(x):
    return np.real(x) ** 2 + np.imag(x) ** 2


@case(real, r(3, 2))
def solve(a, b):
    return orders(linalg.solve, a, b)


@case(real, r(3))
def solve_for_a_vector(a, b):
    return orders(linalg.solve, a, b)


@case(complex_, z(3, 2))
def solve_complex(a, b):
    return orders(linalg.solve, a, b)


@case(batch, r(2, 3, 1))
def solve_many(a, b):
    return orders(linalg.solve, a, b)


@case(real, r(3, 2))
def solve_triangles(a, b):
    lower = orders(lambda a, b: solve_triangular(a, b, lower=True), a, b)
    upper = orders(lambda a, b: solve_triangular(a, b, lower=False), a, b)
    adjoints = orders(lambda a, b: solve_triangular(a, b, lower=True, trans="C"), a, b)
    return lower, upper, adjoints, orders(lambda a, b: solve_triangular(a, b, unit_diagonal=True), a, b)


@case(complex_, z(3, 2))
def solve_complex_triangles(a, b):
    lower = orders(lambda a, b: solve_triangular(a, b, lower=True), a, b)
    adjoints = orders(lambda a, b: solve_triangular(a, b, lower=False, trans="C"), a, b)
    return lower, adjoints, orders(lambda a, b: solve_triangular(a, b, lower=True, unit_diagonal=True), a, b)


@case(batch, r(2, 3, 1))
def solve_many_triangles(a, b):
    f = lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    return orders(f, a, b)


@case(real, complex_, batch)
def inverse(a, b, c):
    return orders(linalg.inv, a), orders(linalg.inv, b), orders(linalg.inv, c)


@case(real, complex_, batch)
def determinant(a, b, c):
    return orders(linalg.det, a), orders(linalg.det, b), orders(linalg.det, c)


@case(r(2, 2), r(3, 3))
def determinant_hessian(a, b):
    return jacfwd(hessian(lambda a: np.exp(linalg.det(a))))(a), hessian(linalg.det)(b)


@case(real, complex_, batch)
def log_determinant(a, b, c):
    f = lambda a: tuple(linalg.slogdet(a))
    # The derivative of the sign of a real determinant is zero, so only the logarithm is differentiated.
    return orders(lambda a: f(a)[1], a), orders(f, b), orders(lambda a: f(a)[1], c), f(a)[0]


@case(real, complex_, batch)
def cholesky(a, b, c):
    return orders(linalg.cholesky, a), orders(linalg.cholesky, b), orders(linalg.cholesky, c)


def by_lu(a):
    return lu(a)[1:]


@case(real, complex_, batch)
def lu_factors(a, b, c):
    return orders(by_lu, a), orders(by_lu, b), orders(vmap(by_lu), c)


@case(tall, complex_tall, wide)
def lu_factors_of_rectangles(a, b, c):
    return orders(by_lu, a), orders(by_lu, b), orders(by_lu, c)


def by_qr(a):
    q, r = linalg.qr(a)
    return q @ r, projector_on_first(q), squared_magnitudes(r)


@case(tall, complex_tall, batch, real)
def qr_factors(a, b, c, d):
    return orders(by_qr, a), orders(by_qr, b), orders(by_qr, c), orders(by_qr, d)


def by_svd(a):
    u, s, vh = linalg.svd(a, full_matrices=False)
    return s, scale_columns_and_multiply(u, np.sin(s), vh), projector_on_first(u), squared_magnitudes(vh)


@case(tall, complex_tall, batch, wide)
def svd_factors(a, b, c, d):
    return orders(by_svd, a), orders(by_svd, b), orders(by_svd, c), orders(by_svd, d)


def by_eigh(a):
    w, v = linalg.eigh(a)
    return w, scale_columns_and_multiply(v, np.exp(0.3 * w), adjoint(v)), projector_on_first(v), squared_magnitudes(v)


@case(real, complex_, batch)
def eigh_factors(a, b, c):
    return orders(by_eigh, a), orders(by_eigh, b), orders(by_eigh, c)


def by_eig(a):
    w, v = lax.linalg.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return np.sum(w**3, -1), scale_columns_and_multiply(v, np.exp(0.3 * w), linalg.inv(v))


@case(real, complex_, batch)
def eig_factors(a, b, c):
    return orders(by_eig, a), orders(by_eig, b), orders(by_eig, c)


@case(tall, complex_tall, heavy(2, 3, 2), wide)
def pseudo_inverse(a, b, c, d):
    return orders(linalg.pinv, a), orders(linalg.pinv, b), orders(linalg.pinv, c), orders(linalg.pinv, d)


def lstsq_solution(a, b):
    return linalg.lstsq(a, b)[0]


@case(tall, r(4, 2), complex_tall, z(3))
def least_squares(a, b, c, d):
    return orders(lstsq_solution, a, b), orders(lstsq_solution, c, d)


@case(wide, r(2, 3))
def least_norm(a, b):
    return orders(lstsq_solution, a, b)


@case(p(3, 1), p(1, 2), r(3, 2), p(2, 1), p(1, 3), r(2))
def least_of_rank_one(u, v, b, x, y, c):
    f = lambda u, v, b: linalg.pinv(u @ v) @ b
    return lstsq_solution(u @ v, b), orders(f, u, v, b), lstsq_solution(x @ y, c), orders(f, x, y, c)


@case(r(3, 3), z(2, 2), r(2, 2, 2))
def exponential(a, b, c):
    return orders(expm, a), orders(expm, b), orders(expm, c)


@case(r(3, 3))
def exponential_of_a_large_matrix(a):
    return expm(6.0 * a), jacfwd(expm)(2.0 * a)


@case(real, complex_)
def powers(a, b):
    return orders(lambda a: linalg.matrix_power(a, 5), a), orders(lambda a: linalg.matrix_power(a, -2), b)


@case(heavy(4, 2, 2), r(4, 2))
def systems_of_examples(a, b):
    energy = lambda a, b: np.sum(np.sin(linalg.solve(a, b))) + linalg.slogdet(a)[1]
    return vmap(jax.grad(energy, (0, 1)))(a, b), vmap(hessian(energy), (0, None))(a, b[0])
