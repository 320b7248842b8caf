//! Compares gradient programs of every construct with the graph's own gradient and with central differences.

mod arguments;
mod called;
mod offsets;
mod random;

use crate::common::check::{check_with, load, numbers, settings};
use gradus_lang::ast::Name;
use gradus_lang::{GradientOptions, Program};
use gradus_tensor::Tensor;
use std::collections::BTreeMap;

fn check(text: &str, shapes: &[(&str, &[usize])]) -> String {
    check_with(text, shapes, None)
}

#[test]
fn sums_products_and_broadcasts() {
    check("Loss = A[i,j] B[j] C[i]", &[("A", &[3, 4]), ("B", &[4]), ("C", &[3])]);
    check("Loss = A[i,j] A[i,j] A[j,i]", &[("A", &[3, 3])]);
    let g = check("Y[i] = A[i,j]\nLoss = Y[i] Y[i]", &[("A", &[3, 4])]);
    assert!(g.contains("Grad_A[i, j] = Grad_Y[i] ones_like(A[i, j])"), "{g}");
    check("Y[b,h] = B[h] + A[b,h]\nLoss = Y[b,h] Y[b,h]", &[("A", &[2, 3]), ("B", &[3])]);
    check("Y[j,i] = X[i,j]\nLoss = Y[j,i] Y[j,i] W[i]", &[("X", &[2, 3]), ("W", &[2])]);
    check("Loss = (A[i] + B[i,j]) (A[i] - 2 B[i,j]) C[j]", &[("A", &[3]), ("B", &[3, 2]), ("C", &[2])]);
    check("Loss = (A[i,j] B[j] + C[i]) D[i]", &[("A", &[3, 2]), ("B", &[2]), ("C", &[3]), ("D", &[3])]);
}

/// A value that is repeated along an index of its neighbours counts once for each position.
#[test]
fn neighbours_with_more_indices() {
    let shapes: &[(&str, &[usize])] = &[("A", &[3, 4]), ("V", &[3])];
    let g = check("Y[i] = (V[i] + A[i,k])\nLoss = Y[i] Y[i]", shapes);
    assert!(g.contains("Grad_V[i] = Grad_Y[i] reduce(max, i') ones_like(A[i', k])"), "{g}");
    check("Y[i] = V[i] ((V[i] + 1) - (2 V[i] - A[i,k]))\nLoss = Y[i] Y[i]", shapes);
    check("Y[i] = V[i] > 0.6 ? V[i] : A[i,k]\nLoss = Y[i] Y[i]", shapes);
    check(
        "Y[i] = case { V[i] > 0.8 -> V[i], V[i] > 0.5 -> A[i,k], default -> exp(V[i]) }\nLoss = Y[i] Y[i]",
        shapes,
    );
    check("Y = (V[i] + V[i] A[i,k] + A[j,k])\nLoss = Y Y", shapes);
    check("Y = (V[i] (V[i] + index(k)) + A[i,k])\nLoss = Y Y", shapes);
    check("Y = (2 (V[i] + index(k)) + A[i,k] size(k))\nLoss = Y Y", shapes);
    check("axis k = 4\nLoss = (V[i] + index(k)) ** 2 + (V[i] + 2 index(k)) + 0 A[i,k]", shapes);
}

#[test]
fn residuals_and_unused_branches() {
    check(
        "V[i] = tanh(X[i])\nZ[i] = V[i] + X[i]\nDbg[i] = X[i] Y[i]\nLoss = Z[i] Z[i] Y[i]",
        &[("X", &[4]), ("Y", &[4])],
    );
}

#[test]
fn projections() {
    let shapes: &[(&str, &[usize])] = &[("A", &[3, 4]), ("W", &[4])];
    for op in ["max", "min", "avg", "prod", "sum"] {
        check(&format!("Y[i] {op}= A[i,j] W[j]\nLoss = Y[i] Y[i]"), shapes);
        check(&format!("Loss {op}= A[i,j] W[j]"), shapes);
        check(&format!("Y[i] = W[j] reduce({op}, k) (A[i,k] W[k])\nLoss = Y[i] Y[i]"), shapes);
    }
}

#[test]
fn found_by_review() {
    let x: &[(&str, &[usize])] = &[("X", &[2, 3]), ("U", &[3])];
    check("Y[i,j] = X[i,j] / reduce(sum, j) exp(X[i,j])\nLoss = Y[i,j] U[j]", x);
    check("Loss = X[i,j] reduce(sum, i) X[i,j]", &x[..1]);
    check("Loss = U[j] sum(X[i,j], axis=j)", x);
    check("Loss = A[i+1]", &[("A", &[3])]);
    check("Loss = A[i+1] A[j]", &[("A", &[3])]);
    check("Loss = exp(A[i+1]) A[j-1] A[i]", &[("A", &[3])]);
    check("Loss = A[0:2] B[j]", &[("A", &[3]), ("B", &[2])]);
    check("Loss = A[0:2] A[1:3]", &[("A", &[3])]);
    check("Loss = V[i] even(i) index(i)", &[("V", &[3])]);
}

