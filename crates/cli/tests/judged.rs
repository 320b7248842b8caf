//! The verdicts of `check` (right, wrong, no derivative) and the counts of `explain`.

use crate::common::{Folder, STEPS, gradus_with, json, output, seed};
use serde_json::Value;

#[test]
fn check_reports_whether_gradients_are_right() {
    for name in ["mlp.eq", "attention.eq"] {
        let text = output("", &["check", &seed(name)]);
        assert!(text.contains("names: no errors"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("Grad_")).collect();
        assert!(rows.len() >= 12 && rows.iter().all(|r| r.ends_with("  ok")), "{text}");
    }
    // Without a loss, outputs are weighted; inputs of declared sizes are random.
    let text = output("axis i = 3\naxis j = 2\nY[i] = tanh(A[i,j] B[j])", &["check", "-"]);
    assert!(
        text.contains("gradients of Weighted") && text.lines().filter(|l| l.ends_with("  ok")).count() >= 3,
        "{text}"
    );
}

/// Gradients of many names are checked together. If one differs, the group is halved until every group with a
/// wrong gradient has one name.
/// Tests a program that declares a size for the first name that the added equations use for indices.
#[test]
fn check_does_not_use_the_axes_of_the_program() {
    let text = output(
        "axis q0 = 2\naxis i = 3\nY[i] = tanh(A[i])\nZ[q0] = sin(B[q0])\nLoss = Y[i] Y[i] + Z[q0] Z[q0]",
        &["check", "-"],
    );
    for (name, extent) in [("A", 3), ("B", 2), ("Y", 3), ("Z", 2)] {
        let line =
            text.lines().find(|l| l.trim_start().starts_with(&format!("Grad_{name} "))).expect("a row");
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[1], words.last()), (&*extent.to_string(), Some(&"ok")), "{text}");
    }
}

/// Steps of differences do not move the end of a time that ends by a condition. Gradients of such a program have states of
/// their own, which run backwards and do not end.
#[test]
fn check_holds_the_number_of_steps() {
    let newton = "axis t = 100 while Go\nX[*0] = 1\nGo[*t] = abs(X[*t] * X[*t] - 2) > 1e-12\n\
        X[*t+1] = X[*t] / 2 + 1 / X[*t]\nRoot = X[*-1]";
    let doubled = "axis t = 6 while Go\nA = const(3.0)\nX[*0] = A\nGo[*t] = X[*t] < 20\nX[*t+1] = 2 X[*t]\n\
        Loss = X[*-1] X[*-1]";
    let printed = output(doubled, &["grad", "-"]);
    for (text, args) in [
        (newton, &["check", "-"][..]),
        (doubled, &["check", "-"]),
        (&printed, &["check", "-", "--loss", "Grad_A"]),
    ] {
        let text = output(text, args);
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("Grad")).collect();
        assert!(rows.len() >= 2 && rows.iter().all(|r| r.ends_with("  ok")), "{text}");
    }
}

/// A size that only `index(i)` has is not that of the axis it reads.
#[test]
fn check_reads_positions_as_the_run_does() {
    let text = "axis i = 2\nA[k] = const([1,10,100,1000])\nG[i] = A[index(i)]\nLoss = G[i] G[i]";
    let found = output(text, &["check", "-"]);
    assert!(found.lines().filter(|l| l.ends_with("  ok")).count() >= 2, "{found}");
}

/// If nothing gives the number of steps, every command that runs a program says that it takes one.
#[test]
fn one_step_is_noted() {
    let text = "X[*0] = 1\nX[*t+1] = 2 X[*t]\nLoss = X[*-1] X[*-1]";
    for args in [&["run", "-"][..], &["check", "-"], &["query", "-", "Loss"]] {
        let done = gradus_with(text, args);
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(
            done.err.contains("the number of steps of `X` is not given, so it takes one"),
            "{args:?}: {}",
            done.err
        );
    }
}

