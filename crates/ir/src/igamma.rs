//! The regularised incomplete gamma functions as scalar `f64` functions: P(a, x) and Q(a, x) = 1 - P(a, x).
//! Takes a shape parameter `a` and a point `x`; returns NaN if either is negative or NaN.
//! Uses the power series, the continued fraction or, for large `a` and `x` near it, quadrature of the density.

use std::f64::consts::PI;

/// Euler's constant.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// From this shape parameter on the density is computed by Stirling's series.
pub(crate) const LARGE: f64 = 20.0;

/// The zeta function at 2, 3, …
#[rustfmt::skip]
const ZETA: [f64; 50] = [
    1.6449340668482264, 1.2020569031595942, 1.0823232337111381, 1.03692775514337, 1.0173430619844492,
    1.008349277381923, 1.0040773561979444, 1.0020083928260821, 1.000994575127818, 1.0004941886041194,
    1.000246086553308, 1.0001227133475785, 1.0000612481350588, 1.000030588236307, 1.0000152822594086,
    1.0000076371976379, 1.000003817293265, 1.0000019082127165, 1.0000009539620338, 1.0000004769329869,
    1.0000002384505027, 1.000000119219926, 1.000000059608189, 1.0000000298035034, 1.0000000149015549,
    1.0000000074507118, 1.000000003725334, 1.0000000018626598, 1.0000000009313275, 1.0000000004656628,
    1.000000000232831, 1.0000000001164155, 1.0000000000582077, 1.0000000000291038, 1.000000000014552,
    1.000000000007276, 1.000000000003638, 1.000000000001819, 1.0000000000009095, 1.0000000000004547,
    1.0000000000002274, 1.0000000000001137, 1.0000000000000568, 1.0000000000000284, 1.0000000000000142,
    1.000000000000007, 1.0000000000000036, 1.0000000000000018, 1.0000000000000009, 1.0000000000000004,
];

/// Nodes and weights of Gauss's quadrature with 16 points on (-1, 1): those with positive nodes.
#[rustfmt::skip]
pub(crate) const GAUSS: [(f64, f64); 8] = [
    (0.09501250983763744, 0.1894506104550685),
    (0.2816035507792589, 0.18260341504492358),
    (0.45801677765722737, 0.16915651939500254),
    (0.6178762444026438, 0.14959598881657674),
    (0.755404408355003, 0.12462897125553388),
    (0.8656312023878318, 0.09515851168249279),
    (0.9445750230732326, 0.062253523938647894),
    (0.9894009349916499, 0.027152459411754096),
];

/// Returns `u - ln(1 + u)`, accurate near 0.
fn excess(u: f64) -> f64 {
    if !(-0.4..=0.6).contains(&u) {
        return u - u.ln_1p();
    }
    // With y = u / (2 + u) the logarithm is 2 (y + y³/3 + …), and u - 2y is uy.
    let y = u / (2.0 + u);
    let (square, mut power, mut sum) = (y * y, y, 0.0);
    for k in (3..40).step_by(2) {
        power *= square;
        sum += power / f64::from(k);
    }
    u * y - 2.0 * sum
}

/// Returns `ln Γ(1 + a)` for `|a| <= 1/2`, accurate near 0.
fn lgamma_1p(a: f64) -> f64 {
    let (mut power, mut sum) = (-a, -GAMMA * a);
    for (k, zeta) in (2..).zip(ZETA) {
        power *= -a;
        sum += power * zeta / f64::from(k);
    }
    sum
}

/// Returns `x^a exp(-x) / Γ(a + 1)`, for positive arguments.
pub(crate) fn density(a: f64, x: f64) -> f64 {
    if a < LARGE {
        // Multiplies by exp(-x/2) twice, because exp(-x) may underflow where the product does not. Where the power
        // overflows, exp(-x/2) is 0.
        let half = (-x / 2.0).exp();
        return if half == 0.0 { 0.0 } else { x.powf(a) * half / libm::tgamma(a + 1.0) * half };
    }
    // Far from `a`, use the ratio: its logarithm is more precise there than one computed from the distance to 1.
    let ratio = x / a;
    let excess = if (0.6..=1.6).contains(&ratio) { excess((x - a) / a) } else { ratio - 1.0 - ratio.ln() };
    stirling(a) / a * (-a * excess).exp()
}

/// Returns `a^a exp(-a) / Γ(a)`, for large `a`.
fn stirling(a: f64) -> f64 {
    let z = 1.0 / (a * a);
    let series = 1.0 / 12.0
        - z * (1.0 / 360.0
            - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (1.0 / 1188.0 - z * (691.0 / 360_360.0)))));
    (a / (2.0 * PI)).sqrt() * (-series / a).exp()
}

/// Computes P by the power series (DLMF 8.11.4).
fn by_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0, 1.0, a);
    for _ in 0..2000 {
        n += 1.0;
        term *= x / n;
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum * density(a, x)
}