#[test]
fn second_derivatives_of_plain_sums() {
    for text in ["Y[i] = X[i] X[i] X[i]\nLoss = Y[i]", "Y[i] = cumprod(X[i])\nLoss = Y[i]"] {
        let first = load(text).gradient(&GradientOptions::default()).unwrap().text();
        let twice =
            format!("{text}\n{first}LL = Grad_X[i] Grad_X[i]").replace("Loss", "L").replace("LL", "Loss");
        let program = load(&twice);
        let second =
            program.gradient(&GradientOptions { loss: Some("Loss".into()), ..Default::default() }).unwrap();
        let whole = load(&format!("{twice}\n{}", second.text()));
        let x = Tensor::from_slice(&numbers("X", 3), [3]);
        let run = |program: &Program, x: &Tensor, name: &str| {
            let inputs = BTreeMap::from([(Name::from("X"), x.clone())]);
            let found = program
                .run(&inputs, &settings(None), &[name.into()])
                .unwrap_or_else(|f| panic!("{twice}\n{f}"));
            found[&Name::from(name)].clone()
        };
        let d = Tensor::from_slice(&numbers("d", 3), [3]);
        let slope = (run(&whole, &x, "Grad2_X") * &d).sum(()).item::<f64>().unwrap();
        let at = |h: f64| run(&program, &(&x + &(&d * h)), "Loss").item::<f64>().unwrap();
        let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((slope - difference).abs() < 1e-6 * (1.0 + difference.abs()), "{slope} beside {difference}");
    }
}

#[test]
fn sums_inside_of_what_is_projected() {
    let shapes: &[(&str, &[usize])] = &[("H", &[3, 2]), ("V", &[2]), ("Y", &[3])];
    for op in ["max", "min", "avg", "prod"] {
        check(&format!("Loss {op}= (H[b,h] V[h] - Y[b]) ** 2"), shapes);
        check(&format!("Loss {op}= exp(H[b,h] V[h]) / (1 + V[k] V[k]) Y[b]"), shapes);
        check(&format!("Z[b] {op}= tanh(H[b,h] V[h]) Y[c]\nLoss = Z[b] Z[b]"), shapes);
    }
}

/// An index that all factors read at the same offset keeps its size.
#[test]
fn offsets_of_all_factors() {
    for text in ["A[i+1] ** 2", "A[i+1] A[i+1]", "A[i-1] ** 3"] {
        check(&format!("Loss = {text}"), &[("A", &[4])]);
    }
    for text in ["A[i+1] B[i+1]", "A[i-1] B[i-2]", "A[i+1] B[i+2]"] {
        check(&format!("Loss = {text}"), &[("A", &[4]), ("B", &[4])]);
    }
    let g = check("Y[i] = A[i+1]\nLoss = Y[i] Y[i]", &[("A", &[4])]);
    assert!(g.contains("Grad_A[i] = Grad_Y[i-1]"), "{g}");
}

/// Positions and ranges together with a fixed step.
#[test]
fn places_beside_moments() {
    let state = "axis t = 3\nF[s,*0] = X[s]\nF[s,*t+1] = 2 F[s,*t]";
    for read in ["F[0,*-1]", "F[0,*2] F[1,*-1]", "F[q=0:1,*-1] F[q=1:,*-1]"] {
        check(&format!("{state}\nLoss = {read}"), &[("X", &[2])]);
    }
}

/// Positions and ranges together with time, of names that the steps compute: within a step, time is not an
/// axis.
#[test]
fn places_beside_moving_time() {
    let state = "axis t = 3\nH[i,*0] = X[i]\nM[i,*t] = W[i,j] H[j,*t]\nH[i,*t+1] =";
    let shapes: &[(&str, &[usize])] = &[("X", &[2]), ("W", &[2, 2])];
    for step in [
        "tanh(H[i,*t] M[0,*t])",
        "tanh(H[i,*t] M[:1,*t])",
        "tanh(H[i,*t] M[s=1:,*t] M[0,*t])",
        "tanh(0.5 H[i,*t] + M[i=:2,*t])",
        "tanh(M[i,*t] H[-1,*t])",
    ] {
        check(&format!("{state} {step}\nLoss = H[i,*-1] H[i,*-1]"), shapes);
        check(&format!("{state} {step}\nLoss = H[i,*t] H[i,*t+1] M[1,*t]"), shapes);
    }
    let given = "H[i,*0] = X[i]\nH[i,*t+1] = tanh(H[i,*t] M[0,*t])\nLoss = H[i,*-1]";
    check(given, &[("X", &[2]), ("M", &[2, 3])]);
}

/// Reads after the last step add up, from any number of lines.
#[test]
fn moments_ahead_from_two_places() {
    let shapes: &[(&str, &[usize])] = &[("A", &[2]), ("X", &[2, 4])];
    check("Y[i,*t] = X[i,*t+1] A[i] X[i,*t+1]\nLoss = Y[i,*t] Y[i,*t]", shapes);
    check(
        "H[i,*0] = A[i]\nH[i,*t+1] = tanh(X[i,*t+1] A[i] + X[i,*t+1] H[i,*t])\nLoss = H[i,*-1] X[i,*t+1]",
        shapes,
    );
}

/// Sums over steps, after the last step or in steps, have gradients at all steps, also if they start later
/// than the first step.
#[test]
fn places_that_add_up_over_time() {
    let shapes: &[(&str, &[usize])] = &[("W", &[3, 3]), ("X", &[3, 4])];
    let own = "fn f(a) -> y { y = sin(a) + 0.5 a }\naxis i = 3\naxis j = 3\n";
    for text in [
        "G[*t+1] = tanh(W[i,i-1] / (2 + W[i,i] ** 2) f(X[0,*t]) + 0.3 G[*t])\nLoss = G[*-1]",
        "G[*t+1] = tanh(W[i,i] X[j,*t+1] X[i+1,*t+1] + 0.3 G[*t])\nLoss = G[*-1] + X[i+1,*t+1]",
        // Within a step, a function does not work along time, also if the equation depends on itself or calls
        // another function.
        "H[i,*t+1] = softmax(f(X[i,*t])) + 0.1 W[i,j] H[j,*t]\nLoss = sin(H[0,*-1])",
        "H[i,*t] = softmax(f(X[i,*t])) W[i,0]\nLoss = sin(H[0,*-1])",
    ] {
        check(&format!("{own}{text} + W[i,j] X[i,*t]"), shapes);
    }
}

