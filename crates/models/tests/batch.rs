//! Tests that a text generated together with others equals the text that the engine generates alone.

use crate::common::{Folder, Tiny};
use gradus_models::batch::{Batch, Event, Slot};
use gradus_models::engine::{Engine, Finish, Options};
use gradus_nn::{Sampling, log_probability};
use std::sync::Arc;

/// Takes steps until a slot has ended; returns the tokens of all slots.
fn finish(batch: &mut Batch, slots: &[Slot]) -> Vec<(Vec<i64>, Finish)> {
    let mut texts = vec![(Vec::new(), None); slots.len()];
    while texts.iter().any(|(_, end)| end.is_none()) {
        for (slot, event) in batch.step().unwrap() {
            let at = slots.iter().position(|s| *s == slot).unwrap();
            match event {
                Event::Token(token) => texts[at].0.push(token.id),
                Event::Finished(finish) => texts[at].1 = Some(finish),
                Event::Failed(why) => panic!("{why}"),
            }
        }
    }
    slots.iter().for_each(|s| batch.release(*s));
    texts.into_iter().map(|(text, end)| (text, end.unwrap())).collect()
}

#[test]
fn texts_together_are_those_alone() {
    let folder = Folder::new("batch-alone");
    let model = Arc::new(Tiny::read("llama").decoder(&folder.0));
    let warm = Sampling { temperature: 1.2, top_p: 0.9, frequency_penalty: 0.3, ..Sampling::default() };
    let prompts: [&[i64]; 4] = [&[5, 6, 7], &[5, 6, 9, 10], &[44], &[5, 6, 7, 8, 9, 10, 11]];
    let options = |i: usize| Options {
        tokens: 10 + i,
        sampling: if i.is_multiple_of(2) { Options::default().sampling } else { warm },
        seed: i as u64,
        ..Options::default()
    };
    let alone = |i: usize| {
        let mut tokens = Vec::new();
        let each = |t| {
            tokens.push(t);
            Ok(true)
        };
        let end = Engine::new(model.clone()).generate(prompts[i], &options(i), each).unwrap();
        (tokens, end)
    };
    let mut batch = Batch::new(model.clone(), 4);
    // Runs twice; the second time, the caches already hold texts.
    for _ in 0..2 {
        assert_eq!((batch.free(), batch.is_idle()), (4, true));
        let slots: Vec<Slot> = (0..4).map(|i| batch.admit(prompts[i], &options(i)).unwrap()).collect();
        assert!(batch.admit(&[1], &options(0)).unwrap_err().to_string().contains("all of 4 slots"));
        let found = finish(&mut batch, &slots);
        assert_eq!(found, (0..4).map(alone).collect::<Vec<_>>());
    }
    // Releasing one text early does not change the others.
    let slots: Vec<Slot> = (0..3).map(|i| batch.admit(prompts[i], &options(i)).unwrap()).collect();
    batch.step().unwrap();
    batch.release(slots[1]);
    let mut rest = [Vec::new(), Vec::new()];
    while !batch.is_idle() {
        for (slot, event) in batch.step().unwrap() {
            let at = usize::from(slot == slots[2]);
            if let Event::Token(token) = event {
                rest[at].push(token.id);
            }
            assert_ne!(slot, slots[1]);
        }
    }
    assert!(alone(0).0.ends_with(&rest[0]) && alone(2).0.ends_with(&rest[1]), "{rest:?}");
    for (prompt, why) in
        [(&[][..], "a prompt without tokens"), (&[-1], "token -1"), (&[1 << 40], "token 1099511627776")]
    {
        let error = Batch::new(model.clone(), 1).admit(prompt, &options(0)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn the_longest_common_beginning_chooses_the_slot() {
    let folder = Folder::new("batch-slots");
    let model = Arc::new(Tiny::read("llama").decoder(&folder.0));
    let mut batch = Batch::new(model, 3);
    let options = Options { tokens: 2, ..Options::default() };
    let prompts: [&[i64]; 3] = [&[1, 2, 3, 4], &[1, 2, 9, 9, 9], &[7, 7]];
    let slots: Vec<Slot> = prompts.iter().map(|p| batch.admit(p, &options).unwrap()).collect();
    finish(&mut batch, &slots);
    for (prompt, right) in [(&[1, 2, 9, 9, 5][..], 1), (&[7, 7, 1], 2), (&[1, 2, 3, 4, 5, 6], 0)] {
        let slot = batch.admit(prompt, &options).unwrap();
        assert_eq!(slot, slots[right], "{prompt:?}");
        batch.release(slot);
    }
}

#[test]
fn log_probabilities_come_with_tokens() {
    let folder = Folder::new("batch-logprobs");
    let tiny = Tiny::read("llama");
    let model = Arc::new(tiny.decoder(&folder.0));
    let mut batch = Batch::new(model, 1);
    let options = Options { tokens: 1, log_probabilities: Some(3), ..Options::default() };
    batch.admit(&tiny.ids, &options).unwrap();
    let events = batch.step().unwrap();
    let [(_, Event::Token(token))] = &events[..] else { panic!("{events:?}") };
    // The logits in the file, which NumPy has computed.
    let logits = tiny.logits.last().unwrap();
    let right = log_probability(logits, token.id).unwrap();
    assert!((token.log_probability - right).abs() < 1e-4, "{token:?} {right}");
    assert!(token.top.len() == 3 && token.top[0] == (token.id, token.log_probability), "{token:?}");
}
