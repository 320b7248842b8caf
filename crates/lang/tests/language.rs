//! Values of every construct of the language.

use gradus_ir::DType;
use gradus_lang::ast::Name;
use gradus_lang::{Program, Settings, Source};
use gradus_tensor::Tensor;
use std::collections::BTreeMap;

fn load(text: &str) -> Program {
    Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{f}"))
}

fn value_with(text: &str, inputs: &[(&str, Tensor)], name: &str, settings: Settings) -> Tensor {
    let inputs: BTreeMap<Name, Tensor> = inputs.iter().map(|(n, t)| (Name::from(*n), t.clone())).collect();
    let values = load(text).run(&inputs, &settings, &[name.into()]).unwrap_or_else(|f| panic!("{text}\n{f}"));
    values[&Name::from(name)].clone()
}

fn value(text: &str, name: &str) -> (Vec<usize>, Vec<f64>) {
    let settings = Settings { float: DType::F64, ..Settings::default() };
    let t = value_with(text, &[], name, settings);
    (t.shape().to_vec(), t.to_dtype(DType::F64).to_vec::<f64>().unwrap())
}

fn numbers(text: &str, name: &str) -> Vec<f64> {
    value(text, name).1
}

fn fault(text: &str) -> String {
    match Program::parse(Source::new("test", text)) {
        Err(f) => f.to_string(),
        Ok(p) => {
            let outputs = p.outputs();
            let run = p.run(&BTreeMap::new(), &Settings::default(), &outputs);
            run.map(|_| ()).unwrap_err().to_string()
        }
    }
}

const M: &str =
    "A[i,j] = const([[1,2,3],[4,5,6]])\nV[j] = const([1,10,100])\nS[i,j] = const([[1,2],[3,4]])\n";

