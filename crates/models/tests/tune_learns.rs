//! Small models that learn within seconds: sums of digits by texts, by preferences and by rewards. All seeds
//! are fixed.

use crate::common::Folder;
use gradus_models::LanguageModel;
use gradus_models::engine::Options;
use gradus_models::small::{Small, create};
use gradus_models::tune::{Dpo, Example, Grpo, Lora, Pair, Ppo, Prompt, RewardModel, Rollout, Tuning};
use gradus_tensor::Device;
use std::path::Path;

/// All sums of two digits.
fn sums() -> Vec<(String, usize)> {
    let pairs = (0..10).flat_map(|a| (0..10).map(move |b| (a, b)));
    pairs.map(|(a, b)| (format!("{a}+{b}="), a + b)).collect()
}

fn small(folder: &Folder) -> LanguageModel {
    let alphabet = "0123456789+=>".to_string();
    create(&folder.0, &Small { alphabet, context: 16, ..Small::default() }).unwrap();
    LanguageModel::load(&folder.0, Device::CPU).unwrap()
}

/// Trains all weights on prompts with their completions.
fn teach(model: &mut LanguageModel, pairs: &[(String, String)], steps: u64) -> f64 {
    let examples: Vec<Example> = pairs.iter().map(|(p, c)| model.pair_example(p, c).unwrap()).collect();
    let tuning = Tuning { lora: None, steps, batch: 20, length: Some(16), rate: 3e-3, ..Tuning::default() };
    model.tune(&examples, &tuning, |_| Ok(true)).unwrap()
}

/// Returns the fraction of prompts whose most likely answer is accepted.
fn share(model: &mut LanguageModel, prompts: &[String], accept: impl Fn(usize, &str) -> bool) -> f64 {
    let options = Options { tokens: 4, ..Options::default() };
    let mut right = 0;
    for (i, prompt) in prompts.iter().enumerate() {
        right += usize::from(accept(i, &model.generate(prompt, &options, &[], |_| true).unwrap().text));
    }
    right as f64 / prompts.len() as f64
}

#[test]
fn an_adapter_learns_another_task_and_leaves_the_weights() {
    let folder = Folder::new("learn-lora");
    let mut model = small(&folder);
    let sums: Vec<(String, String)> = sums().into_iter().map(|(p, s)| (p, s.to_string())).collect();
    teach(&mut model, &sums, 60);
    let larger: Vec<(String, String)> =
        (0..100).map(|i| (format!("{}>{}=", i / 10, i % 10), (i / 10).max(i % 10).to_string())).collect();
    let prompts: Vec<String> = larger.iter().map(|(p, _)| p.clone()).collect();
    let accept = |i: usize, text: &str| text == larger[i].1;
    let before = share(&mut model, &prompts, accept);
    let examples: Vec<Example> = larger.iter().map(|(p, c)| model.pair_example(p, c).unwrap()).collect();
    let tuning = Tuning {
        lora: Some(Lora::default()),
        steps: 100,
        batch: 20,
        length: Some(16),
        rate: 1e-2,
        ..Tuning::default()
    };
    let last = model.tune(&examples, &tuning, |_| Ok(true)).unwrap();
    let after = share(&mut model, &prompts, accept);
    eprintln!("lora: {before} to {after}, loss {last}");
    gradus_models::tune::detach(model.engine.model()).unwrap();
    model.renew();
    let old: Vec<String> = sums.iter().map(|(p, _)| p.clone()).collect();
    let kept = share(&mut model, &old, |i, text| text == sums[i].1);
    assert!(before < 0.5 && after >= 0.95 && kept >= 0.95, "{before}, {after}, {kept}");
}

/// Makes a model that answers sums with and without a leading zero, and pairs that prefer answers with the
/// zero.
fn two_formats(name: &str) -> (Folder, LanguageModel, Vec<Pair>, Vec<String>) {
    let folder = Folder::new(name);
    let mut model = small(&folder);
    let of_digits: Vec<(String, usize)> = sums().into_iter().filter(|(_, s)| *s < 10).collect();
    let both = of_digits.iter().flat_map(|(p, s)| [(p.clone(), format!("0{s}")), (p.clone(), s.to_string())]);
    teach(&mut model, &both.collect::<Vec<_>>(), 60);
    let pair = |(p, s): &(String, usize)| model.pair(p, &format!("0{s}"), &s.to_string()).unwrap();
    let pairs: Vec<Pair> = of_digits.iter().map(pair).collect();
    let prompts = of_digits.into_iter().map(|(p, _)| p).collect();
    (folder, model, pairs, prompts)
}

/// Returns the mean reward of sampled answers.
fn drawn(model: &mut LanguageModel, prompts: &[String], reward: impl Fn(usize, &str) -> f64) -> f64 {
    let mut total = 0.0;
    for (i, prompt) in prompts.iter().enumerate() {
        let sampling = gradus_nn::Sampling::default();
        let options = Options { tokens: 4, sampling, seed: i as u64, ..Options::default() };
        total += reward(i, &model.generate(prompt, &options, &[], |_| true).unwrap().text);
    }
    total / prompts.len() as f64
}

