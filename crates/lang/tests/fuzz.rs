//! Runs random programs, from the grammar and from bytes. None may panic, hang or exhaust memory, and a
//! printed program must parse to the same program. `PROPTEST_CASES` sets the number of cases.

use crate::common::same;
use gradus_lang::{GradientOptions, Program, Settings, Source, format};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A program that takes longer than this is missing a limit: the others take milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(20);

fn names() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["A", "B", "C", "V", "W", "X", "Y", "s", "Grad_A", "R"])
}

fn indices() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["i", "j", "k", "p'", "x"])
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (-9i64..10).prop_map(|n| n.to_string()),
        2 => (-4.0f64..4.0).prop_map(|x| format!("{x:.2}")),
        1 => prop::sample::select(vec!["0", "1e300", "-1e-300", "1e9", "9007199254740993", "0.5"]).prop_map(String::from),
    ]
}

fn place() -> impl Strategy<Value = String> {
    prop_oneof![
        10 => indices().prop_map(String::from),
        1 => (indices(), -3i64..4).prop_map(|(i, n)| format!("{i}{n:+}")),
        1 => (-3i64..5).prop_map(|n| n.to_string()),
        1 => prop::sample::select(vec!["0:2", "1:", "::2", "-2:", "s=0:2", "i=1:3", "::-1", "1000000000000:"]).prop_map(String::from),
        1 => prop::sample::select(vec!["*t", "*t+1", "*t-1", "*0", "*-1", "*t+2"]).prop_map(String::from),
        1 => indices().prop_map(|i| format!("{i}.")),
        1 => Just("i+9000000000000000".to_string()),
    ]
}

fn reference() -> impl Strategy<Value = String> {
    (names(), prop::collection::vec(place(), 0..3)).prop_map(|(n, p)| match p.is_empty() {
        true => n.to_string(),
        false => format!("{n}[{}]", p.join(",")),
    })
}

fn list() -> impl Strategy<Value = String> {
    let row = |n: usize| prop::collection::vec(-3i64..4, n).prop_map(|v| format!("{v:?}"));
    prop_oneof![
        row(2),
        row(3),
        (row(2), row(2)).prop_map(|(a, b)| format!("[{a}, {b}]")),
        (row(3), row(3)).prop_map(|(a, b)| format!("[{a}, {b}]"))
    ]
}

fn call(inner: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> {
    let one = prop::sample::select(vec![
        "relu",
        "tanh",
        "exp",
        "log",
        "gelu",
        "softmax",
        "lnorm",
        "sum",
        "max",
        "cumsum",
        "argmax",
        "topk",
        "step",
        "sig",
        "gelu_grad",
        "softmax_grad",
        "f",
        "g",
        "inv",
        "transpose",
        "concat",
        "sort",
        "size",
        "even",
        "nothing",
        "ones_like",
    ]);
    let keyword = prop::sample::select(vec![
        "",
        "",
        "",
        ", axis=\"i\"",
        ", axis=j",
        ", axis=0",
        ", k=2",
        ", n=3",
        ", wrt=\"x\"",
        ", keepdims=1",
        ", axes=3",
    ]);
    let plain = (one, prop::collection::vec(inner.clone(), 1..3), keyword)
        .prop_map(|(f, a, k)| format!("{f}({}{k})", a.join(", ")));
    let made = prop::sample::select(vec![
        "eye(n=2)",
        "arange(n=3)",
        "arange(n=100000000000)",
        "eye(n=100000)",
        "causal_mask(n=3)",
        "linspace(0, 1, n=4)",
        "even(i)",
        "index(j)",
        "size(i)",
    ]);
    prop_oneof![8 => plain, 2 => made.prop_map(String::from)]
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![6 => reference(), 2 => number(), 2 => list().prop_map(|l| format!("const({l})")), 1 => list()];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let i = || inner.clone();
        prop_oneof![
            4 => (i(), i()).prop_map(|(a, b)| format!("{a} {b}")),
            3 => (i(), prop::sample::select(vec!["+", "-", "*", "/", "**", "<", "==", ">=", "&&", "||"]), i()).prop_map(|(a, o, b)| format!("{a} {o} {b}")),
            2 => i().prop_map(|a| format!("({a})")),
            1 => i().prop_map(|a| format!("-{a}")),
            1 => i().prop_map(|a| format!("!{a}")),
            1 => (i(), i(), i()).prop_map(|(c, a, b)| format!("{c} ? {a} : {b}")),
            1 => (i(), i(), i()).prop_map(|(c, a, b)| format!("case {{ {c} -> {a}, default -> {b} }}")),
            1 => (prop::sample::select(vec!["sum", "max", "prod", "avg", "min"]), indices(), i()).prop_map(|(h, x, a)| format!("reduce({h}, {x}) {a}")),
            4 => call(inner),
        ]
    })
}