#[test]
fn check_takes_many_gradients_together() {
    let chain = |special: &str| {
        let line = |k: usize| match k {
            150 => format!("A150[i] = {special}\n"),
            _ => format!("A{k}[i] = A{0}[i] + 0.001 sin(A{0}[i])\n", k - 1),
        };
        let lines: String = (1..=300).map(line).collect();
        format!("A0[i] = const([1, 2, 3])\n{lines}Loss = A300[i]\n")
    };
    let text = output(&chain("sin(A149[i])"), &["check", "-"]);
    let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("Grad_")).collect();
    assert!(rows.len() == 1 && rows[0].contains("301 together") && rows[0].ends_with("  ok"), "{text}");
    // If there is a kink at one name, the other names are still checked.
    let kink = format!("Z[i] = const([0, 0, 0])\n{}", chain("relu(Z[i]) + sin(A149[i])"));
    let text = output(&kink, &["check", "-"]);
    let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("Grad_")).collect();
    let smooth = |row: &&str| row.ends_with("  ok");
    assert!(rows.len() > 1 && rows.len() < 40 && rows.iter().any(smooth), "{text}");
    let own = rows.iter().find(|r| r.starts_with("Grad_Z ")).copied().unwrap_or_default();
    assert!(own.ends_with("not differentiable here"), "{text}");
    let text = output(&chain("sin(A149[i])"), &["check", "-", "--wrt", "A0,A200"]);
    let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("Grad_")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0].starts_with("Grad_A0 ") && rows[1].starts_with("Grad_A200 "), "{text}");
    assert!(rows.iter().all(smooth), "{text}");
    let wrong = gradus_with(&chain("sin(A149[i])"), &["check", "-", "--wrt", "B"]);
    assert!(wrong.code != 0 && wrong.err.contains("`B`"), "{}", wrong.err);
}

