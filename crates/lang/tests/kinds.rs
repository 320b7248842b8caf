//! Other dtypes: complex numbers, integers and booleans; time steps, and positions written one by one.

use gradus_ir::DType;
use gradus_lang::{GradientOptions, Program, Settings, Source};
use gradus_tensor::Tensor;
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

/// Returns the value of a name in a program of `f32`.
fn tensor(text: &str, name: &str) -> Tensor {
    let found = load(text).run(&BTreeMap::new(), &Settings::default(), &[name.into()]);
    found.unwrap_or_else(|f| panic!("{text}\n{f}")).remove(name).unwrap()
}

fn whole(text: &str, name: &str) -> Vec<i64> {
    let found = tensor(text, name);
    assert_eq!(found.dtype(), DType::I64, "{text}");
    found.to_vec::<i64>().unwrap()
}

/// Errors inside a loop are reported, for every kind of loop.
#[test]
fn verdicts_come_out_of_loops() {
    let said = |text: &str, name: &str| {
        let found = load(text).run(&BTreeMap::new(), &Settings::default(), &[name.into()]);
        found.err().map(|f| f.to_string()).unwrap_or_default()
    };
    let fix = "fn fix(a) -> y { Y = a Y + 1\ny = Y }\n";
    let time = |step: &str| {
        format!("{fix}axis t while Go\nT[i] = const([1, 2, 3, 4])\nX[*0] = 0\n{step}\nGo[*t] = X[*t] < 3")
    };
    // The check fails at the third step, and then at the first.
    let late = said(&time("X[*t+1] = X[*t] + 0.5 + 0 fix(X[*t])"), "X");
    assert!(late.contains("`Y` did not converge") && late.contains("test:1:18"), "{late}");
    let early = said(&time("X[*t+1] = X[*t] + 1\nF[*t] = fix(2 - X[*t])\nLast = F[*-1]"), "Last");
    assert!(early.contains("`Y` did not converge"), "{early}");
    assert_eq!(said(&time("X[*t+1] = X[*t] + 1 + 0 fix(X[*t] / 4)"), "X"), "");
    let half = said(&time("X[*t+1] = X[*t] + 0.5\nG[*t] = gather(T[i], X[*t])"), "G");
    assert!(half.contains("`gather` takes whole numbers here, not 0.5"), "{half}");
    let allowed = Settings { allow_unconverged: true, rounds: 5, ..Settings::default() };
    let loose = load(&time("X[*t+1] = X[*t] + fix(0.5)")).run(&BTreeMap::new(), &allowed, &["X".into()]);
    // Five rounds of Y = Y/2 + 1 from 0 are 31/16.
    assert_eq!(loose.unwrap()["X"].item::<f32>().unwrap(), 3.875);
    // For a fixpoint inside a fixpoint only the check of the last outer round counts: with earlier values,
    // the inner one need not converge.
    let nested = format!("{fix}X = 0.5 + 0.1 fix(0.8 - 2 (X - 0.5) * (X - 0.5))\nZ = 1");
    assert_eq!(said(&nested, "X"), "");
    let wrong = said(&format!("{fix}X = 1.5 + 0 (fix(X) > 0)"), "X");
    assert!(wrong.contains("`Y` did not converge"), "{wrong}");
    // A rule calls a function whose fixpoint does not converge.
    let rules = format!(
        "{fix}E[x,y] = const([[0, 1], [1, 0]])\nP(x) = const([1, 0])\nP(x) = E[x,y] P(y) (fix(2) > 1)"
    );
    let wrong = said(&rules, "P");
    assert!(wrong.contains("`Y` did not converge"), "{wrong}");
}

