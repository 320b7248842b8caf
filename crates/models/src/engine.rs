//! Generates tokens of one text. The cache and the compiled plans are those of a [`Session`] with one slot.
//!
//! [`Engine::logits_after`] takes the whole text every time and computes only what the cache does not hold yet. Prefill, decoding
//! and reuse of a common beginning are that one function.

use crate::constrain::Grammar;
use crate::decoder::Decoder;
use crate::sequence::{Event, Sequence};
use crate::session::Session;
use gradus_ir::{Error, Result};
use gradus_nn::Sampling;
use std::sync::Arc;

/// Behaviour when the context is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Generation ends.
    #[default]
    Stop,
    /// The earlier half of what follows the first `keep` tokens is forgotten, and the rest computed again.
    Forget {
        /// Tokens at the beginning that stay, such as instructions.
        keep: usize,
    },
}

/// Options of generation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Most new tokens.
    pub tokens: usize,
    /// Choice of tokens.
    pub sampling: Sampling,
    /// The seed of the choices.
    pub seed: u64,
    /// Behaviour when the context is full.
    pub when_full: WhenFull,
    /// Numbers that are added to the logits of some tokens.
    pub bias: Vec<(i64, f64)>,
    /// If log-probabilities are wanted, of how many of the likeliest tokens besides the chosen one.
    pub log_probabilities: Option<usize>,
    /// The texts that may be generated; all without it.
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

/// Why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended its text.
    End,
    /// There are as many tokens as were asked for.
    Length,
    /// The context is full.
    Full,
    /// The caller had enough, or a stop string came.
    Stop,
}

/// A model with the cache of one text.
pub struct Engine {
    model: Arc<Decoder>,
    session: Session,
}

impl Engine {
    /// An empty cache for a model.
    pub fn new(model: Arc<Decoder>) -> Engine {
        Engine { session: Session::new(model.clone(), 1), model }
    }

    /// The model.
    pub fn model(&self) -> &Decoder {
        &self.model
    }

    /// The model, for another engine.
    pub fn shared(&self) -> Arc<Decoder> {
        self.model.clone()
    }

    /// Tokens that the cache holds.
    pub fn held(&self) -> &[i64] {
        self.session.held(0)
    }

    /// Plans compiled for the present capacity.
    pub fn plans(&self) -> usize {
        self.session.plans()
    }

    /// Logits of the token that follows a text. What the cache holds of its beginning is not computed again.
    pub fn logits_after(&mut self, text: &[i64]) -> Result<Vec<f32>> {
        Ok(self.session.logits_after(&[(0, text)])?.swap_remove(0))
    }

    /// Generates tokens after a prompt. Calls `each` with every token except one that ends the text; generation stops if it
    /// returns false.
    pub fn generate(
        &mut self,
        prompt: &[i64],
        options: &Options,
        mut each: impl FnMut(i64) -> Result<bool>,
    ) -> Result<Finish> {
        let mut sequence = Sequence::new(&self.model.config, prompt, options)?;
        loop {
            if let Some(finish) = sequence.prepare() {
                return Ok(finish);
            }
            let logits = self.logits_after(sequence.text())?;
            match sequence.choose(&logits)? {
                Event::Finished(finish) => return Ok(finish),
                Event::Token(token) if !each(token.id)? => return Ok(Finish::Stop),
                Event::Token(_) => {}
                Event::Failed(why) => return Err(Error::value("the text", why)),
            }
        }
    }
}