/// Names of time are names of indices: each equation has its own, and a primed name is another index.
#[test]
fn names_of_time() {
    let x: &[(&str, &[usize])] = &[("X", &[3]), ("Y", &[3])];
    let g = check("Loss = exp(X[*t] Y[*t])", x);
    assert!(g.contains("Grad_X[*t] = Grad_Loss exp_grad(X[*t'] Y[*t']) Y[*t]"), "{g}");
    check("H[*0] = 0.3\nH[*t+1] = tanh(H[*t] X[*t] X[*t'] Y[*t'])\nLoss = H[*-1]", x);
    check("Z[i] = X[*i] Y[*i]\nLoss = Z[i] Z[i]", x);
    let two = "H[*t+1] = 0.5 H[*t] + X[*t]\nG[*u+1] = G[*u] H[*u] + X[*u] Y[*u]\nLoss = G[*-1] H[*-1]";
    let lines = check(two, x);
    let merged = GradientOptions { merged: true, ..GradientOptions::default() };
    let merged = load(two).gradient(&merged).unwrap().text();
    let inputs: BTreeMap<Name, Tensor> =
        x.iter().map(|(n, _)| (Name::from(*n), Tensor::from_slice(&numbers(n, 3), [3]))).collect();
    let found = [lines, merged].map(|lines| {
        let whole = load(&format!("{two}\n{lines}"));
        let found = whole.run(&inputs, &settings(None), &["Grad_X".into()]);
        found.unwrap_or_else(|f| panic!("{lines}\n{f}"))[&Name::from("Grad_X")].to_vec::<f64>().unwrap()
    });
    assert_eq!(found[0], found[1]);
}

#[test]
fn offsets_ranges_places_and_diagonals() {
    let g = check("Y[i] = A[i+1] B[i]\nLoss = Y[i] Y[i]", &[("A", &[5]), ("B", &[5])]);
    assert!(g.contains("Grad_A[i] = Grad_Y[i-1] B[i-1]"), "{g}");
    check("Y[i] = exp(A[i+1]) log(A[i-1] + 1)\nLoss = Y[i] Y[i]", &[("A", &[5])]);
    check("Y[i+1] = A[i] A[i]\nLoss = Y[i] Y[i]", &[("A", &[4])]);
    check("Y[0:2] = A[0:2] B[0:2]\nLoss = Y[i] Y[i]", &[("A", &[5]), ("B", &[4])]);
    check("Y[1:3] = A[1:3] B[1:3]\nLoss = Y[i] Y[i]", &[("A", &[5]), ("B", &[4])]);
    check("Y[s,j] = A[s=1::2,j] B[j]\nLoss = Y[s,j] Y[s,j]", &[("A", &[5, 3]), ("B", &[3])]);
    check("Y[j] = A[0,j] A[-1,j] B[j]\nLoss = Y[j] Y[j]", &[("A", &[3, 2]), ("B", &[2])]);
    check("D[i] = M[i,i] V[i]\nT = M[i,i]\nLoss = D[i] D[i] T", &[("M", &[3, 3]), ("V", &[3])]);
    check("M[i,i] = V[i]\nLoss = M[i,j] W[j] M[i,k] W[k]", &[("V", &[3]), ("W", &[3])]);
    check("Y[0] = A[i] A[i]\nY[1] = A[i] B[i]\nLoss = Y[k] Y[k]", &[("A", &[3]), ("B", &[3])]);
}

/// The left side of a list's equation names its axes, also if the list is a factor on another line.
#[test]
fn lists_as_factors() {
    let g = check("Y[i] = A[j] [1,2]\nLoss = Y[i] Y[i]", &[("A", &[3])]);
    assert!(g.starts_with("let Y_1[i] = [1, 2]\n") && !g.contains("Grad_Y_1"), "{g}");
    check("Y[j,i] = A[i,j] const([[1,2],[3,4],[5,6]])\nLoss = Y[j,i] Y[j,i]", &[("A", &[2, 3])]);
    check("Y[j,i] when A[i,j] > 0.5 = A[i,j] [[1,2],[3,4],[5,6]]\nLoss = Y[j,i] Y[j,i]", &[("A", &[2, 3])]);
    check(
        "Y[j,i] = A[i,j] > [[0.3,0.6],[0.7,0.2],[0.5,0.5]] ? A[i,j] B[i] : 2 A[i,j]\nLoss = Y[j,i] Y[j,i]",
        &[("A", &[2, 3]), ("B", &[2])],
    );
    check(
        "Y[j,i] when A[i,j] > [[0.3,0.6],[0.7,0.2],[0.5,0.5]] = A[i,j] B[i]\nLoss = Y[j,i] Y[j,i]",
        &[("A", &[2, 3]), ("B", &[2])],
    );
    check("Y[i] = exp(A[i] [1,2]) [3,4]\nLoss = Y[i] Y[i]", &[("A", &[2])]);
    check("H[i,*t+1] = H[i,*t] [0.5,2] + A[i,*t]\nLoss = H[i,*-1] H[i,*-1]", &[("A", &[2, 3])]);
}