/// Gradient lines that assume real inputs are refused for complex ones, if they would differ.
#[test]
fn real_rules_for_complex_numbers() {
    let z = Tensor::from_slice(&[1.0, 3.0], [2]).complex(&Tensor::from_slice(&[2.0, -1.0], [2]));
    let inputs = BTreeMap::from([("Z".into(), z)]);
    let run = |text: &str, complex: &[&str]| {
        let options = GradientOptions {
            complex: complex.iter().map(|n| (*n).into()).collect(),
            ..GradientOptions::default()
        };
        let program = load(text);
        let lines = program.gradient(&options).unwrap().text();
        let settings = Settings { float: DType::F64, ..Settings::default() };
        let found = load(&format!("{text}\n{lines}")).run(&inputs, &settings, &["Grad_Z".into()]);
        found.map(|mut f| f.remove("Grad_Z").unwrap()).map_err(|f| f.to_string())
    };
    let product = "W[i] = const([0.7, 0.4])\nP[i] = Z[i] W[i]\n";
    for text in [
        "Loss = abs(Z[i] Z[i])".into(),
        "Y[i] = exp(Z[i])\nLoss = abs(Y[i])".into(),
        "Loss = abs(Z[i])".into(),
        "P[i] = Z[i] Z[i]\nLoss = norm(P[i])".into(),
        format!("{product}Loss = norm(P[i]) norm(W[i]) + abs(Z[0])"),
        format!("{product}M[i,j] = P[i] conj(P[j])\nE[k] = eigvalsh(M[i,j])\nLoss = E[1]"),
    ] {
        let said = run(&text, &[]).unwrap_err();
        assert!(
            said.contains("assumes that inputs are real") && said.contains("--complex Z"),
            "{text}\n{said}"
        );
        assert!(run(&text, &["Z"]).is_ok(), "{text}");
    }
    // Lines that are the same for both are accepted.
    let linear = "Y[i] = 2 Z[i]\nLoss = norm(Y[i])";
    let (a, b) = (run(linear, &[]).unwrap(), run(linear, &["Z"]).unwrap());
    assert_eq!((&a - &b).abs().max(()).item::<f64>().unwrap(), 0.0, "{a} {b}");
}

/// Steps before the first and after the last are read as 0. Integers beyond 64 bits are refused.
#[test]
fn steps_out_of_range_and_large_integers() {
    let state = "X[*t] = const([1, 2, 3])\nS[*t+1] = S[*t] + X[*t]\n";
    for (read, expected) in [("*9", 0.0), ("*-9", 0.0), ("*3", 6.0), ("*-1", 6.0), ("*4", 0.0), ("*0", 0.0)] {
        assert_eq!(value(&format!("{state}Z = 1 + S[{read}]"), "Z"), [1.0 + expected], "{read}");
    }
    for (number, fine) in [("9223372036854775807", true), ("1e30", false), ("-1e19", false)] {
        let text = format!("A = cast({number}, to=\"i64\")\nB[i] = cast(const([1, {number}]), to=\"i32\")");
        for name in ["A", "B"] {
            let found = load(&text).run(&BTreeMap::new(), &Settings::default(), &[name.into()]);
            assert_eq!(found.is_ok(), fine, "{text}");
            let said = found.err().map(|f| f.to_string()).unwrap_or_default();
            assert!(fine || said.contains("is too large for a 64-bit integer"), "{said}");
        }
    }
}

