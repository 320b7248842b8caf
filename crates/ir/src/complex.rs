//! Functions of a complex variable as scalar functions: the definition of the ops of the same names on complex
//! numbers.
//!
//! Like those of [`special`](crate::special), these are references. `num-complex` implements most of them as one
//! formula. Such a formula loses all digits near zeros (`asin` near 0), or returns NaN where terms overflow but the
//! value does not (`tanh` of 400). The functions here follow W. Kahan, "Branch cuts for complex elementary functions"
//! (1987). They are accurate to a few units in the last place of the modulus, and have the branch cuts of C99 and
//! PyTorch. On a cut the sign of a zero selects the side from which the function is continuous.

use crate::C;
use std::f64::consts::{FRAC_PI_2, LN_2};

/// Returns the product, where zero times infinity is zero.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 * a.signum() * b.signum() } else { a * b }
}

/// Returns `i z`.
fn times_i(z: C) -> C {
    C::new(-z.im, z.re)
}

/// Returns `-i z`.
fn times_minus_i(z: C) -> C {
    C::new(z.im, -z.re)
}

/// Scales by a power of two to a modulus near 1. Returns the scaled number and the exponent.
fn near_one(z: C) -> (C, i32) {
    let large = z.re.abs().max(z.im.abs());
    let by = if large.is_finite() && large > 0.0 { -libm::ilogb(large) } else { 0 };
    (C::new(libm::scalbn(z.re, by), libm::scalbn(z.im, by)), by)
}

/// Returns the quotient without intermediate overflow. A number divided by zero is infinite, by infinity zero.
pub(crate) fn div(a: C, b: C) -> C {
    let ((a, up), (b, down)) = (near_one(a), near_one(b));
    let over = |a: C, b: C| a * b.conj();
    let (q, square) = (over(a, b), b.norm_sqr());
    let q = C::new(libm::scalbn(q.re / square, down - up), libm::scalbn(q.im / square, down - up));
    if !q.re.is_nan() || !q.im.is_nan() || a.is_nan() || b.is_nan() {
        return q;
    }
    let unit = |x: f64| if x.is_infinite() { x.signum() } else { 0.0_f64.copysign(x) };
    let corner = |z: C| C::new(unit(z.re), unit(z.im));
    if square == 0.0 {
        a * f64::INFINITY.copysign(b.re)
    } else if a.is_infinite() && b.is_finite() {
        over(corner(a), b) * f64::INFINITY
    } else if b.is_infinite() && a.is_finite() {
        over(a, corner(b)) * 0.0
    } else {
        q
    }
}

/// Returns the exponential.
pub(crate) fn exp(z: C) -> C {
    let r = z.re.exp();
    if z.im == 0.0 {
        C::new(r, z.im)
    } else if r == 0.0 && !z.im.is_finite() {
        C::ZERO
    } else {
        C::new(times(r, z.im.cos()), times(r, z.im.sin()))
    }
}

/// Returns `exp(z) - 1`.
pub(crate) fn exp_m1(z: C) -> C {
    let half = (z.im / 2.0).sin();
    let re = times(z.re.exp_m1(), z.im.cos()) - 2.0 * half * half;
    C::new(re, times(z.re.exp(), z.im.sin()))
}

/// Returns the principal logarithm, cut along the negative axis.
pub(crate) fn ln(z: C) -> C {
    let (large, small) = (z.re.abs().max(z.im.abs()), z.re.abs().min(z.im.abs()));
    let r = large.hypot(small);
    let re = if r > 0.5 && r < 2.0 {
        0.5 * ((large - 1.0) * (large + 1.0) + small * small).ln_1p()
    } else if r.is_infinite() && large.is_finite() {
        (large / 2.0).hypot(small / 2.0).ln() + LN_2
    } else {
        r.ln()
    };
    C::new(re, z.im.atan2(z.re))
}

