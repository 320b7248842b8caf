//! Gradients of choices and powers at points where the branch that is not taken has no finite derivative.

use gradus_ir::DType;
use gradus_lang::ast::Name;
use gradus_lang::{GradientOptions, Program, Settings, Source};
use std::collections::BTreeMap;

fn load(text: &str) -> Program {
    Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{text}\n{f}"))
}

/// Returns the text of a program and its gradient, and the name of the gradient of `A`, if there is one.
fn differentiated(text: &str, loss: &str) -> (String, Option<Name>) {
    let options = GradientOptions { loss: Some(loss.into()), ..GradientOptions::default() };
    let gradient = load(text).gradient(&options).unwrap_or_else(|f| panic!("{text}\n{f}"));
    (format!("{text}\n{}", gradient.text()), gradient.names.get("A").cloned())
}

fn value(text: &str, name: &Name) -> Vec<f64> {
    let settings = Settings { float: DType::F64, ..Settings::default() };
    let found = load(text).run(&BTreeMap::new(), &settings, std::slice::from_ref(name));
    found.unwrap_or_else(|f| panic!("{text}\n{f}"))[name].to_vec::<f64>().unwrap()
}

/// Returns the gradient of `Loss` by `A`.
fn gradient(text: &str) -> Vec<f64> {
    let (text, name) = differentiated(text, "Loss");
    value(&text, &name.unwrap())
}

fn assert_near(text: &str, found: &[f64], expected: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{text}\n{found:?} beside {expected:?}"
    );
}

#[test]
fn what_is_not_taken_has_no_derivative() {
    let cases: &[(&str, &[f64])] = &[
        ("A[i] != 0 ? 1 / A[i] : 0", &[0.0, -0.0625, -1.0]),
        ("A[i] != 0 ? 3 : 1 / A[i]", &[f64::NEG_INFINITY, 0.0, 0.0]),
        ("where(A[i] > 0, log(A[i]), A[i])", &[1.0, 0.25, 1.0]),
        ("masked_fill(sqrt(A[i]), A[i] <= 0, 2)", &[0.0, 0.25, 0.0]),
        // Calls inside calls get names, which have values only where the branch is taken.
        ("A[i] > 0.5 ? exp(log(sqrt(A[i]))) : A[i]", &[1.0, 0.25, 1.0]),
        (
            "case { A[i] > 0 -> exp(log(sqrt(A[i]))), A[i] == 0 -> 5, default -> log(-A[i]) }",
            &[0.0, 0.25, -1.0],
        ),
        ("case(A[i] > 0, log(A[i]), A[i] > 2, sqrt(A[i]))", &[0.0, 0.25, 0.0]),
        ("A[i] > 0 ? (A[i] > 1 ? log(sqrt(A[i])) : 0) : 2 A[i]", &[2.0, 0.125, 2.0]),
        ("inverse(A[i]) + root(A[i])", &[0.0, -0.0625 + 0.25, -1.0]),
        ("A[i] > 0 ? plain(A[i]) : 0", &[0.0, -0.0625, 0.0]),
    ];
    for (y, expected) in cases {
        let text = format!(
            "fn inverse(a) -> y {{ y = where(a != 0, 1 / a, 0) }}\nfn root(a[x]) -> y[x] {{ y[x] when a[x] > 1 = sqrt(a[x]) }}\n\
             fn plain(a) -> y {{ y = 1 / a }}\nA[i] = const([0, 4, -1])\nY[i] = {y}\nLoss = Y[i]"
        );
        let found = gradient(&text);
        if expected.iter().any(|x| x.is_infinite()) {
            assert_eq!(found, *expected, "{text}");
        } else {
            assert_near(&text, &found, expected);
        }
    }
}

