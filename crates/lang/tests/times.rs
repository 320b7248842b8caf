//! Time: compares values with derived ones, and gradients with differences and with those of the graph.

use crate::common::check::{check_with, load, settings};
use gradus_lang::ast::Name;
use std::collections::BTreeMap;

/// Returns the values of a name.
fn values(text: &str, name: &str) -> Vec<f64> {
    let run = load(text).run(&BTreeMap::new(), &settings(None), &[name.into()]);
    let run = run.unwrap_or_else(|f| panic!("{text}\n{f}"));
    run[&Name::from(name)].to_vec::<f64>().unwrap()
}

/// A term without time has a value at every step of its line, also where the name has fewer steps than the line.
#[test]
fn terms_without_time_in_backward_steps() {
    let text = "axis t = 3\nP[*t-1] = P[*t] - 1\nAll[t] = P[*t]";
    assert_eq!(values(text, "All"), [-2.0, -1.0, 0.0]);
    let text = "axis t = 3\nA[p] = const([4, 5])\nP[1-i,*t-1] = A[i]\nAll[i,t] = P[i,*t]";
    assert_eq!(values(text, "All"), [5.0, 5.0, 0.0, 4.0, 4.0, 0.0]);
}

/// The size of an index of a state comes from declared sizes and plain reads, and from offsets only if
/// nothing else gives it.
#[test]
fn sizes_of_states_at_offsets() {
    let text =
        "A[p] = const([1, 2])\naxis t = 2\naxis i = 3\nS[i,*0] = A[i-1] + A[0] A[1]\nS[j,*t+1] = S[j,*t]";
    assert_eq!(values(text, "S"), [2.0, 3.0, 4.0]);
    let text = "A[p] = const([1, 2, 4])\nB[p] = const([5, 6])\naxis t = 1\n\
                S[i,*0] = A[i+1]\nS[j,*t+1] = S[j,*t] + B[j]";
    assert_eq!(values(text, "S"), [7.0, 10.0]);
    let text = "A[p] = const([1, 2, 4])\naxis t = 1\nS[j,*t+1] = S[j,*t] + A[j+1]";
    assert_eq!(values(text, "S"), [2.0, 4.0, 0.0]);
}

/// A state that is a mean keeps its value after the end of a time with a bound.
#[test]
fn means_keep_their_value_after_the_end() {
    let text = "axis t = 9 while Go\nA[p] = const([1, 2, 6])\nS[*0] = 1\nGo[*t] = S[*t] < 20\n\
                S[*t+1] avg= A[i] S[*t]";
    assert_eq!(values(text, "S"), [27.0]);
    let guarded = format!("{text} when A[i] > 1");
    assert_eq!(values(&guarded, "S"), [64.0]);
    let text = "axis t = 9 while Go\nS[*0] = 1\nGo[*t] = S[*t] < 20\nS[*t+1] avg= A[i] * (S[*t] + 1)\n\
                Loss = S[*-1] S[*-1]";
    check_with(text, &[("A", &[3])], None);
}

/// A derivative by an argument without time, in a branch: the branch is chosen at each step, not once for their sum.
#[test]
fn branches_over_derivatives_of_functions_of_two_arguments() {
    for value in ["index(t) >= 1 ? maximum(B[i], S[*t]) : 1", "index(t) >= 1 ? (B[i] + 2) ** S[*t] : 1"] {
        let text = format!(
            "axis t = 3\nS[*0] = B[0]\nP[*t] = ({value}) - A[i]\nS[*t+1] = 0.3 S[*t] P[*t]\nLoss = S[*-1] + P[*-1]"
        );
        check_with(&text, &[("A", &[2]), ("B", &[2])], None);
    }
    let text = "axis t = 4 while Go\nS[i,*0] = 0.1 A[i]\nS[i,*t+1] += maximum(B[1-i], X[i]) A[i]\n\
                Go[*t] = S[0,*t] < 0.3\nLoss = S[i,*-1] S[i,*-1]";
    check_with(text, &[("A", &[2]), ("B", &[2]), ("X", &[2])], None);
}

/// Reductions over steps: their derivatives work along time, which is not an axis where the gradient has a value per step.
#[test]
fn reductions_over_steps() {
    for how in ["max", "min", "avg", "prod"] {
        let text = format!(
            "S[i,*0] = A[i]\nS[i,*t+1] = 0.5 S[i,*t] X[i,*t] + S[i,*t]\nM {how}= X[k,*t]\n\
             Z[i] {how}= S[i,*t+1] S[i,*t] + X[i,*t-1]\nLoss = Z[i] Z[i] M"
        );
        check_with(&text, &[("A", &[2]), ("X", &[2, 3])], Some(3));
    }
    let text = "S[i,*0] = A[i]\nS[i,*t+1] = 0.5 S[i,*t] X[i,*t] + S[i,*t]\n\
                Z[i,t] = softmax(X[i,*t-1] S[i,*t+1], axis=i) S[i,*t]\nLoss = Z[i,t] Z[i,t]";
    check_with(text, &[("A", &[2]), ("X", &[2, 3])], Some(3));
}

