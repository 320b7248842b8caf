"""Distributions beside PyTorch's: densities, shares, moments, and what draws look like."""

import pytest

import gradus
from oracle import needs_torch, same, torch

MADE = ["Exponential(r)", "Laplace(m, r)", "Gumbel(m, r)", "Cauchy(m, r)", "LogNormal(m, r)", "HalfNormal(r)"]


def parameters(t):
    return {"m": t.tensor([0.5, -1.0], dtype=t.float64), "r": t.tensor([0.7, 2.0], dtype=t.float64).requires_grad_()}


@needs_torch
@pytest.mark.parametrize("text", MADE)
def test_densities_and_moments(text):
    found = []
    for t in (gradus, torch):
        given = parameters(t)
        made = eval(f"d.{text}", {"d": t.distributions, **given})
        x, p = t.tensor([[0.3, 1.2], [2.5, 0.8]], dtype=t.float64), t.tensor([0.2, 0.9], dtype=t.float64)
        values = [made.log_prob(x), made.cdf(x), made.icdf(p), made.entropy(), made.mean, made.variance, made.stddev, made.mode]
        values[0].sum().backward()
        grown = made.expand((3, 2))
        found.append([*values, given["r"].grad, grown.log_prob(x[0]), t.tensor(grown.rsample((4,)).shape)])
    same(*found, rtol=1e-6)


@pytest.mark.parametrize("text", [text for text in MADE if "Cauchy" not in text])
def test_draws(text):
    gradus.manual_seed(1)
    given = parameters(gradus)
    made = eval(f"d.{text}", {"d": gradus.distributions, **given})
    draws = made.rsample((40000,))
    assert bool(made.support.check(draws.detach()).all())
    for value in (1.0, 2.0):
        share = (draws <= value).double().mean(0) - made.cdf(gradus.tensor(value, dtype=gradus.float64))
        assert share.abs().max().item() < 0.012
    draws.mean().backward()
    assert given["r"].grad.abs().min().item() > 0


@needs_torch
@pytest.mark.parametrize("text", ["Exponential(r), Exponential(r * 3)", "Laplace(m, r), Laplace(m + 1, r * 2)", "HalfNormal(r), HalfNormal(r * 2)",
                                  "LogNormal(m, r), LogNormal(m + 1, r * 2)"])
def test_divergences(text):
    same(*(t.distributions.kl_divergence(*eval(text, {**vars(t.distributions), **parameters(t)})) for t in (gradus, torch)))


def test_a_divergence_of_unlike_distributions_is_not_known():
    d = gradus.distributions
    with pytest.raises(NotImplementedError, match="LogNormal"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.LogNormal(0.0, 1.0))


@needs_torch
def test_classes_as_ones_among_zeros():
    found = []
    for t in (gradus, torch):
        made = t.distributions.OneHotCategorical(logits=t.tensor([[0.5, 1.0, -1.0], [0.0, 2.0, 0.0]]))
        x = t.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        assert tuple(made.sample((5,)).shape) == (5, 2, 3) and made.sample((5,)).sum(-1).min().item() == 1
        found.append([made.log_prob(x), made.entropy(), made.mean, made.variance, made.mode, made.enumerate_support()])
        with pytest.raises(ValueError):
            made.log_prob(t.tensor([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]))
    same(*found, rtol=1e-6)