#[test]
fn guards_and_what_mixes_places() {
    let guard = "A[i] = const([0.5, 4, -1])\nY[i] when A[i] > 1 = sqrt(A[i])\nLoss = Y[i]";
    assert_near(guard, &gradient(guard), &[0.0, 0.25, 0.0]);
    // Elements at which the guard does not hold are not part of the maximum.
    let most = "A[i,j] = const([[0, 1, -2], [1, 2, -3]])\nY[i] when A[i,j] > 0.5 max= A[i,j] A[i,j]\nLoss = Y[i] Y[i]";
    assert_near(most, &gradient(most), &[0.0, 4.0, 0.0, 0.0, 32.0, 0.0]);
    let mean = "A[i,j] = const([[0, 1, -2], [1, 2, -3]])\nY[i] when A[i,j] > 0 avg= log(A[i,j])\nLoss = Y[i]";
    // The mean is that of the elements for which the guard holds: one in the first row, two in the second.
    assert_near(mean, &gradient(mean), &[0.0, 1.0, 0.0, 0.5, 0.25, 0.0]);
    // The branch is taken at one position of a function's axis and not at others; then at none.
    let scaled = "A[b] = const([0, 2])\nX[b,i] = const([[1, 2], [0, 0]])\nY[b,i] = A[b] != 0 ? softmax(X[b,i] / A[b]) X[b,i] : A[b]\nLoss = Y[b,i]";
    assert_near(scaled, &gradient(scaled), &[2.0, 0.0]);
    // A function along an axis needs its argument at all positions if its result is used at any.
    let sums = "A[i] = const([1, -2, 3])\nY[i] = A[i] > 0 ? cumsum(exp(A[i] A[i] / 4)) : 0\nLoss = Y[i]";
    let slope = |a: f64| a / 2.0 * (a * a / 4.0).exp();
    assert_near(sums, &gradient(sums), &[2.0 * slope(1.0), slope(-2.0), slope(3.0)]);
    let inside = "fn f(a[x]) -> y[x] { y[x] = a[x] > 0 ? cumsum(exp(a[x] a[x] / 4)) : 0 }\nA[i] = const([1, -2, 3])\nY[i] = f(A[i])\nLoss = Y[i]";
    assert_near(inside, &gradient(inside), &[2.0 * slope(1.0), slope(-2.0), slope(3.0)]);
    // A condition with a sum has the same sum on every line.
    let summed = "A[i] = const([0.3, -0.6])\nC[i,k] = const([[1, -2], [3, -4]])\nB[k] = const([3, 2])\nY[i] = C[i,k] B[k] > 0 ? C[i,k] + A[i] : 0\nLoss = Y[i]";
    assert_near(summed, &gradient(summed), &[1.0, 1.0]);
    // A value that is the same at all steps, in a step with a condition on its state.
    let steps = "axis t = 3\nA[i] = const([0.5, -0.5])\nH[i,*0] = const([-1, -1])\nH[i,*t+1] when H[i,*t] < 0 = tanh(sin(tanh(A[i])))\nLoss = H[i,*t+1]";
    let slope = |a: f64| {
        let (s, t) = (a.tanh().sin(), a.tanh());
        (1.0 - s.tanh().powi(2)) * t.cos() * (1.0 - t * t)
    };
    assert_near(steps, &gradient(steps), &[slope(0.5), slope(-0.5) * 3.0]);
    let norm = "A[b,i] = const([[0, 0], [3, 4]])\nN[b] = reduce(sum, i) A[b,i] ** 2 > 0 ? sqrt(reduce(sum, i) A[b,i] ** 2) : 0\nLoss = N[b]";
    assert_near(norm, &gradient(norm), &[0.0, 0.0, 0.6, 0.8]);
}

/// Powers with constant exponents, and their higher derivatives, at 0.
#[test]
fn powers_at_zero() {
    let orders: &[(&str, [f64; 3])] =
        &[("0", [0.0; 3]), ("1", [1.0, 0.0, 0.0]), ("2", [0.0, 2.0, 0.0]), ("3", [0.0, 0.0, 6.0])];
    for (n, expected) in orders {
        let (mut text, mut loss) = (format!("A = const(0)\nLoss = A ** {n}"), Name::from("Loss"));
        for expected in expected {
            let (next, found) = differentiated(&text, &loss);
            let Some(found) = found else {
                // Constants have no gradient.
                assert_eq!(*expected, 0.0, "{text}");
                break;
            };
            (text, loss) = (next, found);
            assert_eq!(value(&text, &loss), [*expected], "{text}");
        }
    }
}

/// A choice can be differentiated twice.
#[test]
fn second_derivatives_of_choices() {
    let text = "A[i] = const([0, 4, -1])\nY[i] = A[i] > 0 ? log(sqrt(A[i])) : A[i] ** 2\nLoss = Y[i]";
    let (text, first) = differentiated(text, "Loss");
    let (text, second) = differentiated(&format!("{text}Next = {}[i]\n", first.unwrap()), "Next");
    assert_near(&text, &value(&text, &second.unwrap()), &[2.0, -0.5 / 16.0, 2.0]);
}

