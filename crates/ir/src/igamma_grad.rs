//! Derivatives of the regularised lower incomplete gamma function P(a, x), as scalar `f64` functions.
//! Takes an order `n`, a shape parameter `a` and a point `x`. Returns the n-th derivative by `a` of P, or of its density
//! x^(a-1) exp(-x) / Γ(a). P itself is in `igamma.rs`.

use crate::igamma::{GAUSS, LARGE, density, igamma};
use crate::special::{digamma, polygamma};

/// Highest order of a derivative. Beyond it the binomial coefficients lose precision.
const MAX: usize = 20;

/// The integrand is neglected where it has fallen by `exp(-FALL)`.
const FALL: f64 = 45.0;

/// The derivatives of ln(x^a / Γ(a + 1)) by `a`, of orders 1 to `MAX`.
struct Slopes([f64; MAX]);

impl Slopes {
    /// Computes the derivatives. `first` is the first, ln(x) - ψ(a + 1); the others are minus the polygamma
    /// functions at `a + 1`.
    fn new(n: usize, first: f64, a: f64) -> Slopes {
        let mut slopes = [0.0; MAX];
        slopes[0] = first;
        for (k, slope) in slopes.iter_mut().enumerate().take(n).skip(1) {
            *slope = -polygamma(k as u32, a + 1.0);
        }
        Slopes(slopes)
    }

    /// Advances the derivatives to `a + 1`, by the recurrence of the polygamma functions: ψ(z + 1) = ψ(z) + 1/z and
    /// its derivatives.
    fn advance(&mut self, n: usize, a: f64) {
        let mut change = -1.0 / (a + 1.0);
        for (k, slope) in (1..).zip(self.0.iter_mut().take(n)) {
            *slope += change;
            change *= -f64::from(k) / (a + 1.0);
        }
    }

    /// Returns the n-th and (n-1)-th derivative of x^a / Γ(a + 1) by `a`, divided by the function itself. The first
    /// slope is increased by `more`. These are the complete Bell polynomials of the slopes.
    fn ratios(&self, n: usize, more: f64) -> (f64, f64) {
        let mut bell = [0.0; MAX + 1];
        bell[0] = 1.0;
        for m in 0..n {
            let mut binomial = 1.0;
            for i in 0..=m {
                let slope = if i == 0 { self.0[0] + more } else { self.0[i] };
                bell[m + 1] += binomial * bell[m - i] * slope;
                binomial *= (m - i) as f64 / (i + 1) as f64;
            }
        }
        (bell[n], if n == 0 { 0.0 } else { bell[n - 1] })
    }

    /// Returns the n-th derivative of x^a / Γ(a), divided by x^a / Γ(a + 1). With 1 / Γ(a) = a / Γ(a + 1) it
    /// is accurate near a = 0.
    fn of_density(&self, n: usize, a: f64, more: f64) -> f64 {
        let (ratio, before) = self.ratios(n, more);
        a * ratio + n as f64 * before
    }
}

/// Returns ln(x) - ψ(a + 1), without cancellation for large `a`.
fn first_slope(a: f64, x: f64) -> f64 {
    if a < LARGE {
        return x.ln() - digamma(a + 1.0);
    }
    let (ratio, z) = (x / a, 1.0 / (a * a));
    let log = if (0.6..=1.6).contains(&ratio) { ((x - a) / a).ln_1p() } else { ratio.ln() };
    // ln(a) - ψ(a + 1) by the asymptotic series of ψ.
    let series = 1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0))));
    log - 0.5 / a + z * series
}

/// Returns `exp(u) - 1 - u`, accurate near 0.
fn excess(u: f64) -> f64 {
    if u.abs() > 0.5 {
        return u.exp_m1() - u;
    }
    let (mut term, mut sum) = (u, 0.0);
    for k in 2..20 {
        term *= u / f64::from(k);
        sum += term;
    }
    sum
}

/// Computes the n-th derivative of P by the terms of its power series (DLMF 8.11.4). For n = 1 all terms are
/// negative where ln(x) < ψ(a + 1).
fn by_series(n: usize, a: f64, x: f64) -> f64 {
    let mut slopes = Slopes::new(n, first_slope(a, x), a);
    let (mut factor, mut sum, mut size, mut shape) = (density(a, x), 0.0, 0.0, a);
    for _ in 0..2000 {
        let term = factor * slopes.ratios(n, 0.0).0;
        sum += term;
        size += term.abs();
        slopes.advance(n, shape);
        shape += 1.0;
        factor *= x / shape;
        // The ratios of later terms grow as powers of a logarithm, much slower than the factors fall.
        if factor < size * 1e-19 || factor == 0.0 {
            break;
        }
    }
    sum
}

