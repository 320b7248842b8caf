//! Generates one text, with the cache and the compiled plans of a [`Session`] with one slot.
//!
//! [`Engine::logits_after`] takes the full text on every call and computes only the tokens that the cache
//! does not hold. Prefill, decoding and reuse of a common prefix all use this function.

use crate::constrain::Grammar;
use crate::decoder::Decoder;
use crate::sequence::{Event, Sequence, Token};
use crate::session::Session;
use gradus_ir::{Error, Result};
use gradus_nn::Sampling;
use gradus_tensor::Timeline;
use std::sync::Arc;

/// Behaviour when the context is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Generation ends.
    #[default]
    Stop,
    /// Of the tokens after the first `keep`, the earlier half is dropped and the rest computed again.
    Forget {
        /// Number of tokens to keep at the beginning, such as instructions.
        keep: usize,
    },
}

/// Options of generation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Largest number of new tokens.
    pub tokens: usize,
    /// Sampling options: temperature and limits on the tokens considered.
    pub sampling: Sampling,
    /// Seed of the sampler.
    pub seed: u64,
    /// Behaviour when the context is full.
    pub when_full: WhenFull,
    /// Pairs of a token and the bias added to its logit.
    pub bias: Vec<(i64, f64)>,
    /// If set, tokens come with log-probabilities: of the chosen token and of this number of the likeliest
    /// tokens.
    pub log_probabilities: Option<usize>,
    /// Grammar that the generated text must match; `None` allows every text.
    pub grammar: Option<Arc<Grammar>>,
}

impl Default for Options {
    fn default() -> Options {
        let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
        Options {
            tokens: 128,
            sampling,
            seed: 0,
            when_full: WhenFull::Stop,
            bias: Vec::new(),
            log_probabilities: None,
            grammar: None,
        }
    }
}

/// The reason why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model generated an end token.
    End,
    /// The requested number of tokens was generated.
    Length,
    /// The context is full.
    Full,
    /// The caller stopped generation, or a stop string was generated.
    Stop,
}

/// A model with the cache of one text.
pub struct Engine {
    model: Arc<Decoder>,
    session: Session,
}

impl Engine {
    /// Makes an engine with an empty cache.
    pub fn new(model: Arc<Decoder>) -> Engine {
        Engine { session: Session::new(model.clone(), 1), model }
    }

    /// Returns the model.
    pub fn model(&self) -> &Decoder {
        &self.model
    }

    /// Returns the model as a shared pointer, for use in another engine.
    pub fn shared(&self) -> Arc<Decoder> {
        self.model.clone()
    }

    /// Returns the tokens whose keys and values are cached.
    pub fn cached_tokens(&self) -> &[i64] {
        self.session.cached_tokens(0)
    }

    /// Number of plans compiled for the current cache.
    pub fn plans(&self) -> usize {
        self.session.plans()
    }

    /// Returns the logits of the token after `text`. The prefix that the cache holds is not computed again.
    pub fn logits_after(&mut self, text: &[i64]) -> Result<Vec<f32>> {
        Ok(self.session.logits_after(&[(0, text)])?.swap_remove(0))
    }

    /// Computes a text, then its last token once more. Returns the time of each step of the plan of this token.
    pub fn timeline(&mut self, text: &[i64]) -> Result<Timeline> {
        self.session.timeline(0, text)
    }

    /// Generates tokens after a prompt. Calls `each` with every token except an end token; generation stops
    /// if `each` returns false.
    pub fn generate(
        &mut self,
        prompt: &[i64],
        options: &Options,
        mut each: impl FnMut(i64) -> Result<bool>,
    ) -> Result<Finish> {
        self.generate_with(prompt, options, |token| each(token.id))
    }

    /// As [`generate`](Engine::generate), with the log-probabilities of tokens if they are requested.
    pub fn generate_with(
        &mut self,
        prompt: &[i64],
        options: &Options,
        mut each: impl FnMut(&Token) -> Result<bool>,
    ) -> Result<Finish> {
        let mut sequence = Sequence::new(&self.model.config, prompt, options)?;
        loop {
            if let Some(finish) = sequence.prepare() {
                return Ok(finish);
            }
            let logits = self.logits_after(sequence.text())?;
            match sequence.choose(&logits)? {
                Event::Finished(finish) => return Ok(finish),
                Event::Token(token) if !each(&token)? => return Ok(Finish::Stop),
                Event::Token(_) => {}
                Event::Failed(why) => return Err(Error::value("the text", why)),
            }
        }
    }
}
