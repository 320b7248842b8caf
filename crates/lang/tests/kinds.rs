//! Numbers of other kinds: moments, places one by one, complex ones, truth as a factor.

#[path = "common/check.rs"]
mod check;

use gradus_ir::DType;
use gradus_lang::{Program, Settings, Source};
use std::collections::BTreeMap;

fn load(text: &str) -> Program {
    Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{text}\n{f}"))
}

fn value(text: &str, name: &str) -> Vec<f64> {
    let settings = Settings { float: DType::F64, ..Settings::default() };
    let found = load(text).run(&BTreeMap::new(), &settings, &[name.into()]);
    let found = found.unwrap_or_else(|f| panic!("{text}\n{f}"));
    found.values().next().unwrap().to_dtype(DType::F64).to_vec::<f64>().unwrap()
}

/// Time as a number is that of the moment at hand, and needs no declaration.
#[test]
fn the_moment_as_a_number() {
    let last = |text: &str| value(text, "S");
    let x = "X[*t] = const([1, 2, 3])\n";
    assert_eq!(last(&format!("{x}S[*0] = 1\nS[*t+1] = S[*t] (1 + index(t)) + 0 X[*t]")), [6.0]);
    assert_eq!(last(&format!("{x}S[*0] = 1\nS[*t+1] = S[*t] even(t) + X[*t] odd(t)")), [2.0]);
    assert_eq!(last(&format!("{x}S[*t] = X[*t] even(t)")), [1.0, 0.0, 3.0]);
    assert_eq!(last(&format!("{x}S[*t+1] = 2 S[*t] + X[*t] / size(t)")), [4.0 / 3.0 + 4.0 / 3.0 + 1.0]);
    // Where time is laid out or summed, too.
    let states = format!("{x}R[*t+1] = R[*t] + X[*t]\n");
    assert_eq!(last(&format!("{states}S = R[*t+1] even(t)")), [7.0]);
    assert_eq!(last(&format!("{states}S[t] = R[*t+1] index(t)")), [0.0, 3.0, 12.0]);
    assert_eq!(last(&format!("{states}S[t] = R[*t+1] + index(t)")), [1.0, 4.0, 8.0]);
    check_gradient(
        "axis t = 3\nS[*0] = V\nS[*t+1] = S[*t] * V * (1 + index(t))\nLoss = S[*-1]",
        2.0,
        4.0 * 8.0 * 6.0,
    );
}

/// The gradient of `Loss` by a number `V`.
fn check_gradient(text: &str, at: f64, expected: f64) {
    let gradient = load(&format!("V = {at}\n{text}")).gradient(&Default::default()).unwrap().text();
    let whole = format!("V = {at}\n{text}\n{gradient}");
    assert_eq!(value(&whole, "Grad_V"), [expected], "{gradient}");
}

/// Places that are written one by one are as many as the last of them says, also where the name needs itself.
#[test]
fn places_one_by_one() {
    assert_eq!(value("B[0] = 5\nB[1] = 6\nB[2] = B[0] + 1", "B"), [5.0, 6.0, 6.0]);
    let steps = "axis t = 3\nM[0,*0] = 1\nM[1,*0] = 2\nM[0,*t+1] = M[1,*t] + 1\nM[1,*t+1] = M[0,*t]";
    assert_eq!(value(steps, "M"), [4.0, 2.0]);
}

/// Complex numbers move from step to step as others do.
#[test]
fn complex_states() {
    let state = "X[*t] = const([1, 2])\nS[*t+1] = complex(0, 1) S[*t] + X[*t]\n";
    assert_eq!(value(&format!("{state}Y = real(S[*-1]) + 10 imag(S[*-1])"), "Y"), [12.0]);
}

#[test]
fn complex_numbers_have_parts() {
    let z = "Z[i] = complex(X[i], 1)\nX[i] = const([3, 4])\n";
    let real = |text: &str| value(&format!("{z}{text}"), "Y");
    assert_eq!(real("Y[i] = real(Z[i] Z[i])"), [8.0, 15.0]);
    assert_eq!(real("Y[i] = imag(Z[i] / 2 + X[i])"), [0.5, 0.5]);
    assert_eq!(real("Y = real(Z[i] conj(Z[i]))"), [27.0]);
    assert_eq!(real("W[i] = Z[i]\nW[i] = X[i]\nY[i] = abs(W[i] - 3)"), [10f64.sqrt(), 26f64.sqrt()]);
    assert_eq!(real("Y[i] = Z[i] == complex(3, 1)"), [1.0, 0.0]);
    assert_eq!(real("Y[i] = imag(X[i] > 3 ? Z[i] : 0)"), [0.0, 1.0]);
}

