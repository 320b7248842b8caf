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


COUNTED = ["Gamma(r, r + 0.5)", "Chi2(r)", "Beta(r, r + 0.5)", "Dirichlet(c)", "Poisson(r)"]


@needs_torch
@pytest.mark.parametrize("text", COUNTED)
def test_counts_and_shares(text):
    found = []
    for t in (gradus, torch):
        given = {**parameters(t), "c": t.tensor([[0.5, 2.0, 3.0], [0.2, 0.3, 0.4]], dtype=t.float64)}
        made = eval(f"d.{text}", {"d": t.distributions, **given})
        x = {"Beta": [0.3, 0.8], "Poisson": [2.0, 0.0], "Dirichlet": [0.2, 0.5, 0.3]}.get(text.split("(")[0], [0.3, 1.2])
        x = t.tensor(x, dtype=t.float64)
        values = [made.log_prob(x), made.mean, made.variance, made.mode, made.expand((3, 2)).log_prob(x)]
        values += [] if "Poisson" in text else [made.entropy()]
        if "c" not in text:
            values[0].sum().backward()
            values.append(given["r"].grad)
        found.append([*values, t.tensor(made.sample((4,)).shape)])
        with pytest.raises(ValueError, match="within the support"):
            made.log_prob(x - 5)
    same(*found, rtol=1e-6)


@pytest.mark.parametrize("text", ["Gamma(r, 2.0)", "Gamma(r * 8, 2.0)", "Chi2(r)", "Beta(r, 1.5)", "Dirichlet(r)", "Poisson(r)", "Poisson(r * 40)"])
def test_draws_have_the_moments(text):
    gradus.manual_seed(2)
    made = eval(f"d.{text}", {"d": gradus.distributions, "r": gradus.tensor([0.3, 2.5], dtype=gradus.float64)})
    draws, n = made.sample((40000,)), 40000
    assert bool(made.support.check(draws).all())
    away = (draws.mean(0) - made.mean) / (made.variance / n).sqrt()
    assert away.abs().max().item() < 4
    assert ((draws.var(0) - made.variance) / made.variance).abs().max().item() < 0.06


@needs_torch
@pytest.mark.parametrize("text", ["Gamma(r, 2 * r), Gamma(r + 1, r)", "Beta(r, 2 * r), Beta(r + 1, r)", "Poisson(r), Poisson(r * 3)",
                                  "Dirichlet(r), Dirichlet(r * 2 + 1)"])
def test_divergences_of_counts_and_shares(text):
    same(*(t.distributions.kl_divergence(*eval(text, {**vars(t.distributions), **parameters(t)})) for t in (gradus, torch)), rtol=1e-6)


def test_rates_of_poisson_draws():
    gradus.manual_seed(0)
    rate = gradus.tensor([0.0, 0.5, 9.9, 10.1, 1e6])
    draws = gradus.poisson(rate.expand(20000, 5))
    assert draws.dtype == gradus.float32 and draws[:, 0].max().item() == 0
    assert ((draws.double().mean(0) - rate) / (rate / 20000).sqrt().clamp(min=1e-9)).abs().max().item() < 4
    share = (draws == 0).double().mean(0)
    assert abs(share[1].item() - 0.6065) < 0.015  # exp(-0.5)
    with pytest.raises(RuntimeError, match="non-negative"):
        gradus.poisson(gradus.tensor([-1.0]))