/// A point without a derivative is not an error. Neither is a point at which only one of the methods of
/// comparison fails.
#[test]
fn check_distinguishes_kinks_from_errors() {
    let row = |text: &str, name: &str| {
        let found = gradus_with(text, &["check", "-"]);
        let row = found.out.lines().find(|l| l.starts_with(&format!("Grad_{name} "))).map(str::to_string);
        (found.code, row.unwrap_or_else(|| panic!("{text}: {}{}", found.out, found.err)))
    };
    // Kinks, ties, jumps, infinite slopes.
    for edge in [
        "X[i] = const([0, 1])\nLoss = relu(X[i])",
        "X[i] = const([2, 2, 1])\nLoss = max(X[i]) + cummax(X[i])",
        "X = 0\nLoss = sqrt(X)",
        // The gradient is the mean of both slopes by convention, or slopes are infinite.
        "X = 0\nLoss = abs(X)",
        "X[i] = const([1, 1, 0])\nLoss max= X[i]",
        "X = 0\nLoss = X > 0 ? log(X) X : 0",
        "X = 0\nLoss = cbrt(X)",
        "X = 0\nLoss = sqrt(abs(X))",
        "X = 1\nLoss = X floor(X)",
        // Two jumps of equal height at the same point.
        "X = 0\nLoss = X + case { X < 0 -> 1, X == 0 -> 2, default -> 3 }",
        "X[i] = const([-2, 0, 3])\nLoss = X[i] + case { X[i] < 0 -> 1, X[i] == 0 -> 2, default -> 3 }",
        "X = 0\nLoss = X == 0 ? 5 : X",
        "X = 0\nfn f(a) -> x { x = 2 x + a }\nLoss = f(X)",
    ] {
        let (code, row) = row(edge, "X");
        assert!(code == 0 && row.ends_with("not differentiable here"), "{edge}\n{row}");
    }
    for fine in [
        // Values much smaller than any step, and values that are stored with fewer digits.
        "P = 1e-30\nLoss = abs(P)",
        "P = 1e-30\nLoss = relu(P)",
        "A = 1e-9\nP = complex(A, 1e-9)\nLoss = abs(P)",
        "P[i] = const([1.5, 2.5, 3])\nLoss = cast(P[i], to=\"f32\") sin(P[i])",
        "P[i] = const([1.5, 2.5, 3])\nLoss = cast(P[i], to=\"f16\") sin(P[i])",
        "P[i] = const([1.5, 2.5, 3])\nLoss = cast(P[i], to=\"bf16\")",
        // A slope of exactly 0, also through a fixpoint and added to a large value.
        "P = 0\nX = 0.5 X + P P + 1\nLoss = X",
        "P = 0\nX = 0.5 X + P\nLoss = X",
        "P = 0\nX = 0.5 X + P\nLoss = X X",
        "P = 0\nfn half(a) -> x { x = 0.5 x + a }\nLoss = half(P)",
        "P[i] = const([0, 3])\nfn half(a) -> x { x = 0.5 sin(x) + a }\nLoss = half(P[i]) half(P[i])",
        "P = 3\nfn half(a) -> x { x = 0.9 sin(x) + a }\nLoss = half(P)",
        "P = 3\nLoss = 1e6 + 0 P",
        "P[i] = const([1, 2])\nX = 0.9 X + 0.1 sin(P[i])\nLoss = X + 1e5",
        // A slope that is infinite at a constant zero; a kink near the point.
        "P[i] = const([1, 2, 3])\nLoss = sqrt(P[i-1])",
        "P = 4e-6\nLoss = relu(P)",
        // Values much smaller than the initial steps.
        "P = 1e-9\nLoss = log(P)",
        "P[i] = const([1e-9, 1])\nLoss = sqrt(P[i]) + 1 / P[i]",
        "P = 1e-9\nLoss = abs(P)",
        // Slopes to which differences converge slowly.
        "P = 0\nLoss = P > 0 ? sqrt(P) P : 0",
        "P = 0\nLoss = relu(P) P",
        // Complex numbers have a slope along each of their parts.
        "A[i] = const([1, 2])\nP[i] = complex(A[i], 3)\nLoss = reduce(sum, i) abs(P[i] P[i] + A[i])",
    ] {
        let (code, row) = row(fine, "P");
        assert!(code == 0 && row.ends_with("  ok"), "{fine}\n{row}");
    }
    // A kink closer than the step of the differences is not reported as a wrong gradient.
    for small in ["1e-6", "3e-7", "1e-8"] {
        let text = format!("A[i] = const([{small}, 1])\nP[i] = complex(A[i], {small})\nLoss = abs(P[i])");
        let (code, row) = row(&text, "P");
        assert!(code == 0 && row.contains("  ok"), "{text}\n{row}");
    }
    // In a tensor of many elements, only those at a kink may differ.
    let many: Vec<String> =
        (0..100).map(|i| (if i == 37 { 0.0 } else { 0.1 * i as f64 - 3.05 }).to_string()).collect();
    let (code, found) = row(&format!("P[i] = const([{}])\nLoss = relu(P[i]) P[i+1]", many.join(", ")), "P");
    assert!(code == 0 && found.ends_with("  ok; 1 of 100 not differentiable here"), "{found}");
    // If the program itself fails, the message reports that, and reports no wrong gradient.
    let diverges = gradus_with("X = 2 X + 1\nLoss = X X", &["check", "-"]);
    assert!(diverges.code == 1 && diverges.err.contains("error: `X` did not converge"), "{}", diverges.err);
    assert!(!diverges.err.contains("Grad_X"), "{}", diverges.err);
}