/// Values with lines of their own that a choice on another line reads, in programs and in functions.
#[test]
fn chosen_later() {
    let cases: &[(&str, &[f64])] = &[
        ("N[i] = 1 / A[i]\nY[i] = A[i] != 0 ? N[i] : 0", &[0.0, -0.0625, -1.0]),
        // Through intermediate lines, and for several readers.
        (
            "N[i] = 1 / A[i]\nM[k] = 2 N[k]\nY[i] = A[i] > 0 ? M[i] : A[i] < 0 ? N[i] : 0",
            &[0.0, -0.125, -1.0],
        ),
        ("N[i] = log(A[i])\nY[i] when A[i] > 0 = N[i]", &[0.0, 0.25, 0.0]),
        // As a factor too.
        ("N[i] = log(A[i])\nM[i] = N[i] A[i]\nY[i] = A[i] > 0 ? M[i] : 0", &[0.0, 1.0 + 4f64.ln(), 0.0]),
        ("N[i] = 1 / A[i]\nM[i] = N[i] N[i]\nY[i] = A[i] != 0 ? M[i] : 0", &[0.0, -0.03125, 2.0]),
        ("N[i] = sqrt(A[i])\nB[k] = A[k]\nY[i] = where(B[i] > 0, N[i], 0)", &[0.0, 0.25, 0.0]),
        ("Y[i] = f(A[i])", &[0.0, -0.0625, -1.0]),
        // If another line reads it outside a branch, its gradient flows everywhere.
        ("N[i] = A[i] ** 2\nY[i] = A[i] > 0 ? N[i] : 0\nY[i] = N[i]", &[0.0, 16.0, -2.0]),
    ];
    for (y, expected) in cases {
        let text = format!(
            "fn f(a) -> y {{ n = 1 / a\n y = a != 0 ? n : 0 }}\nA[i] = const([0, 4, -1])\n{y}\nLoss = Y[i]"
        );
        assert_near(&text, &gradient(&text), expected);
        let twice = format!("{}\nTotal = Grad_A[i] Grad_A[i]", differentiated(&text, "Loss").0);
        let (second, name) = differentiated(&twice, "Total");
        assert!(value(&second, &name.unwrap()).iter().all(|x| x.is_finite()), "{second}");
    }
}

/// Calls that choose are choices, also as arguments of a function along the last axis.
#[test]
fn calls_that_choose_lie_as_choices() {
    let cases = [
        ("softmax(where(V[j] > 0.3, A[i,j], -1000000000))", "softmax(V[j] > 0.3 ? A[i,j] : -1000000000)"),
        ("cumsum(where(V[j] > 0.5, A[i,j], 0))", "cumsum(V[j] > 0.5 ? A[i,j] : 0)"),
        ("cumsum(case(C[k] > 0.5, A[i,j], 0))", "cumsum(C[k] > 0.5 ? A[i,j] : 0)"),
        ("cumsum(2 where(C[k] > 0.3, A[i,j], V[j]))", "cumsum(2 (C[k] > 0.3 ? A[i,j] : V[j]))"),
        ("cumsum(tanh(where(V[j] > 0.5, A[i,j], 0)))", "cumsum(tanh(V[j] > 0.5 ? A[i,j] : 0))"),
        (
            "cumsum(V[j] > 0.5 ? where(V[j] > 1, A[i,j], 2) : 0)",
            "cumsum(V[j] > 0.5 ? (V[j] > 1 ? A[i,j] : 2) : 0)",
        ),
        ("cumsum(masked_fill(V[j], C[k] > 0.3, A[i,j]))", "cumsum(C[k] > 0.3 ? A[i,j] : V[j])"),
    ];
    let text = |y: &str| {
        format!(
            "A[i,j] = const([[0.1, 0.4, 0.7], [0.9, 0.3, 0.6]])\nV[j] = const([0.2, 0.6, 1.5])\nC[k] = const([0.1, 0.8])\n\
             Y[i,j] = {y}\nLoss = sin(Y[i,j] A[i,j])"
        )
    };
    for (call, choice) in cases {
        let (call, choice) = (text(call), text(choice));
        assert_eq!(value(&call, &"Y".into()), value(&choice, &"Y".into()), "{call}");
        assert_near(&call, &gradient(&call), &gradient(&choice));
    }
    // Along `j`, the last of what is chosen from.
    let sums = text("cumsum(where(V[j] > 0.5, A[i,j], 0))");
    assert_near(&sums, &value(&sums, &"Y".into()), &[0.0, 0.4, 1.1, 0.0, 0.3, 0.9]);
}