/// Returns `ln(1 + z)`.
pub(crate) fn ln_1p(z: C) -> C {
    if z.re.abs() < 0.5 && z.im.abs() < 0.5 {
        let re = 0.5 * (z.re * (2.0 + z.re) + z.im * z.im).ln_1p();
        C::new(re, z.im.atan2(1.0 + z.re))
    } else {
        ln(C::new(1.0 + z.re, z.im))
    }
}

/// Returns the principal square root, cut along the negative axis.
pub(crate) fn sqrt(z: C) -> C {
    let large = z.re.abs().max(z.im.abs());
    if z.im.is_infinite() {
        C::new(f64::INFINITY, z.im)
    } else if z.re == f64::INFINITY {
        C::new(z.re, if z.im.is_nan() { z.im } else { 0.0_f64.copysign(z.im) })
    } else if z.re == f64::NEG_INFINITY {
        C::new(if z.im.is_nan() { z.im } else { 0.0 }, f64::INFINITY.copysign(z.im))
    } else if large == 0.0 {
        C::new(0.0, z.im)
    } else if large > 1e307 {
        sqrt(z / 16.0) * 4.0
    } else if large < 1e-290 {
        sqrt(z * 2.0_f64.powi(200)) * 0.5_f64.powi(100)
    } else {
        let t = ((z.re.abs() + z.re.hypot(z.im)) / 2.0).sqrt();
        let other = z.im.abs() / (2.0 * t);
        if z.re >= 0.0 { C::new(t, other.copysign(z.im)) } else { C::new(other, t.copysign(z.im)) }
    }
}

/// Returns `z` to the power `w`; 1 for `w = 0`. For `z = 0` it is 0 if `w` has a positive real part, else
/// NaN.
pub(crate) fn pow(z: C, w: C) -> C {
    if w == C::ZERO {
        return C::ONE;
    } else if z == C::ZERO {
        return if w.re > 0.0 { C::ZERO } else { C::new(f64::NAN, f64::NAN) };
    }
    let log = ln(z);
    let r = z.re.hypot(z.im).powf(w.re) * (-w.im * log.im).exp();
    let angle = w.re * log.im + w.im * log.re;
    C::new(times(r, angle.cos()), times(r, angle.sin()))
}

/// Returns `1 / (1 + exp(-z))`.
pub(crate) fn sigmoid(z: C) -> C {
    if z.re < 0.0 {
        let e = exp(z);
        div(e, C::ONE + e)
    } else {
        div(C::ONE, C::ONE + exp(-z))
    }
}

pub(crate) fn sinh(z: C) -> C {
    C::new(times(z.re.sinh(), z.im.cos()), times(z.re.cosh(), z.im.sin()))
}

pub(crate) fn cosh(z: C) -> C {
    C::new(times(z.re.cosh(), z.im.cos()), times(z.re.sinh(), z.im.sin()))
}

pub(crate) fn tanh(z: C) -> C {
    if z.re.is_infinite() {
        let side = if z.im.is_finite() { (2.0 * z.im).sin() } else { 1.0 };
        C::new(1.0_f64.copysign(z.re), 0.0_f64.copysign(side))
    } else if z.re.abs() > 20.0 {
        let im = 4.0 * z.im.sin() * z.im.cos() * (-2.0 * z.re.abs()).exp();
        C::new(1.0_f64.copysign(z.re), im)
    } else {
        let (t, s) = (z.im.tan(), z.re.sinh());
        let steep = 1.0 + t * t;
        let below = 1.0 + steep * s * s;
        C::new(steep * z.re.cosh() * s / below, t / below)
    }
}

pub(crate) fn sin(z: C) -> C {
    times_minus_i(sinh(times_i(z)))
}

pub(crate) fn cos(z: C) -> C {
    cosh(times_i(z))
}

pub(crate) fn tan(z: C) -> C {
    times_minus_i(tanh(times_i(z)))
}

/// Returns the square roots of `1 - z` and `1 + z`, from which the inverse functions are computed.
fn roots(z: C) -> (C, C) {
    (sqrt(C::new(1.0 - z.re, -z.im)), sqrt(C::new(1.0 + z.re, z.im)))
}