/// A time ends by a condition, for states of all dtypes; one that does not end is an error.
#[test]
fn times_that_end_by_a_condition() {
    let states = "axis t while Go\nX[*0] = 1\nX[*t+1] = X[*t] + 1\nGo[*t] = X[*t] < 3\n\
        K[*0] = cast(5, to=\"i64\")\nK[*t+1] = K[*t] + 3\n";
    assert_eq!((value(states, "X"), whole(states, "K")), (vec![3.0], vec![11]));
    let go = tensor(states, "Go");
    assert_eq!((go.dtype(), go.rank(), go.item::<bool>().unwrap()), (DType::Bool, 0, false));
    // Two steps suffice, one does not.
    let within = |steps: Option<usize>, text: &str| {
        let settings = Settings { steps, ..Settings::default() };
        load(text).run(&BTreeMap::new(), &settings, &["X".into()]).map_err(|f| f.to_string())
    };
    assert_eq!(within(Some(2), states).unwrap()["X"].item::<f32>().unwrap(), 3.0);
    let said = within(Some(1), states).unwrap_err();
    assert!(said.contains("time `t` does not end: after 1 steps") && said.contains("test:1:1"), "{said}");
    let endless = states.replace("X[*t] < 3", "X[*t] > 0");
    let said = within(None, &endless).unwrap_err();
    assert!(said.contains("after 1000000 steps its condition still holds"), "{said}");
    // Inside a function as well, where the check must be returned by the call.
    let called = "axis t while Go\nfn up(x) -> y { S[*0] = x\nS[*t+1] = S[*t] + 1\nGo[*t] = S[*t] > 0\ny = S[*-1] }\nX = up(1)";
    let said = within(Some(50), called).unwrap_err();
    assert!(said.contains("time `t` does not end: after 50 steps"), "{said}");
    let derived = load(&format!("{called}\nLoss = X X")).gradient(&Default::default()).unwrap_err();
    assert!(
        derived.to_string().contains("`S` has no derivative: its time ends by a condition only"),
        "{derived}"
    );
}

/// Boolean states stay boolean; a state without any dtype is a float.
#[test]
fn states_have_the_kind_of_their_steps() {
    let x = "X[*t] = const([1, 5, 2])\n";
    let kind = |text: &str| tensor(&format!("{x}{text}"), "S").dtype();
    assert_eq!(kind("S[*t+1] = S[*t] || X[*t] > 3"), DType::Bool);
    assert_eq!(kind("S[*t+1] = S[*t]"), DType::F32);
    assert_eq!(kind("S[*0] = 1\nS[*t+1] = X[*t] > 3"), DType::F32);
    let both = "S[*0] = 2\nS[*t+1] = S[*t] + R[*t]\nR[*0] = 1\nR[*t+1] = R[*t] + K\nK = cast(1, to=\"i64\")";
    assert_eq!(whole(&format!("axis t = 3\n{both}"), "S"), [8]);
}

/// Integers keep all digits when they are combined with integers.
#[test]
fn integers_beyond_floats_keep_their_digits() {
    let a = "A[i] = cast(const([9007199254740993, -3]), to=\"i64\")\n";
    let y = |text: &str| whole(&format!("{a}Y[i] = {text}"), "Y");
    assert_eq!(y("A[i]"), [9007199254740993, -3]);
    assert_eq!(y("A[i] - 9007199254740993"), [0, -9007199254740996]);
    assert_eq!(y("A[i] + 3 * 3002399751580331"), [18014398509481986, 9007199254740990]);
    assert_eq!(y("A[i] + [9007199254740995, 1]"), [18014398509481988, -2]);
    assert_eq!(y("A[i] + -9223372036854775807"), [-9214364837600034814, 9223372036854775806]);
    let state = "axis t = 3\nS[*0] = 9007199254740993\nS[*t+1] = S[*t] + K\nK = cast(2, to=\"i64\")";
    assert_eq!(whole(state, "S"), [9007199254740999]);
    // Combined with a fraction, or alone, they are floats.
    assert_eq!(tensor(&format!("{a}Y[i] = 0.5 A[i]"), "Y").dtype(), DType::F32);
    assert_eq!(tensor("Y[i] = [9007199254740993, 0.5]", "Y").dtype(), DType::F32);
    assert_eq!(value("Y = 9007199254740993", "Y"), [9007199254740992.0]);
    // Formatted lines have all digits too.
    let line = "Y[i] = 9007199254740993 A[i] + [-9007199254740995, 1]\n";
    assert_eq!(gradus_lang::format(&Source::new("test", line)).unwrap(), line);
}

