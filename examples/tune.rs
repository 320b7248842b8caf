//! Fine-tuning of a small model that adds digits: an adapter (LoRA), preferences (DPO), a reward model with PPO, and
//! GRPO.
//!
//! `cargo run --example tune -- grpo` runs one of `lora`, `dpo`, `ppo` and `grpo`; without a name all of them run, in
//! about a minute. `tune -- grpo FILE` also writes the rewards to `FILE`; `examples/data/grpo_reward.csv` is such a
//! file.

use gradus::models::LanguageModel;
use gradus::models::engine::Options;
use gradus::models::small::{Small, create};
use gradus::models::tune::{
    Dpo, Example, Grpo, Lora, Pair, Ppo, Prompt, RewardModel, Rollout, Tuning, detach,
};
use gradus::nn::Sampling;
use gradus::{Device, Result};
use std::path::{Path, PathBuf};

/// All sums of two digits, as prompts and answers.
fn sums() -> Vec<(String, String)> {
    let pairs = (0..10).flat_map(|a| (0..10).map(move |b| (a, b)));
    pairs.map(|(a, b): (i32, i32)| (format!("{a}+{b}="), (a + b).to_string())).collect()
}

/// Writes a model with random weights and loads it.
fn small(folder: &Path) -> Result<LanguageModel> {
    let alphabet = "0123456789+=>".to_string();
    create(folder, &Small { alphabet, context: 16, ..Small::default() })?;
    LanguageModel::load(folder, Device::CPU)
}

fn examples(model: &LanguageModel, pairs: &[(String, String)]) -> Result<Vec<Example>> {
    pairs.iter().map(|(prompt, answer)| model.pair_example(prompt, answer)).collect()
}

/// Trains all weights on prompts and answers.
fn teach(model: &mut LanguageModel, pairs: &[(String, String)], steps: u64) -> Result<()> {
    let examples = examples(model, pairs)?;
    let tuning = Tuning { lora: None, steps, batch: 20, length: Some(16), rate: 3e-3, ..Tuning::default() };
    model.tune(&examples, &tuning, |_| Ok(true)).map(drop)
}

/// The share of prompts whose answer is accepted. The answer is the likeliest one, or a sampled one if the
/// temperature is not 0.
fn accepted_share(
    model: &mut LanguageModel,
    pairs: &[(String, String)],
    temperature: f64,
    accept: impl Fn(&str, &str) -> bool,
) -> Result<f64> {
    let mut accepted = 0;
    for (i, (prompt, answer)) in pairs.iter().enumerate() {
        let sampling = Sampling { temperature, ..Sampling::default() };
        let options = Options { tokens: 4, sampling, seed: i as u64, ..Options::default() };
        let text = model.generate(prompt, &options, &[], |_| true)?.text;
        accepted += usize::from(accept(&text, answer));
    }
    Ok(accepted as f64 / pairs.len() as f64)
}

/// Trains sums, then an adapter that answers with the larger of two digits. Without the adapter, sums are
/// answered as before.
fn lora(folder: &Path) -> Result<()> {
    let mut model = small(folder)?;
    teach(&mut model, &sums(), 60)?;
    let larger = |i: usize| (format!("{}>{}=", i / 10, i % 10), (i / 10).max(i % 10).to_string());
    let larger: Vec<(String, String)> = (0..100).map(larger).collect();
    let same = |text: &str, answer: &str| text == answer;
    let before = accepted_share(&mut model, &larger, 0.0, same)?;
    let tuning = Tuning {
        lora: Some(Lora::default()),
        steps: 100,
        batch: 20,
        length: Some(16),
        rate: 1e-2,
        ..Tuning::default()
    };
    let examples = examples(&model, &larger)?;
    model.tune(&examples, &tuning, |p| {
        if p.step.is_multiple_of(25) {
            println!("  step {}: loss {:.4}", p.step, p.loss);
        }
        Ok(true)
    })?;
    println!(
        "  larger digits right: {before:.2} before, {:.2} after",
        accepted_share(&mut model, &larger, 0.0, same)?
    );
    detach(model.engine.model())?;
    model.renew();
    println!("  sums right without the adapter: {:.2}", accepted_share(&mut model, &sums(), 0.0, same)?);
    Ok(())
}

/// Returns true if an answer has a leading zero.
fn has_leading_zero(text: &str, _: &str) -> bool {
    text.len() == 2 && text.starts_with('0')
}

/// A prompt and its answer.
type Prompted = (String, String);

/// Returns a model that writes small sums with and without a leading zero, the sums, and pairs that prefer a
/// leading zero.
fn two_formats(folder: &Path) -> Result<(LanguageModel, Vec<Prompted>, Vec<Pair>)> {
    let mut model = small(folder)?;
    let plain: Vec<(String, String)> = sums().into_iter().filter(|(_, s)| s.len() == 1).collect();
    let both = plain.iter().flat_map(|(p, s)| [(p.clone(), format!("0{s}")), (p.clone(), s.clone())]);
    teach(&mut model, &both.collect::<Vec<_>>(), 60)?;
    let pairs = plain.iter().map(|(p, s)| model.pair(p, &format!("0{s}"), s)).collect::<Result<_>>()?;
    Ok((model, plain, pairs))
}

