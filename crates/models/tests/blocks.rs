//! Tests of the blocks of a cache: which tokens are computed, how many blocks texts take, and that no token
//! changes, compared with logits that are computed eagerly without a cache.

use crate::common::Tiny;
use gradus_models::batch::{Batch, Event, Slot};
use gradus_models::config::Config;
use gradus_models::decoder::{BLOCK, Decoder};
use gradus_models::engine::{Engine, Options, WhenFull};
use gradus_models::session::Session;
use gradus_models::weights::Weights;
use gradus_nn::Sampling;
use gradus_tensor::{CacheKind, Generator, Tensor};
use std::sync::Arc;

/// Makes a model of random weights with heads of 32 features.
fn model(name: &str, context: usize, cache: CacheKind) -> Arc<Decoder> {
    let mut json = Tiny::read(name).config;
    // GPT-2 has a name of its own for the context.
    ["max_position_embeddings", "n_positions"].iter().for_each(|key| json[*key] = context.into());
    json["head_dim"] = 32.into();
    let config = Config { cache, ..Config::from_json(&json).unwrap() };
    Arc::new(Decoder::new(config, &Weights::Random(Generator::new(3))).unwrap())
}

fn text(seed: i64, n: usize) -> Vec<i64> {
    (0..n as i64).map(|i| (i * i * 7 + seed * 31 + i * seed) % 271 + 1).collect()
}

fn best(logits: &[f32]) -> i64 {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0 as i64
}

/// Computes the most likely token after every position, eagerly and without a cache.
fn eager(model: &Decoder, text: &[i64]) -> Vec<i64> {
    let ids = Tensor::from_slice(text, [1, text.len()]);
    let logits = model.logits(&ids).reshape([text.len(), model.config.vocabulary]);
    logits.to_vec2::<f32>().unwrap().iter().map(|l| best(l)).collect()
}

/// Fails unless every token after the prompt is the most likely one.
fn assert_greedy(model: &Decoder, text: &[i64], prompt: usize, what: &str) {
    let right = eager(model, text);
    assert_eq!(text[prompt..], right[prompt - 1..text.len() - 1], "{what}");
}

/// Adds tokens to several texts together.
fn grow(session: &mut Session, texts: &mut [(usize, Vec<i64>)], tokens: usize) {
    for _ in 0..tokens {
        let wanted: Vec<(usize, &[i64])> = texts.iter().map(|(slot, t)| (*slot, &t[..])).collect();
        let logits = session.logits_after(&wanted).unwrap();
        texts.iter_mut().zip(logits).for_each(|((_, text), l)| text.push(best(&l)));
    }
}

#[test]
fn texts_that_share_blocks_and_diverge_have_the_tokens_of_eager_decoding() {
    for name in ["llama", "mistral", "gemma2", "gpt2"] {
        let model = model(name, 256, CacheKind::F32);
        let mut session = Session::new(model.clone(), 4);
        // The texts have 0, 30, 64 and 100 tokens in common with the first one.
        let first = text(1, 110);
        let own = |common: usize, n: usize| [&first[..common], &text(5, n)[..]].concat();
        let prompts = [first.clone(), own(30, 50), own(64, 3), own(100, 40)];
        let mut texts: Vec<(usize, Vec<i64>)> = Vec::new();
        for (slot, prompt) in prompts.iter().enumerate() {
            // The earlier texts continue in blocks that later ones share.
            texts.push((slot, prompt.clone()));
            grow(&mut session, &mut texts, 5);
        }
        let computed: usize = 110 + 50 + 3 + 40;
        assert_eq!(session.computed() as usize, computed + 4 * 4 + 5 * (3 + 2 + 1), "{name}");
        // Text 3 goes back into a block that it shares with text 0.
        texts[3].1.truncate(90);
        grow(&mut session, &mut texts, 30);
        for ((slot, text), prompt) in texts.iter().zip(&prompts) {
            let given = if *slot == 3 { 90 } else { prompt.len() };
            assert_greedy(&model, text, given, &format!("{name}, text {slot}"));
        }
    }
}

#[test]
fn narrow_caches_share_blocks() {
    for cache in [CacheKind::Bf16, CacheKind::Q8] {
        let model = model("llama", 256, cache);
        let prompt = text(2, 100);
        let mut alone = vec![(0, prompt.clone())];
        grow(&mut Session::new(model.clone(), 1), &mut alone, 40);
        let mut session = Session::new(model.clone(), 3);
        let mut texts: Vec<(usize, Vec<i64>)> = (0..3).map(|slot| (slot, prompt.clone())).collect();
        grow(&mut session, &mut texts, 40);
        assert_eq!(session.computed(), 100 + 2 + 3 * 39);
        for (_, text) in &texts {
            assert_eq!(*text, alone[0].1, "{}", cache.name());
        }
    }
}

