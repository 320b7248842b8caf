"""How far one distribution is from another."""

import math

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
    """The Kullback-Leibler divergence of `p` from `q`, two distributions of one kind.

    >>> import gradus
    >>> from gradus.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0)).item()
    0.5
    """
    for (one, other), divergence in reversed(_REGISTERED.items()):
        if isinstance(p, one) and isinstance(q, other):
            return divergence(p, q)
    if isinstance(p, Independent) and isinstance(q, Independent):
        if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
            raise NotImplementedError("the divergence of draws taken along other axes is not known")
        return p._summed(kl_divergence(p.base_dist, q.base_dist))
    alike = all(isinstance(p, kind) == isinstance(q, kind) for kind in (LogNormal, OneHotCategorical))
    for kind, divergence in _TABLE.items():
        if alike and isinstance(p, kind) and isinstance(q, kind):
            return divergence(p, q)
    raise NotImplementedError(f"the divergence of {type(p).__name__} from {type(q).__name__} is not known")


#: What users have registered, by both classes.
_REGISTERED = {}


def register_kl(type_p, type_q):
    """A decorator: from now on a function gives the divergence of one kind of distribution from another.

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
    return _dirichlet(p._shares(), q._shares())


def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


_TABLE = {MultivariateNormal: _multivariate, Normal: _normal, Uniform: _uniform, Categorical: _categorical, Bernoulli: _bernoulli,
          Exponential: _exponential, HalfNormal: _half_normal, Laplace: _laplace, Gamma: _gamma, Dirichlet: _dirichlet, Beta: _beta,
          Poisson: _poisson}
