//! Checks Core as text: where sums close, which axes calls have, how groups are solved. The text must be the
//! same program.

use gradus_ir::DType;
use gradus_lang::{GradientOptions, Program, Settings, Source};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn load(text: &str) -> Program {
    Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{text}\n{f}"))
}

/// Returns the equations of a program in Core.
fn core(text: &str) -> String {
    load(text).core().lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n")
}

/// Returns the kinds of the groups of a program, in order.
fn groups(text: &str) -> String {
    let core = load(text).core();
    core.lines().filter_map(|l| l.strip_prefix("# ")).collect::<Vec<_>>().join("; ")
}

#[test]
fn sums_close_at_the_smallest_expression() {
    let pairs = [
        ("Y[i] = W[i,j] X[j]", "Y[i] = W[i, j] X[j]"),
        ("Y[i] = relu(W[i,j] X[j])", "Y[i] = relu(reduce(sum, j) (W[i, j] X[j]))"),
        ("Y[i] = relu(W[i,j] X[j]) Z[j]", "Y[i] = relu(W[i, j] X[j]) Z[j]"),
        ("Y[i] = -(W[i,j] X[j])", "Y[i] = -reduce(sum, j) (W[i, j] X[j])"),
        ("M max= A[i] B[i]", "M max= A[i] B[i]"),
        ("M max= exp(A[i] B[i,k])", "M max= exp(reduce(sum, i) (A[i] B[i, k]))"),
        // Each term of a sum that closes an index has its own sum.
        (
            "Y[h] = relu(W[h,d] X[d] + U[h,d] Z[d])",
            "Y[h] = relu(reduce(sum, d) (W[h, d] X[d]) + reduce(sum, d) (U[h, d] Z[d]))",
        ),
        (
            "Y = (A[i] B[i] + 2 - C[i] D[i]) ** 2",
            "Y = (reduce(sum, i) (A[i] B[i]) + 2 - reduce(sum, i) (C[i] D[i])) ** 2",
        ),
        ("Y = relu(A[i] B[i] + 1) C[i]", "Y = relu(A[i] B[i] + 1) C[i]"),
        ("M max= A[i] B[i] + C[i] D[i]", "M max= (A[i] B[i] + C[i] D[i])"),
        // If no term closes it, the index is reduced at the left side, also if some terms close it under sums only.
        ("Y = relu(P[i] - Q[i])", "Y = relu(P[i] - Q[i])"),
        ("Y = (P[i] - Q[i]) ** 2", "Y = (P[i] - Q[i]) ** 2"),
        ("Y = 2 (A[i] B[i] + C[i])", "Y = 2 * (A[i] B[i] + C[i])"),
        // An index that is bound in a term is not shared with the other terms.
        (
            "Y = relu(A[i] B[i] + reduce(sum, i) C[i])",
            "Y = relu(reduce(sum, i) (A[i] B[i]) + reduce(sum, i) C[i])",
        ),
        // Different indices of one sum may differ.
        (
            "Y = relu(A[i] B[i] P[k] - C[i] D[i] Q[k])",
            "Y = relu(reduce(sum, i) (A[i] B[i] P[k]) - reduce(sum, i) (C[i] D[i] Q[k]))",
        ),
        ("Y = exp(A[i,k] B[k]) C[i]", "Y = exp(reduce(sum, k) (A[i, k] B[k])) C[i]"),
    ];
    for (text, expected) in pairs {
        assert_eq!(core(text), expected, "{text}");
    }
}

#[test]
fn calls_have_their_axes() {
    let pairs = [
        ("Y[i,j] = softmax(X[i,j])", "Y[i, j] = softmax(X[i, j], axis=\"j\")"),
        ("Y[i.,j] = softmax(X[i,j])", "Y[i., j] = softmax(X[i, j], axis=\"i\")"),
        ("Y[i,j] = softmax(X[i,j], axis=0)", "Y[i, j] = softmax(X[i, j], axis=\"i\")"),
        ("Y = sum(X[i,j])", "Y = sum(X[i, j], axis=[\"i\", \"j\"])"),
        ("Y[j] = where(A[j] > 0, A[j], 0)", "Y[j] = A[j] > 0 ? A[j] : 0"),
        ("Y[i] = sig(A[i])", "Y[i] = sig(A[i], like=\"Y\")"),
        // Within a line with time, time is not an axis.
        ("Y[i,*t] = softmax(X[i,*t])", "Y[i, *t] = softmax(X[i, *t], axis=\"i\")"),
    ];
    for (text, expected) in pairs {
        assert_eq!(core(text), expected, "{text}");
    }
}

#[test]
fn groups_are_in_dependency_order() {
    assert_eq!(groups("B = A + 1\nA = const(2)"), "plain A; plain B");
    let state = "axis t = 3\nS[i,*0] = I[i]\nPre[i] = 2 S[i,*t]\nS[i,*t+1] = Pre[i]\nB = S[i,-1]";
    assert_eq!(groups(state), "steps: S, Pre; plain B");
    let back = "axis t = 3\nG[*2] = 1\nG[*t] = 2 G[*t+1]";
    assert_eq!(groups(back), "steps, backward: G");
    let rules = "T(x,y) = E(x,y)\nT(x,z) = T(x,y) E(y,z)\nE(x,y) = const([[0,1],[0,0]])";
    assert_eq!(groups(rules), "plain E; rules: T");
    assert_eq!(groups("X = 0.5 X + 1"), "fixpoint: X");
}