#[test]
fn a_long_text_takes_blocks_of_its_own() {
    let model = model("llama", 2048, CacheKind::F32);
    let mut session = Session::new(model.clone(), 16);
    let each = 512 / BLOCK;
    assert_eq!(session.blocks(), (0, 16 * each));
    let mut texts: Vec<(usize, Vec<i64>)> = (0..16).map(|slot| (slot, text(slot as i64 + 1, 20))).collect();
    texts[9].1 = text(40, 1500);
    grow(&mut session, &mut texts, 3);
    // The other texts have one block each, and the cache does not grow.
    assert_eq!(session.blocks(), (1500usize.div_ceil(BLOCK) + 15, 16 * each));
    assert_greedy(&model, &texts[9].1, 1500, "long");
    assert_greedy(&model, &texts[0].1, 20, "short");
    // A single slot has too few blocks for this text, so the cache doubles, and keeps its content.
    let mut session = Session::new(model.clone(), 1);
    let mut one = vec![(0, text(3, 500))];
    grow(&mut session, &mut one, 700);
    assert_eq!(session.blocks(), (1199usize.div_ceil(BLOCK), 4 * each));
    assert_eq!(session.computed(), 1199);
    assert_greedy(&model, &one[0].1, 500, "grown");
}

#[test]
fn ended_texts_are_reused_until_their_memory_is_needed() {
    let model = model("llama", 512, CacheKind::F32);
    let mut session = Session::new(model.clone(), 1);
    let mut computed = |text: &[i64]| {
        let before = session.computed();
        let found = best(&session.logits_after(&[(0, text)]).unwrap()[0]);
        assert_eq!(found, *eager(&model, text).last().unwrap());
        (session.computed() - before) as usize
    };
    let (a, b, c) = (text(1, 200), text(2, 200), text(3, 450));
    assert_eq!((computed(&a), computed(&b)), (200, 200));
    // The full blocks of the first text are still there.
    assert_eq!(computed(&a), 200 - 3 * BLOCK);
    assert_eq!(computed(&a[..128]), 1);
    // The third text needs all blocks.
    assert_eq!(computed(&c), 450);
    assert_eq!(computed(&a), 200);
    // Other weights make all blocks useless.
    session.forget();
    assert_eq!((session.blocks().0, session.cached_tokens(0).len()), (0, 0));
    session.logits_after(&[(0, &a)]).unwrap();
    assert_eq!(session.computed(), 200 + 200 + 8 + 1 + 450 + 200 + 200);
}

#[test]
fn a_prompt_of_several_texts_is_computed_once() {
    let model = model("llama", 512, CacheKind::F32);
    let options = Options { tokens: 20, ..Options::default() };
    for length in [40, 128, 300] {
        let (prompt, other) = (text(4, length), text(5, 70));
        let mut batch = Batch::new(model.clone(), 5);
        let slots: Vec<Slot> =
            (0..5).map(|i| batch.admit(if i == 2 { &other } else { &prompt }, &options).unwrap()).collect();
        let mut texts: Vec<Vec<i64>> = vec![Vec::new(); 5];
        while !batch.is_idle() {
            for (slot, event) in batch.step().unwrap() {
                let at = slots.iter().position(|s| *s == slot).unwrap();
                if let Event::Token(token) = event {
                    texts[at].push(token.id);
                }
            }
        }
        // Each of the other texts with this prompt computes its last token.
        assert_eq!(batch.computed() as usize, length + 3 + 70 + 5 * 19, "{length}");
        for (i, own) in texts.iter().enumerate() {
            let begin = if i == 2 { &other } else { &prompt };
            assert_eq!(own.len(), 20);
            assert_greedy(&model, &[&begin[..], own].concat(), begin.len(), &format!("{length}, text {i}"));
        }
    }
}

#[test]
fn penalties_do_not_count_prompts_after_tokens_were_dropped() {
    let model = model("llama", 48, CacheKind::F32);
    for (keep, given) in [(0, 30), (10, 5), (10, 44)] {
        let prompt = text(6, given);
        let sampling = Sampling {
            temperature: 0.0,
            frequency_penalty: 0.7,
            presence_penalty: 0.2,
            ..Sampling::default()
        };
        let when_full = WhenFull::Forget { keep };
        let options = Options { tokens: 120, sampling, when_full, ..Options::default() };
        let mut found = Vec::new();
        let each = |token| {
            found.push(token);
            Ok(true)
        };
        Engine::new(model.clone()).generate(&prompt, &options, each).unwrap();
        // Tokens with a flag: generated or not.
        let mut own: Vec<(i64, bool)> = prompt.iter().map(|t| (*t, false)).collect();
        let mut engine = Engine::new(model.clone());
        for token in found {
            if own.len() >= 48 {
                own.drain(keep..own.len() - (48 - keep) / 2);
            }
            let tokens: Vec<i64> = own.iter().map(|(t, _)| *t).collect();
            let mut logits = engine.logits_after(&tokens).unwrap();
            for (id, x) in logits.iter_mut().enumerate() {
                let count = own.iter().filter(|(t, generated)| *generated && *t == id as i64).count();
                *x -= if count > 0 { 0.2 + 0.7 * count as f32 } else { 0.0 };
            }
            assert_eq!(token, best(&logits), "keep {keep}, {given} given, {} tokens", own.len());
            own.push((token, true));
        }
    }
}