/// Two ranges with one name read a diagonal.
#[test]
fn diagonals_of_ranges() {
    check("Z[s] = Y[s=:2,s=1:]\nLoss = Z[s] Z[s] W[s]", &[("Y", &[3, 3]), ("W", &[2])]);
    check("Z[s] = Y[s=:2,s] W[s]\nLoss = Z[s] Z[s]", &[("Y", &[3, 2]), ("W", &[2])]);
    check("Z[s,j] = Y[s=:2,j,s=1:]\nLoss = Z[s,j] Z[s,j] W[s]", &[("Y", &[3, 2, 3]), ("W", &[2])]);
    check("Loss = Y[s=::2,s=:2] W[s]", &[("Y", &[3, 3]), ("W", &[2])]);
    // Both ranges at their axes, and swapped.
    check("Z[s] = exp(Y[s=:2,s=1:]) Y[s=1:,s=:2]\nLoss = Z[s] Z[s]", &[("Y", &[3, 3])]);
}

/// Intermediate values have names, so that higher derivatives do not compute them again in every line.
#[test]
fn calls_within_calls_grow_moderately() {
    let x = Tensor::from_slice(&[0.3f64, -0.4], [2]);
    let inputs = BTreeMap::from([(Name::from("X"), x.clone())]);
    let (mut text, mut loss) = ("Y[i] = tanh(exp(sin(X[i])))\nLoss = Y[i]".to_string(), Name::from("Loss"));
    let (mut lines, mut last) = (Vec::new(), Name::from(""));
    for order in 1..=4 {
        let options = GradientOptions { loss: Some(loss), wrt: vec!["X".into()], ..Default::default() };
        let gradient = load(&text).gradient(&options).unwrap_or_else(|f| panic!("{f}"));
        lines.push(gradient.equations.len());
        last = gradient.names[&Name::from("X")].clone();
        text = format!("{text}\n{}Loss_{order} = {last}[i]\n", gradient.text());
        loss = format!("Loss_{order}").into();
    }
    assert!(lines[0] <= 8 && lines.windows(2).all(|w| w[1] <= 4 * w[0]), "{lines:?}\n{text}");
    let found = load(&text).run(&inputs, &settings(None), &[last.clone()]).unwrap_or_else(|f| panic!("{f}"));
    // The Taylor coefficients of tanh(exp(sin(x))) at each element, by power series arithmetic.
    for (k, x) in [0.3f64, -0.4].into_iter().enumerate() {
        let (s, c) = x.sin_cos();
        let inner = [s, c, -s / 2.0, -c / 6.0, s / 24.0];
        let exp = composed(&inner, [1.0; 5].map(|v| v * s.exp()));
        let t = exp[0].tanh();
        let d = 1.0 - t * t;
        let outer = [t, d, -2.0 * t * d, (6.0 * t * t - 2.0) * d, (16.0 * t - 24.0 * t * t * t) * d];
        let fourth = composed(&exp, outer)[4] * 24.0;
        let got = found[&last].to_vec::<f64>().unwrap()[k];
        assert!((got - fourth).abs() < 1e-9 * (1.0 + fourth.abs()), "{got} beside {fourth}");
    }
}

/// The series of f(g(x)) up to the fourth order, from the series of g and the derivatives of f at g's first term.
fn composed(inner: &[f64; 5], derivatives: [f64; 5]) -> [f64; 5] {
    let mut power = [1.0, 0.0, 0.0, 0.0, 0.0];
    let (mut out, mut factorial) = ([0.0; 5], 1.0);
    for (n, d) in derivatives.into_iter().enumerate() {
        factorial *= n.max(1) as f64;
        (0..5).for_each(|i| out[i] += d / factorial * power[i]);
        let mut next = [0.0; 5];
        for i in 0..5 {
            (1..5 - i).for_each(|j| next[i + j] += power[i] * inner[j]);
        }
        power = next;
    }
    out
}

/// A call copied to another equation states its axis and the name of its temperature.
#[test]
fn calls_beside_others() {
    let shapes: &[(&str, &[usize])] = &[("A", &[3, 3]), ("C", &[3, 3])];
    check("Y[l,k] = C[k,l] lnorm(A[k,l] + C[k,l])\nLoss = Y[l,k] Y[l,k] A[k,l]", shapes);
    check("Y[l.,k] = C[k,l] softmax(A[l,k])\nLoss = Y[l,k] Y[l,k] A[k,l]", shapes);
    check("Y[l,k] = (A[k,l] > 0.5 ? C[k,l] : A[k,l]) cumsum(A[k,l] C[k,l])\nLoss = Y[l,k] Y[l,k]", shapes);
    let g = load("Y[i] = X[i] sig(W[i])\nLoss = Y[i]").gradient(&GradientOptions::default()).unwrap().text();
    assert!(g.contains("Grad_X[i] = Grad_Y[i] sig(W[i], like=\"Y\")"), "{g}");
}

