"""Distributions compared with PyTorch's: densities, distribution functions, moments, and samples."""

import re

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


def test_an_unregistered_divergence_is_an_error():
    d = gradus.distributions
    with pytest.raises(NotImplementedError, match="LogNormal"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.LogNormal(0.0, 1.0))


@needs_torch
def test_one_hot_categorical():
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


def test_means_of_poisson_draws():
    gradus.manual_seed(0)
    rate = gradus.tensor([0.0, 0.5, 9.9, 10.1, 1e6])
    draws = gradus.poisson(rate.expand(20000, 5))
    assert draws.dtype == gradus.float32 and draws[:, 0].max().item() == 0
    assert ((draws.double().mean(0) - rate) / (rate / 20000).sqrt().clamp(min=1e-9)).abs().max().item() < 4
    share = (draws == 0).double().mean(0)
    assert abs(share[1].item() - 0.6065) < 0.015  # exp(-0.5)
    with pytest.raises(RuntimeError, match="non-negative"):
        gradus.poisson(gradus.tensor([-1.0]))


def test_gamma_draws_have_gradients_of_the_concentration():
    """The derivative equals finite differences of the distribution function, which is 1 - exp(-x) sum(x^k / k!) for integer `a`."""
    d = gradus.distributions
    gradus.manual_seed(5)
    a = gradus.tensor([0.02, 0.7, 1.0, 3.0, 40.0, 2000.0], dtype=gradus.float64, requires_grad=True)
    draws = d.Gamma(a, 2.0).rsample((20000,))
    draws.mean(0).sum().backward()  # the mean is a / 2
    assert (a.grad - 0.5).abs().max().item() < 0.02
    a.grad = None
    (d.Gamma(a, 2.0).rsample((40000,)) ** 2).mean(0).sum().backward()  # the mean of the square is a (a + 1) / 4
    assert ((a.grad - (2 * a.detach() + 1) / 4) / a.grad).abs().max().item() < 0.06
    shares = d.Beta(a[1:4], a[2:5]).rsample((20000,))
    a.grad = None
    shares.mean(0).sum().backward()
    one, zero = a.detach()[1:4], a.detach()[2:5]
    expected = gradus.zeros(6, dtype=gradus.float64)
    expected[1:4] += zero / (one + zero) ** 2
    expected[2:5] -= one / (one + zero) ** 2
    assert (a.grad - expected).abs().max().item() < 0.01
    parts = d.Dirichlet(a[1:4]).rsample((3,))
    assert parts.requires_grad and (parts.sum(-1) - 1).abs().max().item() < 1e-9


@needs_torch
def test_derivatives_of_gamma_draws():
    from gradus.distributions.counted import _draw_derivative

    # Seeded, because PyTorch's derivative has an error of 0.4 % at rare draws (a = 0.01, x = 4.05).
    torch.manual_seed(1)
    a = torch.tensor([0.01, 0.3, 1.0, 1.7, 8.0, 60.0, 900.0, 5e3, 1e6], dtype=torch.float64)
    x = torch.distributions.Gamma(a, 1.0).sample((200,)).clamp(min=1e-290)
    found = _draw_derivative(gradus.tensor(a.numpy()).expand(200, 9), gradus.tensor(x.numpy()))
    below, step = torch.special.gammainc, 1e-4 * a
    slope = (below(a - step, x) - below(a + step, x)) / (2 * step) / torch.distributions.Gamma(a, 1.0).log_prob(x).exp()
    assert ((torch.tensor(found.numpy()) / slope - 1).abs().quantile(0.9, 0)[:7] < 1e-5).all()  # finite differences are not accurate beyond this
    assert ((torch.tensor(found.numpy()) / torch._standard_gamma_grad(a.expand(200, 9), x) - 1).abs() < 1e-3).all()