fn statement() -> impl Strategy<Value = String> {
    let joins = prop::sample::select(vec!["=", "=", "=", "=", "+=", "max=", "avg=", "prod=", "min="]);
    let left = prop_oneof![6 => reference(), 1 => (names(), indices(), indices()).prop_map(|(n, x, y)| format!("{n}({x},{y})"))];
    prop_oneof![
        20 => (left.clone(), joins, expression()).prop_map(|(l, o, e)| format!("{l} {o} {e}")),
        2 => (names(), list()).prop_map(|(n, l)| format!("{n}[{}] = const({l})", if l.starts_with("[[") { "i,j" } else { "i" })),
        1 => (left, expression(), expression()).prop_map(|(l, g, e)| format!("{l} when {g} = {e}")),
        1 => (indices(), prop::sample::select(vec!["2", "3", "1000000000", "n"])).prop_map(|(i, n)| format!("axis {i} = {n}")),
        1 => number().prop_map(|n| format!("param n = {n}")),
        1 => names().prop_map(|n| format!("export {n}")),
        1 => (expression(), expression()).prop_map(|(a, b)| format!("fn f(a[i], b) -> y[i] {{\n  y[i] = a[i] {a}\n  y[i] = b f({b}) # why\n}}")),
        1 => expression().prop_map(|a| format!("fn g(a) -> y {{ let t = a {a}; y = t }}")),
        1 => (names(), expression()).prop_map(|(n, e)| format!("{{\nlet {n} = {e}\n\n  Y = {n} # a block\n}}")),
        1 => reference().prop_map(|r| format!("\"out.npy\" = {r}")),
        1 => Just("# only words".to_string()),
        1 => Just(String::new()),
    ]
}

fn program() -> impl Strategy<Value = String> {
    prop::collection::vec(statement(), 1..8).prop_map(|s| s.join("\n"))
}

/// Formats, checks, differentiates and runs a text, which may be invalid.
fn exercise(text: &str) -> Result<(), TestCaseError> {
    let start = Instant::now();
    let source = Source::new("fuzz", text);
    let formatted = format(&source);
    if let Ok(formatted) = &formatted {
        let again = format(&Source::new("fuzz", formatted));
        let again = again.map_err(|f| TestCaseError::fail(format!("{text}\n--\n{formatted}\n--\n{f}")))?;
        prop_assert_eq!(formatted, &again, "{}", text);
    }
    match Program::parse(source) {
        Err(faults) => prop_assert!(!faults.render(false).is_empty()),
        Ok(program) => {
            let formatted = formatted.map_err(|f| TestCaseError::fail(f.to_string()))?;
            let back = Program::parse(Source::new("fuzz", &formatted));
            let back = back.map_err(|f| TestCaseError::fail(format!("{text}\n--\n{formatted}\n--\n{f}")))?;
            prop_assert!(same(&program.statements(), &back.statements()), "{}\n--\n{}", text, formatted);
            let settings = Settings { rounds: 20, ..Settings::default() };
            if let Err(faults) = program.run(&BTreeMap::new(), &settings, &program.outputs()) {
                prop_assert!(!faults.render(false).is_empty());
            }
            if let Ok(gradient) = program.gradient(&GradientOptions::default()) {
                let open = back.open_text();
                let longer = Program::parse(Source::new("fuzz", format!("{open}\n{}", gradient.text())));
                prop_assert!(longer.is_ok(), "{}\n--\n{}\n{}", text, gradient.text(), longer.unwrap_err());
            }
        }
    }
    prop_assert!(start.elapsed() < TIME_LIMIT, "{:?}: {}", start.elapsed(), text);
    Ok(())
}

/// Tokens in random order, which are more often nearly valid than random bytes.
fn soup() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "A", "B[i]", "[", "]", "(", ")", "{", "}", ",", ".", ";", ":", "::", "=", "==", "+", "-", "*", "**",
        "/", "!", "?", "->", "\n", "#", "\"", "x.npy", "const", "fn", "let", "axis", "param", "export",
        "import", "when", "case", "default", "reduce", "max", "1", "2.5", "1e999", "i", "p'", "'", "\u{3b1}",
        "\0", "@", "*t", "as", " ", "é", "&&", "||", "<", "softmax",
    ]);
    prop::collection::vec(token, 0..60).prop_map(|t| t.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, max_shrink_iters: 2000, rng_seed: proptest::test_runner::RngSeed::Fixed(0x5eed), ..ProptestConfig::default() })]

    #[test]
    fn programs_by_the_grammar(text in program()) {
        exercise(&text)?;
    }

    #[test]
    fn tokens_in_any_order(text in soup()) {
        exercise(&text)?;
    }

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise(&String::from_utf8_lossy(&bytes))?;
    }
}

/// Checks the message of a refused program, and the time it takes.
fn refused(text: &str, why: &str) {
    let start = Instant::now();
    let settings = Settings { rounds: 100, ..Settings::default() };
    let done = Program::parse(Source::new("hostile", text))
        .and_then(|p| p.run(&BTreeMap::new(), &settings, &p.outputs()));
    let shown = match &done {
        Ok(values) => format!("it ran: {:?}", values.keys().collect::<Vec<_>>()),
        Err(faults) => faults.render(false),
    };
    assert!(shown.contains(why), "{:.300}\n{shown}", text);
    assert!(start.elapsed() < TIME_LIMIT, "{:.300}: {:?}", text, start.elapsed());
}