#[test]
fn calls_nested_and_as_factors() {
    let g = check("Y[h] = gelu(W[h,d] X[d])\nLoss = Y[h] Y[h]", &[("W", &[2, 3]), ("X", &[3])]);
    assert!(g.contains("Grad_W[h, d] = Grad_Y[h] gelu_grad(W[h, d'] X[d']) X[d]"), "{g}");
    check("Y[i] = A[i] gelu(B[i])\nLoss = Y[i] Y[i]", &[("A", &[3]), ("B", &[3])]);
    check(
        "Y[b] = relu(W[t,d] H[b,d]) V[t]\nLoss = Y[b] Y[b]",
        &[("W", &[2, 3]), ("H", &[4, 3]), ("V", &[2])],
    );
    check("Y[i] = gelu(tanh(A[i] B[i]) + sin(A[i]))\nLoss = Y[i] Y[i]", &[("A", &[3]), ("B", &[3])]);
    check("S[i.,j] = softmax(X[i,j])\nLoss = S[i,j] W[i,j]", &[("X", &[3, 4]), ("W", &[3, 4])]);
    check("S[i,j] = softmax(X[i,j], axis=\"j\") W[i]\nLoss = S[i,j] S[i,j]", &[("X", &[3, 4]), ("W", &[3])]);
    let g = check("Y[i,j] = softmax(exp(X[i,j]))\nLoss = Y[i,j] Y[i,j]", &[("X", &[3, 4])]);
    assert!(!g.contains("let "), "its derivative needs the result only: {g}");
    check("Y[b,t] = softmax(W[t,d] H[b,d])\nLoss = Y[b,t] Y[b,t]", &[("W", &[2, 3]), ("H", &[4, 3])]);
    check("Loss = mse_loss(relu(A[i] - 0.6), B[i])", &[("A", &[5]), ("B", &[5])]);
    check(
        "Y[p,e] = attention(Q[p,d], K[m,d], V[m,e])\nLoss = Y[p,e] Y[p,e]",
        &[("Q", &[3, 2]), ("K", &[4, 2]), ("V", &[4, 2])],
    );
    check(
        "Y[n,o,u,v] = conv2d(X[n,c,h,w], K[o,c,p,q], padding=1)\nLoss = Y[n,o,u,v] Y[n,o,u,v]",
        &[("X", &[1, 2, 4, 4]), ("K", &[2, 2, 3, 3])],
    );
    let volumes: &[(&str, &[usize])] = &[("X", &[1, 1, 3, 3, 3]), ("K", &[2, 1, 2, 2, 2])];
    check("Y[n,o,x,y,z] = conv3d(X[n,c,x,y,z], K[o,c,p,q,r])\nLoss = Y[n,o,x,y,z] Y[n,o,x,y,z]", volumes);
    let images: &[(&str, &[usize])] = &[("X", &[1, 2, 3, 3]), ("K", &[2, 1, 2, 2])];
    check(
        "Y[n,o,x,y] = conv_transpose2d(X[n,c,x,y], K[c,o,p,q], stride=2)\nLoss = Y[n,o,x,y] Y[n,o,x,y]",
        images,
    );
    check("Y[i] = solve(A[i,j], B[i])\nLoss = Y[i] Y[i]", &[("A", &[2, 2]), ("B", &[2])]);
    check("Y[i,j] = inv(A[i,j])\nLoss = Y[i,j] Y[i,j]", &[("A", &[2, 2])]);
    check("Y[i,k] = concat(A[i,a], B[i,b], axis=1)\nLoss = Y[i,k] Y[i,k]", &[("A", &[2, 2]), ("B", &[2, 3])]);
    check(
        "Y[i] = cumsum(A[i]) logsumexp(B[i,j], axis=\"j\")\nLoss = Y[i] Y[i]",
        &[("A", &[3]), ("B", &[3, 2])],
    );
}

/// Reduced axes of size 1 that get a new name, and axes with sizes from another term.
#[test]
fn sizes_from_elsewhere() {
    let x: &[(&str, &[usize])] = &[("X", &[2, 3]), ("V", &[2])];
    check("Y[i,k] = mean(X[i,j], axis=j, keepdims=true)\nLoss = Y[i,k] Y[i,k] V[i]", x);
    check("Y[i,k] = V[i] sum(X[i,j] X[i,j], axis=j, keepdims=true)\nLoss = Y[i,k] Y[i,k]", x);
    check("Y[i] = V[i] X[i,j] + even(i) - index(i)\nLoss = Y[i] Y[i]", x);
    // A part with a line of its own has the sizes of the equation.
    check("Y[i,j] = X[i,j] tanh(atan2(V[i], 1 + index(j)))\nLoss = Y[i,j] Y[i,j]", x);
    check("Y[i] = X[i,j] > 0.5 ? exp(X[i,j]) : tanh(atan2(V[i], 1 + index(j)))\nLoss = Y[i] Y[i]", x);
    let state =
        "H[i,*0] = V[i]\nH[i,*t+1] = tanh(sin(index(i) U[*t])) + 0.5 H[i,*t]\nLoss = H[i,*-1] H[i,*t]";
    check(state, &[("V", &[2]), ("U", &[3])]);
    let state = "H[i,*0] = V[i]\nH[i,*t+1] when U[*t] > 0.3 = U[*t] tanh(exp(index(i) H[0,*t]))\nLoss = H[i,*-1] H[i,*t]";
    check(state, &[("V", &[2]), ("U", &[3])]);
}

