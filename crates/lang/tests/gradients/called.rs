//! Gradients with indices that have different names on different lines: new ones of functions, ranges,
//! offsets.

use super::check_with;
use crate::common::check::{load, settings};
use gradus_lang::GradientOptions;
use gradus_lang::ast::Name;
use std::collections::BTreeMap;

/// Returns the gradient of a name, plain and merged.
fn gradients(text: &str, of: &str) -> [Vec<f64>; 2] {
    [false, true].map(|merged| {
        let program = load(text);
        let options = GradientOptions { merged, ..Default::default() };
        let lines = program.gradient(&options).unwrap_or_else(|f| panic!("{text}\n{f}")).text();
        let whole = load(&format!("{}\n{lines}", program.open_text()));
        let name = Name::from(format!("Grad_{of}"));
        let found = whole.run(&BTreeMap::new(), &settings(None), std::slice::from_ref(&name));
        let found = found.unwrap_or_else(|f| panic!("{text}\n{lines}\n{f}"));
        found[&name].reshape([-1]).to_vec::<f64>().unwrap()
    })
}

/// Compares the gradient of a name with expected values.
pub(super) fn gives(text: &str, of: &str, expected: &[f64]) {
    for found in gradients(text, of) {
        let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-12 * (1.0 + b.abs());
        assert_eq!(found.len(), expected.len(), "{text}");
        assert!(!found.iter().zip(expected).any(far), "{text}\n{found:?} instead of {expected:?}");
    }
}

const BACK: &str = "fn f(a[x]) -> o[y] { o[y] = a[y=::-1] a[y] a[y] }\n";
const OUTER: &str = "fn ou(a[x]) -> o[x,x'] { o[x,x'] = a[x] a[x'] a[x'] }\n";

/// A function whose result has a new index, as a part of a right side.
#[test]
fn new_indices_of_functions() {
    let turned =
        "V[i] = const([1, 2, 3])\nC[i] = const([1, 10, 100])\nfn f(a[x]) -> o[y] { o[y] = a[y=::-1] }\n";
    gives(&format!("{turned}T[r] = 2 f(V[s])\nLoss = T[r] C[r]"), "V", &[200.0, 20.0, 2.0]);
    gives(&format!("{turned}T[s] = 2 f(V[s])\nLoss = T[r] C[r]"), "V", &[200.0, 20.0, 2.0]);
    let (v, u, m) = (("V", &[3][..]), ("U", &[3][..]), ("M", &[2, 3][..]));
    for line in [
        "T[r] = exp(f(V[s])) U[r]",
        "T[r] = f(V[s]) U[r]",
        "T[r] = U[r] / f(sin(V[s]))",
        "T[r] = U[r] > 0.5 ? f(V[s]) U[r] : U[r] f(V[r])",
        "T[r] max= f(V[s]) U[k]",
        "T[r] when U[r] > 0.5 = f(V[s]) + U[r]",
        "T[y] = f(V[s]) U[k]",
        "T[s] = f(2 V[s]) ** 2 U[s]",
        "T[r] = f(f(V[s]) V[r]) U[r]",
    ] {
        check_with(&format!("{BACK}{line}\nLoss = T[r] T[r]"), &[v, u], None);
    }
    for line in ["T[i,j] = ou(V[i]) U[j]", "T[j,i] = ou(V[i]) U[j]", "T[i,j] = exp(ou(V[k]) U[i])"] {
        check_with(&format!("{OUTER}{line}\nLoss = T[i,j] T[i,j] T[0,j]"), &[v, u], None);
    }
    for line in ["T[q,r] = f(M[b,s]) V[r]", "T[q,r] = 2 f(M[r,q])", "T[q,r] = f(M[r,q])"] {
        check_with(&format!("{BACK}{line}\nLoss = T[q,r] T[q,r] V[r]"), &[m, v], None);
    }
    check_with(&format!("{BACK}T[y,q] = f(V[s]) W[q]\nLoss = T[r,q] T[r,q]"), &[v, ("W", &[2])], None);
    let state = "H[i,*0] = V[i]\nH[r,*t+1] = tanh(f(H[s,*t])) U[r]\nLoss = H[r,*-1] H[r,*-1] + H[0,*t]";
    check_with(&format!("{BACK}{state}"), &[v, u], Some(3));
    let moments = "T[r,*t] = 2 f(X[s,*t]) U[r]\nLoss = T[r,*t] T[r,*t]";
    check_with(&format!("{BACK}{moments}"), &[("X", &[3, 4]), u], Some(4));
}

