//! Special functions as scalar `f64` functions: the definition of the ops of the same names.
//!
//! These are references. They are accurate to a few units in the last place over the entire domain, defined at
//! poles and infinities, and not optimised for speed. The error and gamma functions themselves come from `libm`,
//! whose accuracy the tests of this crate check. Rounding to even and cube roots come from the standard library.
//!
//! Errors are relative to the value. Near zeros on the negative axis, which [`lgamma`], [`digamma`] and
//! [`polygamma`]s of even order have, they are relative to the terms that cancel there.

use std::f64::consts::{E, FRAC_1_SQRT_2, LN_2, PI};

/// The Bernoulli numbers B2, B4, ... B20.
#[rustfmt::skip]
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0,
    -3617.0 / 510.0, 43867.0 / 798.0, -174611.0 / 330.0,
];

/// The zero of digamma on the positive axis, and its rounding error.
const DIGAMMA_ROOT: (f64, f64) = (1.4616321449683622, 9.549995429965697e-17);

/// The rounding error of [`E`].
const E_LOW: f64 = 1.4456468917292502e-16;

/// Coefficients of the rational functions for the normal distribution's inverse: in the middle, in the tails, and far
/// out in the tails.
#[rustfmt::skip]
const QUANTILE: [[[f64; 8]; 2]; 3] = [
    [
        [3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
         45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227],
        [1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751,
         21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854],
    ],
    [
        [1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
         1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414],
        [1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851,
         0.14810397642748008, 0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-9],
    ],
    [
        [6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
         0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7],
        [1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615,
         0.0007868691311456133, 1.8463183175100548e-5, 1.421511758316446e-7, 2.0442631033899397e-15],
    ],
];

/// Returns the inverse of the error function: infinite at ±1, NaN beyond.
///
/// Uses Wichura's rational functions for the inverse of the normal distribution (algorithm AS 241, 1988). One
/// covers the middle. Two cover the tails, as functions of the square root of the tail's logarithm; `1 - |x|`
/// is exact there.
pub(crate) fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    if a == 1.0 {
        return x * f64::INFINITY;
    } else if a.is_nan() || a > 1.0 {
        return f64::NAN;
    } else if a <= 0.85 {
        // Multiply by `x` last, since it may be too small to be halved.
        return x * (ratio(&QUANTILE[0], 0.180625 - x * x / 4.0) * (FRAC_1_SQRT_2 / 2.0));
    }
    let root = (-((1.0 - a) / 2.0).ln()).sqrt();
    let y = if root <= 5.0 { ratio(&QUANTILE[1], root - 1.6) } else { ratio(&QUANTILE[2], root - 5.0) };
    (y * FRAC_1_SQRT_2).copysign(x)
}

/// Returns the quotient of two polynomials.
fn ratio([over, under]: &[[f64; 8]; 2], x: f64) -> f64 {
    let value = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    value(over) / value(under)
}

/// Returns ln |Γ(x)|: +inf at the poles of Γ (0, -1, -2, ...) and at both infinities.
pub(crate) fn lgamma(x: f64) -> f64 {
    if x.is_infinite() || (x <= 0.0 && x == x.floor()) { f64::INFINITY } else { libm::lgamma(x) }
}

/// Returns the derivative of [`lgamma`]: -inf at 0, +inf at -0, NaN at its other poles (-1, -2, ...) and at
/// -inf.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        f64::INFINITY.copysign(-x)
    } else if x < 0.0 {
        digamma(1.0 - x) - pi_cot_pi(x)
    } else if x < 10.0 {
        digamma_from_root(x)
    } else {
        // The asymptotic series; each coefficient is B[2k] / 2k.
        let (z, mut power, mut series) = (1.0 / x / x, 1.0, 0.0);
        for (k, b) in (1..).zip(BERNOULLI) {
            power *= z;
            series += b / (2 * k) as f64 * power;
        }
        x.ln() - (0.5 / x + series)
    }
}

