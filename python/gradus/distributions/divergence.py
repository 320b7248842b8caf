"""Kullback-Leibler divergences."""

import math
import warnings

from .. import linalg
from ..core import where
from ..nn import functional as F
from .continuous import Normal, Uniform
from .counted import Beta, Dirichlet, Gamma, Poisson
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .drawn import Exponential, HalfNormal, Laplace, LogNormal
from .independent import Independent
from .multivariate import MultivariateNormal


def kl_divergence(p, q):
    """Computes the Kullback-Leibler divergence of `p` from `q`, two distributions of one kind.

    >>> import gradus
    >>> from gradus.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0)).item()
    0.5
    """
    return _find_divergence(type(p), type(q))(p, q)


def _find_divergence(p, q):
    """Returns the function registered for two classes. Of several matching pairs, returns that of the most specific first class, then
    of the most specific second class."""
    near = [(far_p, far_q, one, other) for one, other in _REGISTERED
            if (far_p := _inheritance_distance(p, one)) is not None and (far_q := _inheritance_distance(q, other)) is not None]
    if not near:
        raise NotImplementedError(f"the divergence of {p.__name__} from {q.__name__} is not known")
    *_, one, other = min(near, key=lambda x: (x[0], x[1]))
    *_, first, second = min(near, key=lambda x: (x[1], x[0]))
    if (one, other) != (first, second):
        warnings.warn(f"Ambiguous kl_divergence({p.__name__}, {q.__name__}). Please register_kl({one.__name__}, {second.__name__})",
                      RuntimeWarning, stacklevel=3)
    return _REGISTERED[one, other]


def _inheritance_distance(kind, base):
    """Returns the distance in the class hierarchy; `None` if it is not a subclass. Some classes derive from another
    without being special cases of it."""
    apart = any(issubclass(kind, one) and base is other for one, other in ((LogNormal, Normal), (OneHotCategorical, Categorical)))
    return None if apart or base not in kind.__mro__ else kind.__mro__.index(base)


#: Registered functions, by both classes.
_REGISTERED = {}


def register_kl(type_p, type_q):
    """A decorator that registers a function as the divergence between two classes.

    >>> import gradus
    >>> from gradus.distributions import Normal, Uniform, kl_divergence, register_kl
    >>> @register_kl(Uniform, Normal)
    ... def between(p, q):
    ...     return -p.entropy() - q.log_prob(p.mean) + p.variance / (2 * q.scale**2)
    >>> round(kl_divergence(Uniform(-1.0, 1.0), Normal(0.0, 1.0)).item(), 4)
    0.3925
    """

    def keep(function):
        _REGISTERED[type_p, type_q] = function
        return function

    return keep


def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the divergence of draws taken along other axes is not known")
    return p._summed(kl_divergence(p.base_dist, q.base_dist))


def _normal(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def _uniform(p, q):
    inside = (q.low <= p.low) & (q.high >= p.high)
    return where(inside, ((q.high - q.low) / (p.high - p.low)).log(), math.inf)


def _categorical(p, q):
    return (p.probs * (p.logits - q.logits)).sum(-1)


def _bernoulli(p, q):
    cross = F.binary_cross_entropy_with_logits(q.logits.expand(p.logits.shape), p.probs, reduction="none")
    return cross - p.entropy()


def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


def _half_normal(p, q):
    return _normal(p._normal(), q._normal())


def _laplace(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return away / q.scale + ratio * (-away / p.scale).exp() - ratio.log() - 1


def _multivariate(p, q):
    a, b = p.scale_tril, q.scale_tril
    ratio = linalg.solve_triangular(b, a, upper=False)
    away = linalg.solve_triangular(b, (q.loc - p.loc).unsqueeze(-1), upper=False)
    squares = (ratio**2).sum((-2, -1)) + (away**2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (squares - p.loc.shape[-1])


def _gamma(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
            + (q.rate - p.rate) * (a / p.rate))


def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    spread = ((a - b) * (a.digamma() - a.sum(-1, keepdim=True).digamma())).sum(-1)
    return a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) + spread


def _beta(p, q):
    return _dirichlet(p._dirichlet(), q._dirichlet())


def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


for _kind, _divergence in {
    Independent: _independent, MultivariateNormal: _multivariate, Normal: _normal, LogNormal: _normal, Uniform: _uniform,
    Categorical: _categorical, OneHotCategorical: _categorical, Bernoulli: _bernoulli, Exponential: _exponential,
    HalfNormal: _half_normal, Laplace: _laplace, Gamma: _gamma, Dirichlet: _dirichlet, Beta: _beta, Poisson: _poisson,
}.items():
    register_kl(_kind, _kind)(_divergence)
