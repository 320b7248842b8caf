//! Generates tokens of one text. The cache and the compiled plans are those of a [`Session`] with one slot.
//!
//! [`Engine::logits_after`] takes the whole text every time and computes only what the cache does not hold yet. Prefill, decoding
//! and reuse of a common beginning are that one function.

use crate::decoder::Decoder;
use crate::session::Session;
use gradus_ir::Result;
use gradus_nn::Sampling;
use gradus_tensor::Generator;
use std::sync::Arc;

/// What happens when the context is full.
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

/// How tokens are generated.
#[derive(Clone, Debug)]
pub struct Options {
    /// Most new tokens.
    pub tokens: usize,
    /// How a token is chosen.
    pub sampling: Sampling,
    /// The seed of the choices.
    pub seed: u64,
    /// What happens when the context is full.
    pub when_full: WhenFull,
}

impl Default for Options {
    fn default() -> Options {
        let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
        Options { tokens: 128, sampling, seed: 0, when_full: WhenFull::Stop }
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

    /// Generates tokens behind a prompt. `each` hears of every token and says whether to go on; a token that ends the text is
    /// not among them.
    pub fn generate(
        &mut self,
        prompt: &[i64],
        options: &Options,
        mut each: impl FnMut(i64) -> Result<bool>,
    ) -> Result<Finish> {
        let g = Generator::new(options.seed);
        let context = self.model.config.context;
        let mut text = prompt.to_vec();
        if text.len() > context && options.when_full == WhenFull::Stop {
            self.logits_after(&text)?; // says what is wrong
        }
        for _ in 0..options.tokens {
            if text.len() > context || (text.len() == context && options.when_full != WhenFull::Stop) {
                match options.when_full {
                    WhenFull::Stop => return Ok(Finish::Full),
                    WhenFull::Forget { keep } => {
                        let keep = keep.min(context / 2);
                        text.drain(keep..text.len() - (context - keep) / 2);
                    }
                }
            }
            let logits = self.logits_after(&text)?;
            let token = options.sampling.choose_after(&logits, &text, &g)?;
            if self.model.config.end.contains(&token) {
                return Ok(Finish::End);
            }
            if !each(token)? {
                return Ok(Finish::Stop);
            }
            text.push(token);
        }
        Ok(Finish::Length)
    }
}
