//! A character GPT on Shakespeare's sonnets. The model itself is `crates/models/src/gpt.rs`: two blocks of width 64
//! with four heads, and a context of 64 characters.
//!
//! After 200 batches its loss is below 2.6 nats (guessing is 4.13); after 5000, with
//! `cargo run --release --example gpt -- 5000`, it is 1.14 on the text it has read, and samples look like verse.

use gradus::models::gpt::{Gpt, Sizes, loss};
use gradus::nn::data::{Characters, Loader, Windows};
use gradus::nn::optim::AdamW;
use gradus::nn::{Clip, Module, Optimizer, Sampling, Schedule, compile_training};
use gradus::{Generator, Result};

/// Windows in a batch.
pub(crate) const BATCH: usize = 16;

/// The text, and its characters.
pub(crate) fn text() -> Result<(Vec<i64>, Characters)> {
    let text = include_str!("data/sonnets.txt");
    let characters = Characters::of(text);
    Ok((characters.encode(text)?, characters))
}

/// Trains on this many batches; returns the average loss of the last tenth of them.
pub(crate) fn train(batches: u64) -> Result<f32> {
    let (tokens, characters) = text()?;
    let (g, sizes) = (Generator::new(3), Sizes::default());
    let gpt = Gpt::new(characters.len(), sizes, &g)?;
    println!("{} characters, {} kinds; {} parameters", tokens.len(), characters.len(), gpt.count());
    let rate = Schedule::warm_up(0.1, batches / 20, Schedule::cosine(batches - batches / 20, 0.1));
    let adam = Optimizer::new(gpt.parameters(), AdamW { rate: 3e-3, ..AdamW::default() });
    let mut loader = Loader::new(Windows::new(&tokens, sizes.context), BATCH)?.shuffle(1);
    let adam = adam.schedule(rate).clip(Clip::Norm(1.0));
    let mut step = compile_training(&gpt, loss, adam, &loader.next_batch()?)?;
    let mut losses = Vec::new();
    for i in 1..=batches {
        losses.push(step.run(&loader.next_batch()?)?.loss.item::<f32>()?);
        if i.is_multiple_of((batches / 5).max(1)) {
            println!("batch {i}: loss {:.3}", losses[losses.len() - 1]);
        }
    }
    let sampling = Sampling { temperature: 0.8, ..Sampling::default() };
    println!("{}", characters.decode(&gpt.sample(0, 200, &sampling, &g)?));
    let last = &losses[losses.len() - (losses.len() / 10).max(1)..];
    Ok(last.iter().sum::<f32>() / last.len() as f32)
}

fn main() -> Result<()> {
    let batches = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(200);
    let loss = train(batches)?;
    println!("loss at the end: {loss:.3}");
    assert!(batches < 200 || loss < 2.6, "it has learnt less than it should");
    Ok(())
}