#[test]
fn preferences_change_the_format_of_answers() {
    let (_folder, mut model, pairs, prompts) = two_formats("learn-dpo");
    let padded = |_: usize, text: &str| f64::from(u8::from(text.len() == 2 && text.starts_with('0')));
    let before = drawn(&mut model, &prompts, padded);
    let tuning = Tuning {
        lora: Some(Lora { rank: 4, ..Lora::default() }),
        steps: 40,
        batch: 8,
        rate: 5e-4,
        decay: gradus_models::tune::Decay::Constant,
        ..Tuning::default()
    };
    let mut losses = Vec::new();
    let options = Dpo { tuning, beta: 0.2, smoothing: 0.0 };
    model
        .prefer(&pairs, &options, |p| {
            losses.push(p.loss);
            Ok(true)
        })
        .unwrap();
    let after = drawn(&mut model, &prompts, padded);
    eprintln!("dpo: {before} to {after}, losses {losses:.3?}");
    // Policy and reference are initially the same.
    assert!((losses[0] - 2f64.ln()).abs() < 1e-5, "{losses:?}");
    assert!(
        losses[losses.len() - 1] < 0.4 && before < 0.7 && after >= 0.85,
        "{before} to {after}, {losses:?}"
    );
}

#[test]
fn a_reward_model_ranks_answers_and_ppo_raises_its_score() {
    let (folder, mut model, pairs, prompts) = two_formats("learn-ppo");
    let judge = LanguageModel::load(&folder.0, Device::CPU).unwrap();
    let mut judge = RewardModel::new(judge).unwrap();
    assert_eq!(judge.score(&[pairs[0].chosen.clone()]).unwrap(), [0.0]);
    let tuning = Tuning { lora: None, steps: 40, batch: 8, rate: 2e-3, ..Tuning::default() };
    // The reward model is trained on some pairs and evaluated on others.
    let (others, learned) = pairs.split_at(15);
    let loss = judge.tune(learned, &tuning, |_| Ok(true)).unwrap();
    let accuracy = judge.accuracy(others).unwrap();
    eprintln!("reward model: loss {loss}, accuracy {accuracy}");
    assert!(accuracy >= 0.9, "{accuracy}");
    // A saved model has the same scores: with all weights, and with an adapter and the weights of its base.
    let examples: Vec<Example> = others.iter().map(|p| p.chosen.clone()).collect();
    let (scores, saved) = (judge.score(&examples).unwrap(), folder.0.join("judge"));
    judge.save(&folder.0, &saved).unwrap();
    let again = |base: &Path| {
        let base = LanguageModel::load(base, Device::CPU).unwrap();
        RewardModel::load(base, &saved).and_then(|mut judge| judge.score(&examples))
    };
    assert_eq!(again(&saved).unwrap(), scores);
    std::fs::remove_dir_all(&saved).unwrap();
    let mut adapted = RewardModel::new(LanguageModel::load(&folder.0, Device::CPU).unwrap()).unwrap();
    let lora = Tuning { lora: Some(Lora::default()), steps: 2, ..tuning.clone() };
    adapted.tune(learned, &lora, |_| Ok(true)).unwrap();
    adapted.save(&folder.0, &saved).unwrap();
    assert!(!saved.join("config.json").exists());
    let found = adapted.score(&examples).unwrap();
    assert!(found != scores && found.iter().all(|s| *s != 0.0));
    assert_eq!(again(&folder.0).unwrap(), found);
    std::fs::write(saved.join("score.safetensors"), b"").unwrap();
    assert!(again(&folder.0).unwrap_err().to_string().contains("score.safetensors"));
    let padded = |_: usize, text: &str| f64::from(u8::from(text.len() == 2 && text.starts_with('0')));
    let before = drawn(&mut model, &prompts, padded);
    let starts: Vec<Prompt> = prompts.iter().map(|p| model.prompt(p).unwrap()).collect();
    let tuning =
        Tuning { lora: Some(Lora::default()), steps: 40, batch: 16, rate: 1e-3, ..Ppo::default().tuning };
    let options = Ppo { tuning, tokens: 4, ..Ppo::default() };
    let (mut curve, mut divergence) = (Vec::new(), 0.0);
    let reward =
        |rollouts: &[Rollout]| judge.score(&rollouts.iter().map(|r| r.example.clone()).collect::<Vec<_>>());
    model
        .ppo(&starts, reward, &options, |round| {
            curve.push(round.reward);
            divergence = round.kl;
            Ok(true)
        })
        .unwrap();
    let after = drawn(&mut model, &prompts, padded);
    eprintln!("ppo: {before} to {after}, kl {divergence}, {curve:.2?}");
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (first, last) = (mean(&curve[..3]), mean(&curve[curve.len() - 3..]));
    assert!(last > first + 0.5 && divergence > 0.0, "{curve:?}");
    assert!(before < 0.7 && after >= 0.8, "{before} to {after}");
}

#[test]
fn grpo_raises_a_verifiable_reward() {
    let folder = Folder::new("learn-grpo");
    let mut model = small(&folder);
    let sums = sums();
    let texts: Vec<(String, String)> = sums.iter().map(|(p, s)| (p.clone(), s.to_string())).collect();
    let loss = teach(&mut model, &texts, 24);
    let prompts: Vec<Prompt> = sums.iter().map(|(p, _)| model.prompt(p).unwrap()).collect();
    let reward = |rollouts: &[Rollout]| {
        let right = |r: &Rollout| r.ended && r.text == sums[r.prompt].1.to_string();
        Ok(rollouts.iter().map(|r| f64::from(u8::from(right(r)))).collect())
    };
    let tuning = Tuning { lora: None, steps: 60, batch: 8, rate: 5e-4, ..Grpo::default().tuning };
    let options = Grpo { tuning, tokens: 4, kl: 0.01, ..Grpo::default() };
    let mut curve = Vec::new();
    model
        .grpo(&prompts, reward, &options, |round| {
            curve.push(round.reward);
            Ok(true)
        })
        .unwrap();
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (first, last) = (mean(&curve[..5]), mean(&curve[curve.len() - 5..]));
    eprintln!("grpo: base loss {loss}, {first} to {last}, {curve:.2?}");
    assert!(first < 0.7 && last >= 0.78, "{curve:?}");
}