#[test]
fn index_algebra() {
    let of = |line: &str| value(&format!("{M}{line}"), "Y");
    assert_eq!(of("Y[i] = A[i,j] V[j]"), (vec![2], vec![321.0, 654.0]));
    assert_eq!(of("Y[j,i] = A[i,j]"), (vec![3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    assert_eq!(of("Y[i] = A[i,j]").1, [6.0, 15.0]);
    assert_eq!(of("Y[i] = S[i,i]").1, [1.0, 4.0]);
    assert_eq!(of("Y = S[i,i]"), (vec![], vec![5.0]));
    assert_eq!(of("Y[] = S[i,i]").1, [5.0]);
    assert_eq!(of("Y[i,j] = A[i,j] + V[j]").1, [2.0, 12.0, 103.0, 5.0, 15.0, 106.0]);
    assert_eq!(of("Y[j] = V[j]\nY[j] = V[j]").1, [2.0, 20.0, 200.0]);
    assert_eq!(of("Y[j] = V[j] + V[j]").1, [2.0, 20.0, 200.0]);
    assert_eq!(of("Y[j] = V[j]\nY[j] += A[0,j]").1, [2.0, 12.0, 103.0]);
    assert_eq!(of("Y[j] = V[j+1]").1, [10.0, 100.0, 0.0]);
    assert_eq!(of("Y[j] = V[j-1]").1, [0.0, 1.0, 10.0]);
    assert_eq!(of("Y[j+1] = V[j]").1, [0.0, 1.0, 10.0]);
    assert_eq!(of("Y[0:2] = V[0:2]").1, [1.0, 10.0]);
    assert_eq!(of("Y[k] = V[k=1::2]").1, [10.0]);
    assert_eq!(of("Y[-2:] = V[-2:]").1, [10.0, 100.0]);
    assert_eq!(of("Y[i] = A[i,-1]").1, [3.0, 6.0]);
    assert_eq!(of("Y[i,i] = S[i,0]").1, [1.0, 0.0, 0.0, 3.0]);
    assert_eq!(of("Y[0] = 5\nY[2] = 7").1, [5.0, 0.0, 7.0]);
    assert_eq!(of("axis b = 2\nY[b,j] = V[j]").1, [1.0, 10.0, 100.0, 1.0, 10.0, 100.0]);
    assert_eq!(of("Y[p,p'] = S[p,k] S[p',k]").1, [5.0, 11.0, 11.0, 25.0]);
}

#[test]
fn projections_and_reductions() {
    let of = |line: &str| numbers(&format!("{M}{line}"), "Y");
    assert_eq!(of("Y[i] max= A[i,j]"), [3.0, 6.0]);
    assert_eq!(of("Y[j] min= A[i,j]"), [1.0, 2.0, 3.0]);
    assert_eq!(of("Y[i] avg= A[i,j]"), [2.0, 5.0]);
    let nothing = |how: &str| of(&format!("Z[k] = const([])\nY {how}= Z[k]"))[0];
    assert_eq!(["sum", "prod", "max", "min"].map(nothing), [0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY]);
    assert!(nothing("avg").is_nan());
    assert_eq!(of("Y prod= S[i,j]"), [24.0]);
    assert_eq!(of("Y[i] max= A[i,j] V[j]"), [300.0, 600.0]);
    // Terms are equations of their own; a group is one value.
    assert_eq!(of("Y[i] max= A[i,j] + V[j]"), [103.0, 106.0]);
    assert_eq!(of("Y[i] max= (A[i,j] - V[j])"), [0.0, 3.0]);
    assert_eq!(of("Y[j] = reduce(sum, i) A[i,j]"), [5.0, 7.0, 9.0]);
    assert_eq!(of("Y[i] = sum(A[i,j], axis=\"j\")"), [6.0, 15.0]);
    assert_eq!(of("Y[i] = max(A[i,j], axis=j)"), [3.0, 6.0]);
    assert_eq!(of("Y = mean(A[i,j])"), [3.5]);
    assert_eq!(of("Y[i,j] = A[i,j] - avg(A[i,j], axis=1)"), [-1.0, 0.0, 1.0, -1.0, 0.0, 1.0]);
}

#[test]
fn scopes_of_sums() {
    let of = |line: &str| numbers(&format!("{M}{line}"), "Y");
    // An index that appears twice in a product inside a call is summed there; one that appears once is
    // reduced outside.
    assert_eq!(of("Y[i] = relu(A[i,j] V[j] - 400)"), [0.0, 254.0]);
    assert_eq!(of("Y[i] = relu(A[i,j] - 2)"), [1.0, 9.0]);
    assert_eq!(of("Y[i] = (A[i,j] V[j] + 1) 2"), [644.0, 1310.0]);
    assert_eq!(of("Y[i] = (A[i,j] - 2) ** 2"), [2.0, 29.0]);
    // Each term of a sum that closes an index has its own sum: A V is [321, 654], A A is [14, 77], V V is 10101.
    assert_eq!(of("Y[i] = relu(A[i,j] V[j] - A[i,j] A[i,j] - 350)"), [0.0, 227.0]);
    assert_eq!(of("Y[i] = (A[i,j] V[j] - A[i,j] A[i,j]) ** 2"), [307.0 * 307.0, 577.0 * 577.0]);
    assert_eq!(of("Y[i] max= A[i,j] V[j] + V[j] V[j]"), [10300.0, 10600.0]);
    assert_eq!(of("Y[i] = 2 (A[i,j] V[j] + V[j])"), [864.0, 1530.0]);
    assert!((of("Y[j] = V[j] / (V[k] V[k])").iter().sum::<f64>() - 111.0 / 10101.0).abs() < 1e-15);
}

#[test]
fn operators_and_conditions() {
    let of = |line: &str| numbers(&format!("{M}{line}"), "Y");
    assert_eq!(of("Y[j] = V[j] - 1"), [0.0, 9.0, 99.0]);
    assert_eq!(of("Y[j] = -V[j] ** 2"), [-1.0, -100.0, -10000.0]);
    assert_eq!(of("Y = -2 ** 2"), [-4.0]);
    assert_eq!(of("Y = 2 ** -1"), [0.5]);
    assert_eq!(of("Y = 7 / 2 * 2"), [7.0]);
    assert_eq!(of("Y = 1 - 2 - 3"), [-4.0]);
    assert_eq!(of("Y[j] = V[j] > 5 && !(V[j] == 100) ? V[j] : 0"), [0.0, 10.0, 0.0]);
    assert_eq!(of("Y[j] = V[j] (V[j] >= 10 || V[j] < 0)"), [0.0, 10.0, 100.0]);
    assert_eq!(of("Y[j] when V[j] != 10 = V[j] + 1"), [2.0, 0.0, 101.0]);
    assert_eq!(of("Y[j] = case { V[j] > 50 -> 1, V[j] > 5 -> 2, default -> 7 }"), [7.0, 2.0, 1.0]);
    assert_eq!(of("Y[j] = case { V[j] > 50 -> V[j] default -> 7 }"), [7.0, 7.0, 100.0]);
    assert_eq!(of("Y[j] = case(V[j] > 5, 1, V[j] > 50, 2, 9)"), [9.0, 1.0, 2.0]);
    assert_eq!(of("Y[j] = V[j] !(V[j] > 5)"), [1.0, 0.0, 0.0]);
    assert_eq!(of("Y[j] = V[j] [3, 2, 1]"), [3.0, 20.0, 100.0]);
    assert_eq!(of("Y[j] = 2 [3, 2, 1] V[j]"), [6.0, 40.0, 200.0]);
    assert_eq!(of("Y[j] = V[j] > 5 && true"), [0.0, 1.0, 1.0]);
    assert_eq!(of("Y[j] = V[j] (V[j] > 5 || false) + true"), [1.0, 11.0, 101.0]);
    assert_eq!(of("Y[j] = const([true, false, true])"), [1.0, 0.0, 1.0]);
    assert_eq!(of("true = 5\nY = true"), [5.0]);
    assert_eq!(numbers("\u{feff}Y = 1 + 1", "Y"), [2.0]);
    assert_eq!(of("Y[j] = select(V[j] > 5, V[j], 0)"), [0.0, 10.0, 100.0]);
    assert_eq!(of("Y[j] = V[j] even(j)"), [1.0, 0.0, 100.0]);
    assert_eq!(of("Y[j] = V[j] odd(axis=\"j\")"), [0.0, 10.0, 0.0]);
    assert_eq!(of("Y[j] = index(j) size(j) ones_like(V[j])"), [0.0, 3.0, 6.0]);
    assert_eq!(of("Y[j] = 2 V[j] + -1 V[j]"), [1.0, 10.0, 100.0]);
}

#[test]
fn declarations_functions_and_blocks() {
    let of = |line: &str| numbers(&format!("{M}{line}"), "Y");
    assert_eq!(of("param K: int = 3\nconst C = K * 2\nY[j] = C V[j]"), [6.0, 60.0, 600.0]);
    assert_eq!(of("{ let t = 2 + 3; Y[j] = t * V[j]; }"), [5.0, 50.0, 500.0]);
    assert_eq!(of("t = 1\n{ let t = 2\nZ = t }\nY = Z + 10 t"), [12.0]);
    assert_eq!(of("fn dot(a[x], b[x]) -> s { s = a[x] * b[x]; }\nY[i] = dot(A[i,j], V[j])"), [321.0, 654.0]);
    assert_eq!(of("fn f(a) -> y { let b = a * a\n y = b + 1 }\nY[j] = f(V[j])"), [2.0, 101.0, 10001.0]);
    assert_eq!(of("G = 3\nT = 2\nY = pow(G, T)"), [9.0]);
    let set = Settings { set: [("K".into(), 5.0)].into(), ..Settings::default() };
    assert_eq!(value_with("param K = 2\nY = K", &[], "Y", set).item::<f32>().unwrap(), 5.0);
}

/// A list has a number for every element of the left side; it is not broadcast.
#[test]
fn lists_and_ranges_have_sizes() {
    for (line, says) in [
        ("Y[i] = A[i] [5]", "index `i` has size 1 in this list, but 3 elsewhere"),
        ("Y[i] = A[i] [5,6]", "index `i` has size 2 in this list, but 3 elsewhere"),
        ("Y[i] = [5] A[i]", "index `i` has size 3 in `A`, but 1 elsewhere"),
        ("Y[i] = const([1,2,3])[0]", "index `i` has size 1 in this list, but 3 elsewhere"),
        ("Y[i] = A[i] > [1]", "index `i` has size 1 in this list"),
        ("Y[i] = maximum(A[i], [1,2])", "index `i` has size 2 in this list"),
        ("Y[0:2] = A[0:2] B[0:2]", "index `0:2` has size 1 in `B`, but 2 elsewhere"),
        ("Y[s] = A[s=1:] C[s]", "index `s` has size 3 in `C`, but 2 elsewhere"),
    ] {
        let text = format!("A[i] = const([1,2,3])\nB[i] = const([7])\nC[i] = const([1,2,3])\n{line}");
        let message = fault(&text);
        assert!(message.contains(says), "{line}\n{message}");
    }
    let of = |line: &str| numbers(&format!("A[i] = const([1,2,3,4,5])\n{line}"), "Y");
    assert_eq!(of("Y[s] = A[s=1::2] A[s=:2]"), [2.0, 8.0]);
    assert_eq!(of("Y[s] = A[s=-2:] A[s=-5:-3]"), [4.0, 10.0]);
    assert_eq!(of("Y[s] = A[s=4:1:-2] A[s=:2]"), [5.0, 6.0]);
}

/// A dot on the left selects the axis that functions work along; there is at most one.
#[test]
fn dots_that_choose_nothing() {
    let a = "A[i,j] = const([[1,2],[3,4]])\n";
    for (line, says) in [
        ("Y[i,j] = softmax(A[i.,j])", "a dot on the right is allowed only if the left side has it"),
        ("Y[j] = softmax(A[i.,j])", "a dot on the right is allowed only if the left side has it"),
        ("Y[i.,j.] = softmax(A[i,j])", "a left side has one dot at most"),
        ("Y[i.,j] = 2 A[i,j]", "this dot has no effect: no function on the right works along `i`"),
        ("fn f(a[i]) -> b[i] { b[i.] = a[i] }\nY[i,j] = f(A[i,j])", "this dot has no effect"),
    ] {
        let message = fault(&format!("{a}{line}"));
        assert!(message.contains(says), "{line}\n{message}");
        assert!(
            message.contains("a dot on the left chooses the axis that functions on the right work along")
        );
    }
    let head = fault("fn f(a[i.]) -> b[i] { b[i] = a[i] }\nY = 1");
    assert!(head.contains("a dot is not allowed in the head of a function"), "{head}");
    let written = fault(&format!("{a}\"o.json\" = softmax(A[i.,j])"));
    assert!(written.contains("a dot is not allowed in an expression without a left side"), "{written}");
    let asked = load(a).ask(Source::new("asked", "softmax(A[i.,j])")).unwrap_err().to_string();
    assert!(asked.contains("a dot is not allowed in an expression without a left side"), "{asked}");
    let by = |line: &str| numbers(&format!("{a}{line}"), "Y");
    assert_eq!(by("Y[i.,j] = cumsum(A[i.,j]) + A[i,j]"), by("Y[i,j] = cumsum(A[i,j], axis=i) + A[i,j]"));
}

#[test]
fn gelu_is_the_tanh_form_unless_asked() {
    let x = 0.7f64;
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
    assert!((numbers("Y = gelu(0.7)", "Y")[0] - 0.5 * x * (1.0 + inner.tanh())).abs() < 1e-15);
    let exact = numbers("Y = gelu(0.7, approximate=\"none\")", "Y")[0];
    assert!((exact - 0.7 * 0.5 * (1.0 + 0.515_665_250_9)).abs() > 0.0 && (exact - 0.530_6).abs() < 1e-3);
    assert_ne!(exact, numbers("Y = gelu(0.7)", "Y")[0]);
}

#[test]
fn order_of_lines_means_nothing() {
    assert_eq!(numbers("Y[i] = B[i] + C[i]\nC[i] = 2 B[i]\nB[i] = const([1,2])", "Y"), [3.0, 6.0]);
}

#[test]
fn rules_reach_their_closure() {
    // A chain of eight nodes has 28 pairs.
    let chain: Vec<String> = (0..8)
        .map(|i| {
            format!("[{}]", (0..8).map(|j| if j == i + 1 { "1" } else { "0" }).collect::<Vec<_>>().join(","))
        })
        .collect();
    let text = format!(
        "Par(x,y) = const([{}])\nAnc(x,y) = Par(x,y)\nAnc(x,z) = Par(x,y) Anc(y,z)\n",
        chain.join(",")
    );
    assert_eq!(numbers(&text, "Anc").iter().sum::<f64>(), 28.0);
    let quadratic = text.replace("Par(x,y) Anc(y,z)", "Anc(x,y) Anc(y,z)");
    assert_eq!(numbers(&quadratic, "Anc").iter().sum::<f64>(), 28.0);
    let mutual = format!(
        "{text}Even(x,x') = Par(x,y) Odd(y,x')\nOdd(x,y) = Par(x,y)\nOdd(x,x') = Par(x,y) Even(y,x')\n"
    );
    assert_eq!(numbers(&mutual, "Odd").iter().sum::<f64>(), 7.0 + 5.0 + 3.0 + 1.0);
    assert_eq!(numbers(&mutual, "Even").iter().sum::<f64>(), 6.0 + 4.0 + 2.0);
    assert_eq!(value_with(&text, &[], "Anc", Settings::default()).dtype(), DType::Bool);
}

/// The entire right side of a rule is compared with 0; rules of one name are joined by *or*.
#[test]
fn sums_of_rules_hold_where_they_are_positive() {
    let v = "V[x] = const([7, 5, 3])\nA(x) = const([1,0,0])\nB(x) = const([0,1,0])\nW[x,y] = const([[1,-1],[2,-1],[-3,1]])\n";
    let of = |line: &str| numbers(&format!("{v}{line}"), "P");
    assert_eq!(of("P(x) = V[x] - 5"), [1.0, 0.0, 0.0]);
    assert_eq!(of("P(x) = 5 - V[x]"), [0.0, 0.0, 1.0]);
    assert_eq!(of("P(x) = A(x) + B(x)"), [1.0, 1.0, 0.0]);
    assert_eq!(of("P(x) = V[x] - 5\nP(x) = 5 - V[x]"), [1.0, 0.0, 1.0]);
    // As in an equation of a tensor, every term is summed over the indices that the left side lacks.
    assert_eq!(of("P(x) = W[x,y] - 0.5"), [0.0, 1.0, 0.0]);
    assert_eq!(of("P(x) max= W[x,y] - 1.5"), [0.0, 1.0, 0.0]);
    assert_eq!(of("P(x,y) = A(x) - B(y)\naxis x = 3"), [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // Rules that depend on themselves, as terms of sums and inside sums.
    let chain = "E(x,y) = const([[0,1,0],[0,0,1],[0,0,0]])\n";
    assert_eq!(of(&format!("{chain}P(x) = V[x] - 6\nP(y) = E(x,y) P(x)")), [1.0, 1.0, 1.0]);
    assert_eq!(of(&format!("{chain}P(y) = (V[y] - 6 > 0) + E(x,y) P(x)")), [1.0, 1.0, 1.0]);
    assert_eq!(of(&format!("{chain}P(y) = V[y] - 6 + 10 E(x,y) P(x)")), [1.0, 1.0, 1.0]);
    let message = fault(&format!("{v}P(x) = V[x] - P(x)"));
    assert!(message.contains("`P` needs its own negation"), "{message}");
}

/// Rules may negate a relation that is complete before they run.
#[test]
fn negation_by_layers() {
    let text = "E(x,y) = const([[0,1,0],[0,0,1],[0,0,0]])\nReach(x,y) = E(x,y)\nReach(x,z) = E(x,y) Reach(y,z)\n\
        Last(x) = all(!Reach(x,y), axis=y)\nApart(x,y) = !Reach(x,y) !Reach(y,x)\n";
    assert_eq!(numbers(text, "Apart"), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    // A double negation is not a negation.
    let twice = "E(x) = const([1,0])\nP(x) = E(x)\nP(x) = !(!Q(x))\nQ(x) = P(x)\n";
    assert_eq!(numbers(twice, "Q"), [1.0, 0.0]);
    let message = fault("P(x) = !Q(x)\nQ(x) = R(x)\nR(x) = P(x)\naxis x = 2");
    let cycle = "`P` needs its own negation: `P` needs the negation of `Q`, `Q` needs `R`, `R` needs `P`";
    assert!(message.contains(cycle), "{message}");
}

#[test]
fn exports_and_what_is_asked() {
    let twice = load("A = 1\nB = 2\nexport A, B\nexport A");
    assert_eq!(twice.outputs(), ["A".into(), "B".into()]);
    assert!(twice.warnings[0].message.contains("`A` is exported twice"));
    let program = load("A[i,j] = const([[1,2],[3,4]])\nB[j] = const([1,10])");
    let (grown, name) = program.ask(Source::new("asked", "A[i,j] B[j] + 1")).unwrap();
    let found = grown.run(&BTreeMap::new(), &Settings::default(), std::slice::from_ref(&name)).unwrap();
    assert_eq!(found[&name].to_vec::<f32>().unwrap(), [22.0, 44.0]);
    let wrong = program.ask(Source::new("asked", "A[i,j] Bee(j)")).unwrap_err().to_string();
    assert!(wrong.contains("there is no function `Bee`") && wrong.contains("asked:1:8"), "{wrong}");
}

#[test]
fn fixpoints_and_their_verdict() {
    // The iteration x = (x + 3/x) / 2 is undefined at 0, so it starts next to it.
    assert!((numbers("X = 0.5 X + 1", "X")[0] - 2.0).abs() < 1e-10);
    let mutual = numbers("P = 0.5 Q + 1\nQ = 0.5 P", "P")[0];
    assert!((mutual - 4.0 / 3.0).abs() < 1e-10);
    let message = fault("X = 2 X + 1");
    assert!(message.contains("`X` did not converge"), "{message}");
    let allowed = Settings { allow_unconverged: true, rounds: 3, ..Settings::default() };
    assert_eq!(value_with("X = 2 X + 1", &[], "X", allowed).item::<f32>().unwrap(), 7.0);
}

/// Tolerances are relative to the magnitude of numbers, and bound the remaining distance, not the last
/// change.
#[test]
fn fixpoints_of_any_size() {
    let near = |text: &str, name: &str, settings: Settings, want: f64, within: f64| {
        let found = value_with(text, &[], name, settings).to_dtype(DType::F64).item::<f64>().unwrap();
        assert!((found - want).abs() <= within * want.abs(), "{text}: {name} is {found:e}, not {want:e}");
    };
    let double = || Settings { float: DType::F64, ..Settings::default() };
    for size in [1e-300, 1e-30, 1e-12, 1.0, 1e12, 1e300] {
        near(&format!("X = {size:e} + 0.5 X"), "X", double(), 2.0 * size, 3e-12);
    }
    near("X = 1e-12 + 0.5 X", "X", Settings::default(), 2e-12, 3e-6);
    near("X = 1e-30 + 0.9 X", "X", Settings::default(), 1e-29, 3e-6);
    // Slow convergence, alternation, and elements that converge one after the other.
    near("X = 0.99 X + 0.01", "X", double(), 1.0, 3e-12);
    near("X = 1 - 0.99 X", "X", double(), 1.0 / 1.99, 3e-12);
    // A tolerance smaller than rounding errors.
    let strict = || Settings { tolerance: Some(0.0), ..double() };
    near("X = 0.9 sin(X) + 3 + 0 Y\nY = 0.9 cos(X) Y + 1", "X", strict(), 3.06703749663069, 1e-14);
    near("X = 0.97 X + 0.03", "X", strict(), 1.0, 1e-13);
    near("A = 0.1 A + 1e6\nB = 0.99 B + 1e-6 A / (A + 1)", "B", double(), 1e-4 / (1.0 + 9e-7), 3e-12);
    // A rotation, with one number a million times the other.
    let turning = "X = 0.99 (0.8 X - 0.6e6 Y) + 1\nY = 0.99 (0.6e-6 X + 0.8 Y)";
    let (cos, sin): (f64, f64) = (0.99 * 0.8, 0.99 * 0.6);
    near(turning, "X", double(), (1.0 - cos) / ((1.0 - cos).powi(2) + sin * sin), 1e-11);
    // The solution is 0: at once, as a limit, and by cancellation.
    assert_eq!(numbers("X = 0.5 X", "X"), [0.0]);
    assert_eq!(numbers("X = sin(Y)\nY = 0.5 X", "X"), [0.0]);
    assert!(numbers("A = 0.9 A + 0.2\nB = 0.9 B + (2 - A)", "B")[0].abs() < 1e-9);
    // Exact after as many rounds as there are elements.
    let chain = value_with("axis i = 3000\nX[i] = X[i-1] + 1", &[], "X", Settings::default());
    assert_eq!(chain.to_vec::<f32>().unwrap()[2999], 3000.0);
}

/// A value that has not converged is not reported as converged, even if it changes little.
#[test]
fn fixpoints_that_are_not_reached() {
    let said = |text: &str, settings: Settings| {
        let run = load(text).run(&BTreeMap::new(), &settings, &["X".into()]);
        run.map(|v| panic!("{text}: {v:?}")).unwrap_err().to_string()
    };
    let with = |rounds: usize, float: DType| Settings { rounds, float, ..Settings::default() };
    let creeping = "X = 0.999999 X + 0.000001";
    assert!(said(creeping, with(10_000, DType::F32)).contains("relative to its magnitude"));
    assert!(said(creeping, with(10_000, DType::F64)).contains("relative to its magnitude"));
    // In f32 it stops at 0.9997, because the next change is less than half a unit in the last place.
    let stuck = said("X = 0.9999 X + 0.0001", with(200_000, DType::F32));
    assert!(stuck.contains("it converges too slowly") && stuck.contains("compute in f64"), "{stuck}");
    assert!(said("X = 1 - X", with(1000, DType::F64)).contains("changed by 1.0e0 relative to its magnitude"));
    assert!(said("X = X + 1", with(10_000, DType::F32)).contains("did not converge"));
    assert!(said("X = X + 1e-9 / (1 + X)", with(10_000, DType::F64)).contains("did not converge"));
    assert!(said("X = 2 X + 1", with(10_000, DType::F64)).contains("diverged to infinity or NaN"));
    assert!(said("X = 3.9 X * (1 - X) + 0.001", with(2000, DType::F64)).contains("did not converge"));
}

/// Functions may contain fixpoints: axes that a call adds are kept, and a fixpoint that does not converge is
/// reported.
#[test]
fn fixpoints_inside_of_functions() {
    let half = "fn half(a) -> x { x = 0.5 x + a }\n";
    let near = |found: Vec<f64>, want: &[f64]| {
        assert!(found.iter().zip(want).all(|(f, w)| (f - w).abs() < 1e-9), "{found:?}, not {want:?}");
        assert_eq!(found.len(), want.len());
    };
    near(numbers(&format!("{half}Y = half(3)"), "Y"), &[6.0]);
    near(
        numbers(&format!("{half}A[i,j] = const([[1,2,3],[4,5,6]])\nY[j,i] = half(A[i,j])"), "Y"),
        &[2.0, 8.0, 4.0, 10.0, 6.0, 12.0],
    );
    let pair = "fn pair(a, w[j]) -> p[j] { p[j] = 0.5 q[j] + a\nq[j] = 0.5 p[j] + w[j] }\n";
    let text = format!("{pair}A[i] = const([0, 3])\nW[k] = const([0, 3, 6])\nY[i,k] = pair(A[i], W[k])");
    near(numbers(&text, "Y"), &[0.0, 2.0, 4.0, 4.0, 6.0, 8.0]);
    // Inside a loop over time.
    let stepped = |f: &str| format!("{f}axis t = 3\nS[*0] = 1\nS[*t+1] = half(S[*t])");
    near(numbers(&stepped(half), "S"), &[8.0]);
    let diverging = "fn half(a) -> x { x = 2 x + a }\n";
    // A fixpoint that does not converge at a later step is reported too.
    let late = "fn half(a) -> x { x = (a > 3 ? 2 : 0.5) x + a }\n";
    for text in [format!("{diverging}Y = half(1)"), stepped(diverging), stepped(late)] {
        assert!(fault(&text).contains("`x` did not converge"), "{text}");
    }
}

#[test]
fn virtual_time() {
    let text = "H[i,*t+1] = 2 H[i,*t] + X[i,*t]\n";
    let x = Tensor::from_slice(&[1.0f32, 0.0, 0.0, 1.0], [1, 4]);
    let h = Tensor::from_slice(&[1.0f32], [1]);
    let given = [("X", x.clone()), ("H", h)];
    assert_eq!(value_with(text, &given, "H", Settings::default()).to_vec::<f32>().unwrap(), [25.0]);
    assert_eq!(
        value_with(text, &[("X", x.clone())], "H", Settings::default()).to_vec::<f32>().unwrap(),
        [9.0]
    );
    let all = format!("{text}All[i,t] = H[i,*t+1]\nLast[i] = H[i,*-1]\n");
    let inputs = [("X", x.clone())];
    assert_eq!(
        value_with(&all, &inputs, "All", Settings::default()).to_vec::<f32>().unwrap(),
        [1.0, 2.0, 4.0, 9.0]
    );
    assert_eq!(value_with(&all, &inputs, "Last", Settings::default()).to_vec::<f32>().unwrap(), [9.0]);
    let late = "G[*t+1] = X[0,*t]\nFirst = G[*0]\nThird = G[*3]\n";
    let of = |name: &str| value_with(late, &inputs, name, Settings::default()).item::<f32>().unwrap();
    assert_eq!((of("First"), of("Third")), (0.0, x.to_vec::<f32>().unwrap()[2]));
    let fib = "F[*t+1] = F[*t] + F[*t-1]\nF[*0] = 1\n";
    let steps = Settings { steps: Some(10), ..Settings::default() };
    assert_eq!(value_with(fib, &[], "F", steps).item::<f32>().unwrap(), 89.0);
    for (text, before) in [("F[*t+1] = F[*t] + 1\n", 0.0), (fib, 1.0)] {
        let none = Settings { steps: Some(0), ..Settings::default() };
        assert_eq!(value_with(text, &[], "F", none).item::<f32>().unwrap(), before);
    }
}

/// Constants, files and declarations determine the number of steps; the start of a state determines its size.
#[test]
fn time_from_what_is_there() {
    let f64s = |steps| Settings { float: DType::F64, steps, ..Settings::default() };
    let of = |text: &str, name: &str| value_with(text, &[], name, f64s(None)).to_vec::<f64>().unwrap();
    let sum = "S[*t+1] = S[*t] + X[*t]\nX[*t] = const([1,2,3,4])\n";
    assert_eq!(of(sum, "S"), [10.0]);
    assert_eq!(of("S[*t+1] = S[*t] + X[*t]\nX[*t] = D[t]\nD[t] = const([1,2,3])\n", "S"), [6.0]);
    assert_eq!(of(&format!("axis t = 4\n{sum}"), "S"), [10.0]);
    let given = [("D", Tensor::from_slice(&[1.0f64, 2.0, 4.0], [3]))];
    let text = "S[*t+1] = S[*t] + X[*t]\nX[*t] = D[t]\n";
    assert_eq!(value_with(text, &given, "S", f64s(Some(3))).item::<f64>().unwrap(), 7.0);
    assert_eq!(of("axis t = 3\nH[i,*0] = const([1,1])\nH[i,*t+1] = 2 H[i,*t]", "H"), [8.0, 8.0]);
    // Sizes of a state come from the start of another state, or from a start that is an input.
    let two = "axis t = 2\nA[i,*0] = const([1,2])\nA[i,*t+1] = B[i,*t]\nB[i,*t+1] = A[i,*t]\n";
    assert_eq!(of(two, "B"), [0.0, 0.0]);
    assert_eq!(of(two, "A"), [1.0, 2.0]);
    let seed = [("H", Tensor::from_slice(&[1.0f64, 2.0], [2]))];
    let text = "axis t = 3\nH[i,*t+1] = 2 H[i,*t]";
    assert_eq!(value_with(text, &seed, "H", f64s(None)).to_vec::<f64>().unwrap(), [8.0, 16.0]);
    let refused = |text: &str, steps| {
        load(text).run(&BTreeMap::new(), &f64s(steps), &["S".into()]).unwrap_err().to_string()
    };
    let message = refused(sum, Some(3));
    assert!(message.contains("virtual time has 3 steps by --steps, but 4 in `X`"), "{message}");
    let message = refused(&format!("axis t = 5\n{sum}"), None);
    assert!(message.contains("virtual time has 5 steps by `axis t`, but 4 in `X`"), "{message}");
    // The number of steps in the settings replaces the declared one.
    let text = "axis t = 5\nH[*0] = 1\nH[*t+1] = 2 H[*t]";
    assert_eq!(value_with(text, &[], "H", f64s(Some(3))).item::<f64>().unwrap(), 8.0);
    let message = refused("S = 1", Some(4));
    assert!(message.contains("no name in the program depends on time"), "{message}");
}

/// A name that the next step of a state reads has a value at every step, with or without time on its left.
#[test]
fn values_at_every_step() {
    let text = "axis t = 3\nW[i,j] = const([[1,1],[0,2]])\nInput[i] = const([1,-1])\nH[i,*0] = const([1,1])\n\
        Pre[i] = W[i,j] H[j,*t]\nSum[i] = Pre[i] + Input[i]\nH[i,*t+1] = relu(Sum[i])\n";
    // H: [1,1] → [3,1] → [5,1] → [7,1]; Pre at the steps: [2,2], [4,2], [6,2].
    assert_eq!(numbers(text, "H"), [7.0, 1.0]);
    assert_eq!(numbers(text, "Pre"), [6.0, 2.0]);
    assert_eq!(numbers(text, "Sum"), [7.0, 1.0]);
    // Lines without time read its last step; lines with time on the left read the same step.
    assert_eq!(numbers(&format!("{text}Out = Pre[i] Pre[i]"), "Out"), [40.0]);
    assert_eq!(numbers(&format!("{text}Log[*t,i] = 10 Pre[i]"), "Log"), [20.0, 20.0, 40.0, 20.0, 60.0, 20.0]);
    assert_eq!(numbers(&format!("{text}Log[t,i] = Pre[i,*t]"), "Log"), [2.0, 2.0, 4.0, 2.0, 6.0, 2.0]);
    // Inputs with time may be read inside the steps.
    let driven = text.replace("Input[i] = const([1,-1])", "Input[i,*t] = const([[1,0,0],[0,0,5]])");
    let driven = driven.replace("Pre[i] + Input[i]", "Pre[i] + Input[i,*t]");
    assert_eq!(numbers(&driven, "H"), [9.0, 13.0]);
    assert!(load(&driven).warnings.is_empty());
    // A name that reads no state has no value per step: a sum over time that steps read must be written as
    // `sum=`.
    let refused =
        |line: &str| fault(&format!("X[i,*t] = const([[1, 2]])\n{line}\nH[i,*t+1] = H[i,*t] + Drive[i]"));
    let message = refused("Drive[i] = X[i,*t]");
    assert!(message.contains("for one value per step write Drive[i, *t] = …"), "{message}");
    assert!(message.contains("for the sum over time Drive[i] sum= …"), "{message}");
    assert!(refused("Drive[i] = Other[i]\nOther[i] = X[i,*t]").contains("Other[i] sum= …"));
    for (line, last) in [("Drive[i] sum= X[i,*t]", 6.0), ("Drive[i] max= X[i,*t]", 4.0)] {
        let text = format!("X[i,*t] = const([[1, 2]])\n{line}\nH[i,*t+1] = H[i,*t] + Drive[i]");
        assert_eq!(numbers(&text, "H"), [last]);
    }
}

#[test]
fn programs_stay_in_their_dtype() {
    let text = "W[i] = const([1.5, 2.5])\nLoss = W[i] W[i]\n";
    let gradient = load(text).gradient(&Default::default()).unwrap().text();
    let g = value_with(&format!("{text}{gradient}"), &[], "Grad_W", Settings::default());
    assert_eq!((g.dtype(), g.to_vec::<f32>().unwrap()), (DType::F32, vec![3.0, 5.0]));
}

#[test]
fn what_cannot_be_differentiated_says_so() {
    let gradient = |text: &str, wrt: &str| {
        let options = gradus_lang::GradientOptions { wrt: vec![wrt.into()], ..Default::default() };
        load(text).gradient(&options).map(|g| g.text()).unwrap_err().to_string()
    };
    let message = gradient("Y[i] = step(X[i])\nLoss = Y[i] Y[i]", "X");
    assert!(message.contains("`step` has no derivative") && message.contains("test:1:8"), "{message}");
    let message = gradient("R(i) = X[i]\nLoss = R(i) R(i)", "X");
    assert!(message.contains("the Boolean relation `R` has no derivative"), "{message}");
    let message = gradient("Loss = X[i] X[i]\nZ[i] = Y[i]", "Y");
    assert!(message.contains("`Loss` does not depend on `Y`"), "{message}");
    let warned = load("Y[i] = step(X[i]) X[i]\nLoss = Y[i] Y[i]").gradient(&Default::default()).unwrap();
    assert!(warned.warnings[0].message.contains("`step` has no derivative"));
    let warned = load("Y[i] = sig(X[i])\nLoss = Y[i] Y[i]").gradient(&Default::default()).unwrap();
    assert!(warned.warnings[0].message.contains("`sig` without a temperature is a step"));
    let warm = load("Y[i] = sig(X[i], 0.5)\nLoss = Y[i] Y[i]").gradient(&Default::default()).unwrap();
    assert!(warm.warnings.is_empty());
}

/// Errors in a gradient line are shown at the line that it derives from.
#[test]
fn gradient_lines_stand_where_they_come_from() {
    let program = load("X[i] = const([1,2])\nY[i] = tanh(X[i])\nLoss = Y[i] Y[i]");
    let gradient = program.gradient(&Default::default()).unwrap();
    let lines: Vec<usize> =
        gradient.equations.iter().map(|e| program.sources[0].position(e.value.span.start).0).collect();
    assert_eq!(lines, [3, 3, 3, 2]);
    // Errors about the request have no location in the program.
    let refused =
        program.gradient(&gradus_lang::GradientOptions { wrt: vec!["Q".into()], ..Default::default() });
    assert!(!refused.unwrap_err().to_string().contains("-->"));
}

#[test]
fn merged_gradients() {
    let options = gradus_lang::GradientOptions { merged: true, ..Default::default() };
    let g = load("Loss = X[i,d] X[j,d]").gradient(&options).unwrap().text();
    assert_eq!(
        g,
        "Grad_Loss = const(1.0)\nGrad_X[i, d] = Grad_Loss X[j, d] ones_like(X[i, d]) + Grad_Loss X[i', d] ones_like(X[i, d])\n"
    );
}

/// The time is linear in the number of parts: a slower algorithm takes minutes for these programs.
#[test]
fn many_terms_and_factors() {
    let begin = std::time::Instant::now();
    let sum: Vec<String> = (0..3000).map(|k| format!("{k} X[i]")).collect();
    let x = [("X", Tensor::from_slice(&[1.0f64, 2.0], [2]))];
    let f64s = || Settings { float: DType::F64, ..Settings::default() };
    let of = |text: &str| value_with(text, &x, "Y", f64s()).to_vec::<f64>().unwrap();
    let total = 2999.0 * 3000.0 / 2.0;
    assert_eq!(of(&format!("Y[i] = {}", sum.join(" + "))), [total, 2.0 * total]);
    assert_eq!(of(&format!("Y[i] = 2 * ({})", sum.join(" + "))), [2.0 * total, 4.0 * total]);
    let factors: Vec<String> = (0..400).map(|k| format!("A{k}[i]")).collect();
    let given: Vec<String> = (0..400).map(|k| format!("A{k}[i] = {} X[i]", 1 + k % 2)).collect();
    let product = of(&format!("{}\nY[i] = {}", given.join("\n"), factors.join(" ")));
    assert_eq!(product, [2f64.powi(200), 2f64.powi(600)]);
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let chain: Vec<String> = letters.windows(2).map(|w| format!("M[{},{}]", w[0], w[1])).collect();
    let text = format!("M[a,b] = const([[1,2],[0,1]])\nY[a,Z] = {}", chain.join(" "));
    assert_eq!(of(&format!("{text} + 0 X[a] X[Z]")), [1.0, 102.0, 0.0, 1.0]);
    let deep: Vec<String> = (0..2000).map(|k| format!("B{}[i] = 1 + 0.5 B{k}[i]", k + 1)).collect();
    let text = format!("B0[i] = X[i]\n{}\nLoss = B2000[i] B2000[i]", deep.join("\n"));
    let gradient = load(&text).gradient(&Default::default()).unwrap().text();
    let g = value_with(&format!("{text}\n{gradient}"), &x, "Grad_B1999", f64s()).to_vec::<f64>().unwrap();
    assert_eq!(g, [2.0, 2.0]);
    assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
}

/// Legal lines that are probably mistakes get a warning.
#[test]
fn doubtful_programs() {
    let said = |text: &str| load(text).warnings.iter().map(|w| w.message.to_string()).collect::<Vec<_>>();
    let x = "X[*t] = const([1, 2, 3])\nS[*0] = 1\n";
    assert_eq!(
        said(&format!("{x}S[*t+1] = S[*t] X[*t+1]")),
        ["`X[*t+1]` is 0 at the last step: time has as many steps as `X`"]
    );
    for fine in ["S[*t+1] = S[*t] X[*t]", "S[*t+1] = S[*t] + X[*t+1]", "Y[*t] = X[*t] X[*t+1]"] {
        assert_eq!(said(&format!("{x}{fine}")), [""; 0], "{fine}");
    }
}