/// The gradient of a choice with many cases parses and can be differentiated again.
#[test]
fn many_cases() {
    for (count, thrice) in [(12, true), (150, false)] {
        let cases: String = (1..=count).map(|k| format!("A[i] < {k} -> {k} W{k} A[i] ** 3, ")).collect();
        let weights: String = (1..=count).map(|k| format!("W{k} = const({})\n", k % 5)).collect();
        let text = format!(
            "{weights}A[i] = const([0.5, 7.5, 9.5, 11.5, 1000])\nY[i] = case {{ {cases}default -> A[i] }}\nLoss = Y[i]"
        );
        let slopes = [0.5, 7.5, 9.5, 11.5].map(|a: f64| (a, a.ceil() * (a.ceil() % 5.0)));
        let (first, name) = differentiated(&text, "Loss");
        assert!(!first.contains("? 0 :") || first.contains("case {"), "{first}");
        let expected: Vec<f64> = slopes.iter().map(|(a, c)| 3.0 * c * a * a).chain([1.0]).collect();
        assert_near(&text, &value(&first, &name.clone().unwrap()), &expected);
        if thrice {
            let twice = format!("{first}\nTotal = {}[i]", name.unwrap());
            let (second, name) = differentiated(&twice, "Total");
            let expected: Vec<f64> = slopes.iter().map(|(a, c)| 6.0 * c * a).chain([0.0]).collect();
            assert_near(&twice, &value(&second, &name.unwrap()), &expected);
        }
    }
}

/// The number of the case that holds gets a name, also inside calls, sums and steps, and together with other
/// choices.
#[test]
fn many_cases_have_a_name() {
    let head = "A[i] = const([0.4, 3.3, 9.5])\nM[i,j] = const([[0.3, 5.2, 8.1], [9.6, 0.66, 2.41], [4.27, 1.09, 0.35]])\n";
    // If the cases depend on `A`, each value has a root that is NaN below its branch.
    let value = |of: &str, k: usize| match of {
        "A[i]" => format!("{k} sqrt(A[i] - {k} + 1) M[i,j]"),
        _ => format!("{k} sin({k} A[i]) M[i,j]"),
    };
    let many = |of: &str| {
        let one = |k: usize| format!("{of} < {k} -> {}, ", value(of, k));
        format!("case {{ {}default -> A[i] / M[i,j] }}", (1..=9).map(one).collect::<String>())
    };
    // The same as nested conditional expressions.
    let nested = |of: &str| {
        let one = |k: usize| format!("{of} < {k} ? {} : (", value(of, k));
        format!("({}A[i] / M[i,j]{})", (1..=9).map(one).collect::<String>(), ")".repeat(9))
    };
    let lines = [
        "Y[i,j] = $\nLoss = sin(Y[i,j])",
        "Y[i] = sin($ A[i])\nLoss = Y[i]",
        "Y[i] max= $ M[j,i]\nLoss = Y[i] A[i]",
        "Y[i,j] = softmax($, axis=\"j\")\nLoss = Y[i,j] M[i,j]",
        "Y[i,j] when A[i] > 1 = $ + M[j,i]\nLoss = Y[i,j]",
        "Y[i,j] = M[j,i] > 1 ? $ : A[j]\nLoss = Y[i,j] Y[j,i]",
        "axis t = 3\nS[i,*t+1] = 0.1 S[i,*t] + 0.01 index(t) $\nLoss = S[i,*-1] A[i]",
    ];
    for line in lines {
        for of in ["A[i]", "M[i,j]", "M[i,k] M[k,j] / 4", "A[i+1]", "index(j) A[i]"] {
            let text = |choice: String| format!("{head}{}", line.replace('$', &choice));
            let (case, nest) = (text(many(of)), text(nested(of)));
            assert_near(&case, &gradient(&case), &gradient(&nest));
        }
    }
    let steps = |choice: &str| {
        format!("{head}axis t = 4\nS[i,*0] = A[i]\nS[i,*t+1] = {choice}\nLoss = S[i,*-1] S[i,*-1]")
    };
    let of_state = |k: usize| format!("S[i,*t] < {k} -> {k} S[i,*t] S[i,*t] / 7, ");
    let case =
        steps(&format!("case {{ {}default -> S[i,*t] / 2 }}", (1..=9).map(of_state).collect::<String>()));
    let one = |k: usize| format!("S[i,*t] < {k} ? {k} S[i,*t] S[i,*t] / 7 : (");
    let nest = steps(&format!("{}S[i,*t] / 2{}", (1..=9).map(one).collect::<String>(), ")".repeat(9)));
    assert_near(&case, &gradient(&case), &gradient(&nest));
    // The text is linear in the number of cases, not quadratic.
    let length = |count: usize| {
        let cases: String = (1..=count).map(|k| format!("A[i] < {k} -> W{k} A[i] ** 3, ")).collect();
        let weights: String = (1..=count).map(|k| format!("W{k} = const({})\n", k % 5)).collect();
        let text = format!("{weights}A[i] = const([0.5, 7.5])\nLoss = case {{ {cases}default -> A[i] }}");
        differentiated(&text, "Loss").0.len() - text.len()
    };
    let (short, long) = (length(100), length(800));
    assert!(long < 9 * short, "{short} {long}");
}

