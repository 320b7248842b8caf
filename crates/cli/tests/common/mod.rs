//! Calls the command as a function.
#![allow(dead_code)]

pub(crate) mod http;
pub(crate) mod model;

use gradus_cli::Terminal;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The result of a call of the command.
pub(crate) struct Outcome {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the command with a standard input.
pub(crate) fn gradus_with(input: &str, args: &[&str]) -> Outcome {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut terminal = Terminal {
        input: Box::new(input.as_bytes()),
        out: Box::new(&mut out),
        err: Box::new(&mut err),
        colour: false,
        interactive: false,
    };
    let code = gradus_cli::main(["gradus"].iter().chain(args), &mut terminal);
    drop(terminal);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Outcome { code, out: text(out), err: text(err) }
}

pub(crate) fn gradus(args: &[&str]) -> Outcome {
    gradus_with("", args)
}

/// Returns the output of a call, which must succeed.
pub(crate) fn output(input: &str, args: &[&str]) -> String {
    let outcome = gradus_with(input, args);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    outcome.out
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("gradus-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file with this text; returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The path of a program in `crates/lang/tests/seed`.
pub(crate) fn seed(name: &str) -> String {
    root().join("crates/lang/tests/seed").join(name).display().to_string()
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// A program with a state over three time steps.
pub(crate) const STEPS: &str = "axis t = 3\nW[i,j] = const([[1,1],[0,2]])\nInput[i] = const([1,-1])\nPre[i] = W[i,j] H[j,*t]\n\
    Sum[i] = Pre[i] + Input[i]\nH[i,*t+1] = relu(Sum[i])\nLoss = H[i,*-1] H[i,*-1]\n";

/// The relative difference of two values; infinite if their shapes or types differ.
fn distance(a: &Value, b: &Value) -> f64 {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| distance(a, b)).fold(0.0, f64::max)
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() / b.abs().max(1.0)
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            let far = |(key, a): (&String, &Value)| b.get(key).map_or(f64::INFINITY, |b| distance(a, b));
            a.iter().map(far).fold(0.0, f64::max)
        }
        (a, b) if a == b => 0.0,
        _ => f64::INFINITY,
    }
}

/// Runs a program and compares its results with the values that it states; returns the number of values.
pub(crate) fn stated(name: &str, text: &str, folder: &Path) -> usize {
    let mut expected = Vec::new();
    for line in text.lines().filter_map(|l| l.trim().strip_prefix("# expect ")) {
        let (name, value) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
        let (value, within) = value.split_once(" within ").unwrap_or((value, "1e-9"));
        let value: Value = serde_json::from_str(value).unwrap_or_else(|e| panic!("{name}: {e}: {value}"));
        expected.push((name, value, within.trim().parse::<f64>().unwrap()));
    }
    let path = folder.join(".example.eq");
    std::fs::write(&path, text).unwrap();
    let mut args = vec!["run".to_string(), path.display().to_string(), "--json".into(), "--f64".into()];
    if !expected.is_empty() {
        args.extend(["--only".into(), expected.iter().map(|e| e.0).collect::<Vec<_>>().join(",")]);
    }
    let outcome = gradus_with("", &args.iter().map(String::as_str).collect::<Vec<_>>());
    std::fs::remove_file(&path).unwrap();
    if let Some(fault) = text.lines().find_map(|l| l.trim().strip_prefix("# fails: ")) {
        assert!(outcome.code == 1 && outcome.err.contains(fault.trim()), "{name}: {text}\n{}", outcome.err);
        return 1;
    }
    assert_eq!(outcome.code, 0, "{name}: {text}\n{}", outcome.err);
    let found: Value = serde_json::from_str(&outcome.out).unwrap();
    for (n, value, within) in &expected {
        // A relation over symbols prints as a list of rows.
        let data = if found[n].is_array() { &found[n] } else { &found[n]["data"] };
        assert!(distance(data, value) <= *within, "{name}: {n} is {data}, not {value}\n{text}");
    }
    expected.len()
}