/// Computes the n-th derivative, by `a`, of the integral of the density over t, by quadrature over
/// `u = ln(t / x)`. The integral is from `x` to infinity if `side` is 1, and from 0 to `x` if it is -1.
fn by_quadrature(n: usize, a: f64, x: f64, side: f64) -> f64 {
    let slopes = Slopes::new(n, first_slope(a, x), a);
    // Minus the logarithm of t^a exp(-t), from t = x on. It is convex, so Newton's method converges from above.
    let fall = |u: f64| (x - a) * u + x * excess(u);
    let mut width = 0.1 * FALL / (a + x);
    while fall(side * width) < FALL {
        width *= 2.0;
    }
    for _ in 0..4 {
        let slope = side * ((x - a) + x * (side * width).exp_m1());
        width -= (fall(side * width) - FALL) / slope;
    }
    const PANELS: u32 = 12;
    let half = width / f64::from(2 * PANELS);
    let mut sum = 0.0;
    for panel in 0..PANELS {
        let middle = half * f64::from(2 * panel + 1);
        for (node, weight) in GAUSS {
            for distance in [middle - half * node, middle + half * node] {
                let u = side * distance;
                sum += weight * (-fall(u)).exp() * slopes.of_density(n, a, u);
            }
        }
    }
    sum * half * density(a, x)
}

/// Converts an order given as a float. Returns `None` if that order is not supported.
fn order(n: f64) -> Option<usize> {
    let n = n.round_ties_even();
    (0.0..=MAX as f64).contains(&n).then_some(n as usize)
}

/// Returns the n-th derivative of P(a, x) by `a`; NaN for negative arguments, for orders below 0 and above
/// 20.
pub(crate) fn igamma_grad_a(n: f64, a: f64, x: f64) -> f64 {
    let Some(n) = order(n) else { return f64::NAN };
    if n == 0 {
        return igamma(a, x);
    }
    if !(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) || (a.is_infinite() && x.is_infinite()) {
        return f64::NAN;
    }
    if x == 0.0 || x.is_infinite() || a.is_infinite() || density(a, x) == 0.0 {
        return 0.0;
    }
    // For n = 1 the integrand has one sign on each side, so there is no cancellation.
    if first_slope(a, x) > 0.0 {
        -by_quadrature(n, a, x, 1.0)
    } else if a >= LARGE && x > 0.6 * a {
        by_quadrature(n, a, x, -1.0)
    } else {
        by_series(n, a, x)
    }
}

/// Returns the n-th derivative of x^(a-1) exp(-x) / Γ(a) by `a`, or its limit at x = 0, where `a` may also be
/// negative. NaN for other negative arguments, and for orders below 0 and above 20.
pub(crate) fn gamma_density(n: f64, a: f64, x: f64) -> f64 {
    let Some(n) = order(n) else { return f64::NAN };
    if x == 0.0 {
        return at_zero(n, a);
    }
    if !(a >= 0.0 && x >= 0.0) || (a.is_infinite() && x.is_infinite()) {
        return f64::NAN;
    }
    if x.is_infinite() || a.is_infinite() {
        return 0.0;
    }
    // For small `a` and `x` the power x^a may underflow where x^(a-1) does not.
    let over_x = if a < 1.5 && x < 1.0 {
        x.powf(a - 1.0) * (-x).exp() / libm::tgamma(a + 1.0)
    } else {
        density(a, x) / x
    };
    match over_x {
        0.0 => 0.0,
        _ => over_x * Slopes::new(n, first_slope(a, x), a).of_density(n, a, 0.0),
    }
}