/// Arguments that keep an index because other factors use it. This also determines the axis that the call
/// works along.
#[test]
fn indices_kept_for_neighbours() {
    let (v, u, m) = (("V", &[3][..]), ("U", &[3][..]), ("M", &[3, 3][..]));
    let both = format!(
        "{BACK}fn g(a[x]) -> o {{ o = a[x] a[x] }}\nfn h(a[x], b[y]) -> c[y] {{ c[y] = a[x] b[y] index(y) size(x) }}\nfn w(a[x], b[x]) -> y[x] {{ y[x] = a[x] b[x+1] }}\n"
    );
    for line in [
        "T[s] = softmax(M[s,r] V[r]) V[r] U[r]",
        "T[s] = f(U[r=::-1] V[r+1]) tanh(V[r=::-1]) U[s]",
        "T[s] = U[s] f(U[r] V[r]) / V[r]",
        "T[s] = f(f(U[r] V[r])) V[r] U[s]",
        "T[s] = g(M[s,r] V[r]) V[r] U[s]",
        "T[s] when U[s] > 0.5 = lnorm(M[s,r] V[r]) V[r]",
        "T[s] = U[s] > 0.5 ? cumsum(M[s,r] V[r]) V[r] : U[s]",
        "T[s] = h(M[s,s-1], sin(U[r=::-1])) V[r] + U[s+1]",
        "T[s] = h(M[s,s-1], sin(U[r=::-1])) + V[s+1]",
        "T[s] = (V[s] + V[r] U[q] V[r+1]) > 0.4 ? M[s,r] : g(M[r,0] / (2 + M[s,s] ** 2))",
        "T[s] = w(reduce(max, r) M[r,s], V[r] / (2 + M[q,q] ** 2)) U[s]",
        "T[s] = g(w(M[q,q] + M[r,r], M[q,r] + V[q])) U[s]",
        "T[s] when U[s] > 0.35 = exp(w(M[r-1,s] + U[s], V[q]))",
        "T[s] max= (h(V[s], sin(U[r=::-1])) + U[s+1] + M[s,r])",
    ] {
        check_with(&format!("{both}{line}\nLoss = T[r] T[r] V[r] + U[r] V[r] + M[i,j]"), &[v, u, m], None);
    }
}

/// Sums close at the same expression as in the equation, whatever else of it a gradient line contains.
#[test]
fn sums_around_what_is_left() {
    let (v, u, m) = (("V", &[3][..]), ("U", &[3][..]), ("M", &[3, 3][..]));
    let own = format!("{BACK}fn g(a) -> y {{ y = sin(a) + 0.5 a }}\nfn s(a[x]) -> y {{ y = a[x] a[x] }}\n");
    for line in [
        "T = (U[s] - M[s,r]) / (2 + M[r,s] V[r])",
        "T = (U[s] / (2 + V[2] ** 2) - M[s,r]) / (2 + M[r,s] V[r] softmax(M[r=::-1,0], axis=\"r\") ** 2)",
        "T = (1 + U[q] V[q]) (g(V[r]) + U[q])",
        "T = (M[r,s] - M[q,r] M[q=::-1,q+1]) s(M[s,r-1])",
        "T = V[q] > 0.4 ? g(M[s,s]) : V[s]",
        "T = s(M[s,q] U[s]) > 0.4 ? M[q,q] : M[r=::-1,s]",
        "T = U[s] / (2 + (V[q] M[q,q] > 0.4 ? V[s] : M[s,r]) ** 2)",
        "T max= (V[q] V[r] U[r] - f(M[s,r] V[r]))",
        "T avg= s((V[q] - M[0,q]) M[r,s])",
    ] {
        let more = "Loss = T T + U[r] V[r] + M[i,j]";
        check_with(&format!("{own}{line}\n{more}"), &[v, u, m], None);
    }
}