/// Computes Q by Legendre's continued fraction (DLMF 8.9.2), evaluated forward.
fn by_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (f64::INFINITY, 1.0 / b);
    let mut product = d;
    for n in (1..2000).map(f64::from) {
        let over = n * (a - n);
        b += 2.0;
        d = 1.0 / (over * d + b);
        c = b + over / c;
        product *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    // The density has the factor 1 / Γ(a + 1).
    product * density(a, x) * a
}

/// Returns the smaller of P and Q for a large `a`. It is the integral of the density from `x` in the direction away
/// from the maximum, over `u = t / a - 1`.
fn by_quadrature(a: f64, x: f64) -> f64 {
    let start = (x - a) / a;
    let away = if x < a { -1.0 } else { 1.0 };
    // Within the distance `width` the density falls by exp(-40). The slope of its logarithm is `rate`. Below the maximum
    // the curvature of the logarithm is at least `a`. Above it, the curvature is at least a third of `a / (1 +
    // start)²` in the relevant range.
    let rate = a * start.abs() / (1.0 + start);
    let curvature = if away < 0.0 { a } else { a / ((1.0 + start) * (1.0 + start)) / 3.0 };
    let width = 80.0 / (rate + (rate * rate + 80.0 * curvature).sqrt());
    const PANELS: u32 = 8;
    let half = width / f64::from(2 * PANELS);
    let mut sum = 0.0;
    for panel in 0..PANELS {
        let middle = start + away * half * f64::from(2 * panel + 1);
        for (node, weight) in GAUSS {
            for u in [middle - half * node, middle + half * node] {
                if u > -1.0 {
                    sum += weight * (-a * excess(u)).exp() / (1.0 + u);
                }
            }
        }
    }
    sum * half * stirling(a)
}

/// Computes Q for `a <= 1` and `x` around or below 1, without cancellation (DLMF 8.7.1).
fn by_difference(a: f64, x: f64) -> f64 {
    let log_gamma = if a <= 0.5 { lgamma_1p(a) } else { libm::lgamma(1.0 + a) };
    let log = a * x.ln() - log_gamma;
    let (mut term, mut sum) = (1.0, 0.0);
    for k in (1..60).map(f64::from) {
        term *= -x / k;
        sum += term / (a + k);
        if term.abs() < 1e-18 {
            break;
        }
    }
    -log.exp_m1() - log.exp() * a * sum
}

/// Returns P and Q. The smaller has full relative precision.
fn p_and_q(a: f64, x: f64) -> (f64, f64) {
    let of_p = |p: f64| (p, 1.0 - p);
    let of_q = |q: f64| (1.0 - q, q);
    if !(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) || (a.is_infinite() && x.is_infinite()) {
        (f64::NAN, f64::NAN)
    } else if x == 0.0 || a.is_infinite() {
        (0.0, 1.0)
    } else if a == 0.0 || x.is_infinite() {
        (1.0, 0.0)
    } else if a >= LARGE && ((x - a) / a).abs() < 0.4 {
        let smaller = by_quadrature(a, x);
        if x < a { of_p(smaller) } else { of_q(smaller) }
    } else if a <= 1.0 && x < 1.5 {
        (by_series(a, x), by_difference(a, x))
    } else if x < a + 1.0 {
        of_p(by_series(a, x))
    } else {
        of_q(by_fraction(a, x))
    }
}

/// Returns P(a, x).
pub(crate) fn igamma(a: f64, x: f64) -> f64 {
    p_and_q(a, x).0
}

/// Returns Q(a, x).
pub(crate) fn igammac(a: f64, x: f64) -> f64 {
    p_and_q(a, x).1
}

#[cfg(test)]
mod tests {
    use super::*;

