//! `cargo run --release -p gradus-bench --bin language`: measures how long it takes to read, check and
//! differentiate programs of equations.

#![forbid(unsafe_code)]

use gradus::lang::{GradientOptions, Program, Settings, Source};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const REPEATS: usize = 15;

/// Measures the median time of a task.
fn median(mut task: impl FnMut()) -> Duration {
    let mut all: Vec<Duration> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            task();
            start.elapsed()
        })
        .collect();
    all.sort();
    all[REPEATS / 2]
}

fn report<T: PartialOrd + Debug>(what: &str, took: T, most: T) {
    let verdict = if took < most { "" } else { "  TOO LONG" };
    println!("{what}: {took:.2?}, {most:?} allowed{verdict}");
}

/// Makes a program of many equations: layers of products, sums, calls and offsets.
fn many(n: usize) -> String {
    let line = |i: usize| match i % 4 {
        0 => format!("A{i}[i,j] = W[i,k] A{}[k,j]\n", i.saturating_sub(1)),
        1 => format!("A{i}[i,j] = A{}[i,j] + B[i] - 0.5 A0[i,j]\n", i - 1),
        2 => format!("A{i}[i,j] = gelu(A{}[i,j] B[j])\n", i - 1),
        _ => format!("A{i}[i,j] = softmax(A{}[i,j+1], axis=\"j\") / (1 + B[i])\n", i - 1),
    };
    std::iter::once("A0[i,j] = X[i,j]\n".to_string()).chain((1..n).map(line)).collect()
}

/// Writes an equation whose value is a constant matrix.
fn matrix(n: usize) -> String {
    let row = |i: usize| {
        (0..n).map(|j| format!("{}", ((i * n + j) % 97) as f64 / 16.0)).collect::<Vec<_>>().join(", ")
    };
    let rows: Vec<String> = (0..n).map(|i| format!("[{}]", row(i))).collect();
    format!("M[i,j] = const([{}])\n", rows.join(",\n"))
}

fn load(text: &str) -> bool {
    Program::parse(Source::new("bench", text)).is_ok()
}

/// Measures each stage for the programs of the gallery.
fn gallery() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/equations");
    let Ok(files) = std::fs::read_dir(&folder) else { return };
    let mut files: Vec<_> = files.flatten().map(|f| f.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "eq"));
    files.sort();
    println!("\n{:<24}{:>10}{:>10}{:>10}{:>10}", "", "read", "gradient", "lower", "run");
    for file in files {
        let (Ok(text), Some(name)) = (std::fs::read_to_string(&file), file.file_stem()) else { continue };
        let source = Source::new("gallery", text);
        let Ok(program) = Program::parse(source.clone()) else { continue };
        let (none, settings, outputs) = (BTreeMap::new(), Settings::default(), program.outputs());
        // Programs that read files are not run here.
        let Ok(lowered) = program.lower(&none, &settings, &outputs) else { continue };
        let Ok(plan) = lowered.compiled() else { continue };
        let times = [
            median(|| assert!(Program::parse(source.clone()).is_ok())),
            median(|| drop(program.gradient(&GradientOptions::default()))),
            median(|| assert!(program.lower(&none, &settings, &outputs).is_ok())),
            median(|| assert!(lowered.run_with(&plan, &BTreeMap::new()).is_ok())),
        ];
        let cells: String = times.iter().map(|t| format!("{:>10}", format!("{t:.1?}"))).collect();
        println!("{:<24}{cells}", name.to_string_lossy());
    }
    println!();
}

fn main() {
    gallery();
    let text = many(10_000);
    assert!(load(&text), "the program is right");
    report("read and check 10,000 equations", median(|| assert!(load(&text))), Duration::from_millis(100));
    // Both programs are large, so that every run allocates new memory: the allocator reuses only small blocks
    // between runs.
    let [short, long] = [20_000, 80_000].map(|n| {
        let text = many(n);
        median(|| assert!(load(&text))).as_secs_f64()
    });
    report("read and check 80,000 equations, in times of 20,000", long / short, 6.0);
    let text = format!("{text}Loss = A9999[i,j]\n");
    if let Ok(program) = Program::parse(Source::new("bench", &text)) {
        let gradient = || assert!(program.gradient(&GradientOptions::default()).is_ok());
        report("differentiate 10,000 equations", median(gradient), Duration::from_millis(500));
    }
    let wrong: String = (0..10_000).map(|i| format!("Y{i}[j] = Wrong{i}[j] + 1\n")).collect();
    let refuse = || {
        let Ok(program) = Program::parse(Source::new("bench", &wrong)) else { return };
        let run = program.run(&BTreeMap::new(), &Settings::default(), &program.outputs());
        assert!(run.is_err_and(|faults| faults.to_string().ends_with(" more")));
    };
    report("refuse 10,000 equations with a fault each", median(refuse), Duration::from_secs(1));
    let text = matrix(512);
    assert!(load(&text), "the program is right");
    report("read a constant of 512×512", median(|| assert!(load(&text))), Duration::from_millis(50));
    let Some(command) =
        std::env::current_exe().ok().map(|p| p.with_file_name("gradus")).filter(|p| p.exists())
    else {
        println!("gradus grad: build it first, cargo build --release -p gradus-cli");
        return;
    };
    for name in ["mlp", "attention"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../crates/lang/tests/seed/{name}.eq"));
        let run = || {
            let status = Command::new(&command).arg("grad").arg(&file).stdout(Stdio::null()).status();
            assert!(status.is_ok_and(|s| s.success()), "the command runs");
        };
        run();
        report(&format!("gradus grad {name}.eq, process and all"), median(run), Duration::from_millis(20));
    }
}
