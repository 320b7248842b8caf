//! The adding problem with an LSTM: the sum of the two marked numbers of a sequence, which needs memory.
//!
//! Always answering 1 has a mean squared error of 0.167; after 600 batches that of the LSTM is below 0.02.

use gradus::nn::{Clip, Forward, Linear, Lstm, Module, Optimizer, compile_training, module, optim::Adam};
use gradus::{Generator, Reduction, Result, Tensor, mse_loss};

/// Steps in a sequence, sequences in a batch, width of the LSTM.
const T: usize = 16;
const B: usize = 32;
const H: usize = 32;

struct Adder {
    lstm: Lstm,
    out: Linear,
}
module!(Adder { lstm, out });

impl Forward for Adder {
    fn forward(&self, x: &Tensor) -> Tensor {
        // The hidden state at the end of the sequence.
        self.out.forward(&self.lstm.forward(x).at(-1)).squeeze(-1)
    }
}

/// Makes sequences of numbers and marks, `[time, batch, 2]`, with one mark in each half, and the sums.
fn batch(g: &Generator) -> Result<[Tensor; 2]> {
    let numbers = g.rand([T, B]);
    let half = |from: i64| g.randint(from, from + T as i64 / 2, [1, B]);
    let time = Tensor::iota(gradus::DType::I64, [T, B], 0);
    let marks = (time.eq(&half(0)).logical_or(&time.eq(&half(T as i64 / 2)))).to_dtype(gradus::DType::F32);
    let sums = (&numbers * &marks).sum(0);
    Ok([Tensor::stack(&[&numbers, &marks], -1).check()?.clone(), sums])
}

/// Trains on this many batches; returns the average error of the last tenth of them.
pub(crate) fn train(batches: usize) -> Result<f32> {
    let g = Generator::new(4);
    let model = Adder { lstm: Lstm::new(2, H, 1, &g), out: Linear::new(H, 1, &g) };
    let adam =
        Optimizer::new(model.parameters(), Adam { rate: 1e-2, ..Adam::default() }).clip(Clip::Norm(1.0));
    let loss = |m: &Adder, b: &[Tensor]| mse_loss(&m.forward(&b[0]), &b[1], Reduction::Mean);
    let mut step = compile_training(&model, loss, adam, &batch(&g)?)?;
    let mut losses = Vec::new();
    for i in 1..=batches {
        losses.push(step.run(&batch(&g)?)?.loss.item::<f32>()?);
        if i.is_multiple_of((batches / 6).max(1)) {
            println!("batch {i}: error {:.4}", losses[losses.len() - 1]);
        }
    }
    let last = &losses[losses.len() - (losses.len() / 10).max(1)..];
    Ok(last.iter().sum::<f32>() / last.len() as f32)
}

fn main() -> Result<()> {
    let batches = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(600);
    let error = train(batches)?;
    println!("error at the end: {error:.4}");
    assert!(batches < 600 || error < 0.02, "it has learnt less than it should");
    Ok(())
}