@needs_torch
def test_distributions_made_of_others():
    found = []
    for t in (gradus, torch):
        d = t.distributions
        m = t.tensor([0.3, -0.5], dtype=t.float64, requires_grad=True)
        s, w = t.tensor([0.7, 1.3], dtype=t.float64), t.tensor([[0.1, 0.9], [0.4, 0.6]], dtype=t.float64)
        x = t.tensor([[0.2, -0.9], [0.5, 0.1]], dtype=t.float64)
        squashed = d.TransformedDistribution(d.Normal(m, s), [d.TanhTransform(cache_size=1)])
        squashed.log_prob(x).sum().backward()
        draw = squashed.rsample((3,))
        at_ends = d.TransformedDistribution(d.Normal(m + 40, s), [d.TanhTransform(cache_size=1)])
        assert bool(at_ends.log_prob(at_ends.rsample()).isfinite().all())  # the inverse is cached, so rounding does not lose it
        whole = d.TransformedDistribution(d.Independent(d.Normal(m, s), 1), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()])
        grown = d.ComposeTransform([d.AffineTransform(0.5, w[0]), d.ExpTransform()])
        mixed = d.MixtureSameFamily(d.Categorical(w), d.Normal(t.stack([m, m + 1]), t.stack([s, s])))
        points = d.MixtureSameFamily(d.Categorical(logits=w[0]), d.Independent(d.Normal(t.stack([m, m + 1]), t.stack([s, s])), 1))
        shapes = [draw.shape, whole.rsample((3,)).shape, mixed.sample((5,)).shape, points.sample((5, 6)).shape, points.sample().shape]
        found.append([squashed.log_prob(x), squashed.cdf(x), squashed.icdf(x.abs()), m.grad, whole.log_prob(x.abs()),
                      d.TransformedDistribution(d.Normal(m, s), grown).log_prob(x.abs()), mixed.mean, mixed.variance, mixed.log_prob(x),
                      mixed.cdf(x), points.mean, points.variance, points.log_prob(x), t.tensor([len(s) for s in shapes])])
        assert draw.requires_grad and [tuple(s) for s in shapes] == [(3, 2), (3, 2), (5, 2), (5, 6, 2), (2,)]
    same(*found, rtol=1e-9)


#: The arguments of each distribution, and points at which its density is compared.
WIDER = {
    "StudentT(r + 2, m, r)": [0.3, 1.2], "InverseGamma(r + 2, r)": [0.3, 1.2], "Weibull(r, r + 0.5)": [0.3, 1.2], "Pareto(r, r + 2.5)": [1.5, 2.2],
    "HalfCauchy(r)": [0.3, 1.2], "Binomial(5, probs=r / 3)": [2.0, 5.0], "Binomial(t.tensor([4.0, 4.0]), logits=m)": [0.0, 3.0],
    "NegativeBinomial(r * 3, probs=r / 3)": [2.0, 0.0], "NegativeBinomial(2, logits=m)": [2.0, 7.0], "Geometric(r / 3)": [0.0, 3.0], "Geometric(logits=m)": [1.0, 3.0],
    "Multinomial(4, probs=r)": [[1.0, 3.0], [4.0, 0.0]], "Multinomial(3, logits=m)": [[0.0, 3.0], [2.0, 1.0]],
    "RelaxedBernoulli(t.tensor(0.7), probs=r / 3)": [0.3, 0.9], "RelaxedBernoulli(t.tensor(0.4), logits=m)": [0.2, 0.6],
    "RelaxedOneHotCategorical(t.tensor(0.7), logits=r)": [[0.3, 0.7], [0.1, 0.9]], "OneHotCategoricalStraightThrough(probs=r)": [[0.0, 1.0], [1.0, 0.0]],
}


def answer(made, ask, x):
    """Returns a property of a distribution, or `None` if it is not implemented."""
    try:
        value = getattr(made, ask)
        return value() if ask == "entropy" else value(x.clamp(0.1, 0.9) if ask == "icdf" else x) if ask in ("cdf", "icdf") else value
    except (NotImplementedError, AttributeError):
        return None


@needs_torch
@pytest.mark.parametrize("text", WIDER)
def test_wider_distributions(text):
    found = []
    for t in (gradus, torch):
        given = parameters(t)
        made = eval(f"d.{text}", {"d": t.distributions, "t": t, **given})
        x = t.tensor(WIDER[text], dtype=t.float64)
        values = [made.log_prob(x), made.expand((2, *made.batch_shape)).log_prob(x), t.tensor(made.sample((4, 3)).shape)]
        if re.search(r"\br\b", text):
            values[0].sum().backward()
            values.append(given["r"].grad)
        found.append(values + [answer(made, ask, x) for ask in ("mean", "variance", "mode", "entropy", "cdf", "icdf")])
    ours, theirs = found
    if "InverseGamma" in text:  # of which PyTorch knows shares too
        theirs[8] = None
    same([a for a, b in zip(ours, theirs) if b is not None], theirs, rtol=1e-6)


@pytest.mark.parametrize("text", ["StudentT(r + 6, 1.0, 2.0)", "InverseGamma(r + 6, 2.0)", "Weibull(2.0, r + 1)", "Pareto(1.0, r + 6)", "Binomial(5, r / 3)", "Binomial(1000, r / 3)",
                                  "NegativeBinomial(r * 4, 0.4)", "Geometric(r / 3)", "Multinomial(6, r)"])
def test_draws_of_wider_distributions(text):
    gradus.manual_seed(4)
    r = gradus.tensor([0.3, 2.5], dtype=gradus.float64)
    made = eval(f"d.{text}", {"d": gradus.distributions, "r": r})
    draws, n = made.sample((40000,)), 40000
    assert bool(made.support.check(draws).all())
    assert ((draws.mean(0) - made.mean) / (made.variance / n).sqrt()).abs().max().item() < 4
    assert ((draws.var(0) - made.variance) / made.variance).abs().max().item() < 0.12


