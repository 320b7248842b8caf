//! The command, called as a function.
#![allow(dead_code)]

pub(crate) mod http;
pub(crate) mod model;

use gradus_cli::Terminal;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What a call of the command did.
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

/// What a call that succeeds writes.
pub(crate) fn output(input: &str, args: &[&str]) -> String {
    let outcome = gradus_with(input, args);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    outcome.out
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of its own for a test, gone when it ends.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("gradus-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A file with this text; gives its path.
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

/// A program of the seed, by its path.
pub(crate) fn seed(name: &str) -> String {
    root().join("crates/lang/tests/seed").join(name).display().to_string()
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// A state over three steps.
pub(crate) const STEPS: &str = "axis t = 3\nW[i,j] = const([[1,1],[0,2]])\nInput[i] = const([1,-1])\nPre[i] = W[i,j] H[j,*t]\n\
    Sum[i] = Pre[i] + Input[i]\nH[i,*t+1] = relu(Sum[i])\nLoss = H[i,*-1] H[i,*-1]\n";