#[test]
fn operators_conditions_and_guards() {
    check("Y[i] = A[i] B[i] / (A[j] B[j] + 1)\nLoss = Y[i] Y[i]", &[("A", &[3]), ("B", &[3])]);
    check("Y[i] = (A[i,j] - B[i]) ** 2 + A[i,j] ** 3\nLoss = Y[i] Y[i]", &[("A", &[3, 2]), ("B", &[3])]);
    check("Y[i] = A[i] ** B[i]\nLoss = -Y[i] Y[i]", &[("A", &[3]), ("B", &[3])]);
    check("Y[i] = A[i] > 0.6 ? A[i] B[i] : B[i] ** 2\nLoss = Y[i] Y[i]", &[("A", &[5]), ("B", &[5])]);
    check(
        "Y[i] = case { A[i] > 0.8 -> A[i], A[i] > 0.5 -> 2 A[i] B[i], default -> B[i] }\nLoss = Y[i] Y[i]",
        &[("A", &[7]), ("B", &[7])],
    );
    check("Y[i] when A[i] > 0.6 = A[i] B[i]\nLoss = Y[i] Y[i]", &[("A", &[5]), ("B", &[5])]);
    check(
        "Y[i] = A[i] even(i) + where(A[i] > 0.5, B[i], A[i])\nLoss = Y[i] Y[i]",
        &[("A", &[5]), ("B", &[5])],
    );
}

#[test]
fn own_functions() {
    let f = "fn dot(a[x], b[x]) -> s { s = a[x] * b[x] }\nfn scaled(a[x], k) -> y[x] { let n = dot(a[x], a[x])\n y[x] = k a[x] / (1 + n) }\n";
    check(&format!("{f}Y[i] = dot(A[i,k], B[i,k])\nLoss = Y[i] Y[i]"), &[("A", &[2, 3]), ("B", &[2, 3])]);
    check(
        &format!("{f}Y[i,k] = scaled(A[i,k], C)\nLoss = Y[i,k] B[k] Y[i,k]"),
        &[("A", &[2, 3]), ("B", &[3]), ("C", &[])],
    );
    // The axes of the result have the names of the left side.
    let rows = "fn rows(a[i,j]) -> y[k] { y[k] = a[k,j] a[k,j] }\n";
    check(&format!("{rows}Y[n] = rows(exp(sin(A[i,j])))\nLoss = Y[n] Y[n]"), &[("A", &[2, 3])]);
}

/// A function with its own time is called for every position of the leading axes.
#[test]
fn functions_with_a_time_of_their_own() {
    let f = "fn rnn(x[u], w) -> s {\n h[*0] = w\n h[*u+1] = tanh(w h[*u] + x[*u])\n s = h[*-1] + h[*u] h[*u]\n}\n";
    check(&format!("{f}Y[b] = rnn(X[b,u], w)\nLoss = Y[b] Y[b]"), &[("X", &[2, 3]), ("w", &[])]);
    check(&format!("{f}Y[b,c] = rnn(X[b,u], V[c])\nLoss = Y[b,c] Y[b,c]"), &[("X", &[2, 3]), ("V", &[4])]);
    check(&format!("{f}Loss = rnn(X[u], w) rnn(X[u], w w)"), &[("X", &[3]), ("w", &[])]);
}

/// The result of a call does not have the indices that the function's parameters name, also in second
/// derivatives.
#[test]
fn second_derivatives_of_own_functions() {
    let text = "fn f(x[u], w) -> s { s = tanh(w x[u]) x[u] }\nL = f(X[i], w) f(X[i], w)";
    let by = |loss: &str| GradientOptions { loss: Some(loss.into()), ..Default::default() };
    let first = load(text).gradient(&by("L")).unwrap().text();
    let twice = format!("{text}\n{first}Loss = Grad_X[i] Grad_X[i] + Grad_w Grad_w\n");
    let program = load(&twice);
    let second = program.gradient(&by("Loss")).unwrap().text();
    let whole = load(&format!("{}\n{second}", program.open_text()));
    let at = |x: f64| {
        let given = Tensor::from_slice(&[0.3, x, -0.7], [3]);
        BTreeMap::from([(Name::from("X"), given), (Name::from("w"), Tensor::from_slice(&[0.4], []))])
    };
    let found =
        whole.run(&at(0.5), &settings(None), &["Grad2_X".into()]).unwrap_or_else(|f| panic!("{second}\n{f}"));
    let slope = found[&Name::from("Grad2_X")].to_vec::<f64>().unwrap()[1];
    let loss = |x: f64| {
        let found = program.run(&at(x), &settings(None), &["Loss".into()]).unwrap();
        found[&Name::from("Loss")].item::<f64>().unwrap()
    };
    let difference = (loss(0.50001) - loss(0.49999)) / 2e-5;
    assert!((slope - difference).abs() < 1e-7 * (1.0 + difference.abs()), "{slope} {difference}");
}

/// Lines appended to a program read the names that blocks define, under unique names.
#[test]
fn names_of_blocks() {
    let text = "{ let t[i] = tanh(X[i]); let unread = 1; A = t[i] X[i] } # first\n{\n    let t[i] = W[i] X[i]  # second\n    B = t[i] t[i]\n}\nLoss = A B";
    let g = check(text, &[("X", &[3]), ("W", &[3])]);
    assert!(g.contains("Grad_t_2[i] = Grad_B t_2[i]"), "{g}");
    check("t' = 2\n{ let t'[i] = exp(sin(X[i])); A = t'[i] t'[i] }\nLoss = A t'", &[("X", &[3])]);
    let open = load(text).open_text();
    assert_eq!(
        open,
        "{ t[i] = tanh(X[i]); let unread = 1; A = t[i] X[i] } # first\n{\n    t_2[i] = W[i] X[i]  # second\n    B = t_2[i] t_2[i]\n}\nLoss = A B"
    );
}