def test_relaxed_categorical_draws_have_gradients():
    gradus.manual_seed(5)
    logits = gradus.tensor([0.5, -1.0, 1.0], requires_grad=True)
    for made in (gradus.distributions.RelaxedOneHotCategorical(gradus.tensor(0.3), logits=logits),
                 gradus.distributions.OneHotCategoricalStraightThrough(logits=logits)):
        draws = made.rsample((20000,))
        assert (draws.sum(-1) - 1).abs().max().item() < 1e-4
        assert (draws.argmax(-1) == 0).float().mean().item() == pytest.approx(logits.softmax(-1)[0].item(), abs=0.015)
        logits.grad = None
        draws[:, 0].mean().backward()
        assert logits.grad[0].item() > 0.1 and logits.grad[2].item() < -0.05


@needs_torch
def test_softplus_transform():
    found = []
    for t in (gradus, torch):
        d, x = t.distributions, t.tensor([0.05, 0.7, 3.0], dtype=t.float64)
        positive = d.TransformedDistribution(d.Normal(t.tensor(0.2, dtype=t.float64), 1.5), d.SoftplusTransform())
        found.append([positive.log_prob(x), d.SoftplusTransform().inv(x), positive.cdf(x)])
    same(*found)


@needs_torch
def test_divergence_of_subclasses():
    found = []
    for t in (gradus, torch):
        d = t.distributions
        known = d.kl._KL_REGISTRY if t is torch else d.divergence._REGISTERED
        before = dict(known)

        class Own(d.Normal):
            pass

        class Other(d.Normal):
            pass

        try:
            d.register_kl(d.Distribution, d.Distribution)(lambda p, q: t.tensor(-1.0))
            d.register_kl(Own, d.Normal)(lambda p, q: t.tensor(-2.0))
            pairs = [(d.Normal(1.0, 1.0), d.Normal(0.0, 1.0)), (Own(1.0, 1.0), d.Normal(0.0, 1.0)), (Other(1.0, 1.0), Own(0.0, 1.0)),
                     (d.Cauchy(0.0, 1.0), d.Normal(0.0, 1.0)), (d.Normal(0.0, 1.0), d.LogNormal(0.0, 1.0)),
                     (d.LogNormal(0.0, 1.0), d.LogNormal(2.0, 1.0))]
            values = [d.kl_divergence(p, q) for p, q in pairs]
            d.register_kl(d.Normal, Own)(lambda p, q: t.tensor(-3.0))
            with pytest.warns(RuntimeWarning, match=r"Please register_kl\(Own, Own\)"):
                values.append(d.kl_divergence(Own(0.0, 1.0), Own(0.0, 1.0)))
            found.append(values)
        finally:
            known.clear()
            known.update(before)
            getattr(d.kl, "_KL_MEMOIZE", {}).clear() if t is torch else None
    same(*found, rtol=1e-6)


@needs_torch
def test_probabilities_of_endless_trials_are_refused():
    for t in (gradus, torch):
        d = t.distributions
        for make in (lambda: d.NegativeBinomial(2.0, probs=1.0), lambda: d.Geometric(0.0), lambda: d.Geometric(1.5)):
            with pytest.raises(ValueError, match="Expected parameter probs"):
                make()
        assert d.Geometric(1.0).mean.item() == 0 and d.NegativeBinomial(2.0, probs=0.0).mean.item() == pytest.approx(0, abs=1e-6)


@needs_torch
def test_expanded_distributions_keep_their_class():
    found = []
    for t in (gradus, torch):
        d, half = t.distributions, t.tensor(0.5)
        bit = d.RelaxedBernoulli(half, probs=t.tensor(0.25)).expand((3,))
        choice = d.RelaxedOneHotCategorical(half, probs=t.tensor([0.25, 0.75])).expand((3,))
        assert isinstance(bit, d.RelaxedBernoulli) and isinstance(choice, d.RelaxedOneHotCategorical)
        again = d.TransformedDistribution(d.Normal(0.0, 1.0), d.ExpTransform()).expand((2, 1)).expand((2, 3))
        assert tuple(again.batch_shape) == (2, 3) and tuple(choice.batch_shape) == (3,) and tuple(choice.event_shape) == (2,)
        found.append([x for soft in (bit, choice) for x in (soft.temperature, soft.probs, soft.logits)]
                     + [bit.log_prob(t.tensor([0.2, 0.5, 0.9])), again.log_prob(t.tensor(2.0))])
    same(*found, rtol=1e-6)
