//! Every builtin: compares values with the tensor crate, and first and second derivatives with differences.

mod cases;
mod losses;
mod places;

use crate::common::check::{check_with, load, numbers, settings};
use cases::Case;
use gradus_ir::DType;
use gradus_ir::ops::pointwise;
use gradus_lang::GradientOptions;
use gradus_lang::ast::Name;
use gradus_tensor::{Tensor, apply1};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Inputs = BTreeMap<Name, Tensor>;

fn cases() -> Vec<Case> {
    let tables = [
        cases::numbers(),
        cases::along(),
        cases::reductions(),
        losses::losses(),
        cases::fourier(),
        places::linalg(),
        places::images(),
        places::arrays(),
        cases::kinds(),
    ];
    tables.into_iter().flatten().collect()
}

fn drawn(name: &str, shape: &[usize]) -> Tensor {
    Tensor::from_slice(&numbers(name, shape.iter().product()), shape.to_vec())
}

fn inputs(case: &Case) -> Vec<Tensor> {
    case.inputs.iter().map(|(n, s)| drawn(n, s)).collect()
}

fn value(text: &str, inputs: &Inputs, name: &str) -> Tensor {
    let found = load(text).run(inputs, &settings(None), &[name.into()]);
    found.unwrap_or_else(|f| panic!("{text}\n{f}"))[&Name::from(name)].clone()
}

fn far(a: &Tensor, b: &Tensor) -> f64 {
    if a.numel() == 0 { 0.0 } else { (a - b).abs().max(()).item::<f64>().unwrap() }
}