/// Returns the inverse sine, cut along the real axis outside `[-1, 1]`.
pub(crate) fn asin(z: C) -> C {
    let (minus, plus) = roots(z);
    C::new(z.re.atan2((minus * plus).re), libm::asinh((minus.conj() * plus).im))
}

/// Returns the inverse cosine, cut along the real axis outside `[-1, 1]`.
pub(crate) fn acos(z: C) -> C {
    let (minus, plus) = roots(z);
    C::new(2.0 * minus.re.atan2(plus.re), libm::asinh((plus.conj() * minus).im))
}

/// Returns the inverse hyperbolic cosine, cut along the real axis below 1.
pub(crate) fn acosh(z: C) -> C {
    let (below, above) = (sqrt(C::new(z.re - 1.0, z.im)), sqrt(C::new(z.re + 1.0, z.im)));
    C::new(libm::asinh((below.conj() * above).re), 2.0 * below.im.atan2(above.re))
}

/// Returns the inverse hyperbolic sine, cut along the imaginary axis outside `[-i, i]`.
pub(crate) fn asinh(z: C) -> C {
    times_minus_i(asin(times_i(z)))
}

/// Returns the inverse hyperbolic tangent, cut along the real axis outside `[-1, 1]`; infinite at -1 and 1.
pub(crate) fn atanh(z: C) -> C {
    if z.re.is_sign_negative() {
        return -atanh(-z);
    }
    let quarter = FRAC_PI_2.copysign(z.im);
    if z.re > 1e150 || z.im.abs() > 1e150 {
        return C::new(div(C::ONE, z).re, quarter);
    }
    let near = (1.0 - z.re).hypot(z.im);
    let re =
        if near < 1e-150 { 0.5 * (2.0 / near).ln() } else { 0.25 * (4.0 * z.re / (near * near)).ln_1p() };
    C::new(re, 0.5 * (2.0 * z.im).atan2((1.0 - z.re) * (1.0 + z.re) - z.im * z.im))
}