/// A function called at every step reads a fixed step, or a tensor by index arithmetic.
#[test]
fn fixed_steps_below_functions() {
    let text = "fn dot(a[x], b[x]) -> s { s = a[x] b[x] }\nS[i,*0] = A[i]\n\
                S[i,*t+1] = 0.3 S[i,*t] dot(S[k,*0], X[k,*t]) + 0.1 dot(C[k,1-i], X[k,*t])\n\
                Loss = S[i,*-1] S[i,*-1]";
    check_with(text, &[("A", &[2]), ("C", &[2, 2]), ("X", &[2, 3])], Some(3));
    let text =
        "S[i,*0] = A[i]\nS[i,*t+1] = 0.3 S[i,*t] max(S[2*k,*0] X[k,*t], axis=k)\nLoss = S[i,*-1] S[i,*-1]";
    check_with(text, &[("A", &[4]), ("X", &[2, 3])], Some(3));
}

/// Reads beyond the last step of a state are 0, and the last step itself has a gradient.
#[test]
fn reads_beyond_the_last_step() {
    let text = "S[i,*0] = A[i]\nS[i,*t+1] = 0.5 S[i,*t] X[i,*t] + S[i,*t]\n\
                Z[i,t] = S[i,*t+2] S[i,*t] + X[i,*t+1]\nLoss = Z[i,t] Z[i,t] + S[1,*t+2]";
    check_with(text, &[("A", &[2]), ("X", &[2, 3])], Some(3));
}

/// Positions that are written at a step before, with values that have no time.
#[test]
fn gradients_of_positions_at_the_step_before() {
    let text = "S[k,*0] = 0.3\nS[k,*t+1] = S[k,*t] A[k]\nZ[n] sum= S[1-n,*t-1]\nLoss = Z[n] Z[n]\naxis n = 2";
    check_with(text, &[("A", &[2])], Some(3));
}

/// A sum over steps inside a nonlinear function, with further terms that only read steps.
#[test]
fn sums_over_steps_in_later_terms() {
    let text = "S[i,*0] = A[i]\nS[i,*t+1] max= S[i,*t]\nZ[j] = -max(B[j] C[k], axis=k) + S[j,*t+1] B[j] \
                when A[j] >= 0\nLoss = Z[j] Z[j]";
    check_with(text, &[("A", &[2]), ("B", &[2]), ("C", &[2])], Some(3));
}

/// A factor that is a function of the index itself, multiplied by one position of a tensor.
#[test]
fn functions_of_indices_beside_positions() {
    let text = "axis j = 3\nS[j] = (index(j) + 1) B[1] + reduce(min, n) (B[n] - index(j)) abs(B[0])\nLoss = S[k] S[k]";
    check_with(text, &[("B", &[2])], None);
}

/// Several lines that multiply parts of a name.
#[test]
fn products_of_several_lines() {
    let text = "Y[i,j] prod= A[i] B[j]\nY[i,1] prod= sin(A[i])\nY[0,j] prod= B[j] when A[j] > 0.5\nLoss = Y[i,j] Y[i,j] A[j]";
    check_with(text, &[("A", &[2]), ("B", &[2])], None);
    let zeros = "A[p] = const([0, 2])\nB[p] = const([3, 0])\nY[i] prod= A[i]\nY[1-k] prod= B[k]\nY[1] prod= 5\nLoss = Y[i] (1 + index(i))";
    let program = format!("{zeros}\n{}", load(zeros).gradient(&Default::default()).unwrap().text());
    assert_eq!(values(&program, "Y"), [0.0, 30.0]);
    assert_eq!(values(&program, "Grad_A"), [0.0, 30.0]);
    assert_eq!(values(&program, "Grad_B"), [20.0, 0.0]);
}

/// An index of a position on the left, whose size another term of the line gives.
#[test]
fn sizes_of_positions_from_other_terms() {
    let text = "C[p,q] = const([[1, 2], [3, 4], [5, 6]])\nJ[p] = const([0, 1])\nA[p] = const([1, 4])\nY[2*j,J[m]] = A[m] + C[j,m]\n\
                axis n = 2\nAll[i,n] = Y[i,n]";
    assert_eq!(values(text, "All"), [2.0, 6.0, 0.0, 0.0, 4.0, 8.0, 0.0, 0.0, 6.0, 10.0]);
}