#[test]
fn virtual_time_back_through_time() {
    let rnn = "S[i,*t] = W[i,j] H[j,*t] + U[i,k] X[k,*t]\nH[i,*t+1] = tanh(S[i,*t])\nH[i,*0] = H0[i]\n";
    let shapes: &[(&str, &[usize])] = &[("W", &[3, 3]), ("U", &[3, 2]), ("X", &[2, 5]), ("H0", &[3])];
    check(&format!("{rnn}Loss = H[i,*-1] H[i,*-1]"), shapes);
    check(&format!("{rnn}Y[*t] = H[i,*t+1] V[i]\nLoss = Y[*t] Y[*t]"), &[shapes, &[("V", &[3])]].concat());
    check(&format!("{rnn}All[i,t] = H[i,*t]\nLoss = All[i,t] All[i,t] All[i,t]"), shapes);
}

/// Values at every step without time on their left, constant starts, and steps before and after the current one.
#[test]
fn time_that_is_not_written() {
    let rnn = "Pre[i] = W[i,j] H[j,*t]\nSum[i] = tanh(Pre[i] + Input[i])\nH[i,*t+1] = Sum[i] U[i,*t]\n";
    let shapes: &[(&str, &[usize])] = &[("W", &[3, 3]), ("Input", &[3]), ("U", &[3, 4])];
    let start = "H[i,*0] = const([0.3,0.1,-0.2])\n";
    let g = check(&format!("{rnn}{start}Loss = H[i,*-1] H[i,*-1]"), shapes);
    assert!(g.contains("Grad_Pre[i, *t] = Grad_Sum[i, *t]"), "{g}");
    // The last value of a name with a value at every step, and all its values.
    check(&format!("{rnn}{start}Loss = Pre[i] Pre[i] Sum[i]"), shapes);
    check(&format!("{rnn}{start}Y[*t] = Pre[i] Sum[i]\nLoss = Y[*t] Y[*t]"), shapes);
    check(&format!("{rnn}H[i,*0] = H0[i]\nLoss = H[i,*-1] Pre[i]"), &[shapes, &[("H0", &[3])]].concat());
    for by in ["-1", "+1", "-2"] {
        let text = format!("H[i,*t+1] = tanh(A[i] H[i,*t] + X[i,*t{by}])\nH[i,*0] = X[i,*0] A[i]\n");
        let shapes: &[(&str, &[usize])] = &[("A", &[3]), ("X", &[3, 4])];
        check(&format!("{text}Loss = H[i,*-1] H[i,*-1]"), shapes);
        check(&format!("{text}Loss = H[i,*t] H[i,*t] X[i,*t]"), shapes);
        check(&format!("Y[i,*t] = X[i,*t{by}] A[i]\nLoss = Y[i,*t] Y[i,*t]"), shapes);
        let wide = format!("Y[i,*t] = X[i,*t{by}] X[i,*t]\nLoss = Y[i,*t] Y[i,*t{by}]");
        check(&wide, &[("X", &[3, 4])]);
    }
}

/// Within a step, a function cannot work along time; as a plain index, time is an axis.
#[test]
fn axes_beside_time() {
    let shapes: &[(&str, &[usize])] = &[("W", &[2, 2]), ("X", &[2, 3])];
    let start = "H[i,*0] = const([0.1,0.2])\n";
    let state = format!("{start}H[i,*t+1] = softmax(tanh(W[i,j] H[j,*t]) + X[i,*t]) cumsum(X[i,*t])\n");
    check(&format!("{state}Loss = cumsum(exp(H[i,*t])) H[i,*t+1]"), shapes);
    check(&format!("{state}Loss = H[i,*-1] H[i,*-1]"), shapes);
    // No line reads the start: its gradient is 0, not that of the last step.
    let started = "G[i,*0] = W[i,0] W[i,0]\nG[i,*t+1] = X[i,*t]\n";
    check(&format!("{started}Loss = X[i,*t] G[i,*t+1] + 0 W[i,j]"), shapes);
    check("Y[i,*t] = W[i,j] cumsum(2 X[j,*t]) softmax(X[j,*t])\nLoss = Y[i,*t] Y[i,*t]", shapes);
}

#[test]
fn fixpoints_have_the_implicit_gradient() {
    check("X[i] = tanh(0.3 A[i,j] X[j] + B[i])\nLoss = X[i] X[i]", &[("A", &[3, 3]), ("B", &[3])]);
    check(
        "P[i] = 0.2 A[i,j] Q[j] + B[i]\nQ[i] = 0.5 P[i] + 0.1 B[i] P[i]\nLoss = P[i] Q[i]",
        &[("A", &[3, 3]), ("B", &[3])],
    );
}