/// Returns `digamma` on (0, 10), computed relative to its zero r.
///
/// Let d = x - r. The value is the sum over n < N of d / ((x + n) (r + n)), plus the difference of two
/// asymptotic series, in u = 1 / (x + N) and v = 1 / (r + N). Every term has the factor d, which is taken out
/// explicitly. So nothing cancels, and the value is accurate however close x is to the zero.
fn digamma_from_root(x: f64) -> f64 {
    const SHIFT: f64 = 10.0;
    let r = DIGAMMA_ROOT.0;
    let d = (x - r) - DIGAMMA_ROOT.1;
    let (u, v) = (1.0 / (x + SHIFT), 1.0 / (r + SHIFT));
    // `ratio` is (u^2k - v^2k) / (u^2 - v^2).
    let (mut ratio, mut power, mut series) = (1.0, 1.0, 0.0);
    for (k, b) in (1..).zip(BERNOULLI) {
        series += b / (2 * k) as f64 * ratio;
        power *= v * v;
        ratio = u * u * ratio + power;
    }
    let mut sum = (d * v).ln_1p() + d * u * v * (0.5 + (u + v) * series);
    for n in (0..SHIFT as u32).rev().map(f64::from) {
        sum += d / (r + n) / (x + n);
    }
    sum
}

/// Returns π cot(πx): NaN at the integers.
fn pi_cot_pi(x: f64) -> f64 {
    let part = x - x.round();
    if part == 0.0 {
        f64::NAN
    } else if part.abs() < 1e-9 {
        1.0 / part
    } else if part.abs() <= 0.25 {
        PI / (PI * part).tan()
    } else {
        PI * (PI * (0.5 - part.abs())).tan().copysign(part)
    }
}

/// Returns the `n`-th derivative of [`digamma`]; for `n = 0`, digamma itself.
///
/// The poles are 0, -1, -2, ... For odd `n` the value at a pole is +inf, the limit from both sides. For even
/// `n` the limits differ, and the value is that of digamma: -inf at 0, +inf at -0, NaN at the negative
/// integers. At -inf the value is NaN.
///
/// The value is (-1)^(n+1) n! times the sum of (x + k)^-(n+1) over k >= 0. For x > 0 the sum is a Hurwitz zeta
/// function. For x < 0 it is composed of three: with f = x - floor(x), the positive x + k are f, f + 1, ..., and the
/// negative ones have the moduli 1 - f, 2 - f, ..., -x, a difference of two such functions.
pub(crate) fn polygamma(n: u32, x: f64) -> f64 {
    let sign = if n % 2 == 1 { 1.0 } else { -1.0 };
    if n == 0 {
        digamma(x)
    } else if x.is_nan() || x == f64::NEG_INFINITY {
        f64::NAN
    } else if x == 0.0 {
        if sign > 0.0 { f64::INFINITY } else { f64::INFINITY.copysign(-x) }
    } else if x > 0.0 {
        sign * factorial_zeta(n, x)
    } else if x == x.floor() {
        if sign > 0.0 { f64::INFINITY } else { f64::NAN }
    } else {
        let (above, below) = (x - x.floor(), x.ceil() - x);
        let (up, down) = (factorial_zeta(n, above), factorial_zeta(n, below));
        let main = if sign > 0.0 {
            up + down
        } else if above == below {
            0.0
        } else if up.min(down).is_infinite() {
            // If the terms of two poles both overflow, the nearer pole decides the sign.
            f64::INFINITY.copysign(below - above)
        } else {
            up - down
        };
        if main.is_infinite() { sign * main } else { sign * main - factorial_zeta(n, 1.0 - x) }
    }
}

/// Returns n! ζ(n + 1, x), for n >= 1 and x > 0.
fn factorial_zeta(n: u32, x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    let nf = f64::from(n);
    let zeta = scaled_zeta(nf + 1.0, x) / x;
    // The rest is n! x^-n. The power is computed in two halves, so that no factor overflows or underflows unless the
    // product does.
    let half = f64::from(n / 2);
    if n <= 22 {
        let factorial: f64 = (1..=n).map(f64::from).product(); // exact
        return factorial * x.powf(-half) * zeta * x.powf(half - nf);
    }
    // Stirling's series, n! = √(2πn) (n/e)^n exp(Σ B[2k] / (2k (2k-1) n^(2k-1))), with n / (e x) as the base of the
    // power. The rounding errors of the two quotients would be raised to the n-th power too, so they are added to the
    // exponent.
    let quotient = nf / x;
    if quotient.is_infinite() {
        return f64::INFINITY;
    }
    let base = quotient / E;
    let mut exponent = (-quotient).mul_add(x, nf);
    exponent += ((-base).mul_add(E, quotient) - base * E_LOW) / quotient * nf;
    let mut power = 1.0 / nf;
    for (k, b) in (1..).zip(BERNOULLI) {
        exponent += b / (2 * k * (2 * k - 1)) as f64 * power;
        power /= nf * nf;
    }
    let factor = (2.0 * PI * nf).sqrt() * exponent.exp();
    base.powf(half) * factor * zeta * base.powf(nf - half)
}

