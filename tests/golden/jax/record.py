"""Records cases: inputs, results, and transforms in Gradus's convention for complex numbers."""

import zlib

import jax
import numpy

jax.config.update("jax_enable_x64", True)

DTYPES = {"float64": "f64", "complex128": "c128", "int64": "i64", "bool": "bool"}
cases = []


# ---- inputs: each a function of the generator, so that a case depends on its own name only ----


def u(lo, hi, *shape):
    """Draws uniform numbers with three decimals."""
    return lambda g: numpy.round(g.uniform(lo, hi, shape), 3)


def r(*shape):
    return u(-1.5, 1.5, *shape)


def p(*shape):
    return u(0.3, 2.0, *shape)


def distinct(*shape):
    """Draws numbers at least 0.25 apart, so that there are no ties, and sort and max are smooth."""
    n = int(numpy.prod(shape))
    return lambda g: ((g.permutation(n) - n // 2) * 0.25 + 0.115).reshape(shape)


def z(*shape):
    return lambda g: numpy.round(g.uniform(-1.2, 1.2, shape) + 1j * g.uniform(-1.2, 1.2, shape), 3)


def heavy(*shape, imag=0.0):
    """Draws small numbers and adds 2, 3, 4 to the diagonal, so that the matrices are regular, with distinct eigenvalues and
    singular values."""
    m, n = shape[-2:]
    diagonal = numpy.eye(max(m, n))[:m, :n] * numpy.arange(2.0, 2.0 + n)
    part = lambda g: numpy.round(g.uniform(-0.8, 0.8, shape), 3)
    return lambda g: part(g) + diagonal + (imag * part(g) * 1j if imag else 0.0)


def given(values, dtype=numpy.float64):
    return lambda g: numpy.array(values, dtype)


def ints(*values):
    return given(values, numpy.int64)


# ---- recording ----


def encode(x):
    x = numpy.asarray(x)
    data = numpy.ravel(x)
    if x.dtype == numpy.complex128:
        data = numpy.stack([data.real, data.imag], -1).ravel()
    if x.dtype == numpy.bool_:
        data = data.astype(numpy.int64)
    assert numpy.isfinite(data).all(), "not finite"
    return {"shape": list(x.shape), "dtype": DTYPES[x.dtype.name], "data": data.tolist()}


def case(*inputs):
    """Records the function under its own name, at these inputs."""

    def record(f):
        g = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(f.__name__.encode())))
        xs = [numpy.asarray(make(g)) for make in inputs]
        outs = [numpy.asarray(y) for y in jax.tree.leaves(jax.jit(f)(*xs))]
        assert outs, f.__name__
        # A result that is zero everywhere tests nothing.
        assert all(numpy.any(y != 0) for y in outs), f"{f.__name__} has an output of zeros"
        cases.append({"name": f.__name__, "inputs": list(map(encode, xs)), "outputs": list(map(encode, outs))})
        return f

    return record


# ---- complex gradients: the conjugate of JAX's, because the inner product here is Re(conj(a) * b) ----


def conj(tree):
    return jax.tree.map(jax.numpy.conj, tree)


def cgrad(f, argnums=0):
    return lambda *xs: conj(jax.grad(f, argnums)(*xs))


def cvjp(f, *xs):
    out, pull = jax.vjp(f, *xs)
    return out, lambda ct: conj(pull(conj(ct)))


def nonlinear_sum(y):
    """Reduces an array to a nonlinear real number in which every element has its own weight."""
    y = jax.numpy.ravel(y)
    k = jax.numpy.arange(y.size, dtype=float)
    re, im = jax.numpy.real(y), jax.numpy.imag(y)
    return jax.numpy.sum(re * jax.numpy.cos(k) + im * jax.numpy.sin(k + 1.0) + (re * re + im * im) / 2)


def orders(f, *xs):
    """Returns the results of a function, the gradient of `nonlinear_sum` of them, and its derivative along the sines of the arguments."""
    loss = lambda *xs: sum(map(nonlinear_sum, jax.tree.leaves(f(*xs))))
    slopes = cgrad(loss, tuple(range(len(xs))))
    return f(*xs), jax.jvp(slopes, xs, tuple(map(jax.numpy.sin, xs)))


def hvp(f, xs, vs):
    """Computes Hessian-vector products by forward over reverse, for a function of several arguments."""
    return jax.jvp(jax.grad(f, tuple(range(len(xs)))), xs, vs)[1]