/// A complex loss is refused; complex outputs and inputs have gradients.
#[test]
fn check_of_complex_numbers() {
    let loss = gradus_with("A = 1\nZ = complex(A, 2)\nLoss = Z Z", &["check", "-"]);
    assert!(loss.code == 1 && loss.err.contains("`Loss` is a complex number"), "{}", loss.err);
    let text = output("A[i] = const([1, 2])\nY[i] = complex(A[i], 2) A[i]", &["check", "-"]);
    for row in ["Grad_A ", "Grad_Y "] {
        assert!(text.lines().any(|l| l.starts_with(row) && l.ends_with("  ok")), "{text}");
    }
    let folder = Folder::new("complex");
    let out = folder.0.display().to_string();
    output("Z[i] = complex(const([1, 2]), 3)", &["run", "-", "--out", &out]);
    let given = format!("Z={out}/Z.npy");
    let text = output("Loss = real(Z[i] Z[i] Z[i]) + abs(Z[i])", &["check", "-", "--input", &given]);
    assert!(text.lines().any(|l| l.starts_with("Grad_Z ") && l.ends_with("  ok")), "{text}");
    let lines = output("Loss = imag(Z[i] Z[i])", &["grad", "-", "--complex", "Z", "--gradients-only"]);
    let value = output(
        &format!("Loss = imag(Z[i] Z[i])\n{lines}"),
        &["run", "-", "--only", "Grad_Z", "--input", &given],
    );
    assert!(value.contains("[6.+2.j 6.+4.j]"), "{value}");
}

/// The implicit gradient of a fixpoint equals the derivative of its rounds after convergence.
#[test]
fn check_compares_fixpoints_with_forward_mode() {
    for text in [
        "A = 0.9\nX = A X + 1\nLoss = X X",
        "A = 0\nX = 0.5 X + A\nLoss = X X + X",
        "A[i] = const([0.3, -0.7])\nX[i] = tanh(0.4 X[i] + A[j] X[j] + A[i])\nLoss = X[i] X[i] A[i]",
    ] {
        let found = output(text, &["check", "-"]);
        let row = found.lines().find(|l| l.starts_with("Grad_A")).unwrap_or_else(|| panic!("{found}"));
        // Differences, forward mode, reverse mode, the verdict.
        let columns: Vec<&str> = row.split_whitespace().rev().take(4).collect();
        let [verdict, graph, forward, _] = columns[..] else { panic!("{row}") };
        let error: f64 = forward.parse().unwrap_or_else(|_| panic!("{row}"));
        assert!(verdict == "ok" && graph == "-" && error < 1e-11, "{text}\n{row}");
        assert!(found.contains("\nfixpoints: their loops have no reverse mode to compare with"), "{found}");
    }
}

/// Gradients of states are checked at every time step; constants stay fixed.
#[test]
fn check_covers_time_steps_and_constant_values() {
    let text = output(&STEPS.replace("relu", "tanh"), &["check", "-", "--set", "H=[0.1, 0.2]"]);
    for row in ["Grad_H at *t+1", "Grad_H at *0", "Grad_Pre at *t", "Grad_Sum at *t", "Grad_W "] {
        let line = text.lines().find(|l| l.starts_with(row)).unwrap_or_else(|| panic!("{row}: {text}"));
        assert!(line.ends_with("  ok"), "{text}");
    }
    // Without a loss, the last time step of a state is weighted.
    let text = output("X[*t,d] = const([[1,2],[3,4]])\nH[d,*t+1] = tanh(H[d,*t] + X[*t,d])", &["check", "-"]);
    assert_eq!(text.lines().filter(|l| l.starts_with("Grad_") && l.ends_with("  ok")).count(), 3, "{text}");
    let held = "X[i] = const([1,2])\nY[i] = X[i] stop_gradient(X[i] W[j] W[j])\nW[j] = const([1,3])\nLoss = Y[i] Y[i]";
    let text = output(held, &["check", "-"]);
    assert!(text.lines().any(|l| l.starts_with("Grad_X ") && l.ends_with("  ok")), "{text}");
    let recurrent =
        "axis t = 3\nX[i] = const([1,2])\nH[i,*t+1] = tanh(H[i,*t] detach(H[i,*t]) + X[i])\nLoss = H[i,*-1]";
    let text = output(recurrent, &["check", "-"]);
    assert_eq!(text.lines().filter(|l| l.starts_with("Grad_") && l.ends_with("  ok")).count(), 2, "{text}");
    let inside = "fn f(a) -> y { y = a stop_gradient(a) }\nX = 2\nLoss = f(X)";
    let text = output(inside, &["check", "-"]);
    assert!(
        text.contains("ok; not compared with differences, which would change what `f` holds constant"),
        "{text}"
    );
    let whole = "X[i] = A[i] K[i]\nLoss = X[i] X[i]";
    let folder = Folder::new("whole");
    let ids = folder.0.join("k.npy");
    gradus::files::write(&ids, "K", &gradus::Tensor::from_slice(&[1i64, 2], [2])).unwrap();
    let k = format!("K={}", ids.display());
    let text = output(whole, &["check", "-", "--set", "A=[1.5, 2]", "--input", &k]);
    assert!(text.contains("skipped: `K` is not real"), "{text}");
    // Both parts of a complex input take steps.
    gradus::files::write(&ids, "K", &gradus::Tensor::from_slice(&[1.0, 2.0], [2]).complex(1.0)).unwrap();
    let text = output("Loss = abs(A[i] K[i])", &["check", "-", "--set", "A=[1.5, 2]", "--input", &k]);
    assert!(text.lines().any(|l| l.starts_with("Grad_K ") && l.ends_with("  ok")), "{text}");
}