#[test]
fn hostile_programs_are_refused_in_time() {
    let large = "exceeds the limit of 268435456";
    refused("Y[i] = arange(n=1000000000)", large);
    refused("Y[i,j] = eye(n=40000)", large);
    refused("axis i = 40000\naxis j = 40000\nY[i,j] = even(i) + odd(j)", large);
    refused("axis i = 1000000000000\nY[i] = index(i)", large);
    refused("axis i = 40000\naxis j = 40000\nA[i] = even(i)\nB[j] = even(j)\nY[i,j] = A[i] B[j]", large);
    refused("axis i = 40000\naxis j = 40000\nA[i] = even(i)\nY[i,j] = A[i]", large);
    refused("Y[1000000000000] = 1", large);
    refused("axis i = 1000000000000\nR[i] = 0.5 R[i]", large);
    refused("axis t = 1000000000000\nS[*0] = 1\nS[*t+1] = S[*t]", large);
    refused("axis i = 100000\naxis j = 100000\nA[i] = even(i)\nB[j] = even(j)\nY max= A[i] B[j]", large);
    refused(&format!("Y = {}1{}", "(".repeat(100_000), ")".repeat(100_000)), "nested more than 100 deep");
    refused(&format!("Y = {}1", "-".repeat(100_000)), "nested more than 100 deep");
    refused(&format!("Y = {}1", "!".repeat(100_000)), "nested more than 100 deep");
    refused(&format!("Y = const({})", "[".repeat(100_000)), "nested more than 100 deep");
    refused(&"{\n".repeat(100_000), "nested more than 100 deep");
    refused(&format!("Y = 1{}", " ** 2".repeat(100_000)), "nested more than 100 deep");
    refused(&format!("Y = 1{}", " ? 1 : 1".repeat(100_000)), "nested more than 100 deep");
    // Functions that call each other twice, forty deep.
    let mut text = String::from("fn f0(a) -> y { y = a }\n");
    for i in 1..40 {
        text.push_str(&format!("fn f{i}(a) -> y {{ y = f{p}(a) + f{p}(a) }}\n", p = i - 1));
    }
    refused(&format!("{text}Y = f39(1)"), "calls its own functions more than");
    // Their gradient is refused too.
    let start = Instant::now();
    let twice = Program::parse(Source::new("hostile", format!("{text}Loss = f39(X)"))).unwrap();
    let said = twice.gradient(&GradientOptions::default()).unwrap_err().render(false);
    assert!(said.contains("calls its own functions more than 100000 times"), "{said}");
    assert!(start.elapsed() < TIME_LIMIT, "{:?}", start.elapsed());
    // A long chain of calls.
    let chain: String =
        (0..10_000).map(|i| format!("fn f{i}(a) -> y {{ y = f{}(a) + 1 }}\n", i + 1)).collect();
    refused(
        &format!("{chain}fn f10000(a) -> y {{ y = a }}\nY = f0(1)"),
        "functions call functions more than 100 deep",
    );
    refused(&format!("Y = gelu{}(1)", "_grad".repeat(200)), "there is no function");
    refused("X = 2 X + 1", "did not converge");
    refused("X = -X + 1", "did not converge");
}

/// Long programs without excessive work run.
#[test]
fn long_programs_run() {
    let start = Instant::now();
    let run = |text: &str, name: &str| {
        let program = Program::parse(Source::new("long", text)).unwrap_or_else(|f| panic!("{f}"));
        let values = program
            .run(&BTreeMap::new(), &Settings::default(), &[name.into()])
            .unwrap_or_else(|f| panic!("{f}"));
        values[name].item::<f32>().unwrap()
    };
    let chain: String = (1..3000).map(|i| format!("A{i} = A{} + 1\n", i - 1)).collect();
    assert_eq!(run(&format!("A0 = 1\n{chain}"), "A2999"), 3000.0);
    assert_eq!(run(&format!("Y = (1{})", " + 1".repeat(2000)), "Y"), 2001.0);
    assert_eq!(run(&format!("Y = 1{}", " * 1".repeat(300)), "Y"), 1.0);
    assert!(start.elapsed() < 3 * TIME_LIMIT, "{:?}", start.elapsed());
}

/// Enough of the generated programs are valid.
#[test]
fn the_generator_makes_programs_that_run() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut parsed, mut ran) = (0, 0);
    for _ in 0..300 {
        let text = program().new_tree(&mut runner).unwrap().current();
        let Ok(p) = Program::parse(Source::new("fuzz", &text)) else { continue };
        parsed += 1;
        let values = p.run(&BTreeMap::new(), &Settings { rounds: 20, ..Settings::default() }, &p.outputs());
        ran += usize::from(values.is_ok());
    }
    assert!(parsed >= 30 && ran >= 3, "{parsed} parsed, {ran} ran");
}