/// A condition with an index that another branch has holds per position of this index, also after a call that
/// lacks it, as if the condition had a name.
#[test]
fn conditions_over_an_index_of_another_branch() {
    let head = "A[i] = const([0.31, -0.52, 0.87])\nB[j] = const([0.23, -0.71, 0.44])\n\
                M[i,j] = const([[0.3, -0.2, 0.5], [0.15, 0.66, -0.41], [0.27, 0.09, -0.35]])\n";
    for value in ["softmax(A[i], axis=\"i\") B[j]", "(1 + A[i]) ** B[j]", "cumsum(A[i] M[i,j], axis=\"i\")"] {
        let text = |condition: &str| {
            format!(
                "{head}T[k,j] = A[k] M[k,j]\nY[i,j] = {condition} < 0.1 ? {value} : M[i,k] M[k,j]\nLoss = sin(Y[i,j])"
            )
        };
        let (product, named) = (text("A[k] M[k,j]"), text("stop_gradient(T[k,j])"));
        assert_near(&product, &gradient(&product), &gradient(&named));
    }
}

/// A condition has the same meaning on gradient lines as on its own line: a call in it works along the axis
/// with the dot, and a list has the indices of the left side.
#[test]
fn conditions_that_lean_on_their_left_side() {
    let head = "A[i] = const([0.31, -0.52, 0.87])\nc = const(1.37)\n\
                M[i,j] = const([[0.3, 5.2, 8.1], [9.6, 0.66, 2.41], [4.27, 1.09, 0.35]])\n";
    for value in ["exp(sin(c M[i,j] + A[i]))", "exp(sin(A[j] M[j,j])) M[j,i]"] {
        let text = |target: &str, axis: &str| {
            format!("{head}Y[{target}] = softmax(M[i,j]{axis}) < 0.21 ? 1 : {value}\nLoss = Y[i,j] Y[i,j]")
        };
        let (dotted, said) = (text("i.,j", ""), text("i,j", ", axis=\"i\""));
        assert_near(&dotted, &gradient(&dotted), &gradient(&said));
    }
    let guarded = |target: &str, axis: &str| {
        let softmax = format!("softmax(M[i,j]{axis})");
        format!("{head}Y[{target}] when {softmax} < 0.5 = exp(sin({softmax} A[i]))\nLoss = Y[i,j] Y[i,j]")
    };
    let (dotted, said) = (guarded("i.,j", ""), guarded("i,j", ", axis=\"i\""));
    assert_near(&dotted, &gradient(&dotted), &gradient(&said));
    let list =
        |condition: &str| format!("{head}Y[i,j] = {condition} ? exp(sin(A[i])) : 0\nLoss = Y[i,j] Y[i,j]");
    let (bare, said) = (
        list("1.5 < [[1,2,0],[3,1,5],[1,6,1]]"),
        format!("K[i,j] = const([[1,2,0],[3,1,5],[1,6,1]])\n{}", list("1.5 < stop_gradient(K[i,j])")),
    );
    assert_near(&bare, &gradient(&bare), &gradient(&said));
}