/// Conditions of a choice do not change the axis order of a call's cotangent.
#[test]
fn calls_by_place_under_conditions() {
    let ins: &[(&str, &[usize])] = &[("V", &[3]), ("U", &[3]), ("M", &[3, 3]), ("N", &[3, 3])];
    for line in [
        "T[r,s] when U[s] > 0.5 = f(lnorm(M[s=::-1,r]))",
        "T[r,s] when M[s,q] V[q] > 0.5 = f(softmax(N[s,r=::-1]))",
        "T[r,s] = f(U[s] > 0.5 ? M[r,s] : N[r,s])",
        "T[r,s] = f(case { U[s] > 0.5 -> M[r,s], V[s] > 0.2 -> N[s,r], default -> V[r] })",
    ] {
        let more = "Loss = T[r,s] T[r,s] M[r,s] + U[r] V[r] + N[i,j] N[i,j]";
        check_with(&format!("{BACK}{line}\n{more}"), ins, None);
    }
}

/// A new index with the name of another index of another size.
#[test]
fn new_indices_called_as_others() {
    let part = "V[i] = const([1, 2, 3, 4])\nfn f(a[x]) -> o[y] { o[y] = a[y=1:3] }\n";
    gives(&format!("{part}T[s] = f(V[s])\nLoss = T[s] T[s]"), "V", &[0.0, 4.0, 6.0, 0.0]);
    gives(&format!("{part}T[s] = 3 f(V[s])\nLoss = T[s] T[s]"), "V", &[0.0, 36.0, 54.0, 0.0]);
}

/// Named ranges and indices with the same names, also in merged gradients.
#[test]
fn named_ranges() {
    let (e, v) = (|x: f64| x.exp(), "V[j] = const([1, 2, 3])\n");
    let expected = [2.0 + e(1.0), 4.0 + e(2.0), 6.0 + e(3.0)];
    gives(&format!("{v}Y[s] = V[s=::-1]\nLoss = Y[s] Y[s] + exp(V[s])"), "V", &expected);
    let expected = [2.0 + e(1.0), 4.0 + e(2.0), e(3.0)];
    gives(&format!("{v}Y[s] = V[s=0:2]\nLoss = Y[s] Y[s] + exp(V[s])"), "V", &expected);
    let moved = format!("{v}U[j] = const([5, 7, 11])\nT[s] = V[s-1] U[s=::-1]\nLoss = T[s] T[s]");
    gives(&moved, "V", &[98.0, 100.0, 0.0]);
    gives(&moved, "U", &[40.0, 14.0, 0.0]);
    let product = "M[i,j] = const([[1, 2], [3, 4]])\nV[j] = const([1, 2])\nT[i] = softmax(M[i,j=0:2] V[j])\nLoss = T[0]";
    let slope = e(5.0) * e(11.0) / (e(5.0) + e(11.0)).powi(2);
    gives(product, "M", &[slope, 2.0 * slope, -slope, -2.0 * slope]);
    let state =
        "H[i,*0] = V[i]\nH[s,*t+1] = tanh(H[s=::-1,*t]) U[s] + V[s]\nLoss = H[r,*-1] H[r,*-1] + exp(V[s])";
    check_with(state, &[("V", &[3]), ("U", &[3])], Some(3));
}