/// Returns the limit at x = 0 of the n-th derivative by `a` of x^(a-1) / Γ(a), which is x^(a-1) ln(x)^n /
/// Γ(a) up to terms of lower order.
fn at_zero(n: usize, a: f64) -> f64 {
    let odd = |n: usize| if n % 2 == 1 { -1.0 } else { 1.0 };
    if a.is_nan() {
        f64::NAN
    } else if a > 1.0 {
        0.0
    } else if a == 1.0 && n == 0 {
        1.0
    } else if a <= 0.0 && a == a.floor() {
        // 1 / Γ is 0 here, and its derivative has the sign of (-1)^a.
        if n == 0 { 0.0 } else { odd(n - 1) * if a % 2.0 == 0.0 { 1.0 } else { -1.0 } * f64::INFINITY }
    } else {
        odd(n) * libm::tgamma(a).signum() * f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // n, a, x, the n-th derivative of P(a, x) by a and that of the density; by differences with 60 digits.
    #[rustfmt::skip]
    const VALUES: [(f64, f64, f64, f64, f64); 55] = [
        (1.0, 1e-09, 0.3, -0.9056766519998674, 2.469394065843639),
        (1.0, 1e-09, 2.0, -0.04890051086083357, 0.06766764179023126),
        (1.0, 0.1, 1e-20, -0.4796122351995863, -3.744985345884086e+18),
        (1.0, 0.1, 0.3, -0.9219871619934011, 2.1216928410136804),
        (1.0, 0.5, 0.55, -0.6168278429153676, 0.5994162124780705),
        (1.0, 0.5, 0.9, -0.4326559371352823, 0.4492824252578655),
        (1.0, 0.5, 30.0, -5.118991143389857e-14, 5.171017643987771e-14),
        (1.0, 1.0, 1e-08, -1.8843464987333507e-07, -17.843464900616183),
        (1.0, 1.0, 0.5, -0.48945757610237844, -0.0703160186737824),
        (1.0, 1.0, 0.9, -0.452025926800863, 0.1918419874748634),
        (1.0, 1.0, 1.6, -0.2977382627626941, 0.21142992906515432),
        (1.0, 1.0, 700.0, -7.029675805529604e-304, 7.02826928676337e-304),
        (1.0, 2.0, 2.4, -0.2587846625846317, 0.09855984590076954),
        (1.0, 2.0, 2.6, -0.2385669752167553, 0.10287562653213388),
        (1.0, 5.0, 0.001, -7.172271294017751e-17, -3.5022763666670986e-13),
        (1.0, 5.0, 5.4, -0.17189910067875547, 0.028848566691007393),
        (1.0, 5.0, 5.6, -0.16571649261499927, 0.03282829404148908),
        (1.0, 5.0, 40.0, -1.109352325918427e-12, 9.891355008523274e-13),
        (1.0, 10.0, 3.0, -0.0014156364605752093, -0.0031140599148672798),
        (1.0, 10.0, 25.0, -0.00022661830393258108, 0.0001411941864010446),
        (1.0, 19.9, 20.0, -0.08955857135501662, 0.002688544867587242),
        (1.0, 19.9, 20.5, -0.08769756108584835, 0.004716292812784996),
        (1.0, 20.0, 11.0, -0.006186333105580457, -0.00480839593754904),
        (1.0, 20.0, 12.5, -0.016790173622846728, -0.00945528967393377),
        (1.0, 20.0, 20.0, -0.08957920553912253, 0.0022393856712464495),
        (1.0, 20.0, 20.6, -0.08748644170253482, 0.004682047907617107),
        (1.0, 20.0, 90.0, -1.773386942820419e-19, 1.3915483739662565e-19),
        (1.0, 50.0, 35.0, -0.003950147111210531, -0.0016398462611446664),
        (1.0, 50.0, 50.0, -0.05651312752336055, 0.0005651274883770383),
        (1.0, 50.0, 70.0, -0.001984018680936287, 0.0005818292865437283),
        (1.0, 100.0, 1.0, -1.8354743026556828e-158, -1.8133221878047196e-156),
        (1.0, 100.0, 99.0, -0.03992699317110421, -0.00020199004577770385),
        (1.0, 100.0, 130.0, -0.00081013002856229, 0.00019020523762216507),
        (1.0, 1000.0, 900.0, -6.245709035841566e-05, -6.90558759862388e-06),
        (1.0, 1000.0, 1000.0, -0.012616713994069625, 6.308356891868022e-06),
        (1.0, 1000.0, 1200.0, -2.416038611395438e-10, 4.037103617675402e-11),
        (1.0, 12345.678, 12345.0, -0.003590536653187038, -5.1772536021403895e-08),
        (1.0, 100000.0, 99000.0, -8.261000735968418e-06, -8.34027995395691e-08),
        (1.0, 100000.0, 100500.0, -0.0003620442428866456, 1.803017851152188e-06),
        (2.0, 1e-06, 0.3, -0.32401714213965627, -3.0954300013494587),
        (2.0, 0.1, 0.3, -0.013411920410931668, -3.780687443444545),
        (2.0, 0.5, 2.0, -0.18285354926300593, 0.11462418856658226),
        (2.0, 1.0, 1e-08, 3.544312404431211e-06, 316.7443087930152),
        (2.0, 2.0, 2.4, -0.04372130776321793, -0.09580053159463438),
        (2.0, 2.0, 2.6, -0.06022192309013089, -0.0697394230239688),
        (2.0, 5.0, 9.0, -0.027414625916775, 0.008647028679403975),
        (2.0, 20.0, 20.0, 1.880542141062385e-05, -0.004498208764435683),
        (2.0, 20.0, 26.0, -0.009715380681732102, 0.0010116898805218777),
        (2.0, 100.0, 99.0, 0.0004019477986632035, -0.0004016060353516287),
        (2.0, 1000.0, 1040.0, -0.0002225935261402428, 3.2118711148059456e-06),
        (3.0, 0.5, 0.4, 0.9003835105808451, 1.4792441233391376),
        (3.0, 2.0, 3.0, 0.06873990571095788, -0.08883998993255507),
        (3.0, 30.0, 28.0, 0.0020170861132289093, 0.00045851483767077653),
        (3.0, 30.0, 35.0, 0.00044402382441118395, -0.0004806332866813338),
        (4.0, 1.5, 2.0, 0.019718951378669386, 0.24983455992247408),
    ];

    fn close(name: &str, at: (f64, f64, f64), got: f64, want: f64, most: f64) {
        // For large arguments the rounding of the exponential's argument dominates.
        let error = if got == want { 0.0 } else { (got - want).abs() / want.abs() };
        let most = most + 4e-16 * want.abs().ln().abs();
        assert!(error < most, "{name}{at:?} is {got:e}, not {want:e}: error {error:e}");
    }

    #[test]
    fn values() {
        for (n, a, x, by_a, density) in VALUES {
            // From the second derivative on there are terms of both signs.
            let most = if n == 1.0 { 3e-14 } else { 3e-13 };
            close("igamma_grad_a", (n, a, x), igamma_grad_a(n, a, x), by_a, most);
            // The logarithm's derivative is near 0 for x near a.
            let plain = gamma_density(0.0, a, x);
            let got = gamma_density(n, a, x);
            let near = (got - density).abs() <= 1e-14 * plain;
            if !near {
                close("gamma_density", (n, a, x), got, density, most);
            }
        }
    }

    #[test]
    fn limits_and_arguments_outside_the_domain() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!(igamma_grad_a(0.0, 2.0, 3.0), igamma(2.0, 3.0));
        // Minus the exponential integral E₁.
        close("igamma_grad_a", (1.0, 0.0, 1.0), igamma_grad_a(1.0, 0.0, 1.0), -0.21938393439552029, 1e-14);
        for (a, x) in [(inf, 1.0), (1.0, inf), (1.0, 0.0), (2.5, 1e20), (1e20, 1.0)] {
            assert_eq!(igamma_grad_a(1.0, a, x), 0.0, "at {a}, {x}");
        }
        for (a, x) in [(0.0, 0.0), (-1.0, 1.0), (1.0, -1.0), (inf, inf), (nan, 1.0), (2.0, nan)] {
            assert!(igamma_grad_a(1.0, a, x).is_nan(), "at {a}, {x}");
        }
        assert!(igamma_grad_a(-1.0, 1.0, 1.0).is_nan() && igamma_grad_a(21.0, 1.0, 1.0).is_nan());
        let at_zero = [(0.0, 2.0, 0.0), (0.0, 1.0, 1.0), (0.0, 0.5, inf), (0.0, 0.0, 0.0), (0.0, -0.5, -inf)];
        let with_logarithms =
            [(1.0, 2.0, 0.0), (1.0, 1.0, -inf), (2.0, 0.5, inf), (1.0, 0.0, inf), (1.0, -1.0, -inf)];
        for (n, a, want) in at_zero.into_iter().chain(with_logarithms) {
            assert_eq!(gamma_density(n, a, 0.0), want, "order {n} at {a}");
        }
        assert_eq!((gamma_density(0.0, 1.0, inf), gamma_density(1.0, 19.0, 1e20)), (0.0, 0.0));
        assert!(gamma_density(0.0, -1.0, 1.0).is_nan() && gamma_density(0.0, 1.0, -1.0).is_nan());
    }
}