/// Runs all cases, also after one has failed.
fn each(check: fn(&Case)) {
    let fails = |c: &Case| std::panic::catch_unwind(|| check(c)).is_err();
    let failed: Vec<String> = cases().iter().filter(|c| fails(c)).map(|c| c.call.clone()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn values() {
    each(|case| {
        let given = inputs(case);
        let by_name = case.inputs.iter().map(|i| Name::from(i.0)).zip(given.iter().cloned()).collect();
        let text = format!("{}Y{} = {}", case.before, case.left, case.call);
        let found = value(&text, &by_name, "Y").to_dtype(DType::F64);
        let expected = (case.expected)(&given).to_dtype(DType::F64);
        assert_eq!(found.shape(), expected.shape(), "{text}");
        assert!(far(&found, &expected) <= 1e-12, "{text}\n{found}\n{expected}");
    });
}

/// All values of a program of `f32` are `f32`, its gradients too.
#[test]
fn numbers_stay_f32() {
    each(|case| {
        let given: Inputs =
            case.inputs.iter().map(|(n, s)| (Name::from(*n), drawn(n, s).to_dtype(DType::F32))).collect();
        // `graph` and `cast` state another dtype.
        if case.name == "graph" || case.name == "cast" {
            return;
        }
        let text =
            format!("{}Y{} = {}\nLoss = Y{} Y{}", case.before, case.left, case.call, case.left, case.left);
        let gradient = load(&text).gradient(&GradientOptions::default()).unwrap();
        let program = load(&format!("{text}\n{}", gradient.text()));
        let mut wanted: Vec<Name> = vec!["Y".into()];
        if case.smooth {
            wanted.extend(case.inputs.iter().map(|i| Name::from(format!("Grad_{}", i.0))));
        }
        let found = program.run(&given, &gradus_lang::Settings::default(), &wanted);
        for (name, t) in found.unwrap_or_else(|f| panic!("{text}\n{f}")) {
            assert_ne!(t.dtype(), DType::F64, "{name}: {text}");
            assert!(!case.smooth || t.dtype() == DType::F32, "{name}: {text}");
        }
    });
}

/// Every pointwise op of the catalog can be called by its name.
#[test]
fn values_of_rows() {
    let names = ["X[i,j]", "Z[i,j]", "V[i,j]"];
    for row in pointwise::all() {
        let operands = &names[..row.arity];
        let given: Vec<Tensor> = operands.iter().map(|n| drawn(&n[..1], &[3, 4])).collect();
        // Some take booleans or integers only; other numbers are converted.
        let to = [DType::F64, DType::Bool, DType::I64].into_iter().find(|d| row.takes(*d)).unwrap();
        let typed: Vec<Tensor> = given.iter().map(|t| t.to_dtype(to)).collect();
        let expected = apply1(row, &typed.iter().collect::<Vec<_>>());
        let text = format!("Y[i,j] = {}({})", row.name, operands.join(", "));
        let by_name = operands.iter().map(|n| Name::from(&n[..1])).zip(given).collect();
        let found = value(&text, &by_name, "Y");
        let (found, expected) = (found.to_dtype(DType::F64), expected.to_dtype(DType::F64));
        let same = found.eq(&expected).logical_or(&found.is_nan().logical_and(&expected.is_nan()));
        assert!(same.all(()).item::<bool>().unwrap(), "{text}");
    }
}

#[test]
fn every_builtin_has_a_case() {
    let cases: BTreeSet<&str> = cases().iter().map(|c| c.name).collect();
    let table = gradus_lang::families().iter().flat_map(|f| f.functions());
    let without: Vec<&str> = table.map(|f| f.0).filter(|n| !cases.contains(n)).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// Builtins that no derivative passes through, and why; all others are differentiated twice (`gradients`).
const WITHOUT_DERIVATIVE: &[(&str, &[&str])] = &[
    ("it is constant but for jumps", &["step", "tucker_dense", "is_close", "any", "all"]),
    ("it gives places", &["argmax", "argmin", "argsort", "one_hot", "random_bits"]),
    (
        "it is of sizes and settings alone",
        &["arange", "causal_mask", "even", "eye", "fftfreq", "index", "linspace", "odd", "rfftfreq", "size"],
    ),
    ("that is what it says", &["stop_gradient", "ones_like", "zeros_like"]),
];

#[test]
fn every_other_builtin_is_differentiated() {
    let cases = cases();
    let smooth: BTreeSet<&str> = cases.iter().filter(|c| c.smooth).map(|c| c.name).collect();
    let flat: BTreeSet<&str> = cases.iter().map(|c| c.name).filter(|n| !smooth.contains(n)).collect();
    let listed: BTreeSet<&str> = WITHOUT_DERIVATIVE.iter().flat_map(|(_, names)| *names).copied().collect();
    assert_eq!(flat, listed);
}

/// Returns a program with a loss that weighs every number of the result by itself and its square.
fn with_loss(case: &Case) -> (String, Vec<(&'static str, Vec<usize>)>) {
    let Case { before, left, call, .. } = case;
    let text = format!("{before}Y{left} = {call}\nLoss = R{left} Y{left} Y{left} + R{left} Y{left}");
    let out = (case.expected)(&inputs(case)).shape().to_vec();
    let shapes = case.inputs.iter().map(|(n, s)| (*n, s.to_vec()));
    (text, shapes.chain([("R", out)]).collect())
}

#[test]
fn gradients() {
    each(|case| {
        let (text, shapes) = with_loss(case);
        let shapes: Vec<(&str, &[usize])> = shapes.iter().map(|(n, s)| (*n, &s[..])).collect();
        if case.smooth {
            let shown = check_with(&text, &shapes, None);
            second_order(&text, &shown, &shapes);
            return;
        }
        let gradient = load(&text).gradient(&GradientOptions::default()).unwrap();
        let none = gradient.warnings.first().is_some_and(|w| w.message.contains("has no derivative"));
        let flows = case.inputs.iter().any(|(n, _)| gradient.names.contains_key(*n));
        // A piecewise constant function has a gradient of zeros, or an error says that it has none.
        assert!(none || !flows || zeros(&text, &shapes), "{text}");
    });
}

/// The gradient of every pointwise op of the catalog, for numbers in its domain.
#[test]
fn gradients_of_rows() {
    let names = ["X", "Z", "V"];
    let (mut smooth, mut failed) = (0, Vec::new());
    for row in pointwise::all().filter(|row| row.float.is_some()) {
        let operands = &names[..row.arity];
        // Inputs lie between 0.2 and 1.1; the ends of the domain are left out.
        let inside = |(i, name): (usize, &&str)| {
            let (low, high) = row.domain_of(i);
            let width = high - low;
            format!("In{name}[i,j] = {} + {width} {name}[i,j]\n", low - 0.15 * width)
        };
        let before: String = operands.iter().enumerate().map(inside).collect();
        let call: Vec<String> = operands.iter().map(|n| format!("In{n}[i,j]")).collect();
        let text = format!(
            "{before}Y[i,j] = {}({})\nLoss = R[i,j] Y[i,j] Y[i,j] + R[i,j] Y[i,j]",
            row.name,
            call.join(", ")
        );
        let shapes: Vec<(&str, &[usize])> =
            operands.iter().chain(&["R"]).map(|n| (*n, &[3, 4][..])).collect();
        let holds = std::panic::catch_unwind(|| match row.partials {
            Some(_) => second_order(&text, &check_with(&text, &shapes, None), &shapes),
            None => {
                let gradient = load(&text).gradient(&GradientOptions::default()).unwrap();
                let none = gradient.warnings.first().is_some_and(|w| w.message.contains("has no derivative"));
                assert!(none || zeros(&text, &shapes), "{text}");
            }
        });
        smooth += usize::from(row.partials.is_some());
        failed.extend(holds.is_err().then_some(row.name));
    }
    assert!(failed.is_empty(), "{failed:?}");
    assert!(smooth > 40, "{smooth}");
}

/// Returns true if the gradients of all inputs except for the weights are 0.
fn zeros(text: &str, shapes: &[(&str, &[usize])]) -> bool {
    let gradient = load(text).gradient(&GradientOptions::default()).unwrap();
    let given: Inputs = shapes.iter().map(|(n, s)| (Name::from(*n), drawn(n, s))).collect();
    let all = format!("{text}\n{}", gradient.text());
    let of = |n: &str| value(&all, &given, &format!("Grad_{n}")).abs().max(()).item::<f64>().unwrap();
    shapes.iter().filter(|(n, _)| *n != "R").all(|(n, _)| of(n) == 0.0)
}

/// Compares the gradient of the squared norm of all gradients with differences.
fn second_order(text: &str, first: &str, shapes: &[(&str, &[usize])]) {
    let squares: Vec<String> = shapes
        .iter()
        .map(|(n, s)| {
            let places: Vec<String> = (0..s.len()).map(|i| format!("a{i}")).collect();
            let places = if s.is_empty() { String::new() } else { format!("[{}]", places.join(",")) };
            format!("Grad_{n}{places} Grad_{n}{places}")
        })
        .collect();
    let text = format!("{text}\n{first}Length = {}", squares.join(" + "));
    let program = load(&text);
    let options = GradientOptions { loss: Some("Length".into()), ..Default::default() };
    let second = program.gradient(&options).unwrap_or_else(|f| panic!("{text}\n{f}"));
    let whole = format!("{text}\n{}", second.text());
    let given: Inputs = shapes.iter().map(|(n, s)| (Name::from(*n), drawn(n, s))).collect();
    let wanted: Vec<Name> = shapes.iter().map(|(n, _)| Name::from(format!("Grad2_{n}"))).collect();
    let found = load(&whole).run(&given, &settings(None), &wanted).unwrap_or_else(|f| panic!("{whole}\n{f}"));
    let directions: Inputs =
        given.iter().map(|(n, x)| (n.clone(), drawn(&format!("to {n}"), &x.shape()))).collect();
    let slope: f64 = given
        .keys()
        .map(|n| (&found[&Name::from(format!("Grad2_{n}"))] * &directions[n]).sum(()).item::<f64>().unwrap())
        .sum();
    let at = |h: f64| {
        let moved = given.iter().map(|(n, x)| (n.clone(), x + &(&directions[n] * h))).collect();
        value(&text, &moved, "Length").item::<f64>().unwrap()
    };
    let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
    let close = (slope - difference).abs() <= 2e-6 * (1.0 + difference.abs());
    assert!(close, "{whole}\n{slope} beside {difference}");
}

/// Axes that a call leaves, next to other factors.
#[test]
fn gradients_of_calls_as_factors() {
    let a: &[(&str, &[usize])] = &[("A", &[3]), ("B", &[3]), ("C", &[3])];
    check_with("Loss = mse_loss(A[i], B[i]) C[i] C[i]", a, None);
    check_with("Loss = C[i] mse_loss(A[i], B[i], reduction=\"none\")", a, None);
    let x: &[(&str, &[usize])] = &[("X", &[3, 4]), ("W", &[3])];
    check_with("Loss = cosine_similarity(X[i,d], X[0,d]) W[i]", x, None);
    let ids = "Ids[i,k] = const([[1, 3], [0, 0], [2, 1]])\n";
    check_with(&format!("{ids}Loss = gather(X[i,v], Ids[i,k], axis=v) W[i]"), x, None);
    check_with(
        &format!("{ids}Y[i] = gather(X[i,v] X[i,v], Ids[i,k], axis=v) W[i]\nLoss = Y[i] Y[i]"),
        x,
        None,
    );
    check_with(
        "Y[i] = stack(X[i,j], W[i], axis=s) U[s] U[s]\nLoss = Y[i] Y[i]",
        &[x, &[("U", &[2])]].concat(),
        None,
    );
    // The axis that becomes shorter is not the last, and its cotangent is a product.
    let y: &[(&str, &[usize])] = &[("X", &[4, 3]), ("W", &[3]), ("U", &[2])];
    check_with("Loss = topk(X[j,i], k=2, axis=j) W[i]", &y[..2], None);
    check_with("Y[k,i] = topk(X[j,i], k=2, axis=j)\nLoss = Y[k,i] W[i] U[k]", y, None);
    check_with("Y[j,i] = topk(X[j,i], k=2, axis=j) W[i]\nLoss = Y[j,i] Y[j,i]", &y[..2], None);
    check_with("Y[j] = topk(V[j], k=2)\nLoss = Y[j] Y[j]", &[("V", &[4])], None);
}

#[test]
fn nothing_flows_into_classes() {
    let lines = |target: &str| {
        let text = format!("Loss = cross_entropy(X[c,b], {target}, axis=c)");
        load(&text).gradient(&GradientOptions::default()).unwrap().text()
    };
    assert!(!lines("T[b]").contains("Grad_T"), "{}", lines("T[b]"));
    let last =
        load("Loss = cross_entropy(X[b,c], T[b], axis=-1)").gradient(&GradientOptions::default()).unwrap();
    assert!(!last.text().contains("Grad_T"), "{}", last.text());
    assert!(lines("T[b,c]").contains("Grad_T[b, c] = "), "{}", lines("T[b,c]"));
}

/// Results of functions by position are matched with other factors by name if the names are known, else refused.
#[test]
fn functions_by_place_as_factors() {
    let given: Inputs =
        [("X", vec![3, 4]), ("Z", vec![2, 4]), ("P", vec![4, 2]), ("W", vec![3, 2]), ("A", vec![5, 3, 3])]
            .into_iter()
            .map(|(n, s)| (Name::from(n), drawn(n, &s)))
            .collect();
    let [x, z, p, w, a] = ["X", "Z", "P", "W", "A"].map(|n| given[&Name::from(n)].clone());
    let read = |line: &str| {
        let program = load(line);
        given
            .iter()
            .filter(|(n, _)| program.is_input(n))
            .map(|(n, t)| (n.clone(), t.clone()))
            .collect::<Inputs>()
    };
    let same = |line: &str, expected: Tensor| {
        let found = value(line, &read(line), "Y");
        assert_eq!(found.shape(), expected.shape(), "{line}");
        assert!(far(&found, &expected) < 1e-12, "{line}\n{found}\n{expected}");
    };
    same("Y = matmul(X[i,k], P[k,j]) W[i,j]", (x.matmul(&p) * &w).sum(()));
    same("Y[j,i] = matmul(X[i,k], P[k,j])", x.matmul(&p).transpose(0, 1));
    same("Y = cdist(X[n,d], Z[m,d]) W[n,m]", (gradus_tensor::cdist(&x, &z, 2.0) * &w).sum(()));
    same("Y[m] = cdist(X[n,d], Z[m,d]) W[n,m]", (gradus_tensor::cdist(&x, &z, 2.0) * &w).sum(0));
    same("Y = outer(X[i,0], Z[j,1]) W[i,j]", (x.at((.., 0)).outer(&z.at((.., 1))) * &w).sum(()));
    same("Y[i] = det(A[b,i',j]) A[b,i,0]", (a.det().unsqueeze(1) * a.at((.., .., 0))).sum(0));
    // If the call is the entire right side, the left side may rename its axes.
    same("Y[a,b] = matmul(X[i,k], P[k,j])", x.matmul(&p));
    same("Y[b] = det(A[a,i,j])", a.det());
    same("Y[i,j] = transpose(X[j,i])", x.transpose(0, 1));
    same("Y[a,b] = relu(transpose(X[i,j]))", x.transpose(0, 1));
    same("Y = 2 svdvals(X[i,j])", x.svdvals().sum(()) * 2.0);
    let shapes: &[(&str, &[usize])] = &[("X", &[3, 4]), ("P", &[4, 2]), ("W", &[3, 2])];
    check_with("Loss = matmul(X[i,k], P[k,j]) W[i,j]", shapes, None);
    check_with("Y[j,i] = matmul(X[i,k], P[k,j]) W[i,j]\nLoss = Y[j,i] Y[j,i]", shapes, None);
    check_with("Y[j,i] = matmul(X[i,k], P[k,j])\nLoss = Y[j,i] Y[j,i] W[i,j]", shapes, None);
    check_with(
        "Y[m] = cdist(X[n,d], Z[m,d]) W[n,m]\nLoss = Y[m] Y[m]",
        &[("X", &[3, 4]), ("Z", &[2, 4]), ("W", &[3, 2])],
        None,
    );
    check_with("Y[i] = det(A[b,i',j]) A[b,i,0]\nLoss = Y[i] Y[i]", &[("A", &[5, 3, 3])], None);
    // The index of `V` is not an axis that the determinant reduces.
    check_with("Loss = det(A[b,i,j]) V[i]", &[("A", &[5, 3, 3]), ("V", &[3])], None);
    check_with("Y[k] = det(A[b,i,j]) V[b] V[k]\nLoss = Y[k] Y[k]", &[("A", &[5, 3, 3]), ("V", &[5])], None);
    check_with("Loss = sum(svdvals(X[i,j]))", &shapes[..1], None);
    // A call that takes its names from the left side gets a line of its own if the left side has such names.
    check_with("Y[i,k] = exp(topk(X[i,j], k=2))\nLoss = Y[i,k] Y[i,k]", &shapes[..1], None);
    check_with(
        "Y[k,i] = V[i] topk(X[i,j], k=2) V[j]\nLoss = Y[k,i] Y[k,i]",
        &[("X", &[3, 4]), ("V", &[3])],
        None,
    );
    check_with(
        "Y[b,a] = R[a] transpose(X[c,d])\nLoss = Y[b,a] Y[b,a] R[a]",
        &[("X", &[3, 4]), ("R", &[3])],
        None,
    );
    let nameless = load("Loss = exp(svdvals(X[i,j]))");
    let said = nameless.gradient(&GradientOptions::default()).unwrap_err().to_string();
    assert!(said.contains("`svdvals` has its indices from the left side"), "{said}");
    let line = "Y = svdvals(X[i,j]) W[k,l]";
    let refused = load(line).run(&read(line), &settings(None), &["Y".into()]).unwrap_err();
    assert!(refused.to_string().contains("give the call its own equation"), "{refused}");
}

/// Functions in the source of the tensor crate that do not compute tensors.
const OTHERS: &[&str] = &[
    "samples",
    "case",
    "kink",
    "name",
    "new",
    "seed",
    "state",
    "bits",
    "default_generator",
    "manual_seed",
    "pointwise",
    // Methods of `CacheKind`.
    "of_name",
    "row",
    "encode",
];

/// Returns every function that the core has: its composites by their samples and by their source, its other
/// methods by their source, its ops by the catalog.
fn core() -> BTreeSet<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tensor/src");
    let mut files: Vec<PathBuf> =
        fs::read_dir(source.join("func")).unwrap().map(|e| e.unwrap().path()).collect();
    let topics = ["reduce", "contract", "movement", "index", "assign", "create", "ops", "random", "control"];
    files.extend(topics.map(|t| source.join(format!("{t}.rs"))));
    let mut out = BTreeSet::new();
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let Some(rest) = line.trim_start().strip_prefix("pub fn ") else { continue };
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            out.insert(name);
        }
    }
    out.extend(gradus_tensor::func::samples().cases.iter().map(|s| s.name.to_string()));
    out.extend(gradus_ir::Op::STRUCTURAL.iter().filter(|n| **n != "input").map(|n| n.to_string()));
    out.extend(pointwise::all().map(|r| r.name.to_string()));
    // The names of functions that a macro makes, `$name`, come from samples and rows.
    out.retain(|n| !n.is_empty() && !OTHERS.contains(&n.as_str()));
    out
}

#[test]
fn nothing_of_the_core_is_missing() {
    let core = core();
    assert!(core.len() > 300, "{}", core.len());
    let aliases = gradus_lang::aliases().iter().map(|a| a.0);
    let offered: BTreeSet<&str> = gradus_lang::builtins().iter().map(|b| b.0).chain(aliases).collect();
    let absent: BTreeSet<&str> = gradus_lang::ABSENT.iter().flat_map(|(names, _)| *names).copied().collect();
    let known = |n: &str| offered.contains(n) || absent.contains(n);
    let missing: Vec<&String> = core.iter().filter(|n| !known(n)).collect();
    assert!(missing.is_empty(), "neither in the table of builtins nor in builtin/absent.rs: {missing:?}");
    let stale: Vec<&&str> = absent.iter().filter(|n| offered.contains(**n) || !core.contains(**n)).collect();
    assert!(stale.is_empty(), "in builtin/absent.rs, but a builtin, or not in the core: {stale:?}");
    let nothing: Vec<_> = gradus_lang::aliases().iter().filter(|a| !offered.contains(a.1)).collect();
    assert!(nothing.is_empty(), "other names of nothing: {nothing:?}");
}

/// Joins words to lines of limited length.
fn wrapped(words: impl Iterator<Item = String>) -> String {
    let mut lines = vec![String::new()];
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < 118 && !line.is_empty() => line.extend([" ", &word]),
            Some(line) if line.is_empty() => *line = word,
            _ => lines.push(word),
        }
    }
    lines.join("\n")
}