/// Returns x^s ζ(s, x), for s >= 2 and x > 0: the sum of (1 + k/x)^-s over k >= 0.
///
/// Terms are added until the rest is negligible, or until the Euler-Maclaurin formula gives the rest. The rest
/// is soon negligible if s is large compared to x. Both cases take at most about forty terms.
fn scaled_zeta(s: f64, x: f64) -> f64 {
    let (mut sum, mut k, mut term) = (0.0, 0.0, 1.0);
    while x + k < s + 10.0 {
        sum += term;
        // The integral from here on bounds the rest.
        if term * (x + k) < 1e-17 * (s - 1.0) * sum {
            return sum;
        }
        k += 1.0;
        // Computed as a power, the rounding error of the base would be raised to the s-th power too.
        term = (-s * (k / x).ln_1p()).exp();
    }
    let a = x + k;
    // `power` is s (s+1) ... (s+2j-2) / ((2j)! a^(2j-1)).
    let (mut power, mut series) = (s / a / 2.0, 0.0);
    for (j, b) in (1..).zip(BERNOULLI) {
        series += b * power;
        let even = f64::from(2 * j);
        power *= (s + even - 1.0) / a * ((s + even) / a) / ((even + 1.0) * (even + 2.0));
    }
    sum + term * (a / (s - 1.0) + 0.5 + series)
}

