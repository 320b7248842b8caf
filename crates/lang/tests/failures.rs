//! Failures of runs: the message, the line of the program and the time step at which a routine fails.

use gradus_lang::{Program, Settings, Source};
use std::collections::BTreeMap;

/// Returns the message of a run that fails.
fn failure(text: &str, steps: Option<usize>) -> String {
    let program = Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{text}\n{f}"));
    let settings = Settings { steps, ..Settings::default() };
    match program.run(&BTreeMap::new(), &settings, &program.outputs()) {
        Ok(_) => panic!("{text}\nruns"),
        Err(faults) => faults.to_string(),
    }
}

/// Checks the line, counted from 1, and the step of a failure.
fn fails_at(text: &str, line: usize, step: Option<usize>) {
    let found = failure(text, None);
    assert!(found.contains("is singular"), "{text}\n{found}");
    assert!(found.contains(&format!("--> test:{line}:")), "{text}\n{found}");
    match step {
        Some(step) => assert!(found.contains(&format!("(at step {step})")), "{text}\n{found}"),
        None => assert!(!found.contains("at step"), "{text}\n{found}"),
    }
    assert!(!found.contains(".rs"), "{text}\n{found}");
}

/// The first number of `P` counts down from `first`, so that its inverse fails at that step.
fn countdown(first: usize, inverse: &str) -> String {
    format!(
        "D[i,j] = const([[1, 0], [0, 0]])\n\
         P[i,j,*0] = const([[{first}, 0], [0, 1]])\n\
         {inverse}\n\
         P[i,j,*t+1] = P[i,j,*t] - D[i,j] + 0 K[i,j,*t]\n"
    )
}

#[test]
fn failures_in_steps_name_the_line_and_the_step() {
    let own = "K[i,j,*t] = inv(P[i,j,*t])";
    for first in [0, 1, 3, 5] {
        fails_at(&format!("{}axis t = 6", countdown(first, own)), 3, Some(first));
    }
    // A line that does not write its time.
    let local = "axis t = 6\nB[i,j] = const([[3, 0], [0, 1]])\nP[i,j,*0] = B[i,j]\nK[i,j] = inv(P[i,j,*t])\n\
        D[i,j] = const([[1, 0], [0, 0]])\nP[i,j,*t+1] = P[i,j,*t] - D[i,j] + 0 K[i,j]";
    fails_at(local, 4, Some(3));
    // The state itself, and the first step, which is computed separately.
    let state = "axis t = 6\nP[i,j,*0] = const([[0.5, 0], [0, 1]])\nD[i,j] = const([[2, 0], [0, 0]])\n\
        P[i,j,*t+1] = inv(P[i,j,*t]) - D[i,j]";
    fails_at(state, 4, Some(1));
    fails_at("P[i,j,*0] = inv(const([[0, 0], [0, 1]]))\naxis t = 3\nP[i,j,*t+1] = P[i,j,*t]", 1, None);
}

#[test]
fn failures_name_steps_of_loops_of_other_kinds() {
    // Backwards: P[0,0] is 4 at step 5, and 0 at step 2.
    let back = "axis t = 6\nD[i,j] = const([[1, 0], [0, 0]])\nP[i,j,*5] = const([[4, 0], [0, 1]])\n\
        P[i,j,*t-1] = (P[i,j,*t] + D[i,j] * (P[i,j,*t] > 3 ? -2 : -1)) + 0 inv(P[i,j,*t])";
    fails_at(back, 4, Some(2));
    // Until a condition does not hold, with and without a bound.
    for time in ["axis t = 9 while Go", "axis t while Go"] {
        let text = "D[i,j] = const([[1, 0], [0, 0]])\nP[i,j,*0] = const([[3, 0], [0, 1]])\n\
            P[i,j,*t+1] = P[i,j,*t] - D[i,j] + 0 inv(P[i,j,*t])\nGo[*t] = P[0,0,*t] > -5\n";
        fails_at(&format!("{text}{time}"), 3, Some(3));
    }
}

#[test]
fn failures_name_lines_of_functions_and_without_time() {
    let own = "fn f(a[i,j]) -> y[i,j] { y[i,j] = inv(a[i,j]) }; K[i,j,*t] = f(P[i,j,*t])";
    fails_at(&format!("{}axis t = 6", countdown(2, own)), 3, Some(2));
    fails_at("A[i,j] = const([[1, 2], [2, 4]])\nB[i,j] = A[i,j] + 1\nC[i,j] = 2 inv(A[i,j])", 3, None);
}