#[test]
fn gradients_of_gradients() {
    let text = "Y[i] = gelu(A[i,j] B[j])\nS[i] = softmax(Y[i])\nLoss = S[i] Y[i] Y[i]";
    let first = load(text).gradient(&GradientOptions::default()).unwrap();
    let twice = format!("{text}\n{}Norm = Grad_A[i,j] Grad_A[i,j] + Grad_B[i] Grad_B[i]\n", first.text())
        .replace("Loss", "L");
    let twice = twice.replace("Norm", "Loss");
    let program = load(&twice);
    let second =
        program.gradient(&GradientOptions { loss: Some("Loss".into()), ..Default::default() }).unwrap();
    assert!(second.equations.iter().all(|e| e.target.name.starts_with("Grad2_")), "{}", second.text());
    let whole = load(&format!("{twice}\n{}", second.text()));
    let a = Tensor::from_slice(&numbers("A", 6), [2, 3]);
    let b = Tensor::from_slice(&numbers("B", 3), [3]);
    let inputs = BTreeMap::from([(Name::from("A"), a.clone()), (Name::from("B"), b)]);
    let found = whole.run(&inputs, &settings(None), &["Grad2_A".into()]).unwrap_or_else(|f| panic!("{f}"));
    let direction = Tensor::from_slice(&numbers("d", 6), [2, 3]);
    let slope = (&found[&Name::from("Grad2_A")] * &direction).sum(()).item::<f64>().unwrap();
    let at = |by: f64| {
        let mut moved = inputs.clone();
        moved.insert("A".into(), &a + &(&direction * by));
        program.run(&moved, &settings(None), &["Loss".into()]).unwrap()[&Name::from("Loss")]
            .item::<f64>()
            .unwrap()
    };
    let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
    assert!((slope - difference).abs() < 1e-7 * (1.0 + difference.abs()), "{slope} {difference}");
}

/// The eighth derivative of polynomials, written as powers, as products and as calls.
#[test]
fn gradients_to_the_eighth_order() {
    let x = 0.7f64;
    let inputs = BTreeMap::from([(Name::from("X"), Tensor::from_slice(&[x], []))]);
    // The derivatives of Σ c xⁿ.
    let closed = |terms: &[(f64, i32)]| {
        let falling = |n: i32| (0..8).map(|k| f64::from(n - k)).product::<f64>();
        terms.iter().filter(|(_, n)| *n >= 8).map(|(c, n)| c * falling(*n) * x.powi(n - 8)).sum::<f64>()
    };
    let programs = [
        ("Loss = 2 X ** 9 - X ** 3 + 0.5 X ** 10", vec![(2.0, 9), (-1.0, 3), (0.5, 10)]),
        ("Q = X X X\nLoss = Q Q Q + 3 Q", vec![(1.0, 9), (3.0, 3)]),
        ("A = square(X)\nLoss = A A A A", vec![(1.0, 8)]),
    ];
    for (text, terms) in programs {
        let (mut text, mut loss) = (text.to_string(), Name::from("Loss"));
        for _ in 0..8 {
            let options =
                GradientOptions { loss: Some(loss), wrt: vec!["X".into()], ..GradientOptions::default() };
            let gradient = load(&text).gradient(&options).unwrap_or_else(|f| panic!("{f}"));
            text = format!("{text}\n{}", gradient.text());
            loss = gradient.names[&Name::from("X")].clone();
        }
        assert_eq!(&*loss, "Grad8_X");
        let found = load(&text)
            .run(&inputs, &settings(None), std::slice::from_ref(&loss))
            .unwrap_or_else(|f| panic!("{f}"));
        let (found, closed) = (found[&loss].item::<f64>().unwrap(), closed(&terms));
        assert!((found - closed).abs() <= 1e-9 * closed.abs(), "{found} beside {closed}");
    }
    // tanh' = 1 - tanh²: derivatives are polynomials in tanh.
    let mut polynomial = vec![0.0, 1.0];
    for _ in 0..8 {
        let mut next = vec![0.0; polynomial.len() + 1];
        for (n, c) in polynomial.iter().enumerate().skip(1) {
            next[n - 1] += n as f64 * c;
            next[n + 1] -= n as f64 * c;
        }
        polynomial = next;
    }
    let y = x.tanh();
    let closed: f64 = polynomial.iter().enumerate().map(|(n, c)| c * y.powi(n as i32)).sum();
    let text = format!("Y = tanh{}(X)", "_grad".repeat(8));
    let found = load(&text).run(&inputs, &settings(None), &["Y".into()]).unwrap()[&Name::from("Y")].clone();
    assert!((found.item::<f64>().unwrap() - closed).abs() <= 1e-8 * closed.abs(), "{found} beside {closed}");
    // Derivatives of very high order are refused because of their work, not because of their order.
    let text = format!("Y = gelu{}(X)", "_grad".repeat(20));
    let refused = load(&text).run(&inputs, &settings(None), &["Y".into()]).unwrap_err().to_string();
    assert!(refused.contains("operations to differentiate, at most 65536 are allowed"), "{refused}");
}

/// Functions whose parameters do not name time are called at every step, and so are their gradients.
#[test]
fn functions_at_moments() {
    let function = "fn mul(w[x,y], b[y]) -> s[x] { s[x] = tanh(w[x,y] b[y]) }\n";
    let shapes: &[(&str, &[usize])] = &[("W", &[2, 2]), ("V", &[2])];
    let text = format!(
        "{function}axis t = 3\nH[i,*0] = V[i]\nH[i,*t+1] = mul(W[i,j], H[j,*t])\nLoss = H[i,*-1] H[i,*-1]"
    );
    let shown = check_with(&text, shapes, None);
    assert!(shown.contains("Grad_W[i, j] sum= Grad_W_steps[i, j, *t]"), "{shown}");
    let loop_inside = "fn total(x[u], w) -> s {\n S[*u+1] = w S[*u] x[*u] + x[*u]\n s = S[*-1]\n}\n";
    let text = format!(
        "{loop_inside}axis t = 3\nX[k,*t] = A[k] index(t) + A[k]\nY[*t] = total(X[k,*t], B)\n\
                        H[*t+1] = 0.1 H[*t] + total(X[k,*t], B) Y[*t]\nLoss = H[*-1] + Y[*t] Y[*t]"
    );
    check_with(&text, &[("A", &[2]), ("B", &[])], None);
}