/// Returns ln(e^a + e^b), without overflow.
pub(crate) fn logaddexp(a: f64, b: f64) -> f64 {
    // Two equal infinities would give a difference of NaN.
    if a == b { a + LN_2 } else { a.max(b) + (-(a - b).abs()).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected values were computed to at least 50 digits (with mpmath, at the exact value of each argument) and
    // rounded to f64.

    // x, erf(x), erfc(x)
    #[rustfmt::skip]
    const ERF: [(f64, f64, f64); 24] = [
        (1e-300, 1.1283791670955126e-300, 1.0), (1e-10, 1.1283791670955126e-10, 0.999999999887162),
        (0.001, 0.0011283787909692365, 0.9988716212090307), (0.1, 0.1124629160182849, 0.887537083981715),
        (0.25, 0.27632639016823696, 0.7236736098317631), (0.5, 0.5204998778130465, 0.4795001221869535),
        (0.75, 0.7111556336535151, 0.28884436634648486), (0.84375, 0.7672256612323416, 0.23277433876765838),
        (1.0, 0.8427007929497149, 0.15729920705028513), (1.25, 0.9229001282564583, 0.07709987174354177),
        (2.0, 0.9953222650189527, 0.004677734981047266), (2.857, 0.9999466417399131, 5.3358260086846374e-5),
        (3.0, 0.9999779095030014, 2.209049699858544e-5), (4.0, 0.9999999845827421, 1.541725790028002e-8),
        (5.0, 0.9999999999984626, 1.537459794428035e-12), (6.0, 1.0, 2.1519736712498913e-17),
        (8.0, 1.0, 1.1224297172982926e-29), (12.5, 1.0, 6.231942781979911e-70),
        (20.0, 1.0, 5.395865611607901e-176), (26.0, 1.0, 5.663192408856143e-296),
        (-1e-5, -1.1283791670579e-5, 1.0000112837916706), (-0.3, -0.3286267594591274, 1.3286267594591274),
        (-0.9, -0.7969082124228322, 1.7969082124228322), (-1.7, -0.9837904585907745, 1.9837904585907746),
    ];

    // x, ln |Γ(x)|
    #[rustfmt::skip]
    const LGAMMA: [(f64, f64); 35] = [
        (1e-300, 690.7755278982137), (1e-8, 18.42068073818021), (0.001, 6.907178885383853),
        (0.1, 2.252712651734206), (0.5, 0.5723649429247001), (0.99999, 5.772238896093089e-6),
        (1.00001, -5.7720744027504825e-6), (1.25, -0.09827183642181316),
        (1.4616321449683622, -0.12148629053584961), (1.75, -0.08440112102048555),
        (1.999999, -4.227840125965854e-7), (2.000001, 4.2278465762452923e-7), (2.5, 0.2846828704729192),
        (5.0, 3.1780538303479458), (7.9, 8.32426586800881), (8.0, 8.525161361065415),
        (12.5, 18.734347511936445), (100.5, 361.4355404677776), (1000000.0, 12815504.569147611),
        (1e15, 3.3538776394910668e16), (1e100, 2.2925850929940456e102), (1e305, 7.012884533631839e307),
        (-1e-300, 690.7755278982137), (-1e-8, 18.42068074972452), (-0.1, 2.3689613327287886),
        (-0.5, 1.2655121234846454), (-0.999, 6.908179385717436), (-1.5, 0.860047015376481),
        (-2.2, 0.7907186736757122), (-2.9999, 7.418706529543074), (-3.5, -1.309006684993042),
        (-4.01, 1.4122086197494081), (-10.3, -14.457515440024208), (-25.5, -58.48311621003493),
        (-1000.5, -5914.437701116852),
    ];

    // x, y with erf(y) = x
    #[rustfmt::skip]
    const ERFINV: [(f64, f64); 31] = [
        (5e-324, 5e-324), (1e-310, 8.8622692545277e-311), (1e-300, 8.86226925452758e-301),
        (1e-20, 8.86226925452758e-21), (1e-9, 8.86226925452758e-10), (9.9e-5, 8.773646584494567e-5),
        (0.000101, 8.950891970977248e-5), (0.001, 0.0008862271574665521), (0.05, 0.044340387910005497),
        (0.1, 0.08885599049425769), (0.25, 0.2253120550121781), (0.3, 0.2724627147267543),
        (0.4, 0.37080715859355795), (0.4999, 0.4768250236254278), (0.5, 0.4769362762044699),
        (0.5001, 0.4770475405909757), (0.6, 0.5951160814499948), (0.75, 0.8134198475976185),
        (0.9, 1.1630871536766743), (0.99, 1.8213863677184494), (0.999, 2.3267537655135246),
        (0.9999, 2.75106390571208), (0.9999990463256836, 3.465505025803331),
        (0.9999999990686774, 4.328028275800946), (0.9999999999990905, 5.05125408524939),
        (0.9999999999999991, 5.686128441310391), (0.9999999999999998, 5.805018683193453),
        (0.9999999999999999, 5.8635847487551676), (-1e-5, -8.862269254759594e-6), (-0.2, -0.1791434546212917),
        (-0.998, -2.1851242191330043),
    ];

    // x, ψ(x)
    #[rustfmt::skip]
    const DIGAMMA: [(f64, f64); 45] = [
        (1e-308, -1e308), (1e-9, -1000000000.5772156), (0.001, -1000.5755719318103),
        (0.1, -10.423754940411076), (0.5, -1.9635100260214235), (0.9, -0.7549269499470513),
        (1.0, -0.5772156649015329), (1.4, -0.06138454458511624), (1.46, -0.0015805619870834522),
        (1.4616, -3.110625123034165e-5), (1.461632144, -9.370573939986302e-10),
        (1.46163214496836, -2.2410766695906462e-15), (1.461632144968362, -3.072790566546293e-16),
        (1.4616321449683622, -9.241265521729427e-17), (1.4616321449683625, 1.2245374622004068e-16),
        (1.4616321449684, 3.6434875589129025e-14), (1.461633, 8.2739006100858e-7),
        (1.47, 0.008066489011364869), (1.5, 0.03648997397857652), (1.75, 0.24747245354686118),
        (2.0, 0.42278433509846713), (3.3, 1.0348224890596216), (5.0, 1.5061176684318005),
        (7.75, 1.9817915626943456), (9.999, 2.2516474172057355), (10.0, 2.251752589066721),
        (20.0, 2.970523992242149), (12345.678, 9.421020820741761), (1e10, 23.025850929890456),
        (1e100, 230.25850929940458), (1.7e308, 709.7268368932282), (-1e-308, 1e308), (-1e-20, 1e20),
        (-1e-9, 999999999.4227843), (-0.001, 999.4211381978913), (-0.25, 2.9141391202135276),
        (-0.75, -2.894120200042932), (-0.999, -999.5745709308084), (-1.5, 0.7031566406452432),
        (-2.25, 4.158583564657972), (-3.9, -8.185090197209119), (-7.5, 2.08009081757942),
        (-10.1, 12.030052248548309), (-12345.75, 6.279514998905894), (-1000000000.5, 20.72326583794641),
    ];

    // n, x, the n-th derivative of ψ at x
    #[rustfmt::skip]
    const POLYGAMMA: [(u32, f64, f64); 56] = [
        (1, 1e-150, 1e300), (1, 1e-5, 10000000001.644909), (1, 0.1, 101.43329915079275),
        (1, 0.5, 4.934802200544679), (1, 1.0, 1.6449340668482264),
        (1, 1.4616321449683622, 0.9676722454476212), (1, 2.0, 0.6449340668482264),
        (1, 4.75, 0.23422874157914197), (1, 11.9, 0.08766320119000419), (1, 100.0, 0.010050166663333571),
        (1, 1e8, 1.000000005e-8), (1, 1e200, 1e-200), (2, 0.001, -2000000002.3976321),
        (2, 0.75, -5.3026332163376395), (2, 1.0, -2.4041138063191885), (2, 3.5, -0.1082040516417274),
        (2, 1e90, -1e-180), (3, 0.25, 1538.7821440091884), (3, 2.0, 0.49393940226682914),
        (3, 30.0, 7.78600366473613e-5), (4, 1.5, -3.4742498266672253), (8, 6.0, -0.005478092577157847),
        (10, 1.0, -3630593.311606629), (22, 7.0, -43.11241742437809), (23, 0.0001, 2.5852016738884945e118),
        (40, 20.0, -4.301466908235026e-6), (63, 38.0, 1.9207762757110724e-14),
        (100, 0.5, -2.366100660490897e188), (100, 2000.0, -7.547742835794974e-175),
        (150, 10.0, -5.713387167139042e111), (170, 1.0, -7.257415615307999e306),
        (171, 3.0, 1.0688636146529578e227), (200, 100.0, -9.125424691096223e-28),
        (1000, 400.0, -9.54632866022891e-38), (100000, 37000.0, -5.500746002501157e-252),
        (4294967295, 1580030184.5, 9.1682784377631e-24), (1, -1e-9, 9.999999999999999e17),
        (1, -0.1, 101.92253995947719), (1, -0.5, 8.934802200544679), (1, -1.5, 9.379246644989124),
        (1, -10.9, 103.26817590908067), (1, -1234.25, 19.738398921680364),
        (1, -1000000000.5, 9.869604400089358), (2, -0.1, 1996.798202956205), (2, -0.5, -0.82879664423432),
        (2, -1.25, 123.72136678366236), (2, -5.5, -0.0275879107068768), (2, -100.75, -124.02520426492639),
        (3, -0.001, 6000000000006.519), (3, -2.5, 194.74787621918762), (3, -20.1, 60014.25166236423),
        (4, -3.5, -0.022300753478290834), (21, -0.4, 2.9045719908865513e28),
        (30, -1.5, -1.2232990235199246e20), (120, -3.25, 4.727731434981616e271),
        (200, -300.5, -7.4913824235438835e-124),
    ];

    // a, b, ln(e^a + e^b)
    #[rustfmt::skip]
    const LOGADDEXP: [(f64, f64, f64); 30] = [
        (1e-20, -46.0, 2.0530617357553813e-20), (0.0, 1.0, 1.3132616875182228),
        (0.0, -1.0, 0.3132616875182228), (1.0, 2.0, 2.313261687518223), (-1.0, -2.0, -0.6867383124817772),
        (3.5, 3.25, 4.075939419878844), (10.0, -10.0, 10.000000002061153),
        (0.0, -700.0, 9.85967654375977e-305), (0.0, -745.0, 5e-324), (1e-5, -1e-5, 0.6931471806099453),
        (1000.0, 999.0, 1000.3132616875182), (-1000.0, -999.0, -998.6867383124818),
        (100000.0, -100000.0, 100000.0), (1e300, 1e300, 1e300), (-1e300, -1e300, -1e300), (1e308, 1.0, 1e308),
        (709.0, 710.0, 710.3132616875182), (-745.2, 3.0, 3.0), (20.0, -16.0, 20.0), (36.5, 0.0, 36.5),
        (0.1, 0.2, 0.844396660073571), (-0.3, -0.1, 0.49813886938159185), (-5.0, -0.5, -0.48895225515140617),
        (-2.5, -2.5, -1.8068528194400546), (1.5, 1.5, 2.1931471805599454), (7.0, 7.000001, 7.69314768056007),
        (-3.0, 4.0, 4.000911466453775), (1e-300, -1.0, 0.3132616875182228), (12.25, -3.5, 12.250000144498014),
        (50.0, 13.0, 50.0),
    ];

    /// Returns the error of `got` relative to `want`, or to `scale` if that is larger.
    fn error(got: f64, want: f64, scale: f64) -> f64 {
        if got == want { 0.0 } else { (got - want).abs() / want.abs().max(scale) }
    }

    #[track_caller]
    fn assert_close(what: impl std::fmt::Debug, got: f64, want: f64, tolerance: f64) {
        let error = error(got, want, 0.0);
        assert!(error <= tolerance, "{what:?} is {got:e}, not {want:e}: relative error {error:e}");
    }

    #[track_caller]
    fn assert_same(got: f64, want: f64) {
        assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{got} is not {want}");
    }

    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;

    #[test]
    fn error_function_of_the_library() {
        for (x, erf, erfc) in ERF {
            assert_close(("erf", x), libm::erf(x), erf, 3e-16);
            assert_close(("erfc", x), libm::erfc(x), erfc, 1e-15);
        }
    }

    #[test]
    fn lgamma_values() {
        for (x, want) in LGAMMA {
            assert_close(("lgamma", x), lgamma(x), want, 1e-15);
        }
        for x in [0.0, -0.0, -1.0, -2.0, -170.0, -1e15, -1e300, INF, -INF] {
            assert_same(lgamma(x), INF);
        }
        for (x, want) in [(1.0, 0.0), (2.0, 0.0), (NAN, NAN)] {
            assert_same(lgamma(x), want);
        }
    }

    #[test]
    fn erfinv_values() {
        for (x, want) in ERFINV {
            assert_close(("erfinv", x), erfinv(x), want, 1e-15);
            assert_same(erfinv(-x), -erfinv(x));
        }
        let odd = [(0.0, 0.0), (1.0, INF), (1.0 + f64::EPSILON, NAN), (1.5, NAN), (INF, NAN), (NAN, NAN)];
        for (x, want) in odd {
            assert_same(erfinv(x), want);
            assert_same(erfinv(-x), -want);
        }
    }

    #[test]
    fn erfinv_inverts() {
        for i in -999..=999 {
            let x = f64::from(i) / 1000.0;
            assert_close(("erf(erfinv)", x), libm::erf(erfinv(x)), x, 1e-15);
        }
        for i in 1..=53 {
            let tail = 0.5_f64.powi(i);
            // The effect of y's rounding on erfc grows with the square of y.
            assert_close(("erfc(erfinv)", i), libm::erfc(erfinv(1.0 - tail)), tail, 2e-14);
        }
    }

    #[test]
    fn digamma_values() {
        for (x, want) in DIGAMMA {
            assert_close(("digamma", x), digamma(x), want, 1e-15);
        }
        for (x, want) in [(0.0, -INF), (-0.0, INF), (INF, INF), (5e-324, -INF), (-5e-324, INF)] {
            assert_same(digamma(x), want);
        }
        for x in [-1.0, -2.0, -100.0, -1e15, -1e300, -INF, NAN] {
            assert_same(digamma(x), NAN);
        }
        // Near zeros on the negative axis, the error is relative to the terms that cancel.
        for root in [-0.5040830082644554, -1.5734984731623904, -2.6107208684441447] {
            assert!(digamma(root).abs() < 5e-15, "digamma({root})");
        }
    }

    #[test]
    fn digamma_identities() {
        for i in -400..=4000 {
            let x = f64::from(i) / 100.0 + 0.003;
            let (here, next, up) = (digamma(x), digamma(x + 1.0), 1.0 / x);
            assert!(error(next, here + up, here.abs().max(up.abs())) < 2e-14, "recurrence at {x}");
            let (twice, half) = (digamma(2.0 * x), digamma(x + 0.5));
            let scale = here.abs().max(half.abs()) + 1.0;
            assert!(error(twice, (here + half) / 2.0 + LN_2, scale) < 5e-14, "duplication at {x}");
        }
        for (x, y) in [(2.0, 3.0), (0.5, 0.75), (-0.75, -0.25), (20.0, 21.0)] {
            let slope = |h: f64| (lgamma(x + h) - lgamma(x - h)) / (2.0 * h);
            assert!(error(slope(1e-5), digamma(x), 1.0) < 1e-8, "derivative of lgamma at {x}");
            assert!(digamma(y) > digamma(x), "{x} and {y}");
        }
    }

    #[test]
    fn polygamma_values() {
        for (n, x, want) in POLYGAMMA {
            assert_close(("polygamma", n, x), polygamma(n, x), want, 1.5e-15);
        }
        for (x, _) in DIGAMMA {
            assert_same(polygamma(0, x), digamma(x));
        }
        for n in [1, 2, 3, 4, 21, 22, 23, 24, 170, 171, 172, 999, 1000, u32::MAX - 1, u32::MAX] {
            let odd = n % 2 == 1;
            assert_same(polygamma(n, 0.0), if odd { INF } else { -INF });
            assert_same(polygamma(n, -0.0), INF);
            assert_same(polygamma(n, -3.0), if odd { INF } else { NAN });
            assert_same(polygamma(n, 5e-324), if odd { INF } else { -INF });
            assert_same(polygamma(n, -5e-324), INF);
            assert_same(polygamma(n, INF), if odd { 0.0 } else { -0.0 });
            assert_same(polygamma(n, -INF), NAN);
            assert_same(polygamma(n, NAN), NAN);
            assert!(!polygamma(n, -1e5 - 0.25).is_nan() && !polygamma(n, -1e5 - 0.5).is_nan(), "order {n}");
        }
    }

    #[test]
    fn polygamma_identities() {
        for n in [1, 2, 3, 4, 7, 12, 22, 23, 24, 40] {
            let factorial: f64 = (1..=n).map(f64::from).product();
            for i in -60..=300 {
                let x = f64::from(i) / 10.0 + 0.037;
                let step = factorial * x.powi(-1 - n as i32) * if n % 2 == 0 { 1.0 } else { -1.0 };
                let (here, next) = (polygamma(n, x), polygamma(n, x + 1.0));
                let scale = here.abs().max(step.abs());
                assert!(error(next, here + step, scale) < 1e-13, "recurrence at {n}, {x}");
            }
        }
        for (n, x) in [(0, 0.8), (1, 1.3), (2, 5.5), (3, -0.4), (4, -2.3), (5, 12.0), (23, 30.0)] {
            let slope = |h: f64| (polygamma(n, x + h) - polygamma(n, x - h)) / (2.0 * h);
            let richardson = (4.0 * slope(5e-4) - slope(1e-3)) / 3.0;
            assert_close(("slope", n, x), richardson, polygamma(n + 1, x), 1e-8);
        }
    }

    #[test]
    fn logaddexp_values() {
        for (a, b, want) in LOGADDEXP {
            assert_close(("logaddexp", a, b), logaddexp(a, b), want, 1e-15);
            assert_same(logaddexp(b, a), logaddexp(a, b));
        }
        for x in [0.0, 1.0, -3.0, 1e308, -1e308, INF, -INF] {
            for (y, want) in [(-INF, x), (INF, INF), (NAN, NAN)] {
                assert_same(logaddexp(x, y), want);
                assert_same(logaddexp(y, x), want);
            }
        }
        assert_same(logaddexp(NAN, NAN), NAN);
    }
}
