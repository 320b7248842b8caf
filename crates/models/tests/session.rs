//! Compares quantised models with the same weights in `f32`, and texts that grow together in one session with
//! single texts.

use crate::common::{Folder, Tiny};
use gradus_ir::DType;
use gradus_ir::format::Compute;
use gradus_models::LanguageModel;
use gradus_models::config::Config;
use gradus_models::convert;
use gradus_models::decoder::Decoder;
use gradus_models::engine::{Engine, Options};
use gradus_models::network::Network;
use gradus_models::session::Session;
use gradus_models::weights::Weights;
use gradus_nn::Module;
use gradus_nn::file::gguf::{Content, Entry, Format, Reader, write};
use gradus_tensor::{CacheKind, Device, Generator, Tensor};
use std::path::{Path, PathBuf};

/// Bytes of a number as `f16`.
fn half(x: f32) -> Vec<u8> {
    Tensor::from(x).to_dtype(DType::F16).to_bytes().unwrap()
}

/// Bytes of a block of 32 numbers, quantised.
fn block(format: Format, x: &[f32]) -> Vec<u8> {
    let low = x.iter().copied().fold(f32::INFINITY, f32::min);
    let high = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let size = low.abs().max(high.abs());
    let nibbles = |q: &dyn Fn(f32) -> f32| {
        let q = |x: f32| q(x).round().clamp(0.0, 15.0) as u8;
        (0..16).map(|i| q(x[i]) | q(x[i + 16]) << 4).collect::<Vec<u8>>()
    };
    match format {
        Format::Q8_0 => {
            let d = size / 127.0;
            let q = x.iter().map(|x| (x / d).round() as i8 as u8);
            [half(d), q.collect()].concat()
        }
        Format::Q4_0 => {
            let d = size / 8.0;
            [half(d), nibbles(&|x| x / d + 8.0)].concat()
        }
        _ => {
            let d = (high - low) / 15.0;
            [half(d), half(low), nibbles(&|x| (x - low) / d)].concat()
        }
    }
}

/// Writes a GGUF file of random weights whose matrices alternate between three formats.
fn quantized(architecture: &str, folder: &Path) -> PathBuf {
    let mut tiny = Tiny::read(architecture);
    for (key, n) in
        [("hidden_size", 64), ("num_attention_heads", 4), ("num_key_value_heads", 2), ("head_dim", 16)]
    {
        tiny.config[key] = n.into();
    }
    tiny.config["intermediate_size"] = 96.into();
    tiny.config["max_position_embeddings"] = 300.into();
    let config = Config::from_json(&tiny.config).unwrap();
    tiny.weights = Decoder::new(config, &Weights::Random(Generator::new(5))).unwrap().parameters();
    tiny.write(folder);
    let (plain, file) = (folder.join("plain.gguf"), folder.join("model.gguf"));
    convert::to_gguf(folder, &plain).unwrap();
    let reader = Reader::open(&plain).unwrap();
    let formats = [Format::Q4_1, Format::Q8_0, Format::Q4_0];
    let packed: Vec<Option<(Format, Vec<u8>)>> = reader
        .tensors()
        .iter()
        .enumerate()
        .map(|(i, t)| {
            let format = formats[i % 3];
            let values = reader.tensor(&t.name).unwrap().to_vec::<f32>().unwrap();
            (t.shape.len() == 2)
                .then(|| (format, values.chunks_exact(32).flat_map(|x| block(format, x)).collect()))
        })
        .collect();
    let entries: Vec<Entry<'_>> = reader
        .tensors()
        .iter()
        .zip(&packed)
        .map(|(t, packed)| {
            let content = match packed {
                Some((format, bytes)) => Content::Bytes(*format, t.shape.clone(), bytes),
                None => Content::Tensor(reader.tensor(&t.name).unwrap()),
            };
            Entry { name: t.name.clone(), content }
        })
        .collect();
    write(&file, reader.metadata(), &entries).unwrap();
    file
}

fn best(logits: &[f32]) -> i64 {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0 as i64
}

fn prompt(seed: i64, n: i64) -> Vec<i64> {
    (0..n).map(|i| (i * i * 7 + seed * 31 + i) % 272).collect()
}

#[test]
fn quantized_models_have_the_logits_of_their_values() {
    for architecture in ["llama", "qwen2", "qwen3"] {
        let folder = Folder::new(&format!("quantized-{architecture}"));
        let file = quantized(architecture, &folder.0);
        let mut packed = LanguageModel::load(&file, Device::CPU).unwrap();
        let mut plain = LanguageModel::load_f32(&file, Device::CPU).unwrap();
        let block = &packed.engine.model().model.layers[0];
        assert!(block.self_attn.q_proj.weight.is_quantized());
        assert!(matches!(&block.mlp, Network::Dense(m) if m.down_proj.weight.is_quantized()));
        assert!(packed.engine.model().model.embed_tokens.weight.is_quantized());
        assert!(!plain.engine.model().model.embed_tokens.weight.is_quantized());
        let mut text = prompt(1, 40);
        for _ in 0..5 {
            let (a, b) =
                (packed.engine.logits_after(&text).unwrap(), plain.engine.logits_after(&text).unwrap());
            let far = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let size = b.iter().map(|x| x.abs()).fold(0.0, f32::max);
            assert!(far <= 2e-5 * size.max(1.0), "{architecture}, {} tokens: {far} of {size}", text.len());
            text.push(best(&b));
        }
        // Computes the logits again without a cache.
        let ids = Tensor::from_slice(&text, [1, text.len()]);
        let [a, b] = [&packed, &plain].map(|m| m.engine.model().logits(&ids));
        assert!((a - b).abs().max(()).item::<f32>().unwrap() < 1e-4);
    }
}