/// Prefers answers with a leading zero.
fn dpo(folder: &Path) -> Result<()> {
    let (mut model, sums, pairs) = two_formats(folder)?;
    let before = accepted_share(&mut model, &sums, 1.0, has_leading_zero)?;
    let lora = Some(Lora { rank: 4, ..Lora::default() });
    let tuning = Tuning { lora, steps: 40, batch: 8, rate: 5e-4, ..Dpo::default().tuning };
    model.prefer(&pairs, &Dpo { tuning, beta: 0.2, smoothing: 0.0 }, |p| {
        if p.step == 1 || p.step.is_multiple_of(10) {
            println!("  step {}: loss {:.4}", p.step, p.loss);
        }
        Ok(true)
    })?;
    println!(
        "  answers with a leading zero: {before:.2} before, {:.2} after",
        accepted_share(&mut model, &sums, 1.0, has_leading_zero)?
    );
    Ok(())
}

/// Trains a reward model on the same pairs, then raises its score by PPO.
fn ppo(folder: &Path) -> Result<()> {
    let (mut model, sums, pairs) = two_formats(folder)?;
    let mut judge = RewardModel::new(LanguageModel::load(folder, Device::CPU)?)?;
    let (unseen, learned) = pairs.split_at(15);
    let tuning = Tuning { lora: None, steps: 40, batch: 8, rate: 2e-3, ..Tuning::default() };
    judge.tune(learned, &tuning, |_| Ok(true))?;
    println!("  reward model: {:.2} of unseen pairs right", judge.accuracy(unseen)?);
    let before = accepted_share(&mut model, &sums, 1.0, has_leading_zero)?;
    let prompts: Vec<Prompt> = sums.iter().map(|(p, _)| model.prompt(p)).collect::<Result<_>>()?;
    let options = Ppo {
        tuning: Tuning { steps: 40, rate: 1e-3, ..Ppo::default().tuning },
        tokens: 4,
        ..Ppo::default()
    };
    let reward =
        |rollouts: &[Rollout]| judge.score(&rollouts.iter().map(|r| r.example.clone()).collect::<Vec<_>>());
    model.ppo(&prompts, reward, &options, |round| {
        if round.step == 1 || round.step.is_multiple_of(10) {
            println!("  round {}: score {:.2}, divergence {:.3}", round.step, round.reward, round.kl);
        }
        Ok(true)
    })?;
    println!(
        "  answers with a leading zero: {before:.2} before, {:.2} after",
        accepted_share(&mut model, &sums, 1.0, has_leading_zero)?
    );
    Ok(())
}

/// Raises the share of correct sums of a model that knows some of them. Returns the reward of each round.
fn grpo(folder: &Path) -> Result<Vec<f64>> {
    let mut model = small(folder)?;
    let sums = sums();
    teach(&mut model, &sums, 24)?;
    let prompts: Vec<Prompt> = sums.iter().map(|(p, _)| model.prompt(p)).collect::<Result<_>>()?;
    let reward = |rollouts: &[Rollout]| {
        let right = |r: &Rollout| r.ended && r.text == sums[r.prompt].1;
        Ok(rollouts.iter().map(|r| f64::from(u8::from(right(r)))).collect())
    };
    let tuning = Tuning { lora: None, steps: 60, batch: 8, rate: 5e-4, ..Grpo::default().tuning };
    let options = Grpo { tuning, tokens: 4, kl: 0.01, ..Grpo::default() };
    let mut curve = Vec::new();
    model.grpo(&prompts, reward, &options, |round| {
        curve.push(round.reward);
        let bar = "#".repeat((round.reward * 50.0).round() as usize);
        println!("  round {:2}: {:.2} {bar}", round.step, round.reward);
        Ok(true)
    })?;
    Ok(curve)
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (only, file) = (args.next(), args.next().map(PathBuf::from));
    let folder = std::env::temp_dir().join(format!("gradus-tune-{}", std::process::id()));
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    for (name, run) in [("lora", lora as fn(&Path) -> Result<()>), ("dpo", dpo), ("ppo", ppo)] {
        if wanted(name) {
            println!("{name}");
            run(&folder)?;
        }
    }
    if wanted("grpo") {
        println!("grpo");
        let curve = grpo(&folder)?;
        let rows = curve.iter().enumerate().map(|(i, reward)| format!("{},{reward}\n", i + 1));
        let text = rows.fold("round,reward\n".to_string(), |all, row| all + &row);
        if let Some(file) = file {
            gradus::files::atomic::write(&file, &[text.as_bytes()])?;
        }
    }
    std::fs::remove_dir_all(&folder).ok();
    Ok(())
}
