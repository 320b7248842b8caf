//! Programs of ten thousand lines, valid and with every kind of error: all passes take linear time, and only
//! the first of ten thousand errors are shown.

use gradus_lang::{GradientOptions, Program, Settings, Source};
use std::collections::BTreeMap;
use std::time::Duration;

const LINES: usize = 10_000;
/// An algorithm that is not linear takes minutes.
const MAX: Duration = Duration::from_secs(2);

/// Returns the CPU time of this thread where the system reports it, else the wall time.
fn clock() -> Duration {
    let own = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let own = own.and_then(|s| s.split(' ').next()?.parse().ok()).map(Duration::from_nanos);
    own.unwrap_or_else(|| std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap())
}

fn time(task: impl FnOnce()) -> Duration {
    let start = clock();
    task();
    clock() - start
}

fn lines(line: impl Fn(usize) -> String) -> String {
    (0..LINES).map(|i| line(i) + "\n").collect()
}

/// Returns the messages of loading and lowering a program.
fn said(text: &str) -> String {
    let done = Program::parse(Source::new("many", text)).and_then(|program| {
        let names = program.outputs();
        program.lower(&BTreeMap::new(), &Settings::default(), &names)
    });
    done.map(|_| String::new()).unwrap_or_else(|faults| faults.to_string())
}

/// Every kind of error, on every line.
#[test]
fn faults_on_all_lines() {
    let programs: Vec<(&str, String, &str)> = vec![
        ("inputs", lines(|i| format!("Y{i}[j] = Wrong{i}[j] + 1")), "`Wrong0` has no equation"),
        ("functions", lines(|i| format!("Y{i} = sofmax{}(1)", i % 7)), "there is no function `sofmax0`"),
        (
            "keywords",
            format!("X[i] = const([1, 2])\n{}", lines(|i| format!("Y{i}[i] = softmax(X[i], axes=i)"))),
            "no keyword `axes`",
        ),
        (
            "ranks",
            format!("X[i] = const([1, 2])\n{}", lines(|i| format!("Y{i} = X"))),
            "`X` has 0 indices here",
        ),
        (
            "sizes",
            format!(
                "A[i] = const([1, 2])\nB[i] = const([1, 2, 3])\n{}",
                lines(|i| format!("Y{i}[i] = A[i] B[i]"))
            ),
            "index `i` has size 3 in `B`",
        ),
        ("signs", lines(|i| format!("Y{i} = ) {i}")), "expected"),
        ("letters", lines(|i| format!("Y{i} = 1 $ {i}")), "unexpected character `$`"),
        ("brackets", lines(|i| format!("Y{i} = ({i}")), "never closed"),
        ("skipped", lines(|i| format!("Y{i} = Y{} + ) Z{i}\nV{i} = sofmax(Z{i})", i + 1)), "expected"),
        ("exports", format!("Y = 1\n{}", lines(|i| format!("export Name{i}"))), "`Name0` is exported"),
        ("params", lines(|i| format!("param p{i} = q{i}\nY{i} = p{i}")), "`q0` is not a number"),
        ("twice", lines(|i| format!("param p{} = {i}\nY{i} = p{}", i / 2, i / 2)), "`p0` is declared twice"),
        ("axes", lines(|i| format!("axis a{i} = 1.5\nY{i}[a{i}] = 1")), "must be a whole number"),
        ("parameters", lines(|i| format!("param p{i} = {i}\np{i} = 3")), "`p0` is a parameter"),
        ("unknown sizes", lines(|i| format!("Y{i}[k] = 1 + {i}")), "the size of index `k` is not known"),
        (
            "functions of one's own",
            lines(|i| format!("fn f{i}(a) -> y {{ y = a b{i} }}\nY{i} = f{i}(1)")),
            "neither a parameter",
        ),
        (
            "functions that call themselves",
            lines(|i| format!("fn f{i}(a) -> y {{ y = f{}(a) }}", (i + 1) % LINES)),
            "calls itself",
        ),
        ("functions twice", lines(|i| format!("fn f{}(a) -> y {{ y = a }}", i / 2)), "defined twice"),
        ("negations", lines(|i| format!("R{i}(x) = !R{}(x)", (i + 1) % LINES)), "needs its own negation"),
        (
            "ranges",
            format!("V[i] = const([1, 2, 3])\n{}", lines(|i| format!("B{i}[0] = 5\nB{i}[1:3] = V[1:3]"))),
            "a range on the left",
        ),
        ("imports", lines(|i| format!("import \"a{i}\"")), "cannot be imported"),
        ("unknown of themselves", lines(|i| format!("R{i}[i] = 0.5 R{i}[i]")), "is not known"),
        ("texts", lines(|i| format!("Y{i} = \"open")), "has no closing"),
    ];
    let mut late = Vec::new();
    for (name, text, why) in programs {
        let source = text;
        let mut text = String::new();
        let took = time(|| text = said(&source));
        assert!(text.contains(why), "{name}: {}", text.chars().take(2000).collect::<String>());
        let shown = text.lines().filter(|l| l.starts_with("error: ")).count();
        assert!(shown <= 20, "{name}: {shown} faults are shown");
        let rest = text.lines().last().unwrap_or_default();
        assert!(
            shown < 20 || rest.starts_with("and ") && rest.ends_with(" more"),
            "{name}: ends with {rest}"
        );
        if took > MAX {
            late.push(format!("{name}: {took:.2?}"));
        }
    }
    assert!(late.is_empty(), "{late:?}");
}