#[test]
fn texts_together_have_the_tokens_of_single_ones() {
    for compute in Compute::ALL {
        together(compute, CacheKind::F32);
    }
    together(Compute::Int8, CacheKind::Bf16);
}

fn together(compute: Compute, cache: CacheKind) {
    let folder = Folder::new(&format!("together-{}-{}", compute.name(), cache.name()));
    let file = quantized("llama", &folder.0);
    let model = LanguageModel::load_computing(file, Device::CPU, compute).unwrap();
    // Heads have 16 features.
    assert!(LanguageModel::load(&folder.0, Device::CPU).unwrap().with_cache(CacheKind::Q8).is_err());
    let model = model.with_cache(cache).unwrap().engine.shared();
    assert_eq!(model.cache(1, 4).keys[0].dtype(), cache.row(16).unwrap().0);
    let prompts: Vec<Vec<i64>> =
        [(1, 5), (2, 37), (3, 1), (4, 130), (5, 9)].map(|(s, n)| prompt(s, n)).into();
    let steps = 12;
    let alone = |prompt: &[i64]| {
        let (mut engine, mut tokens) = (Engine::new(model.clone()), Vec::new());
        let options = Options { tokens: steps, ..Options::default() };
        engine
            .generate(prompt, &options, |t| {
                tokens.push(t);
                Ok(true)
            })
            .unwrap();
        tokens
    };
    let right: Vec<Vec<i64>> = prompts.iter().map(|p| alone(p)).collect();
    // Each text begins some steps after the previous one; the slots are not in order.
    let mut session = Session::new(model.clone(), 7);
    let slots = [4, 0, 6, 2, 1];
    let mut texts = prompts.clone();
    for step in 0..steps + 2 * prompts.len() {
        let running: Vec<usize> = (0..prompts.len())
            .filter(|i| step >= 2 * i && texts[*i].len() < prompts[*i].len() + right[*i].len())
            .collect();
        let wanted: Vec<(usize, &[i64])> = running.iter().map(|i| (slots[*i], &texts[*i][..])).collect();
        let logits = session.logits_after(&wanted).unwrap();
        for (i, logits) in running.into_iter().zip(logits) {
            texts[i].push(best(&logits));
        }
    }
    for ((text, prompt), right) in texts.iter().zip(&prompts).zip(&right) {
        assert_eq!(text[prompt.len()..], right[..]);
    }
    // Reuses a slot that held another text.
    let mut text = prompts[1].clone();
    for token in &right[1] {
        assert_eq!(best(&session.logits_after(&[(4, &text)]).unwrap()[0]), *token);
        text.push(*token);
    }
    assert_eq!(session.cached_tokens(4), &text[..text.len() - 1]);
}

#[test]
fn slots_are_checked() {
    let folder = Folder::new("slots");
    let model = LanguageModel::load(quantized("llama", &folder.0), Device::CPU).unwrap().engine.shared();
    let mut session = Session::new(model, 2);
    let text = prompt(1, 3);
    for (texts, why) in [
        (&[(2, &text[..])][..], "slot 2"),
        (&[(0, &text[..]), (0, &text[..])], "different from the others"),
        (&[(0, &[][..])], "1 to 300"),
        (&[(1, &[272][..])], "token 272"),
    ] {
        let e = session.logits_after(texts).unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    }
    assert_eq!(session.cached_tokens(0), &[] as &[i64]);
    assert!(session.logits_after(&[]).unwrap().is_empty());
}

/// A text whose values are not finite does not change the texts that use its slot later, or other slots.
#[test]
fn a_failed_text_does_not_change_later_texts() {
    let (mut tiny, folder) = (Tiny::read("llama"), Folder::new("failed"));
    let (_, table) = tiny.weights.iter_mut().find(|(name, _)| name.ends_with("embed_tokens.weight")).unwrap();
    let bad = 7i64;
    let shape = table.shape().to_vec();
    let mut values = table.to_vec::<f32>().unwrap();
    values[bad as usize * shape[1]..][..shape[1]].fill(f32::NAN);
    *table = Tensor::from_slice(&values, shape);
    let mut engine = Engine::new(std::sync::Arc::new(tiny.decoder(&folder.0)));
    let text: Vec<i64> = (20..25).collect();
    let alone = engine.logits_after(&text).unwrap();
    let mut session = Session::new(engine.shared(), 2);
    session.logits_after(&[(1, &text)]).unwrap();
    let long: Vec<i64> = (0..30).map(|i| if i == 9 { bad } else { 30 + i }).collect();
    assert!(session.logits_after(&[(0, &long)]).unwrap()[0].iter().all(|x| x.is_nan()));
    let again = session.logits_after(&[(0, &text), (1, &text)]).unwrap();
    assert!(alone.iter().all(|x| x.is_finite()));
    for own in again {
        assert_eq!(own, alone);
    }
}
