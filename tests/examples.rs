//! Runs the examples at small scale. Each test checks that the example learns; two examples are compared with
//! the same programs in PyTorch (`tests/golden/twins.json`).

#![allow(dead_code, reason = "tests do not call `main` of examples")]

#[path = "../examples/digits.rs"]
mod digits;
#[path = "../examples/gpt.rs"]
mod gpt;
#[path = "../examples/lstm.rs"]
mod lstm;
#[path = "../examples/names.rs"]
mod names;
#[path = "../examples/neural_ode.rs"]
mod neural_ode;
#[path = "../examples/pinn.rs"]
mod pinn;
#[path = "../examples/vae.rs"]
mod vae;

use gradus::models::gpt::{Gpt, Sizes};
use gradus::models::names::Bengio;
use gradus::nn::data::{Dataset, Windows};
use gradus::nn::optim::{AdamW, Sgd};
use gradus::nn::{Clip, Module, Optimizer, Schedule, compile_forward, compile_training};
use gradus::{Generator, Shape, Tensor, models};
use serde_json::Value;

#[test]
fn digits_are_read() {
    assert!(digits::train(3).unwrap() > 0.9);
}

#[test]
fn a_lstm_adds() {
    assert!(lstm::train(450).unwrap() < 0.05);
}

#[test]
fn an_autoencoder_draws() {
    let (bound, images) = vae::train(6).unwrap();
    assert!(bound < 26.5, "{bound}");
    let pixels = images.to_vec::<f32>().unwrap();
    assert!(pixels.iter().all(|p| (0.0..=1.0).contains(p)));
    assert!(pixels.iter().any(|p| *p > 0.8) && pixels.iter().any(|p| *p < 0.05));
}

#[test]
fn an_equation_is_solved() {
    assert!(pinn::train(400).unwrap() < 0.05);
}

#[test]
fn a_pendulum_is_learnt() {
    assert!(neural_ode::train(100).unwrap() < 0.06);
}

#[test]
fn names_are_made() {
    assert!(names::train(600).unwrap() < 2.35);
}

#[test]
fn sonnets_are_begun() {
    assert!(gpt::train(40).unwrap() < 2.9);
}

/// Tests that a cache does not change the logits.
#[test]
fn tokens_one_by_one_have_the_logits_of_all_at_once() {
    let g = Generator::new(5);
    let model = Gpt::new(20, Sizes::default(), &g).unwrap();
    let ids = g.randint(0, 20, [1, 12]);
    let whole = model.logits(&ids, &[]).to_vec::<f32>().unwrap();
    let caches: Vec<_> = model.blocks.iter().map(|b| b.self_attn.cache(1, 12)).collect();
    let next = compile_forward(&model, |m, x| m.logits(&x[0], &caches));
    let one = |t: usize| next.run(&[ids.narrow(1, t, 1)]).unwrap()[0].to_vec::<f32>().unwrap();
    let parts: Vec<f32> = (0..12).flat_map(one).collect();
    assert!(whole.iter().zip(&parts).all(|(a, b)| (a - b).abs() < 1e-5));
}

fn bits(seed: u64, i: u64) -> u64 {
    let mut z = (seed << 32).wrapping_add(i).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Makes a tensor of numbers that are uniform in `-scale..scale`.
fn fill(seed: u64, shape: Shape, scale: f64) -> Tensor {
    let one = |i: usize| {
        let u = (bits(seed, i as u64) >> 40) as f64 / (1u64 << 24) as f64;
        ((2.0 * u - 1.0) * scale) as f32
    };
    Tensor::from_slice(&(0..shape.numel()).map(one).collect::<Vec<f32>>(), shape)
}

fn ids(seed: u64, n: u64, m: usize) -> Vec<usize> {
    (0..n).map(|i| ((bits(seed, i) >> 33) % m as u64) as usize).collect()
}

fn twins() -> Value {
    serde_json::from_str(include_str!("golden/twins.json")).unwrap()
}

#[test]
fn names_end_where_their_twin_does() {
    let twin = &twins()["names"];
    let (train, test) = names::data().unwrap();
    let sizes = [&train, &test].map(|d| Value::from(d.len()));
    assert_eq!(twin["examples"].as_array().unwrap()[..], sizes);
    let model = Bengio::new(models::names::Sizes::default(), &Generator::new(0)).unwrap();
    for (i, (_, p)) in model.parameters().iter().enumerate() {
        let scale = if i == 0 { 1.0 } else { 5.0 / 3.0 * (3.0 / p.dim(1) as f64).sqrt() };
        p.data_().set_(&fill(i as u64 + 1, p.shape(), scale)).unwrap();
    }
    let sgd = Optimizer::new(model.parameters(), Sgd { rate: 0.1, ..Sgd::default() });
    let sgd = sgd.schedule(Schedule::multistep(&[1000], 0.1));
    let batch = |step: u64| train.batch(&ids(1000 + step, 32, train.len())).unwrap();
    let mut step = compile_training(&model, models::names::loss, sgd, &batch(0)).unwrap();
    for i in 0..1500 {
        step.run(&batch(i)).unwrap();
    }
    let loss = compile_forward(&model, models::names::loss);
    for (name, data) in [("train", train), ("test", test)] {
        let found = f64::from(loss.run(data.fields()).unwrap()[0].item::<f32>().unwrap());
        let right = twin[name].as_f64().unwrap();
        assert!((found - right).abs() < 0.02, "{name}: {found} is not {right}");
    }
}

#[test]
fn the_gpt_follows_its_twin() {
    let (tokens, characters) = gpt::text().unwrap();
    let model = Gpt::new(characters.len(), Sizes::default(), &Generator::new(0)).unwrap();
    let mut parameters = model.parameters();
    parameters.sort_by(|a, b| a.0.cmp(&b.0));
    for (seed, (name, p)) in parameters.iter().enumerate() {
        let one = name.contains("norm") && name.ends_with("weight");
        let value = match p.rank() {
            2 => fill(seed as u64, p.shape(), 0.08),
            _ => Tensor::full(p.shape(), if one { 1.0 } else { 0.0 }),
        };
        p.data_().set_(&value).unwrap();
    }
    let windows = Windows::new(&tokens, model.sizes.context);
    let batch = |step: u64| windows.batch(&ids(5000 + step, gpt::BATCH as u64, windows.len())).unwrap();
    let adam = Optimizer::new(model.parameters(), AdamW::default()).clip(Clip::Norm(1.0));
    let mut step = compile_training(&model, models::gpt::loss, adam, &batch(0)).unwrap();
    let twin = twins()["gpt"]["losses"].as_array().unwrap().clone();
    assert_eq!(twin.len(), 100);
    let mut worst = 0.0f64;
    for (i, right) in twin.iter().enumerate() {
        let found = f64::from(step.run(&batch(i as u64)).unwrap().loss.item::<f32>().unwrap());
        let right = right.as_f64().unwrap();
        worst = worst.max((found - right).abs());
        assert!((found - right).abs() < 1e-3, "step {i}: {found} is not {right}");
    }
    println!("largest difference {worst:.1e}");
}
