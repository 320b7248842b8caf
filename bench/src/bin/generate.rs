//! `cargo run --release -p gradus-bench --bin generate MODEL.gguf [f32|bf16|int8] [TEXT]`: measures the speed
//! at which a language model processes prompts and generates tokens, with activations in `f32`, or rounded to
//! `bf16` or integers. If a text file is named, also measures the perplexity on its beginning. Prints one JSON object;
//! `bench/generate.py` compares it with llama.cpp.

#![forbid(unsafe_code)]

use gradus::ir::format::Compute;
use gradus::models::LanguageModel;
use gradus::models::session::Session;
use gradus::nn::Sampling;
use gradus::{Device, Error, Generator, Result, Tensor};
use serde_json::json;
use std::time::Instant;

const PROMPT: usize = 512;
const NEW: usize = 64;
const TEXTS: usize = 8;
const TOKENS: usize = 1024;

fn most_likely(logits: &[f32]) -> Result<i64> {
    let greedy = Sampling { temperature: 0.0, ..Sampling::default() };
    greedy.choose_after(logits, &[], &Generator::new(0))
}

/// Returns the resident memory of this process in bytes, as the system reports it: in total, and without
/// mapped files.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name));
        line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    (field("VmRSS:"), field("RssAnon:"))
}

/// Computes the perplexity of the first tokens of a text.
fn perplexity(model: &LanguageModel, ids: &[i64]) -> Result<f64> {
    let n = ids.len().min(TOKENS).checked_sub(1).filter(|n| *n > 0);
    let n = n.ok_or_else(|| {
        Error::value("the text", "is too short for a perplexity; it must have at least 2 tokens")
    })?;
    let (x, y) = (Tensor::from_slice(&ids[..n], [1, n]), Tensor::from_slice(&ids[1..=n], [n, 1]));
    let decoder = model.engine.model();
    let logits = decoder.logits(&x).reshape([n, decoder.config.vocabulary]);
    Ok((-f64::from(logits.log_softmax(-1).gather(-1, &y).mean(()).item::<f32>()?)).exp())
}

fn main() -> Result<()> {
    let path = std::env::args()
        .nth(1)
        .ok_or_else(|| Error::value("the model", "is missing; pass the path of a GGUF file"))?;
    let compute = std::env::args().nth(2).unwrap_or_else(|| "f32".into());
    let compute =
        Compute::of_name(&compute).ok_or_else(|| Error::value(compute, "must be f32, bf16 or int8"))?;
    let start = Instant::now();
    let mut model = LanguageModel::load_computing(&path, Device::CPU, compute)?;
    let loaded = start.elapsed();
    let prompt = model.tokenizer.encode("The capital of France is")?;
    let first = most_likely(&model.engine.logits_after(&prompt)?)?;
    let first_token = start.elapsed();
    let mut text = prompt.clone();
    text.push(first);
    model.engine.logits_after(&text)?; // compiles
    let begin = Instant::now();
    for _ in 0..NEW {
        let next = most_likely(&model.engine.logits_after(&text)?)?;
        text.push(next);
    }
    let decode = NEW as f64 / begin.elapsed().as_secs_f64();
    let small = memory();
    let mut prefill: f64 = 0.0;
    for round in 0..4 {
        let long: Vec<i64> = (0..PROMPT as i64).map(|i| (i * 97 + round * 31 + 5) % 40_000).collect();
        let begin = Instant::now();
        model.engine.logits_after(&long)?;
        // The first round compiles.
        prefill = prefill.max(PROMPT as f64 / begin.elapsed().as_secs_f64());
    }
    let mut session = Session::new(model.engine.shared(), TEXTS);
    let mut texts: Vec<Vec<i64>> = (0..TEXTS).map(|i| [&[i as i64 + 100], &prompt[..]].concat()).collect();
    let mut together = 0.0;
    for step in 0..NEW + 2 {
        let begin = Instant::now();
        let wanted: Vec<(usize, &[i64])> = texts.iter().enumerate().map(|(i, t)| (i, &t[..])).collect();
        let logits = session.logits_after(&wanted)?;
        for (text, logits) in texts.iter_mut().zip(&logits) {
            text.push(most_likely(logits)?);
        }
        // The first two steps read the prompts and compile.
        together += if step < 2 { 0.0 } else { begin.elapsed().as_secs_f64() };
    }
    let perplexity = match std::env::args().nth(3) {
        Some(file) => {
            let text = std::fs::read_to_string(&file).map_err(|e| Error::value(&file, e.to_string()))?;
            Some(perplexity(&model, &model.tokenizer.encode(&text)?)?)
        }
        None => None,
    };
    let report = json!({
        "load_s": loaded.as_secs_f64(), "first_token_s": first_token.as_secs_f64(),
        "prefill_tokens_per_s": prefill, "decode_tokens_per_s": decode,
        "together_tokens_per_s": (NEW * TEXTS) as f64 / together,
        "resident_bytes": small.0, "anonymous_bytes": small.1,
        "perplexity": perplexity, "text": model.tokenizer.decode(&text)?,
    });
    println!("{report}");
    Ok(())
}
