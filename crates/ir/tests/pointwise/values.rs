//! Values at zeros, infinities and NaN (IEEE 754 and PyTorch), on integers, and the order of the table.

use super::{INF, NAN, assert_same, elements, op_named};
use gradus_ir::ops::pointwise;
use gradus_ir::{Aval, C, DType, Literal, Op, reference};

/// Operands of the unary ops.
const POINTS: [f64; 10] = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 1e-300, 1e300, 0.5];

/// Values of every unary op on floats, in the order of [`POINTS`].
#[rustfmt::skip]
#[allow(clippy::approx_constant)]
const UNARY: [(&str, [f64; 10]); 54] = [
    ("neg", [-0.0, 0.0, -INF, INF, NAN, -1.0, 1.0, -1e-300, -1e300, -0.5]),
    ("reciprocal", [INF, -INF, 0.0, -0.0, NAN, 1.0, -1.0, 9.999999999999999e299, 1e-300, 2.0]),
    ("square", [0.0, 0.0, INF, INF, NAN, 1.0, 1.0, 0.0, INF, 0.25]),
    ("abs", [0.0, 0.0, INF, INF, NAN, 1.0, 1.0, 1e-300, 1e300, 0.5]),
    ("sign", [0.0, 0.0, 1.0, -1.0, 0.0, 1.0, -1.0, 1.0, 1.0, 1.0]),
    ("is_nan", [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("is_inf", [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("is_finite", [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    ("exp", [1.0, 1.0, INF, 0.0, NAN, 2.718281828459045, 0.36787944117144233, 1.0, INF, 1.6487212707001282]),
    ("expm1", [0.0, -0.0, INF, -1.0, NAN, 1.7182818284590453, -0.6321205588285577, 1e-300, INF,
        0.6487212707001282]),
    ("exp2", [1.0, 1.0, INF, 0.0, NAN, 2.0, 0.5, 1.0, INF, 1.4142135623730951]),
    ("log", [-INF, -INF, INF, NAN, NAN, 0.0, NAN, -690.7755278982137, 690.7755278982137,
        -0.6931471805599453]),
    ("log1p", [0.0, -0.0, INF, NAN, NAN, 0.6931471805599453, -INF, 1e-300, 690.7755278982137,
        0.4054651081081644]),
    ("log2", [-INF, -INF, INF, NAN, NAN, 0.0, NAN, -996.5784284662087, 996.5784284662087, -1.0]),
    ("log10", [-INF, -INF, INF, NAN, NAN, 0.0, NAN, -300.0, 300.0, -0.3010299956639812]),
    ("sigmoid", [0.5, 0.5, 1.0, 0.0, NAN, 0.7310585786300049, 0.2689414213699951, 0.5, 1.0,
        0.6224593312018546]),
    ("sqrt", [0.0, -0.0, INF, NAN, NAN, 1.0, NAN, 1e-150, 1e150, 0.7071067811865475]),
    ("rsqrt", [INF, -INF, 0.0, NAN, NAN, 1.0, NAN, 1e150, 1e-150, 1.414213562373095]),
    ("cbrt", [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 1e-100, 1e100, 0.7937005259840998]),
    ("sin", [0.0, -0.0, NAN, NAN, NAN, 0.8414709848078965, -0.8414709848078965, 1e-300, -0.8178819121159085,
        0.479425538604203]),
    ("cos", [1.0, 1.0, NAN, NAN, NAN, 0.5403023058681398, 0.5403023058681398, 1.0, -0.5753861119575491,
        0.8775825618903728]),
    ("tan", [0.0, -0.0, NAN, NAN, NAN, 1.5574077246549023, -1.5574077246549023, 1e-300, 1.4214488238747245,
        0.5463024898437905]),
    ("asin", [0.0, -0.0, NAN, NAN, NAN, 1.5707963267948966, -1.5707963267948966, 1e-300, NAN,
        0.5235987755982989]),
    ("acos", [1.5707963267948966, 1.5707963267948966, NAN, NAN, NAN, 0.0, 3.141592653589793,
        1.5707963267948966, NAN, 1.0471975511965976]),
    ("atan", [0.0, -0.0, 1.5707963267948966, -1.5707963267948966, NAN, 0.7853981633974483,
        -0.7853981633974483, 1e-300, 1.5707963267948966, 0.4636476090008061]),
    ("sinh", [0.0, -0.0, INF, -INF, NAN, 1.1752011936438014, -1.1752011936438014, 1e-300, INF,
        0.5210953054937474]),
    ("cosh", [1.0, 1.0, INF, INF, NAN, 1.5430806348152437, 1.5430806348152437, 1.0, INF, 1.1276259652063807]),
    ("tanh", [0.0, -0.0, 1.0, -1.0, NAN, 0.7615941559557649, -0.7615941559557649, 1e-300, 1.0,
        0.4621171572600098]),
    ("asinh", [0.0, -0.0, INF, -INF, NAN, 0.881373587019543, -0.881373587019543, 1e-300, 691.4686750787736,
        0.48121182505960347]),
    ("acosh", [NAN, NAN, INF, NAN, NAN, 0.0, NAN, NAN, 691.4686750787736, NAN]),
    ("atanh", [0.0, -0.0, NAN, NAN, NAN, INF, -INF, 1e-300, NAN, 0.5493061443340548]),
    ("erf", [0.0, -0.0, 1.0, -1.0, NAN, 0.8427007929497149, -0.8427007929497149, 1.1283791670955126e-300,
        1.0, 0.5204998778130465]),
    ("erfc", [1.0, 1.0, 0.0, 2.0, NAN, 0.15729920705028513, 1.8427007929497148, 1.0, 0.0,
        0.4795001221869535]),
    ("erfinv", [0.0, -0.0, NAN, NAN, NAN, INF, -INF, 8.86226925452758e-301, NAN, 0.4769362762044699]),
    ("lgamma", [INF, INF, INF, INF, NAN, 0.0, INF, 690.7755278982137, 6.897755278982137e302,
        0.5723649429247001]),
    ("digamma", [-INF, INF, INF, NAN, NAN, -0.5772156649015328, NAN, -9.999999999999999e299,
        690.7755278982137, -1.9635100260214229]),
    ("bessel_j0", [1.0, 1.0, NAN, NAN, NAN, 0.7651976865579666, 0.7651976865579666, 1.0,
        -7.860673062724094e-151, 0.938469807240813]),
    ("bessel_j1", [0.0, -0.0, NAN, NAN, NAN, 0.44005058574493355, -0.44005058574493355, 5e-301,
        -1.3681360450342478e-151, 0.2422684576748739]),
    ("bessel_y0", [-INF, -INF, NAN, NAN, NAN, 0.088256964215677, NAN, -439.83516362276526,
        -1.3681360450342478e-151, -0.44451873350670656]),
    ("bessel_y1", [-INF, -INF, NAN, NAN, NAN, -0.7812128213002887, NAN, -6.366197723675813e+299,
        7.860673062724094e-151, -1.471472392670243]),
    ("bessel_i0", [1.0, 1.0, NAN, NAN, NAN, 1.2660658777520084, 1.2660658777520084, 1.0, INF,
        1.0634833707413234]),
    ("bessel_i1", [0.0, 0.0, NAN, NAN, NAN, 0.5651591039924851, -0.5651591039924851, 5e-301, INF,
        0.25789430539089625]),
    ("bessel_k0", [INF, INF, 0.0, NAN, NAN, 0.4210244382407083, NAN, 690.891459413872, 0.0,
        0.9244190712276656]),
    ("bessel_k1", [INF, INF, 0.0, NAN, NAN, 0.6019072301972346, NAN, 9.999999999999999e+299, 0.0,
        1.6564411200033013]),
    ("bessel_i0e", [1.0, 1.0, 0.0, 0.0, NAN, 0.4657596075936404, 0.4657596075936404, 1.0,
        3.989422804014327e-151, 0.6450352704491501]),
    ("bessel_i1e", [0.0, 0.0, 0.0, -0.0, NAN, 0.20791041534970847, -0.20791041534970847, 5e-301,
        3.989422804014327e-151, 0.15642080318487167]),
    ("bessel_k0e", [INF, INF, 0.0, NAN, NAN, 1.1444630798068949, NAN, 690.891459413872,
        1.2533141373155002e-150, 1.5241093857739092]),
    ("bessel_k1e", [INF, INF, 0.0, NAN, NAN, 1.636153486263258, NAN, 9.999999999999999e+299,
        1.2533141373155002e-150, 2.7310097082117863]),
    ("airy_ai", [0.3550280538878172, 0.3550280538878172, NAN, NAN, NAN, 0.13529241631288141,
        0.5355608832923521, 0.3550280538878172, 0.0, 0.2316936064808335]),
    ("airy_ai_prime", [-0.2588194037928068, -0.2588194037928068, NAN, NAN, NAN, -0.1591474412967932,
        -0.01016056711664521, -0.2588194037928068, -0.0, -0.2249105326646839]),
    ("floor", [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.0, 1e300, 0.0]),
    ("ceil", [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 1.0, 1e300, 1.0]),
    ("round", [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.0, 1e300, 0.0]),
    ("trunc", [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.0, 1e300, 0.0]),
];

/// Operands of the binary ops; each is paired with every other.
const PAIRS: [f64; 7] = [0.0, -0.0, INF, -INF, NAN, 2.0, -1.5];

/// Values of the binary ops on floats: a line for each of [`PAIRS`] as the first operand, a column for each as the second.
#[rustfmt::skip]
#[allow(clippy::approx_constant)]
const BINARY: [(&str, [[f64; 7]; 7]); 16] = [
    ("add", [
        [0.0, 0.0, INF, -INF, NAN, 2.0, -1.5],
        [0.0, -0.0, INF, -INF, NAN, 2.0, -1.5],
        [INF, INF, INF, NAN, NAN, INF, INF],
        [-INF, -INF, NAN, -INF, NAN, -INF, -INF],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [2.0, 2.0, INF, -INF, NAN, 4.0, 0.5],
        [-1.5, -1.5, INF, -INF, NAN, 0.5, -3.0],
    ]),
    ("sub", [
        [0.0, 0.0, -INF, INF, NAN, -2.0, 1.5],
        [-0.0, 0.0, -INF, INF, NAN, -2.0, 1.5],
        [INF, INF, NAN, INF, NAN, INF, INF],
        [-INF, -INF, -INF, NAN, NAN, -INF, -INF],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [2.0, 2.0, -INF, INF, NAN, 0.0, 3.5],
        [-1.5, -1.5, -INF, INF, NAN, -3.5, 0.0],
    ]),
    ("mul", [
        [0.0, -0.0, NAN, NAN, NAN, 0.0, -0.0],
        [-0.0, 0.0, NAN, NAN, NAN, -0.0, 0.0],
        [NAN, NAN, INF, -INF, NAN, INF, -INF],
        [NAN, NAN, -INF, INF, NAN, -INF, INF],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [0.0, -0.0, INF, -INF, NAN, 4.0, -3.0],
        [-0.0, 0.0, -INF, INF, NAN, -3.0, 2.25],
    ]),
    ("div", [
        [NAN, NAN, 0.0, -0.0, NAN, 0.0, -0.0],
        [NAN, NAN, -0.0, 0.0, NAN, -0.0, 0.0],
        [INF, -INF, NAN, NAN, NAN, INF, -INF],
        [-INF, INF, NAN, NAN, NAN, -INF, INF],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [INF, -INF, 0.0, -0.0, NAN, 1.0, -1.3333333333333333],
        [-INF, INF, -0.0, 0.0, NAN, -0.75, 1.0],
    ]),
    ("floor_div", [
        [NAN, NAN, 0.0, -0.0, NAN, 0.0, -0.0],
        [NAN, NAN, -0.0, 0.0, NAN, -0.0, 0.0],
        [INF, -INF, NAN, NAN, NAN, NAN, NAN],
        [-INF, INF, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [INF, -INF, 0.0, -1.0, NAN, 1.0, -2.0],
        [-INF, INF, -1.0, 0.0, NAN, -1.0, 1.0],
    ]),
    ("fmod", [
        [NAN, NAN, 0.0, 0.0, NAN, 0.0, 0.0],
        [NAN, NAN, -0.0, -0.0, NAN, -0.0, -0.0],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, 2.0, 2.0, NAN, 0.0, 0.5],
        [NAN, NAN, -1.5, -1.5, NAN, -1.5, -0.0],
    ]),
    ("remainder", [
        [NAN, NAN, 0.0, 0.0, NAN, 0.0, 0.0],
        [NAN, NAN, -0.0, -0.0, NAN, -0.0, -0.0],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, 2.0, -INF, NAN, 0.0, -1.0],
        [NAN, NAN, INF, -1.5, NAN, 0.5, -0.0],
    ]),
    ("copysign", [
        [0.0, -0.0, 0.0, -0.0, 0.0, 0.0, -0.0],
        [0.0, -0.0, 0.0, -0.0, 0.0, 0.0, -0.0],
        [INF, -INF, INF, -INF, INF, INF, -INF],
        [INF, -INF, INF, -INF, INF, INF, -INF],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [2.0, -2.0, 2.0, -2.0, 2.0, 2.0, -2.0],
        [1.5, -1.5, 1.5, -1.5, 1.5, 1.5, -1.5],
    ]),
    ("maximum", [
        [0.0, 0.0, INF, 0.0, NAN, 2.0, 0.0],
        [-0.0, -0.0, INF, -0.0, NAN, 2.0, -0.0],
        [INF, INF, INF, INF, NAN, INF, INF],
        [0.0, -0.0, INF, -INF, NAN, 2.0, -1.5],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [2.0, 2.0, INF, 2.0, NAN, 2.0, 2.0],
        [0.0, -0.0, INF, -1.5, NAN, 2.0, -1.5],
    ]),
    ("minimum", [
        [0.0, 0.0, 0.0, -INF, NAN, 0.0, -1.5],
        [-0.0, -0.0, -0.0, -INF, NAN, -0.0, -1.5],
        [0.0, -0.0, INF, -INF, NAN, 2.0, -1.5],
        [-INF, -INF, -INF, -INF, NAN, -INF, -INF],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [0.0, -0.0, 2.0, -INF, NAN, 2.0, -1.5],
        [-1.5, -1.5, -1.5, -INF, NAN, -1.5, -1.5],
    ]),
    ("hypot", [
        [0.0, 0.0, INF, INF, NAN, 2.0, 1.5],
        [0.0, 0.0, INF, INF, NAN, 2.0, 1.5],
        [INF, INF, INF, INF, INF, INF, INF],
        [INF, INF, INF, INF, INF, INF, INF],
        [NAN, NAN, INF, INF, NAN, NAN, NAN],
        [2.0, 2.0, INF, INF, NAN, 2.8284271247461903, 2.5],
        [1.5, 1.5, INF, INF, NAN, 2.5, 2.1213203435596424],
    ]),
    ("atan2", [
        [0.0, 3.141592653589793, 0.0, 3.141592653589793, NAN, 0.0, 3.141592653589793],
        [-0.0, -3.141592653589793, -0.0, -3.141592653589793, NAN, -0.0, -3.141592653589793],
        [1.5707963267948966, 1.5707963267948966, 0.7853981633974483, 2.356194490192345, NAN, 1.5707963267948966, 1.5707963267948966],
        [-1.5707963267948966, -1.5707963267948966, -0.7853981633974483, -2.356194490192345, NAN, -1.5707963267948966, -1.5707963267948966],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [1.5707963267948966, 1.5707963267948966, 0.0, 3.141592653589793, NAN, 0.7853981633974483, 2.214297435588181],
        [-1.5707963267948966, -1.5707963267948966, -0.0, -3.141592653589793, NAN, -0.6435011087932844, -2.356194490192345],
    ]),
    ("pow", [
        [1.0, 1.0, 0.0, INF, NAN, 0.0, INF],
        [1.0, 1.0, 0.0, INF, NAN, 0.0, INF],
        [1.0, 1.0, INF, 0.0, NAN, INF, 0.0],
        [1.0, 1.0, INF, 0.0, NAN, INF, 0.0],
        [1.0, 1.0, NAN, NAN, NAN, NAN, NAN],
        [1.0, 1.0, INF, 0.0, NAN, 4.0, 0.3535533905932738],
        [1.0, 1.0, INF, 0.0, NAN, 2.25, NAN],
    ]),
    ("logaddexp", [
        [0.6931471805599453, 0.6931471805599453, INF, 0.0, NAN, 2.1269280110429727, 0.2014132779827524],
        [0.6931471805599453, 0.6931471805599453, INF, 0.0, NAN, 2.1269280110429727, 0.2014132779827524],
        [INF, INF, INF, INF, NAN, INF, INF],
        [0.0, 0.0, INF, -INF, NAN, 2.0, -1.5],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [2.1269280110429727, 2.1269280110429727, INF, 2.0, NAN, 2.6931471805599454, 2.0297504182726205],
        [0.2014132779827524, 0.2014132779827524, INF, -1.5, NAN, 2.0297504182726205, -0.8068528194400547],
    ]),
    ("igamma", [
        [NAN, NAN, 1.0, NAN, NAN, 1.0, NAN],
        [NAN, NAN, 1.0, NAN, NAN, 1.0, NAN],
        [0.0, 0.0, NAN, NAN, NAN, 0.0, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [0.0, 0.0, 1.0, NAN, NAN, 0.5939941502901618, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
    ]),
    ("igammac", [
        [NAN, NAN, 0.0, NAN, NAN, 0.0, NAN],
        [NAN, NAN, 0.0, NAN, NAN, 0.0, NAN],
        [1.0, 1.0, NAN, NAN, NAN, 1.0, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
        [1.0, 1.0, 0.0, NAN, NAN, 0.4060058497098382, NAN],
        [NAN, NAN, NAN, NAN, NAN, NAN, NAN],
    ]),
];

/// Results of the comparisons, as [`BINARY`] holds values; the digit 1 is true.
#[rustfmt::skip]
const COMPARE: [(&str, [&str; 7]); 6] = [
    ("eq", ["1100000", "1100000", "0010000", "0001000", "0000000", "0000010", "0000001"]),
    ("ne", ["0011111", "0011111", "1101111", "1110111", "1111111", "1111101", "1111110"]),
    ("lt", ["0010010", "0010010", "0000000", "1110011", "0000000", "0010000", "1110010"]),
    ("le", ["1110010", "1110010", "0010000", "1111011", "0000000", "0010010", "1110011"]),
    ("gt", ["0001001", "0001001", "1101011", "0000000", "0000000", "1101001", "0001000"]),
    ("ge", ["1101001", "1101001", "1111011", "0001000", "0000000", "1101011", "0001001"]),
];

/// Returns the result of a pointwise op on floats.
fn apply(name: &str, ins: &[&[f64]]) -> Vec<f64> {
    let ins: Vec<Literal> =
        ins.iter().map(|v| Literal::floats(DType::F64, [v.len()], v.to_vec()).unwrap()).collect();
    let out = reference::apply(&op_named(name), &ins).unwrap();
    elements(&out[0]).iter().map(|z| z.re).collect()
}

/// Checks values as [`assert_same`] does, and that zeros have the same sign.
#[track_caller]
fn assert_values(what: &str, got: &[f64], want: &[f64]) {
    assert_same(what, got, want, 1e-15);
    for (k, (g, w)) in got.iter().zip(want).enumerate().filter(|(_, (_, w))| **w == 0.0) {
        assert_eq!(g.is_sign_negative(), w.is_sign_negative(), "{what}: sign of zero number {k}");
    }
}

#[test]
fn values_at_zeros_infinities_and_nan() {
    for (name, want) in UNARY {
        assert_values(name, &apply(name, &[&POINTS]), &want);
    }
    let compare = COMPARE.map(|(name, lines)| {
        (name, lines.map(|l| l.chars().map(|c| f64::from(u8::from(c == '1'))).collect::<Vec<_>>()))
    });
    let binary = BINARY.map(|(name, lines)| (name, lines.map(|l| l.to_vec())));
    for (name, lines) in binary.into_iter().chain(compare) {
        for (a, want) in PAIRS.into_iter().zip(lines) {
            assert_values(&format!("{name}({a:?}, ..)"), &apply(name, &[&[a; 7], &PAIRS]), &want);
        }
    }
    let orders = [0.0, 1.0, 2.0, 1.2, -1.0, NAN];
    let zeta = 1.6449340668482264;
    let want = [-0.5772156649015329, zeta, -2.4041138063191886, zeta, NAN, NAN];
    assert_values("polygamma", &apply("polygamma", &[&orders, &[1.0; 6]]), &want);
    let by_shape = [0.732615118428398, -0.2385669752167553, -0.06022192309013089];
    let densities = [0.1931113033572681, 0.10287562653213388, -0.0697394230239688];
    for (name, [p, first, second]) in [("igamma_grad_a", by_shape), ("gamma_density", densities)] {
        let got = apply(name, &[&orders, &[2.0; 6], &[2.6; 6]]);
        assert_same(name, &got, &[p, first, second, first, NAN, NAN], 1e-13);
    }
    let tested = UNARY.len() + BINARY.len() + COMPARE.len() + 3;
    assert_eq!(
        tested,
        pointwise::all().filter(|r| r.float.is_some()).count(),
        "every pointwise op has its values"
    );
}

#[test]
fn values_at_ties_and_ordinary_numbers() {
    let ties = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5];
    assert_values("round", &apply("round", &[&ties]), &[0.0, 2.0, 2.0, -0.0, -2.0, -2.0]);
    assert_values("trunc", &apply("trunc", &[&ties]), &[0.0, 1.0, 2.0, -0.0, -1.0, -2.0]);
    assert_values("hypot", &apply("hypot", &[&[3.0, 1e200], &[4.0, 1e200]]), &[5.0, 2.0_f64.sqrt() * 1e200]);
    let (a, b) = ([7.0, -7.0, 7.0, -7.0, 1.0], [3.0, 3.0, -3.0, -3.0, 0.1]);
    assert_values("fmod", &apply("fmod", &[&a[..4], &b[..4]]), &[1.0, -1.0, 1.0, -1.0]);
    assert_values("remainder", &apply("remainder", &[&a[..4], &b[..4]]), &[1.0, 2.0, -2.0, -1.0]);
    assert_values("floor_div", &apply("floor_div", &[&a, &b]), &[2.0, -3.0, -3.0, 2.0, 9.0]);
}

#[test]
fn complex_values() {
    let of = |name: &str, z: C| {
        let z = Literal::new(Aval::scalar(DType::C128), vec![z]).unwrap();
        elements(&reference::apply(&op_named(name), &[z]).unwrap()[0])[0]
    };
    for (z, nan, inf) in [
        (C::new(1.0, -2.0), 0.0, 0.0),
        (C::new(NAN, 0.0), 1.0, 0.0),
        (C::new(0.0, -INF), 0.0, 1.0),
        (C::new(INF, NAN), 1.0, 1.0),
    ] {
        assert_eq!(of("is_nan", z).re, nan, "{z}");
        assert_eq!(of("is_inf", z).re, inf, "{z}");
        assert_eq!(of("is_finite", z).re, f64::from(nan + inf == 0.0), "{z}");
    }
    let table = [
        ("exp2", C::new(3.0, 0.0), C::new(8.0, 0.0)),
        ("log2", C::new(0.0, 4.0), C::new(2.0, 2.266180070913597)),
        ("log10", C::new(100.0, 0.0), C::new(2.0, 0.0)),
        ("reciprocal", C::new(0.0, 2.0), C::new(0.0, -0.5)),
        ("rsqrt", C::new(-4.0, 0.0), C::new(0.0, -0.5)),
        ("square", C::new(1.0, 2.0), C::new(-3.0, 4.0)),
        ("sigmoid", C::new(0.0, 0.0), C::new(0.5, 0.0)),
    ];
    for (name, z, want) in table {
        let got = of(name, z);
        assert!((got - want).norm() <= 4e-16 * want.norm(), "{name}({z}) is {got}");
    }
}

#[test]
fn integers_wrap_and_never_trap() {
    use DType::{Bool, I8, I32, I64, U8, U32};
    const MIN: i64 = i64::MIN;
    let table: &[(&str, DType, &[i64], i64)] = &[
        ("add", U8, &[200, 100], 44),
        ("neg", U8, &[1], 255),
        ("neg", I64, &[MIN], MIN),
        ("mul", I32, &[1 << 20, 1 << 12], 0),
        ("abs", I8, &[-128], -128),
        ("abs", I64, &[MIN], MIN),
        ("sign", I32, &[-7], -1),
        ("square", I8, &[16], 0),
        ("div", I64, &[-7, 2], -3),
        ("div", I64, &[7, 0], 0),
        ("div", I64, &[MIN, -1], MIN),
        ("div", I32, &[-(1 << 31), -1], -(1 << 31)),
        ("floor_div", I64, &[-7, 2], -4),
        ("floor_div", I64, &[7, -2], -4),
        ("floor_div", I64, &[-6, 3], -2),
        ("floor_div", I64, &[7, 0], 0),
        ("floor_div", I64, &[MIN, -1], MIN),
        ("floor_div", I8, &[-128, -1], -128),
        ("fmod", I64, &[-7, 3], -1),
        ("fmod", I64, &[7, 0], 7),
        ("fmod", I64, &[MIN, -1], 0),
        ("remainder", I64, &[-7, 3], 2),
        ("remainder", I64, &[7, -3], -2),
        ("remainder", I64, &[-7, 0], -7),
        ("remainder", I64, &[MIN, -1], 0),
        ("remainder", I64, &[MIN, i64::MAX], i64::MAX - 1),
        ("pow", I64, &[2, 10], 1024),
        ("pow", I64, &[-3, 3], -27),
        ("pow", I64, &[0, 0], 1),
        ("pow", I64, &[0, -1], 0),
        ("pow", I64, &[2, -1], 0),
        ("pow", I64, &[1, -5], 1),
        ("pow", I64, &[-1, -5], -1),
        ("pow", I64, &[-1, MIN], 1),
        ("pow", I64, &[2, 64], 0),
        ("pow", I64, &[3, 41], 36472996377170786403_u128 as i64),
        ("pow", U8, &[3, 5], 243),
        ("pow", U8, &[3, 6], 729 - 512),
        ("floor", I32, &[-7], -7),
        ("is_nan", I32, &[7], 0),
        ("is_finite", I32, &[7], 1),
        ("is_finite", Bool, &[0], 1),
        ("and", I64, &[12, 10], 8),
        ("or", I64, &[12, 10], 14),
        ("xor", I64, &[12, -1], -13),
        ("not", I64, &[0], -1),
        ("not", U8, &[5], 250),
        ("and", Bool, &[1, 0], 0),
        ("or", Bool, &[1, 0], 1),
        ("xor", Bool, &[1, 1], 0),
        ("not", Bool, &[0], 1),
        ("not", Bool, &[1], 0),
        ("shl", I64, &[1, 63], MIN),
        ("shl", I64, &[-1, 64], 0),
        ("shl", I64, &[1, -1], 0),
        ("shl", I64, &[1, MIN], 0),
        ("shl", I32, &[1, 31], -(1 << 31)),
        ("shl", I32, &[-1, 32], 0),
        ("shl", U8, &[255, 1], 254),
        ("shl", U8, &[255, 8], 0),
        ("shr", I64, &[-8, 1], -4),
        ("shr", I64, &[-8, 64], -1),
        ("shr", I64, &[-8, -1], -1),
        ("shr", I64, &[8, i64::MAX], 0),
        ("shr", I8, &[-128, 7], -1),
        ("shr", I8, &[-128, 8], -1),
        ("shr", U32, &[u32::MAX as i64, 31], 1),
        ("shr", U32, &[u32::MAX as i64, 32], 0),
    ];
    for (name, dtype, ins, want) in table {
        let ins: Vec<Literal> = ins.iter().map(|&x| Literal::int_scalar(*dtype, x)).collect();
        let out = reference::apply(&op_named(name), &ins).unwrap();
        assert_eq!(out[0].i(), [*want], "{name}{ins:?}");
    }
    // Quotient and remainder are consistent for all signs.
    let some = [MIN, -9, -4, -1, 0, 1, 3, 8, i64::MAX];
    for (a, b) in some.into_iter().flat_map(|a| some.map(|b| (a, b))) {
        let ins = [a, b].map(|x| Literal::int_scalar(I64, x));
        let of = |name| reference::apply(&op_named(name), &ins).unwrap()[0].i()[0];
        assert_eq!(of("floor_div").wrapping_mul(b).wrapping_add(of("remainder")), a, "{a} and {b}, down");
        assert_eq!(of("div").wrapping_mul(b).wrapping_add(of("fmod")), a, "{a} and {b}, towards zero");
    }
}

#[test]
fn ops_refuse_unsupported_classes() {
    let refused = [("and", DType::F64), ("shl", DType::Bool), ("abs", DType::C128), ("exp", DType::I32)];
    for (name, dtype) in refused {
        let op = op_named(name);
        let arity = pointwise::find(name).map_or(0, |r| r.arity);
        let error = op.infer(&vec![Aval::scalar(dtype); arity]).unwrap_err().to_string();
        assert!(error.contains("it takes"), "{name}: {error}");
    }
}

#[test]
fn every_op_is_listed_once_and_found_by_name() {
    let mut names: Vec<&str> = pointwise::all().map(|r| r.name).collect();
    for name in &names {
        assert_eq!(Op::parse(name, &|_| None), Some(op_named(name)), "{name} is the name of that op alone");
        assert!(!pointwise::find(name).is_none_or(|r| r.docs.trim().is_empty()), "{name} has no docs");
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    let mut seen: Vec<&str> = Vec::new();
    macro_rules! listed {
        ($($(#[$doc:meta])* $name:ident $args:tt -> $y:ident $body:tt)*) => {
            seen.extend([$(stringify!($name)),*]);
        };
    }
    gradus_ir::for_each_pointwise!(listed);
    seen.sort_unstable();
    assert_eq!(seen, names, "the macro passes other ops than those found by name");
}