/// Positions, counts and booleans have no dtype of their own, and take that of other operands.
#[test]
fn places_beside_whole_numbers() {
    let a = "A[i] = cast(const([1, 5, 3]), to=\"i64\")\n";
    for (text, expected) in [
        ("A[i] even(i)", [1, 0, 3]),
        ("index(i) + A[i]", [1, 6, 5]),
        ("A[i] - 2 index(i)", [1, 3, -1]),
        ("A[i] * (index(i) + 1)", [1, 10, 9]),
        ("size(i) A[i]", [3, 15, 9]),
        ("A[i] > 2 ? A[i] : index(i)", [0, 5, 3]),
        ("A[i] - true", [0, 4, 2]),
        ("A[i] - (A[i] > 3)", [1, 4, 3]),
        ("relu(A[i] - 2)", [0, 3, 1]),
        ("clamp(A[i], min=2, max=4)", [2, 4, 3]),
        ("A[i] + reduce(sum, j) (A[j] > 1)", [3, 7, 5]),
        ("A[i] + 2 (A[i] > 3)", [1, 7, 3]),
        ("A[i] * ((A[i] > 3) + 1)", [1, 10, 3]),
        ("A[i] + (A[i] > 3 ? 1 : 2)", [3, 6, 5]),
        ("A[i] + case { A[i] > 3 -> 1, default -> index(i) }", [1, 6, 5]),
        ("A[i] + where(A[i] > 3, 10, 0)", [1, 15, 3]),
        ("A[i] + maximum(index(i), 1)", [2, 6, 5]),
    ] {
        assert_eq!(whole(&format!("{a}Y[i] = {text}"), "Y"), expected, "{text}");
    }
    for text in [
        "A[i] + pow(2, -1)",
        "A[i] + div(1, 2)",
        "clamp(A[i], max=2.5)",
        "A[i] index(i) / 2",
        "0.5 index(i) + A[i]",
    ] {
        assert_eq!(tensor(&format!("{a}Y[i] = {text}"), "Y").dtype(), DType::F32, "{text}");
    }
    assert_eq!(tensor("axis i = 3\nY[i] = index(i)", "Y").dtype(), DType::F32);
}

/// A cast to an integer is piecewise constant, so it has no gradient.
#[test]
fn casts_to_whole_numbers_stop_gradients() {
    for to in ["i64", "u8", "bool"] {
        let text = format!("X[i] = const([1.5, 2.5])\nLoss = X[i] cast(X[i], to=\"{to}\")");
        let gradient = load(&text).gradient(&Default::default()).unwrap();
        let said: Vec<String> = gradient.warnings.iter().map(|w| w.message.to_string()).collect();
        assert_eq!(said, ["`cast` has no derivative"]);
        let expected = if to == "bool" { [1.0, 1.0] } else { [1.0, 2.0] };
        assert_eq!(value(&format!("{text}\n{}", gradient.text()), "Grad_X"), expected, "{to}");
    }
}

/// No gradient passes through a function without a derivative, and no line reads one.
#[test]
fn nothing_flows_behind_a_threshold() {
    let x = "X[n] = const([1, 2])\nD[n] = X[n] X[n]\n";
    for text in [
        "F[n] = floor(D[n])\nLoss = F[n] X[n]",
        "A[n] = one_hot(argmin(D[n]), classes=2)\nLoss = A[n] X[n]",
        "R(n) = D[n] - 3\nLoss = R(n) X[n]",
        "C[n] = imag(D[n])\nLoss = C[n] + X[n]",
    ] {
        let program = load(&format!("{x}{text}"));
        let gradient = program.gradient(&Default::default()).unwrap();
        assert!(!gradient.text().contains("Grad_D"), "{}", gradient.text());
        assert!(gradient.warnings.len() <= 1, "{:?}", gradient.warnings);
        value(&format!("{x}{text}\n{}", gradient.text()), "Grad_X");
    }
}