/// States keep their values from the step at which the condition does not hold, also with the terms that `check` adds.
#[test]
fn check_of_a_time_that_ends_by_a_condition() {
    let program = "axis t = 20 while Go\nA = const(3)\nB[i] = const([0.5, -0.25])\nX[*0] = A\n\
        Go[*t] = abs(X[*t] X[*t] - A) > 1e-3\nX[*t+1] = X[*t] / 2 + A / (2 X[*t])\nS[i,*0] = B[i]\n\
        S[i,*t+1] = S[i,*t] + 0.1 X[*t] B[i]\nLoss = X[*-1] ** 3 + S[i,*-1] S[i,*-1]\n";
    let text = output(program, &["check", "-"]);
    let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("Grad_")).collect();
    assert!(rows.len() == 6 && rows.iter().all(|r| r.ends_with("  ok")), "{text}");
}

/// Counts of arithmetic and bytes that are known from the sizes.
#[test]
fn explain_counts() {
    let axes = |all: &[(&str, usize)]| -> String {
        all.iter().map(|(name, n)| format!("axis {name} = {n}\n")).collect()
    };
    let count = |text: &str, name: &str| {
        let value = json(&output(text, &["explain", "-", "--json"]));
        let equations = value["equations"].as_array().unwrap();
        let mut own = equations.iter().filter(|e| e["equation"].as_str().unwrap().starts_with(name));
        let one = own.next().unwrap();
        (one["flops"].as_u64().unwrap(), one["bytes"].as_u64().unwrap())
    };
    let text = axes(&[("i", 64), ("j", 32), ("k", 16)])
        + "A[i,k] = index(i) + index(k)\nB[k,j] = index(k) - index(j)\nY[i,j] = A[i,k] B[k,j]\nS[i,j] = softmax(Y[i,j])\n\
           Sum[i] = Y[i,j]\nT[j,i] = Y[i,j]\nE[i,j] = exp(Y[i,j])";
    let (a, b, y) = (64 * 16, 16 * 32, 64 * 32);
    assert_eq!(count(&text, "Y["), (2 * 64 * 32 * 16, 4 * (a + b + y)));
    // The largest of each row, a difference, exp, the sum, a quotient.
    assert_eq!(count(&text, "S["), (5 * y, 4 * 2 * y));
    assert_eq!(count(&text, "Sum["), (y, 4 * (y + 64)));
    assert_eq!(count(&text, "E["), (y, 4 * 2 * y));
    assert_eq!(count(&text, "T["), (0, 4 * 2 * y), "a copy computes nothing");
    let text = axes(&[("n", 2), ("c", 3), ("h", 20), ("w", 10), ("o", 4), ("p", 5), ("q", 3)])
        + "X[n,c,h,w] = index(n) + index(c) + index(h) + index(w)\nK[o,c,p,q] = index(o) + index(c) + index(p) - index(q)\n\
           Y[n,o,u,v] = conv2d(X[n,c,h,w], K[o,c,p,q])";
    let (x, k, y) = (2 * 3 * 20 * 10, 4 * 3 * 5 * 3, 2 * 4 * 16 * 8);
    let (flops, bytes) = count(&text, "Y[");
    assert_eq!(flops, 2 * y * (3 * 5 * 3));
    assert!(bytes >= 4 * (x + k + y), "{bytes}");
}

