//! Samples answers of a model for rewards: several at once, with its current weights.

use super::example::{Example, Prompt};
use crate::decoder::Decoder;
use crate::session::Session;
use crate::tokenizer::Tokenizer;
use gradus_ir::{Error, Result};
use gradus_nn::{Choosing, Sampling};
use gradus_tensor::Generator;
use std::sync::Arc;

/// Largest number of texts generated at once.
const MAX_SLOTS: usize = 32;

/// An answer that the model has generated to a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// The index of the prompt in the list of prompts.
    pub prompt: usize,
    /// Tokens of the prompt and the answer, including the end token.
    pub example: Example,
    /// The text of the answer.
    pub text: String,
    /// If true, the answer ended with an end token.
    pub ended: bool,
}

/// Generates answers with the current weights of a model.
pub struct Sampler {
    session: Session,
    tokenizer: Tokenizer,
    sampling: Sampling,
    tokens: usize,
    generator: Generator,
}

impl Sampler {
    /// Makes a sampler of answers of up to `tokens` tokens.
    pub fn new(
        model: Arc<Decoder>,
        tokenizer: Tokenizer,
        sampling: Sampling,
        tokens: usize,
        seed: u64,
    ) -> Result<Sampler> {
        sampling.check()?;
        if tokens == 0 {
            return Err(Error::value(
                "answers of 0 tokens",
                "cannot be rewarded; the limit must be at least 1",
            ));
        }
        let session = Session::new(model, MAX_SLOTS);
        Ok(Sampler { session, tokenizer, sampling, tokens, generator: Generator::new(seed) })
    }

    /// Generates an answer to `prompts[i]` for each `i` in `chosen`; an index may occur several times.
    pub fn sample(&mut self, prompts: &[Prompt], chosen: &[usize]) -> Result<Vec<Rollout>> {
        // Weights may have changed since the caches were computed.
        self.session.forget();
        let mut all = Vec::with_capacity(chosen.len());
        for group in chosen.chunks(MAX_SLOTS) {
            all.extend(self.together(prompts, group)?);
        }
        Ok(all)
    }

    fn together(&mut self, prompts: &[Prompt], chosen: &[usize]) -> Result<Vec<Rollout>> {
        let (end, context) = {
            let config = &self.session.model().config;
            (config.end.clone(), config.context)
        };
        let mut texts: Vec<Vec<i64>> = Vec::with_capacity(chosen.len());
        for i in chosen {
            let prompt = prompts.get(*i).map(|p| p.tokens.clone()).unwrap_or_default();
            if prompt.is_empty() || prompt.len() >= context {
                let why = format!("has {} tokens; it must have from 1 to {}", prompt.len(), context - 1);
                return Err(Error::value(format!("prompt {}", i + 1), why));
            }
            texts.push(prompt);
        }
        let given: Vec<usize> = texts.iter().map(Vec::len).collect();
        let mut ended = vec![false; texts.len()];
        for _ in 0..self.tokens {
            let open = |i: &usize| !ended[*i] && texts[*i].len() < context;
            let running: Vec<usize> = (0..texts.len()).filter(open).collect();
            if running.is_empty() {
                break;
            }
            let wanted: Vec<(usize, &[i64])> = running.iter().map(|i| (*i, &texts[*i][..])).collect();
            let logits = self.session.logits_after(&wanted)?;
            for (i, logits) in running.into_iter().zip(logits) {
                let (before, generated) = (&texts[i][..], texts[i].len() - given[i]);
                let choosing = Choosing { before, generated, ..Choosing::default() };
                let token = self.sampling.choose_with(&logits, &choosing, &self.generator)?;
                texts[i].push(token);
                ended[i] = end.contains(&token);
            }
        }
        let mut rollouts = Vec::with_capacity(texts.len());
        for (((prompt, tokens), given), ended) in chosen.iter().zip(texts).zip(given).zip(ended) {
            let until = tokens.len() - usize::from(ended);
            let text = self.tokenizer.decode(&tokens[given..until])?;
            rollouts.push(Rollout { prompt: *prompt, example: Example { tokens, given }, text, ended });
        }
        Ok(rollouts)
    }
}