/// Combined conditions have separate sums: an index that two of them sum over is not an index of the chosen
/// value.
#[test]
fn conditions_that_sum_over_one_index() {
    let shapes: &[(&str, &[usize])] = &[("M", &[3, 3]), ("N", &[3, 3]), ("U", &[3]), ("V", &[3])];
    let own = "fn w(a[x], b[x]) -> y[x] { y[x] = a[x] b[x+1] }\n";
    for text in [
        "T[s] when M[s,q] V[q] > 0.5 = w(N[s=::-1,-1] cumsum(tanh(N[r,s]), axis=\"r\"), U[s])",
        "T[s] when M[s,q] V[q] > 0.5 = U[r] sin((2 + N[s,s+1] ** 2) ** sin(cumsum(U[r])))",
        "E[s] = exp(U[s])\nT[s] = (M[s,q] V[q] > 0.5 ? E[s] : 0) + (N[s,q] U[q] > 0.9 ? sin(E[s]) : V[s])",
        // A condition from another line, whose index has another meaning here.
        "E[s] = exp(U[s]) / (2 + M[s,q] V[q])\nT[s] = M[s,q] V[q] > 0.5 ? log(E[s]) : 0",
        "T[s] = M[s,q] V[q] > 0.5 ? sin(tanh(U[s]) exp(M[s,q] V[q])) : 0",
        "E[s] = exp(U[s])\nT[s] when N[s,q] U[q] > 0.9 = M[s,q] V[q] > 0.5 ? log(E[s]) : 0",
    ] {
        check_with(&format!("{own}{text}\nLoss = tanh(T[s]) + U[r] V[r] + M[i,j] N[i,j]"), shapes, None);
    }
}

/// An index kept for an argument of a call, or by a sum around the call, is summed at the left side.
#[test]
fn sums_around_powers() {
    let shapes: &[(&str, &[usize])] = &[("M", &[3, 3]), ("U", &[3]), ("V", &[3])];
    let own = "fn f(a[x]) -> o[y] { o[y] = a[y=::-1] a[y] a[y] }\n";
    for text in [
        "T[k] = (2 + (softmax(V[q+1], axis=\"q\") M[q,s]) ** 2) ** sin(f(U[q]))",
        "T[k] = hypot(softmax(V[q+1], axis=\"q\") M[q,s], f(U[q]))",
        "T[k] = reduce(sum, q) ((2 + (V[q] M[q,k]) ** 2) ** sin(U[k]))",
        "T[k] = exp(reduce(sum, q) ((2 + (V[q] M[q,k]) ** 2) ** sin(U[k])) / 20)",
    ] {
        check_with(&format!("{own}{text}\nLoss = sin(T[k] / 9) + U[r] V[r] M[r,s]"), shapes, None);
    }
}

/// The axes that remain after a reduction give the number of repetitions. A choice around a mean is summed
/// before the mean.
#[test]
fn repeated_beside_reductions() {
    let shapes: &[(&str, &[usize])] = &[("M", &[3, 3]), ("N", &[3, 4]), ("U", &[3]), ("V", &[3])];
    for text in [
        "T[r,s] = (mean(cumsum(N[s,q]), axis=\"s\") - M[s,r])",
        "T[s] = (U[r] sum(N[s,q], axis=\"s\") + M[s,s])",
        "T[s] when U[s] > 0.5 = (M[0,s] > 0.4 ? mean(N[r,q], axis=\"r\") : M[r+1,r+1])",
        "T[s] = (M[s,s+1] M[s=::-1,-1] > 0.4 ? M[r=::-1,q] M[r,s] : reduce(avg, s) (M[q-1,s=::-1] V[s-1]))",
    ] {
        let places = text.split_once(" ").unwrap().0;
        let text = format!("{text}\nLoss = tanh({places}) + U[r] V[r] + M[i,j] V[j] + N[i,j]");
        check_with(&text, shapes, None);
    }
}