/// Returns the parts of the language reference that are generated from the table, each with its heading.
fn page() -> Vec<(String, String)> {
    let families = gradus_lang::families();
    let listed: BTreeSet<&str> = families.iter().flat_map(|f| f.functions()).map(|f| f.0).collect();
    let rows = gradus_lang::builtins().into_iter().map(|b| b.0).filter(|n| !listed.contains(n));
    let rows = wrapped(rows.map(str::to_string));
    let mut out = Vec::new();
    for (i, f) in families.iter().enumerate() {
        let calls: Vec<String> = f.functions().map(|f| f.1).collect();
        let catalog = if i == 0 { format!("\n{rows}") } else { String::new() };
        let about = wrapped(format!("{}.", f.about).split(' ').map(str::to_string));
        let text = format!("{about}\n\n```text\n{}{catalog}\n```\n", calls.join("\n"));
        out.push((format!("### {}", f.title), text));
    }
    let names = |n: &[&str]| n.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" ");
    let absent = gradus_lang::ABSENT
        .iter()
        .map(|(n, why)| format!("| {} | {} |\n", names(n), why.replace('|', "\\|")));
    let table: String = absent.collect();
    let others = gradus_lang::aliases().iter().map(|(a, b)| format!("`{a}` is `{b}`"));
    let others = wrapped(others.collect::<Vec<_>>().join(", ").split(' ').map(str::to_string));
    out.push(("### Other names".into(), format!("{others}.\n")));
    out.push(("### What the core has besides".into(), format!("| in the core | here |\n|---|---|\n{table}")));
    out
}