    // a, x, P(a, x), Q(a, x)
    #[rustfmt::skip]
    const VALUES: [(f64, f64, f64, f64); 55] = [
        (1e-12, 0.5, 0.9999999999994402, 5.597735947764542e-13),
        (1e-12, 3.0, 0.9999999999999869, 1.3048381094221783e-14),
        (1e-05, 1e-10, 0.9997755387602967, 0.00022446123970332708),
        (1e-05, 1.2, 0.9999984158972409, 1.584102759028411e-06),
        (0.1, 1e-20, 0.010511370061117775, 0.9894886299388822),
        (0.1, 0.3, 0.9083579897300342, 0.09164201026996573),
        (0.3, 1.4, 0.951838876607272, 0.04816112339272809),
        (0.5, 0.001, 0.03567059172967989, 0.9643294082703201),
        (0.5, 0.9, 0.8202875051210001, 0.17971249487899985),
        (0.5, 1.6, 0.9263617298796973, 0.07363827012030265),
        (0.5, 30.0, 0.9999999999999906, 9.485737571073848e-15),
        (0.9, 1.49, 0.8061620716944096, 0.1938379283055904),
        (1.0, 1e-08, 9.999999950000001e-09, 0.9999999900000001),
        (1.0, 2.0, 0.8646647167633873, 0.1353352832366127),
        (1.0, 700.0, 1.0, 9.85967654375977e-305),
        (1.5, 0.2, 0.05975750516063926, 0.9402424948393607),
        (2.0, 2.9, 0.7854094417800118, 0.2145905582199882),
        (2.0, 3.1, 0.815298270186413, 0.18470172981358698),
        (3.3, 20.0, 0.9999991527598284, 8.472401715630016e-07),
        (5.0, 0.001, 8.326391864211503e-18, 1.0),
        (5.0, 5.9, 0.7013352132383804, 0.29866478676161956),
        (5.0, 6.1, 0.7281057346810453, 0.27189426531895466),
        (10.0, 3.0, 0.0011024881301154798, 0.9988975118698845),
        (10.0, 25.0, 0.9997785233617512, 0.00022147663824878357),
        (19.9, 20.5, 0.5823067196053178, 0.4176932803946823),
        (19.9, 12.0, 0.022558911471554626, 0.9774410885284454),
        (19.9, 50.0, 0.9999995653444208, 4.346555792399051e-07),
        (20.0, 20.0, 0.52974273316076, 0.47025726683923996),
        (20.0, 12.5, 0.03059412892699658, 0.9694058710730035),
        (20.0, 27.9, 0.9503830382739977, 0.04961696172600229),
        (20.0, 28.1, 0.9539454959408978, 0.04605450405910219),
        (20.0, 11.0, 0.009289457968101052, 0.9907105420318989),
        (20.0, 90.0, 1.0, 1.1492512409480212e-19),
        (50.0, 35.0, 0.009845502476408542, 0.9901544975235914),
        (50.0, 50.5, 0.5468077767236315, 0.45319222327636854),
        (50.0, 69.0, 0.9929048288330842, 0.007095171166915786),
        (100.0, 1.0, 3.9812808189568546e-159, 1.0),
        (100.0, 80.0, 0.017108313035133115, 0.9828916869648668),
        (100.0, 99.0, 0.473304330399461, 0.526695669600539),
        (100.0, 130.0, 0.9972495916326934, 0.002750408367306526),
        (100.0, 300.0, 1.0, 1.4110215102111522e-41),
        (1000.0, 1000.0, 0.5042052441802155, 0.4957947558197845),
        (1000.0, 900.0, 0.0005499022657117829, 0.9994500977342882),
        (1000.0, 1200.0, 0.9999999987118394, 1.2881606086281433e-09),
        (1000.0, 500.0, 3.2982727970671e-86, 1.0),
        (12345.678, 12345.0, 0.4987624462267618, 0.5012375537732382),
        (100000.0, 99000.0, 0.0007574199211747679, 0.9992425800788253),
        (1000000.0, 1002000.0, 0.9771959041012301, 0.022804095898769864),
        (1000000.0, 995000.0, 2.749580359270071e-07, 0.9999997250419641),
        (1000000000.0, 1000000000.0, 0.5000042052208701, 0.4999957947791299),
        (1000000000.0, 1000100000.0, 0.9992170438380417, 0.0007829561619583269),
        (1000000000000.0, 999999000000.0, 0.15865525393141672, 0.8413447460685832),
        (1000000000000000.0, 1000000010000000.0, 0.6240851865771923, 0.3759148134228078),
        (20.1, 2.01e-05, 1.1934999321622612e-113, 1.0),
        (50.0, 5e-05, 2.920142569168462e-280, 1.0),
    ];

    #[test]
    fn values() {
        for (a, x, p, q) in VALUES {
            for (name, got, want) in [("P", igamma(a, x), p), ("Q", igammac(a, x), q)] {
                // For large arguments the rounding of the exponential's argument dominates.
                let most = 2e-14 + 4e-16 * want.ln().abs();
                let error = if got == want { 0.0 } else { (got - want).abs() / want };
                assert!(error < most, "{name}({a}, {x}) is {got:e}, not {want:e}: error {error:e}");
            }
        }
    }

    #[test]
    fn limits_and_arguments_outside_the_domain() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for (a, x, p) in [
            (0.0, 1.0, 1.0),
            (inf, 1.0, 0.0),
            (1.0, inf, 1.0),
            (1.0, 0.0, 0.0),
            (0.0, inf, 1.0),
            (19.0, 1e20, 1.0),
        ] {
            assert_eq!((igamma(a, x), igammac(a, x)), (p, 1.0 - p), "at {a}, {x}");
        }
        for (a, x) in [(0.0, 0.0), (-1.0, 1.0), (1.0, -1.0), (inf, inf), (nan, 1.0), (2.0, nan), (0.0, -1.0)]
        {
            assert!(igamma(a, x).is_nan() && igammac(a, x).is_nan(), "at {a}, {x}");
        }
    }
}
