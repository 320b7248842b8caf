//! Draws the loss of a small network as SVG, with the gradient of every value next to it.
//!
//! `cargo run --example draw -- loss.svg` writes it there; without a path it goes to the system's temporary folder.

use gradus::{Result, Tensor, draw, trace_named};
use std::path::{Path, PathBuf};

/// Cross entropy of a two-layer network, written out.
fn loss(v: &[Tensor]) -> Tensor {
    let [x, target, w1, b1, w2] = v else { return Tensor::zeros([]) };
    let hidden = (x.matmul(w1) + b1).tanh();
    let p = hidden.matmul(w2).softmax(-1);
    -(p.log() * target).sum(()) / x.dim(0) as f64
}

/// Writes to a temporary name and renames, so that no reader sees a partial picture.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let aside = path.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&aside, text)?;
    std::fs::rename(&aside, path).inspect_err(|_| drop(std::fs::remove_file(&aside)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let path = path.unwrap_or_else(|| std::env::temp_dir().join("graph.svg"));
    let [x, target] = [Tensor::zeros([8, 4]), Tensor::zeros([8, 3])];
    let [w1, b1, w2] = [Tensor::zeros([4, 16]), Tensor::zeros([16]), Tensor::zeros([16, 3])];
    let inputs = [("x", &x), ("target", &target), ("w1", &w1), ("b1", &b1), ("w2", &w2)];
    let program = trace_named(&inputs, loss)?;
    let picture = draw::svg_with_gradients(&program, &[2, 3, 4])?;
    write(&path, &picture)?;
    println!("{}", path.display());
    Ok(())
}