/// An input is complex only if declared. The real part of an input that is not declared complex gives a
/// warning.
#[test]
fn complex_inputs() {
    let program = load("Loss = real(Z[i] Z[i])");
    let real = program.gradient(&Default::default()).unwrap();
    assert_eq!(
        real.text(),
        "Grad_Loss = const(1.0)\nGrad_Z[i] = Grad_Loss Z[i]\nGrad_Z[i] = Grad_Loss Z[i]\n"
    );
    assert!(real.warnings[0].message.contains("inputs are assumed to be real"), "{:?}", real.warnings);
    let options = GradientOptions { complex: vec!["Z".into()], ..GradientOptions::default() };
    let complex = program.gradient(&options).unwrap();
    assert!(complex.text().contains("Grad_Z[i] = complex(Grad_Loss, 0) conj(Z[i])"), "{}", complex.text());
    assert!(complex.warnings.is_empty());
    let options = GradientOptions { complex: vec!["Q".into()], ..GradientOptions::default() };
    let refused = program.gradient(&options).unwrap_err().to_string();
    assert!(refused.contains("`Q` is declared complex, but is not an input"), "{refused}");
    // A tensor may have the name of a function, unless lines of the gradient call that function.
    let plain = load("real[i] = const([1, 2])\nLoss = real[i] real[i]").gradient(&Default::default());
    assert!(plain.unwrap().text().contains("Grad_real[i] = Grad_Loss real[i]"));
    let parts = "real = 1\nZ = complex(real, 2)\nLoss = abs(Z)";
    let refused = load(parts).gradient(&Default::default()).unwrap_err().to_string();
    assert!(refused.contains("`real` is a builtin that lines of this gradient call"), "{refused}");
}

/// A function of the program is evaluated for all steps at once only if neither it nor a function that it
/// calls combines several positions.
#[test]
fn functions_that_combine_positions() {
    let x = "X[i,*t] = const([[1, 2], [5, 7]])\n";
    let of = |functions: &str, y: &str| value(&format!("{functions}\n{x}Y[i,*t] = {y}"), "Y");
    let one = |body: &str| of(&format!("fn f(x) -> y {{ y = {body} }}"), "f(X[i,*t])");
    let near = |found: Vec<f64>, expected: [f64; 4]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
    };
    let share = |gap: f64| 1.0 / (1.0 + gap.exp());
    near(one("softmax(x)"), [share(4.0), share(5.0), share(-4.0), share(-5.0)]);
    assert_eq!(one("cumsum(x)"), [1.0, 2.0, 6.0, 9.0]);
    assert_eq!(one("sum(x)"), [6.0, 9.0, 6.0, 9.0]);
    assert_eq!(one("max(x) - mean(x)"), [2.0, 2.5, 2.0, 2.5]);
    let inner = "fn g(x) -> y {\nV[k] = const([1, 2])\ny = softmax(x) V[k]\n}\nfn f(x) -> y { y = g(x) }\n";
    assert_eq!(of(inner, "f(X[i,*t])"), of(inner, "g(X[i,*t])"));
    near(of(inner, "f(X[i,*t])"), [share(4.0), share(5.0), share(-4.0), share(-5.0)].map(|s| 3.0 * s));
    // A function of scalars has the value of its body.
    let larger = "fn h(a, b) -> y { y = where(a > b, a, b) }\nfn f(a, b) -> y { y = h(a, b) }\n";
    assert_eq!(of(larger, "cumsum(f(X[i,*t], 2))"), [2.0, 2.0, 7.0, 9.0]);
    for call in ["f", "h", "maximum"] {
        assert_eq!(of(larger, &format!("{call}(X[i,*t], sum(X[i,*t]))")), [6.0, 9.0, 6.0, 9.0], "{call}");
    }
}