/// Valid programs.
#[test]
fn long_programs_in_time() {
    let layers = |i: usize| match i % 4 {
        _ if i == 0 => "A0[i,j] = X[i,j]".to_string(),
        0 => format!("A{i}[i,j] = W[i,k] A{}[k,j]", i - 1),
        1 => format!("A{i}[i,j] = A{}[i,j] + B[i] - 0.5 A0[i,j]", i - 1),
        2 => format!("A{i}[i,j] = gelu(A{}[i,j] B[j])", i - 1),
        _ => format!("A{i}[i,j] = softmax(A{}[i,j+1], axis=\"j\") / (1 + B[i])", i - 1),
    };
    let programs: Vec<(&str, String)> = vec![
        ("layers", lines(layers) + "Loss = A9999[i,j]"),
        (
            "terms of one name",
            format!("X[i] = const([1, 2])\n{}Loss = Y[i]", lines(|_| "Y[i] = 2 X[i]".into())),
        ),
        ("readers of one name", format!("X = 1\n{}", lines(|i| format!("Y{i} = X X\nLoss = Y{i}")))),
        ("one sum", format!("X = 1\nLoss = {}", vec!["X"; LINES].join(" + "))),
        ("parameters", lines(|i| format!("param p{i} = {i}\nY{i} = p{i} X\nLoss = Y{i}"))),
        ("sizes", lines(|i| format!("axis a{i} = 2\nY{i}[a{i}] = X\nLoss = Y{i}[a{i}]"))),
        ("functions", format!("{}Loss = X", lines(|i| format!("fn f{i}(a) -> y {{ y = a + {i} }}")))),
        ("files", format!("Loss = X\n{}", lines(|i| format!("\"{i}.json\" = 2 X + {i}")))),
        ("slices", format!("X[i] = V[i]\n{}", lines(|i| format!("Y{i} = X[0] + X[i=0:2]\nLoss = Y{i}")))),
        (
            "steps",
            format!(
                "axis t = 2\n{}",
                lines(|i| format!("H{i}[*t+1] = 0.5 H{i}[*t] + X[*t]\nLoss = H{i}[*-1]"))
            ),
        ),
    ];
    let mut late = Vec::new();
    for (name, text) in programs {
        let took = time(|| {
            let program =
                Program::parse(Source::new("many", &text)).unwrap_or_else(|f| panic!("{name}: {f}"));
            let gradient =
                program.gradient(&GradientOptions::default()).unwrap_or_else(|f| panic!("{name}: {f}"));
            assert!(!gradient.equations.is_empty(), "{name}");
        });
        if took > MAX {
            late.push(format!("{name}: {took:.2?}"));
        }
    }
    assert!(late.is_empty(), "{late:?}");
}