/// Returns the inverse tangent, cut along the imaginary axis outside `[-i, i]`; infinite at `-i` and `i`.
pub(crate) fn atan(z: C) -> C {
    times_minus_i(atanh(times_i(z)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_4;

    const POINTS: [(f64, f64); 8] = [
        (0.5, 0.25),
        (-1.5, 0.75),
        (2.0, -3.0),
        (1e-10, 2e-10),
        (1.0, 1e-8),
        (-40.0, 1.5),
        (1e-12, -40.0),
        (0.6, 0.8),
    ];

    type Case = (&'static str, fn(C) -> C, [(f64, f64); 8]);

    // Computed to 80 digits (with mpmath, at the exact values of the arguments) and rounded.
    #[rustfmt::skip]
    #[allow(clippy::approx_constant)]
    const VALUES: [Case; 18] = [
        ("exp", exp, [
            (1.5974665191199127, 0.40790017007835977), (0.16326185449063912, 0.15209416568738368),
            (-7.315110094901103, -1.0427436562359045), (1.0000000001, 2.0000000002000002e-10),
            (2.718281828459045, 2.718281828459045e-08), (3.0051669171240495e-19, 4.237712070971361e-18),
            (-0.6669380616529288, -0.7451131604800939), (1.269482393459676, 1.3071080198026634),
        ]),
        ("exp_m1", exp_m1, [
            (0.5974665191199127, 0.40790017007835977), (-0.8367381455093609, 0.15209416568738368),
            (-8.315110094901103, -1.0427436562359045), (9.9999999985e-11, 2.0000000002000002e-10),
            (1.718281828459045, 2.718281828459045e-08), (-1.0, 4.237712070971361e-18),
            (-1.6669380616529288, -0.7451131604800939), (0.26948239345967595, 1.3071080198026634),
        ]),
        ("ln", ln, [
            (-0.5815754049028404, 0.4636476090008061), (0.5170368837652692, 2.677945044588987),
            (1.2824746787307684, -0.982793723247329), (-22.221131973723406, 1.1071487177940904),
            (5e-17, 1e-08), (3.689582085192168, 3.104110216898132),
            (3.6888794541139363, -1.5707963267948717), (2.2204460492503132e-17, 0.9272952180016123),
        ]),
        ("ln_1p", ln_1p, [
            (0.4191645952022216, 0.16514867741462683), (-0.10381968238912224, 2.158798930342464),
            (1.4451858789480823, -0.7853981633974483), (1.00000000015e-10, 1.9999999998e-10),
            (0.6931471805599453, 5e-09), (3.6643007445643017, 3.1031500635686053),
            (3.689191856498358, -1.5458015331759514), (0.5815754049028404, 0.46364760900080615),
        ]),
        ("sqrt", sqrt, [
            (0.7276733451126774, 0.17178037486125622), (0.2975323370029233, 1.2603672050487593),
            (1.6741492280355401, -0.8959774761298381), (1.272019649514069e-05, 7.861513777574233e-06),
            (1.0, 5e-09), (0.11856457997831575, 6.325666570380187),
            (4.472135954999636, -4.472135954999524), (0.8944271909999159, 0.447213595499958),
        ]),
        ("sigmoid", sigmoid, [
            (0.6242751644199612, 0.05900296431450802), (0.1547971042331356, 0.11050859165713012),
            (1.1541476496139678, -0.02545268116361431), (0.500000000025, 5e-11),
            (0.7310585786300049, 1.9661193324148185e-09), (3.0051669171240495e-19, 4.237712070971361e-18),
            (0.5000000000015012, -1.118580472112371), (0.6691273716327357, 0.19056603713622144),
        ]),
        ("sinh", sinh, [
            (0.504895714387995, 0.2789791283502615), (-1.5579700760145927, 1.6034935732013758),
            (-3.59056458998578, -0.5309210862485199), (1e-10, 2e-10),
            (1.1752011936438014, 1.5430806348152437e-08), (-8325247544928172.0, 1.1739781179519251e+17),
            (-6.669380616522618e-13, -0.7451131604793488), (0.4435608222125864, 0.8504006948556228),
        ]),
        ("cosh", cosh, [
            (1.0925708047319176, 0.12892104172809826), (1.721231930505232, -1.451399407513992),
            (-3.7245455049153224, -0.5118225699873846), (1.0, 2.0000000000000002e-20),
            (1.5430806348152437, 1.1752011936438014e-08), (8325247544928172.0, -1.1739781179519251e+17),
            (-0.6669380616522619, -7.451131604793488e-13), (0.8259215712470895, 0.4567073249470405),
        ]),
        ("tanh", tanh, [
            (0.48548728102413535, 0.19805544995134952), (-0.9881121005704792, 0.0983878191396714),
            (0.9653858790221331, 0.009884375038322494), (1e-10, 2e-10),
            (0.761594155955765, 4.1997434161402604e-09), (-1.0, 5.0940128479921503e-36),
            (2.2481692018792857e-12, 1.117214930923896), (0.8473188881809383, 0.561099223207919),
        ]),
        ("sin", sin, [
            (0.494485780933195, 0.22168816414957482), (-1.2914400857052224, 0.0581683845016712),
            (9.15449914691143, 4.168906959966565), (1e-10, 2e-10),
            (0.8414709848078965, 5.403023058681397e-09), (-1.7528113631559048, -1.420097512496922),
            (117692.63341850998, -1.1769263341851e+17), (0.7551725760865238, 0.7329854969137857),
        ]),
        ("cos", cos, [
            (0.9051501505596067, -0.12110879604381165), (0.09158227260398998, 0.8202568175066205),
            (-4.189625690968807, 9.109227893755337), (1.0, -2.0000000000000002e-20),
            (0.5403023058681398, -8.414709848078965e-09), (-1.5689115090024746, 1.586554144329445),
            (1.1769263341851e+17, 117692.63341850998), (1.1038326938102014, -0.5014623584193467),
        ]),
        ("tan", tan, [
            (0.504500702698564, 0.3124206925025888), (-0.10358061868779705, 1.5628689818694737),
            (-0.0037640256415042484, -1.0032386273536098), (1e-10, 2e-10),
            (1.5574077246549016, 3.425518820814759e-08), (0.09981532886092767, 1.0060860202194766),
            (7.21940555138166e-47, -1.0), (0.31703926782658287, 0.808065172259716),
        ]),
        ("asin", asin, [
            (0.5016088532755008, 0.2813960562452928), (-1.0242880572034125, 1.1627920981631037),
            (0.5706527843210994, -1.9833870299165355), (1e-10, 2e-10),
            (1.57069632679498, 0.00010000000008333333), (-1.5333021987853097, 4.382573637268901),
            (2.4992191160203068e-14, -4.382182848065498), (0.4636476090008061, 0.8047189562170503),
        ]),
        ("acos", acos, [
            (1.0691874735193958, -0.2813960562452928), (2.595084383998309, -1.1627920981631037),
            (1.0001435424737972, 1.9833870299165355), (1.5707963266948965, -2e-10),
            (9.999999991666667e-05, -0.00010000000008333333), (3.1040985255802065, -4.382573637268901),
            (1.5707963267948717, 4.382182848065498), (1.1071487177940906, -0.8047189562170503),
        ]),
        ("atan", atan, [
            (0.4842544903299662, 0.20058661813123432), (-1.05713696075397, 0.207933335961523),
            (1.4099210495965755, -0.22907268296853878), (1e-10, 2e-10), (0.7853981633974484, 5e-09),
            (-1.5458365963065988, 0.000935600655354289), (1.570796326794896, -0.025005210287330687),
            (0.7853981633974483, 0.5493061443340549),
        ]),
        ("asinh", asinh, [
            (0.4926756834207706, 0.2243284526346675), (-1.2650750428933686, 0.4029108301465699),
            (1.9686379257930964, -0.9646585044076028), (1e-10, 2e-10),
            (0.881373587019543, 7.071067811865475e-09), (-4.3828848220180445, 0.03747075628312283),
            (4.381870348040067, -1.5707963267948717), (0.7127084715353063, 0.684719203002283),
        ]),
        ("acosh", acosh, [
            (0.2813960562452928, 1.0691874735193958), (1.1627920981631037, 2.595084383998309),
            (1.9833870299165355, -1.0001435424737972), (2e-10, 1.5707963266948965),
            (0.00010000000008333333, 9.999999991666667e-05), (4.382573637268901, 3.1040985255802065),
            (4.382182848065498, -1.5707963267948717), (0.8047189562170503, 1.1071487177940906),
        ]),
        ("atanh", atanh, [
            (0.5003700000525311, 0.3143981432077165), (-0.5315996311919018, 1.2251278624101656),
            (0.14694666622552977, -1.3389725222944935), (1e-10, 2e-10),
            (9.556913962256155, 0.7853981658974483), (-0.024970059574196627, 1.5698595597410734),
            (6.246096189881324e-16, -1.5458015331759765), (0.34657359027997264, 0.7853981633974483),
        ]),
    ];

    fn c((re, im): (f64, f64)) -> C {
        C::new(re, im)
    }

    #[track_caller]
    fn assert_close(what: impl std::fmt::Debug, got: C, want: (f64, f64)) {
        let error = (got.re - want.0).hypot(got.im - want.1) / want.0.hypot(want.1);
        assert!(error <= 8e-16, "{what:?} is {got}, not {want:?}: relative error {error:e}");
    }

    #[test]
    fn values() {
        for (name, f, values) in VALUES {
            for (z, want) in POINTS.into_iter().zip(values) {
                assert_close((name, z), f(c(z)), want);
            }
        }
    }

    #[test]
    fn powers_and_quotients() {
        let powers = [
            (((1.5, -0.5), (0.75, 2.0)), (2.0950396249031855, 1.676845720771739)),
            (((-2.0, 0.25), (3.0, 0.0)), (-7.625, 2.984375)),
            (((0.3, 0.4), (-1.25, -0.5)), (2.600256362920627, -2.7454123284177756)),
            (((-1.0, 0.0), (0.5, 0.0)), (0.0, 1.0)),
            (((12.0, 5.0), (20.0, 1.0)), (-6.52681794201207e+21, -1.1017836934849117e+22)),
        ];
        for ((z, w), want) in powers {
            assert_close(("pow", z, w), pow(c(z), c(w)), want);
        }
        let quotients = [
            (((1.5, -0.5), (0.75, 2.0)), (0.0273972602739726, -0.7397260273972602)),
            (((1e+300, 1e+300), (1e+300, -2e+300)), (-0.2, 0.6)),
            (((1e-300, 3e-300), (2e-300, 0.0)), (0.5, 1.5)),
            (((1e-310, 1e-320), (1e-300, 1e-305)), (9.999999998999979e-11, -9.99990000011326e-16)),
        ];
        for ((a, b), want) in quotients {
            assert_close(("div", a, b), div(c(a), c(b)), want);
        }
    }

    #[track_caller]
    fn assert_same(got: C, want: (f64, f64)) {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(same(got.re, want.0) && same(got.im, want.1), "{got:?} is not {want:?}");
    }

    #[test]
    fn the_sign_of_zero_selects_the_side_of_a_branch_cut() {
        const HALF: f64 = FRAC_PI_2;
        const PI: f64 = std::f64::consts::PI;
        for side in [0.0, -0.0] {
            let sign = 1.0_f64.copysign(side);
            assert_same(sqrt(C::new(-4.0, side)), (0.0, 2.0 * sign));
            assert_same(ln(C::new(-1.0, side)), (0.0, PI * sign));
            assert_same(
                pow(C::new(-4.0, side), C::new(0.5, 0.0)),
                (pow(C::new(-4.0, 0.0), C::new(0.5, 0.0)).re, 2.0 * sign),
            );
            assert_close("atanh", atanh(C::new(2.0, side)), (0.5493061443340548, HALF * sign));
            assert_close("asin", asin(C::new(2.0, side)), (HALF, 1.3169578969248167 * sign));
            assert_close("acos", acos(C::new(2.0, side)), (0.0, -1.3169578969248167 * sign));
            assert_close("acosh", acosh(C::new(-2.0, side)), (1.3169578969248167, PI * sign));
            assert_close("atan", atan(C::new(side, 2.0)), (HALF * sign, 0.5493061443340548));
            assert_close("asinh", asinh(C::new(side, 2.0)), (1.3169578969248167 * sign, HALF));
        }
    }

    #[test]
    fn intermediate_values_do_not_overflow() {
        const INF: f64 = f64::INFINITY;
        const NAN: f64 = f64::NAN;
        assert_same(tanh(C::new(400.0, 1.0)), (1.0, 0.0));
        assert_same(tan(C::new(1.0, -400.0)), (0.0, -1.0));
        assert_same(sigmoid(C::new(800.0, 1.0)), (1.0, 0.0));
        assert_same(exp(C::new(800.0, 0.0)), (INF, 0.0));
        assert_same(sin(C::new(0.0, 800.0)), (0.0, INF));
        assert_same(cosh(C::new(-800.0, 0.0)), (INF, -0.0));
        assert_close("sqrt", sqrt(C::new(1.6e308, 1.2e308)), (1.3416407864998737e154, 4.47213595499958e153));
        assert_close("ln", ln(C::new(1.7e308, 1.7e308)), (710.0734104835082, FRAC_PI_4));
        assert_close("atanh", atanh(C::new(1.0, 1e-200)), (230.60508288968455, FRAC_PI_4));
        assert_same(atanh(C::ONE), (INF, 0.0));
        assert_same(div(C::new(1.0, 0.0), C::ZERO), (INF, NAN));
        assert_same(div(C::new(1.0, 2.0), C::new(INF, 0.0)), (0.0, 0.0));
        assert_same(pow(C::ZERO, C::new(2.0, 1.0)), (0.0, 0.0));
        assert_same(pow(C::ZERO, C::ZERO), (1.0, 0.0));
        assert_same(pow(C::ZERO, C::new(-1.0, 0.0)), (NAN, NAN));
    }
}