/// `GRADUS_BLESS=1` rewrites the generated lists of the page.
#[test]
fn the_page_lists_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language.md");
    let mut text = fs::read_to_string(&file).unwrap();
    for (heading, list) in page() {
        let start = text.find(&format!("{heading}\n\n")).unwrap_or_else(|| panic!("no heading {heading}"))
            + heading.len()
            + 2;
        let behind = ["```eq", "\n##"].into_iter().filter_map(|end| text[start..].find(end)).min();
        let end = start + behind.unwrap_or(text.len() - start);
        let found = text[start..end].trim_end();
        if std::env::var_os("GRADUS_BLESS").is_some() {
            let (before, after) = (&text[..start], &text[end..]);
            let gap = if after.starts_with('\n') || after.is_empty() { "" } else { "\n" };
            text = format!("{before}{list}{gap}{after}");
            fs::write(&file, &text).unwrap();
        } else {
            assert_eq!(found, list.trim_end(), "{heading}: write it anew with GRADUS_BLESS=1");
        }
        let family = gradus_lang::families().iter().any(|f| heading.ends_with(f.title));
        assert!(
            !family || text[start..].find("```eq") < text[start..].find("\n##"),
            "{heading} has no example"
        );
    }
}

/// The axes of positional functions have names, which are kept next to any other factor.
#[test]
fn results_of_matrices_meet_by_name() {
    let b = drawn("B", &[3, 3]);
    let steep = &b + &(Tensor::eye(3).to_dtype(DType::F64) * 3.0);
    let inputs = Inputs::from([("B".into(), steep)]);
    let calls = [
        "inv",
        "cholesky",
        "tril",
        "triu",
        "matrix_exp",
        "matrix_power",
        "qr",
        "lu",
        "svd",
        "transpose",
        "pinv",
    ];
    for name in calls {
        let settings = match name {
            "matrix_power" => ", n=3",
            "svd" => ", part=\"u\"",
            _ => "",
        };
        let call = format!("{name}(B[k,l] + B[l,k]{settings})");
        let plain = format!("{name}(B[k,l]{settings})");
        for call in [call, plain] {
            for left in ["l,k", "k,l", "a,b"] {
                let alone = value(&format!("Y[{left}] = {call}"), &inputs, "Y");
                // Factors that the result's own names allow.
                if left != "a,b" {
                    let beside = value(&format!("Y[{left}] = 2 {call} / 2"), &inputs, "Y");
                    assert!(far(&alone, &beside) < 1e-12, "Y[{left}] = {call}\n{alone}\n{beside}");
                }
                let shapes: &[(&str, &[usize])] = &[("B", &[3, 3]), ("R", &[3, 3])];
                let steep = "D[k,l] = const([[4, 0, 0.5], [0, 3, 0], [0.5, 0, 5]])\n";
                let call = call
                    .replace("B[l,k]", "B[l,k] + D[k,l]")
                    .replace("(B[k,l],", "(B[k,l] + D[k,l],")
                    .replace("(B[k,l])", "(B[k,l] + D[k,l])");
                check_with(
                    &format!("{steep}Y[{left}] = {call}\nLoss = Y[{left}] Y[{left}] R[{left}]"),
                    shapes,
                    None,
                );
                if left != "a,b" {
                    check_with(
                        &format!("{steep}Y[{left}] = R[k,l] {call}\nLoss = Y[{left}] Y[{left}]"),
                        shapes,
                        None,
                    );
                }
            }
        }
    }
    let shapes: &[(&str, &[usize])] = &[("B", &[3, 3]), ("R", &[3, 3])];
    check_with("Y[l,k] when R[k,l] > 0.5 = qr(B[k,l])\nLoss = Y[l,k] Y[l,k] R[l,k]", shapes, None);
    // If a name would occur twice, both axes take the names of the left side.
    for call in ["outer(B[k,0], R[k,1])", "cdist(B[k,l], R[k,l])", "matmul(B[k,l], R[l,k])"] {
        for left in ["l,k", "a,b"] {
            check_with(&format!("Y[{left}] = {call}\nLoss = Y[{left}] Y[{left}] R[{left}]"), shapes, None);
            check_with(&format!("Y[{left}] = {call} R[{left}]\nLoss = Y[{left}] Y[{left}]"), shapes, None);
        }
    }
    // Axes are matched by name, not by position.
    let turned = value("Y[l,k] = inv(B[k,l])", &inputs, "Y");
    let plain = value("Y[k,l] = inv(B[k,l])", &inputs, "Y");
    assert!(far(&turned, &plain.transpose(0, 1)) < 1e-12);
}