/// Time as a number is the current step, and needs no declaration.
#[test]
fn the_moment_as_a_number() {
    let last = |text: &str| value(text, "S");
    let x = "X[*t] = const([1, 2, 3])\n";
    assert_eq!(last(&format!("{x}S[*0] = 1\nS[*t+1] = S[*t] (1 + index(t)) + 0 X[*t]")), [6.0]);
    assert_eq!(last(&format!("{x}S[*0] = 1\nS[*t+1] = S[*t] even(t) + X[*t] odd(t)")), [2.0]);
    assert_eq!(last(&format!("{x}S[*t] = X[*t] even(t)")), [1.0, 0.0, 3.0]);
    assert_eq!(last(&format!("{x}S[*t+1] = 2 S[*t] + X[*t] / size(t)")), [4.0 / 3.0 + 4.0 / 3.0 + 1.0]);
    // Also if time is a plain index or summed.
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

/// The size of a name that is written at single positions follows from the largest, also if the name depends
/// on itself.
#[test]
fn places_one_by_one() {
    assert_eq!(value("B[0] = 5\nB[1] = 6\nB[2] = B[0] + 1", "B"), [5.0, 6.0, 6.0]);
    let steps = "axis t = 3\nM[0,*0] = 1\nM[1,*0] = 2\nM[0,*t+1] = M[1,*t] + 1\nM[1,*t+1] = M[0,*t]";
    assert_eq!(value(steps, "M"), [4.0, 2.0]);
}

/// A state may be complex.
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

/// Gradients of complex numbers: the gradient of a real name is real, and the cotangent of a factor has the
/// conjugates of the others.
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
        crate::common::check::check_with(&format!("{z}{loss}"), two, None);
    }
    let one: &[(&str, &[usize])] = &[("A", &[4])];
    for loss in [
        "R[k] = rfft(A[i])\nI[k] = rfft(A[i], part=\"imag\")\nLoss = R[k] R[k] + I[k] R[k]",
        "Z[i] = complex(fft(A[i]), fft(A[i], part=\"imag\"))\nLoss = abs(Z[i]) A[i]",
    ] {
        crate::common::check::check_with(loss, one, None);
    }
}

/// Gradient lines of complex numbers are short, and can be differentiated again.
#[test]
fn complex_gradients_as_lines() {
    let text = "Z[i] = complex(A[i], 1)\nW[i] = Z[i] A[i]\nLoss = real(W[i] conj(Z[i]))";
    let gradient = crate::common::check::check_with(text, &[("A", &[2])], None);
    for line in [
        "Grad_W[i] = Grad_Loss_1 Z[i]",
        "Grad_Z[i] = Grad_W[i] A[i]",
        "Grad_A[i] = real(Grad_W[i] conj(Z[i]))",
    ] {
        assert!(gradient.contains(line), "{gradient}");
    }
    let first = format!("{text}\n{gradient}").replace("Grad_", "G_").replace("Loss", "First");
    crate::common::check::check_with(&format!("{first}Loss = G_A[i] G_A[i]"), &[("A", &[2])], None);
    // The gradient of a real value is real, also next to complex numbers.
    for text in [
        "Z[i] = complex(A[i], 2)\nLoss = abs(Z[i]) A[i]",
        "R[k] = rfft(A[i])\nY[i] = irfft(R[k])\nZ[i] = complex(Y[i], 2)\nLoss = abs(Z[i]) A[i]",
        "Z[i] = complex(A[i], 2)\nP[i] = Z[i] Z[i] A[i]\nLoss = A[0] norm(P[i])",
    ] {
        let gradient = crate::common::check::check_with(text, &[("A", &[4])], None);
        let first = format!("{text}\n{gradient}").replace("Grad_", "G_").replace("Loss", "First");
        crate::common::check::check_with(&format!("{first}Loss = G_A[i] G_A[i] A[i]"), &[("A", &[4])], None);
    }
    let refused = load("Z = complex(A, 1)\nLoss = Z Z").gradient(&Default::default()).unwrap_err();
    assert!(refused.to_string().contains("`Loss` is a complex number"), "{refused}");
}