/// A term that lacks an index of the left side gets its size from other terms of the same name.
#[test]
fn explain_knows_sizes_of_neighbours() {
    let program = "X[i] = const([1,2,3])\nD[j] = const([1,2])\nY[i] = X[i] + 1\nZ[i,j] = X[i] + D[j]\nZ[i,j] += 2\nLoss = Y[i] Z[i,j]";
    let value = json(&output(program, &["explain", "-", "--json"]));
    let shapes: Vec<(String, String)> = value["equations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["equation"].as_str().unwrap().to_string(), e["shape"].to_string()))
        .collect();
    let of =
        |name: &str| shapes.iter().filter(|s| s.0.starts_with(name)).map(|s| &s.1[..]).collect::<Vec<_>>();
    assert_eq!(of("Y["), ["[3]", "[3]"], "{shapes:?}");
    assert_eq!(of("Z["), ["[3,2]"; 3], "{shapes:?}");
}

#[test]
fn explain_counts_what_is_really_computed() {
    let program = "A[i,j] = const([[1,2],[3,4],[5,6]])\nB[j] = const([1,2])\nC[i] = const([1,1,1])\nY = A[i,j] B[j] C[i]";
    let value = json(&output(program, &["explain", "-", "--json"]));
    let last = value["equations"].as_array().unwrap().last().unwrap();
    assert_eq!(last["einsum"], "ij,j,i->");
    let order = last["order"].as_array().unwrap();
    let sum: u64 = order.iter().map(|o| o["flops"].as_u64().unwrap()).sum();
    // Two products of two factors instead of one product of three: 12 operations, then 4 or 6, depending on
    // the axis that is summed first.
    assert!(order.len() == 2 && (sum == 16 || sum == 18), "{last}");
    assert_eq!(value["program"]["flops"].as_u64(), Some(sum), "{value}");
    assert!(!value["program"]["kernels"].as_array().unwrap().is_empty());
    let folder = Folder::new("explain");
    let svg = folder.0.join("p.svg").display().to_string();
    let text = output("", &["explain", &seed("mlp.eq"), "--svg", &svg]);
    assert!(text.contains("einsum   hd,bd->bh") && text.contains("the program as one plan"), "{text}");
    let drawn = folder.read("p.svg");
    assert!(drawn.starts_with("<svg") && drawn.contains("Input"), "{drawn}");
    // Parameters are numbers. The cost of an equation over time is that of all its steps: 3 × (2 × 2 × 2).
    let stepped = json(&output(STEPS, &["explain", "-", "--set", "H=[1,1]", "--json"]));
    let of = |name: &str| {
        stepped["equations"]
            .as_array()
            .unwrap()
            .iter()
            .find(|e| e["equation"].as_str().unwrap().starts_with(name))
            .unwrap()
            .clone()
    };
    assert_eq!(of("Pre[")["order"][0]["flops"], json("24"));
    let text =
        output("param rate = 0.5\nconst K = 2\nX[i] = const([1,2])\nY[i] = rate K X[i]", &["explain", "-"]);
    assert!(text.contains("4: Y[i] = rate K X[i]"), "{text}");
}

/// A loop whose length depends on values counts its actual iterations.
#[test]
fn explain_counts_rounds() {
    let counted = |text: &str, name: &str| {
        let value = json(&output(text, &["explain", "-", "--json"]));
        let mut own = value["equations"].as_array().unwrap().iter();
        let one = own.find(|e| e["equation"].as_str().unwrap().starts_with(name)).unwrap();
        let of = |v: &Value, key: &str| v[key].as_u64().unwrap();
        (of(one, "rounds"), of(one, "flops"), of(&value["program"], "flops"))
    };
    // A product of 2 × 2 and a factor for each row: 10 operations per round. The plan also has the operations
    // that test convergence.
    let rank = "A[i,j] = const([[0,0.5],[1,0.5]])\nR[i] = 0.85 A[i,j] R[j] + 0.075\nZ = R[i] R[i]";
    let (rounds, flops, whole) = counted(rank, "R[");
    assert!(rounds > 20 && flops == 10 * rounds && whole > 12 * rounds, "{rounds} {flops} {whole}");
    assert_eq!(counted(rank, "Z").0, 1);
    // The sequence of 27 has 111 steps, and one initial value.
    let collatz = "axis t while Go\nN[*0] = cast(27, to=\"i64\")\nK[*0] = 0\nGo[*t] = N[*t] != 1\n\
        N[*t+1] = remainder(N[*t], 2) == 0 ? floor_div(N[*t], 2) : 3 N[*t] + 1\nK[*t+1] = K[*t] + 1";
    assert_eq!(counted(collatz, "N[*t+1]").0, 111);
    assert_eq!(counted(collatz, "Go").1, 111);
    assert_eq!(counted(collatz, "N[*0]").0, 1);
    // Two times that end by conditions are two loops.
    let two = "axis t while On\naxis s while Go\nA[*0] = 0\nOn[*t] = A[*t] < 5\nA[*t+1] = A[*t] + 1\n\
        B[*0] = 0\nGo[*s] = B[*s] < 50\nB[*s+1] = B[*s] + 1";
    assert_eq!(["A[*t+1]", "On", "B[*s+1]", "Go"].map(|n| counted(two, n).0), [5, 5, 50, 50]);
    // A chain of 4 takes 3 rounds. Each round computes the complete relation, because the factor is a number.
    let chain = "E[x,y] = const([[0,1,0,0],[0,0,1,0],[0,0,0,1],[0,0,0,0]])\nAnc(x,y) = E[x,y]\nAnc(x,z) = E[x,y] Anc(y,z)";
    assert_eq!(counted(chain, "Anc(x, z)").0, 3);
    // If all factors are relations, each round processes only new facts, so the number of rounds does not
    // determine the cost.
    let facts = chain.replace("= E[x,y]\nAnc(x,z) = E[x,y]", "= E[x,y] > 0\nAnc(x,z) = Link(x,y)");
    let facts = format!("Link(x,y) = E[x,y] > 0\n{facts}");
    let value = json(&output(&facts, &["explain", "-", "--json"]));
    let rounds: Vec<&Value> = value["equations"].as_array().unwrap().iter().map(|e| &e["rounds"]).collect();
    assert_eq!(rounds, [&json("1"), &json("1"), &Value::Null, &Value::Null]);
    assert_eq!(
        output(&facts, &["explain", "-"])
            .matches("each new fact once, as bits; cost of one complete pass: ")
            .count(),
        2
    );
    // Values that no round changes are computed once, before the rounds: the two `exp`, another fixpoint,
    // loop invariants.
    let (rounds, flops, _) = counted("A[i] = const([1,2])\nX[i] = 0.1 exp(A[i]) X[i] + 1", "X[i] = 0.1");
    assert!(rounds > 20 && flops == 2 + 4 * rounds, "{rounds} {flops}");
    let f = "fn f(x[i]) -> y[i] { y[i] = 0.5 y[i] + x[i] }\nA[i,j] = const([[1,2],[3,4]])\n";
    let alone = counted(&format!("{f}Y[i] = 0.1 f(0.01 A[i,j])"), "Y").1;
    let (rounds, flops, whole) = counted(&format!("{f}X[i] = 0.1 f(0.01 A[i,j]) + 0.1 X[i]"), "X[i] = 0.1 f");
    assert!(rounds == 1 && flops == alone && whole > alone, "{rounds} {flops} {alone} {whole}");
    let grows =
        "axis t while Go\nA = const(3)\nN[*0] = 1\nGo[*t] = N[*t] < 100\nN[*t+1] = exp(sin(A)) N[*t] + 1";
    let (rounds, flops, _) = counted(grows, "N[*t+1] = exp");
    assert!(rounds > 10 && flops == 2 + rounds, "{rounds} {flops}");
    // Functions of the time step are computed in every round.
    let moment = |value: &str| {
        let text = "axis t while Go\nA = const(0.3)\nN[*0] = 1\nGo[*t] = N[*t] < 100\nN[*t+1] = ";
        let (rounds, flops, _) = counted(&format!("{text}{value}"), "N[*t+1] = ");
        (rounds, flops)
    };
    let second = "sin(A index(t))";
    assert_eq!(moment(&format!("exp(A index(t)) N[*t] + {second}")), (6, 18));
    assert_eq!(moment(&format!("{second} + exp(A index(t)) N[*t]")), (6, 12));
    assert_eq!(moment("exp(index(t)) + N[*t]"), (6, 6));
    assert_eq!(moment("(even(t) > 0 ? exp(A) : 4) N[*t]").0, 6);
    // The time step as a position is an integer without a check. The remaining 3 operations convert negative
    // positions.
    let places = "axis t while Go\nX[k] = const([3, 4, 50, 60])\nN[*0] = 0\nGo[*t] = N[*t] < 100\n\
        N[*t+1] = gather(X[k], index(t), axis=\"k\") + N[*t]";
    let (rounds, flops, _) = counted(places, "N[*t+1] = gather");
    assert_eq!((rounds, flops), (4, 4 * 3));
    // Names that depend on each other form one group, independent of other names.
    let both = "P[i] = const([1,2])\nX[i] = 0.5 Y[i] + P[i]\nY[i] = 0.5 X[i]\nZ = X[i] Y[i]";
    let (rounds, flops, _) = counted(both, "X[i] = 0.5");
    assert!(rounds > 5 && flops == 2 * rounds && counted(both, "Y").0 == rounds, "{rounds} {flops}");
    assert_eq!(counted(both, "Z").0, 1);
    let (rounds, flops, _) = counted(rank, "R[");
    let text = output(rank, &["explain", "-"]);
    assert!(text.contains(&format!("{rounds} rounds: {flops} FLOPs")), "{text}");
}

/// A tie is a point without a derivative, also if several kinks cancel. Only the elements at such a point are
/// excused.
#[test]
fn ties_and_elements_near_kinks() {
    let ties = "axis t = 3\nW[i,j] = const([[0.5, -0.3], [0.2, 0.4]])\nV[i] = const([0.3, -0.2])\nH[i,*0] = 0 V[i]\n\
                H[i,*t+1] when H[0,*t] < V[i] = tanh(reduce(max, j) (W[i,j] H[j,*t]))\nLoss = H[i,*-1] V[i]\n";
    let found = gradus_with(ties, &["check", "-"]);
    assert!(found.code == 0, "{}{}", found.out, found.err);
    let jump = "A[i] = const([0, 2, 3])\nY[i] = A[i] > 0 ? A[i] A[i] + 1 : 0\nLoss = Y[i]\n";
    let found = gradus_with(jump, &["check", "-"]);
    assert!(found.code == 0 && found.out.contains("ok; 1 of 3 not differentiable here"), "{}", found.out);
}

/// A list in a condition has the indices of its line, also if other lines compute a part of the list.
#[test]
fn lists_in_conditions_are_judged() {
    let text = "A[i] = const([1,2,3])\nY[i,j] = 1.5 < [[1,2],[3,4],[5,6]] ? exp(A[i]) : 0\nL = Y[i,j] Y[i,j]";
    let found = output(text, &["check", "-"]);
    assert!(found.contains("Grad_A") && !found.contains("WRONG"), "{found}");
}