/// Axes that the left side names follow those that appear in the call, also if the call has a line of its
/// own.
#[test]
fn new_indices_within_choices() {
    for y in ["U[q] > 0 ? f(V[q]) : N[q,s]", "where(U[q] > 0.4, f(V[q]) tanh(U[r]), N[q=::-1,s])"] {
        let text = format!("{BACK}T[s] = cumsum({y})\nLoss = tanh(T[s]) + V[q] U[q] N[q,q]");
        check_with(&text, &[("U", &[3]), ("V", &[3]), ("N", &[3, 3])], None);
    }
}

/// New indices of a gradient do not have names of declared axes, which have their own sizes.
#[test]
fn declared_names_are_no_fresh_ones() {
    let text = "axis q = 3\naxis q' = 2\nZ[q'] = const([1, 2])\nE[s] = exp(U[s]) / (2 + M[s,q] V[q])\n\
        T[s] = M[s,q] V[q] > 0.5 ? log(E[s]) : 0\nLoss = tanh(T[s]) + U[r] V[r] + M[i,j] + Z[q']";
    check_with(text, &[("U", &[3]), ("V", &[3]), ("M", &[3, 3])], None);
    let primed = "axis q = 3\naxis q' = 2\nE[s] = exp(U[s]) / (2 + M[s,q'] V[q'])\nF[q] = U[q] ** 2\n\
        T[s] = M[s,q'] V[q'] > 0.5 ? log(E[s]) : 0\nLoss = tanh(T[s]) + U[r] F[r] + M[i,j] + V[k]";
    check_with(primed, &[("U", &[3]), ("V", &[2]), ("M", &[3, 2])], None);
    let unnamed = "axis i = 5\nLoss = sin(X[2] X[0]) + V[i] V[i] + X[1:3]";
    check_with(unnamed, &[("X", &[4]), ("V", &[5])], None);
    let ranges = "axis s = 5\nZ[1:3] = X[1:3] X[1:3]\nLoss = Z[k] Z[k] + V[s] V[s] + X[k]";
    check_with(ranges, &[("X", &[4]), ("V", &[5])], None);
}

/// Choices written as calls, as arguments of functions that work along one of their axes.
#[test]
fn along_calls_that_choose() {
    let cases = [
        "softmax(where(V[j] > 0.3, M[i,j], -1000000000))",
        "cumsum(where(V[j] > 0.5, M[i,j], 0))",
        "cumsum(case(C[k] > 0.5, M[i,j], 0))",
        "cumsum(2 where(C[k] > 0.3, M[i,j], V[j]))",
        "cumsum(tanh(where(V[j] > 0.5, M[i,j], 0)))",
        "lnorm(masked_fill(M[i,j], V[j] > 0.6, V[i] C[k]))",
        "cumsum(V[i] > 0.4 ? where(V[j] > 0.5, M[i,j], M[j,i]) : 0)",
    ];
    for y in cases {
        let text = format!("B[i,j] = {y}\nLoss = sin(B[i,j] M[i,j]) + V[i] + C[k]");
        check_with(&text, &[("V", &[3]), ("M", &[3, 3]), ("C", &[2])], None);
    }
}

/// Functions of scalars are evaluated for all steps at once, others at each step.
#[test]
fn functions_of_numbers_over_time() {
    for body in ["softmax(x)", "cumsum(x) x", "sum(x) sin(x)", "tanh(x) x"] {
        let text = format!(
            "fn g(x) -> y {{ y = {body} }}\nfn f(x) -> y {{ y = g(x) }}\naxis t = 3\nX[i,*t] = A[i] + B[i] index(t)\n\
             Y[i,*t] = f(X[i,*t]) X[i,*t]\nLoss = sin(Y[i,*t])"
        );
        check_with(&text, &[("A", &[2]), ("B", &[2])], None);
    }
}