#[test]
fn names_of_indices_and_order_of_lines_do_not_matter() {
    let same = [
        ("Y[i] = relu(W[i,j] X[j])", "Y[a] = relu(W[a,b] X[b])"),
        ("A = const(1)\nB = A + 1", "B = A + 1\nA = const(1)"),
        ("Y[i] = relu(W[i,j] X[j])", "Y[i] = relu(reduce(sum, j) (W[i,j] X[j]))"),
        ("Y[i,j] = softmax(X[i,j])", "Y[i,j] = softmax(X[i,j], axis=j)"),
        ("Y[j] = where(A[j] > 0, A[j], 0)", "Y[k] = A[k] > 0 ? A[k] : 0"),
    ];
    for (a, b) in same {
        assert!(load(a).has_same_core(&load(b)), "{a} | {b}");
    }
    let other = [
        ("Y[i] = W[i,j] X[j]", "Y[i] = W[j,i] X[j]"),
        ("Y[i] = relu(W[i,j] X[j])", "Y[i] = relu(reduce(max, j) (W[i,j] X[j]))"),
        ("Y[i,j] = softmax(X[i,j])", "Y[i,j] = softmax(X[i,j], axis=i)"),
        ("Y[i] = W[i,j]", "Y[i] max= W[i,j]"),
    ];
    for (a, b) in other {
        assert!(!load(a).has_same_core(&load(b)), "{a} | {b}");
    }
}

/// Returns all programs of the gallery, the corpus and the language reference, and random ones.
fn programs() -> Vec<(String, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for folder in ["tests/seed", "tests/corpus", "tests/programs", "../../examples/equations"] {
        let files = fs::read_dir(here.join(folder)).unwrap().map(|e| e.unwrap().path());
        let files: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "eq")).collect();
        all.extend(files.into_iter().map(|p| (p.display().to_string(), fs::read_to_string(p).unwrap())));
    }
    let page = fs::read_to_string(here.join("../../docs/language.md")).unwrap();
    let blocks = page.split("```eq\n").skip(1).filter_map(|b| b.split_once("```"));
    all.extend(
        blocks.enumerate().map(|(i, (text, _))| (format!("example {i} of the page"), text.to_string())),
    );
    all
}

/// Printed, parsed and elaborated, a program has the same Core; so have its gradients.
#[test]
fn text_of_core_has_the_same_core() {
    let (mut compared, mut bad) = (0, Vec::new());
    for (name, text) in programs() {
        // Imports need files, and some programs of the corpus are errors.
        let Ok(program) = Program::parse(Source::new(&name, &text)) else { continue };
        let gradient = program.gradient(&GradientOptions::default());
        let gradient = gradient.ok().and_then(|g| program.extended(&g.equations).ok());
        for program in [Some(program), gradient].into_iter().flatten() {
            let printed = program.core();
            match Program::parse(Source::new(&name, &printed)) {
                Ok(again) if again.core() == printed && again.has_same_core(&program) => {}
                Ok(again) => {
                    let now = again.core();
                    let differs = printed.lines().zip(now.lines()).find(|(a, b)| a != b);
                    bad.push(format!("{name}: {differs:?}"));
                }
                Err(f) => bad.push(format!("{name}: {f}")),
            }
            compared += 1;
        }
    }
    assert!(bad.is_empty(), "{} of {compared}\n{}", bad.len(), bad[..bad.len().min(12)].join("\n"));
    assert!(compared > 200, "{compared}");
}

/// The text of Core computes the same values.
#[test]
fn text_of_core_has_the_same_values() {
    let settings = Settings { float: DType::F64, ..Settings::default() };
    let values = |program: &Program| {
        let run = program.run(&BTreeMap::new(), &settings, &program.outputs()).ok()?;
        let bits = |t: &gradus_tensor::Tensor| t.to_dtype(DType::F64).to_vec::<f64>().ok();
        let all = run.iter().map(|(name, t)| Some((name.to_string(), bits(t)?)));
        all.collect::<Option<BTreeMap<String, Vec<f64>>>>()
    };
    let near =
        |a: &f64, b: &f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    let mut compared = 0;
    for (name, text) in programs() {
        let Ok(program) = Program::parse(Source::new(&name, &text)) else { continue };
        let Some(expected) = values(&program) else { continue };
        let printed = program.core();
        let found = values(&load(&printed)).unwrap_or_else(|| panic!("{name}\n{printed}"));
        for (of, expected) in &expected {
            let found = &found[of];
            let same = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| near(a, b));
            assert!(same, "{name}: {of}\n{found:?}\n{expected:?}\n{printed}");
        }
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

/// A reduction inside a function covers the indices of its argument, not those that a call adds.
#[test]
fn reductions_in_functions_leave_other_axes() {
    let text = "fn f(a[i]) -> y { y = sum(a[i]) }\nX[b,i] = const([[1, 2], [3, 4]])\nY[b] = f(X[b,i])";
    let run = load(text).run(&BTreeMap::new(), &Settings::default(), &["Y".into()]);
    let run = run.unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(run["Y"].to_vec::<f32>().unwrap(), [3.0, 7.0]);
}