#[test]
fn a_comparison_as_a_factor_is_a_threshold() {
    let program = load("A[i] = const([1, 2])\nLoss = (A[i] > 1) A[i]");
    let gradient = program.gradient(&Default::default()).unwrap();
    assert_eq!(gradient.text(), "Grad_Loss = const(1.0)\nGrad_A[i] = Grad_Loss * (A[i] > 1)\n");
    let said: Vec<String> = gradient.warnings.iter().map(|w| w.message.to_string()).collect();
    assert!(matches!(&said[..], [one] if one.contains("a comparison has no derivative")), "{said:?}");
}

/// Gradients of complex numbers: what flows into a real name is real, and a factor hands on conjugates.
#[test]
fn complex_numbers_have_gradients() {
    let z = "Z[i] = complex(A[i], B[i])\n";
    let two: &[(&str, &[usize])] = &[("A", &[3]), ("B", &[3])];
    for loss in [
        "Loss = real(Z[i])",
        "Loss = imag(Z[i] Z[i] Z[i])",
        "Loss = abs(Z[i])",
        "Loss = abs(Z[i] + A[i]) B[i]",
        "Loss = real(Z[i] conj(Z[i]))",
        "Loss = imag(A[i] Z[i] / (Z[i] + 2))",
        "Loss = real(B[i] / Z[i])",
        "Loss = real(Z[i]**2) + imag(Z[i]**3)",
        "W[i] = -Z[i] A[i] - B[i]\nLoss = abs(W[i]) + real(W[i])",
        "W[i,j] = Z[i] conj(Z[j])\nLoss = imag(W[i,j] W[i,j+1]) + real(W[0,i] Z[i])",
        "W[i] = A[i] > 0.6 ? Z[i] Z[i] : 0\nLoss = imag(W[i] W[i])",
        "W = reduce(sum, i) (Z[i] A[i])\nV avg= Z[i] Z[i]\nLoss = abs(W) + imag(V W)",
        "W[i] = exp(Z[i])\nLoss = real(W[i]) + imag(exp(A[i] Z[i]))",
        "fn turn(z[x], a[x]) -> y[x] { y[x] = z[x] z[x] a[x] }\nW[i] = turn(Z[i], A[i])\nLoss = imag(W[i] Z[i])",
        "fn size(a, b) -> y { z = complex(a, b)\ny = real(z conj(z)) }\nLoss = size(A[i], B[i]) A[i]",
        "S[i,*0] = Z[i]\nS[i,*t+1] = S[i,*t] Z[i] A[i]\naxis t = 3\nLoss = imag(S[i,*-1])",
        "F[i] = fft(Z[i], part=\"imag\")\nLoss = F[i] F[i]",
    ] {
        check::check_with(&format!("{z}{loss}"), two, None);
    }
    let one: &[(&str, &[usize])] = &[("A", &[4])];
    for loss in [
        "R[k] = rfft(A[i])\nI[k] = rfft(A[i], part=\"imag\")\nLoss = R[k] R[k] + I[k] R[k]",
        "Z[i] = complex(fft(A[i]), fft(A[i], part=\"imag\"))\nLoss = abs(Z[i]) A[i]",
    ] {
        check::check_with(loss, one, None);
    }
}

/// Gradients of complex numbers are equations that a person reads, and differentiate again.
#[test]
fn complex_gradients_as_lines() {
    let text = "Z[i] = complex(A[i], 1)\nW[i] = Z[i] A[i]\nLoss = real(W[i] conj(Z[i]))";
    let gradient = check::check_with(text, &[("A", &[2])], None);
    for line in [
        "Grad_W[i] = Grad_Loss_1 Z[i]",
        "Grad_Z[i] = Grad_W[i] A[i]",
        "Grad_A[i] = real(Grad_W[i] conj(Z[i]))",
    ] {
        assert!(gradient.contains(line), "{gradient}");
    }
    let first = format!("{text}\n{gradient}").replace("Grad_", "G_").replace("Loss", "First");
    check::check_with(&format!("{first}Loss = G_A[i] G_A[i]"), &[("A", &[2])], None);
    let refused = load("Z = complex(A, 1)\nLoss = Z Z").gradient(&Default::default()).unwrap_err();
    assert!(refused.to_string().contains("`Loss` is a complex number"), "{refused}");
}
