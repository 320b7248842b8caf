//! Generates tokens: a cache that grows by doubling, prompts in chunks of a few lengths, one compiled plan for each.
//!
//! [`Engine::logits_after`] takes the whole text every time and computes only what the cache does not hold yet. Prefill, decoding
//! and reuse of a common beginning are that one function.

use crate::constrain::Grammar;
use crate::decoder::{Decoder, KvCache};
use crate::sequence::{Event, Sequence};
use gradus_ir::{Error, Result};
use gradus_nn::{Module, Sampling};
use gradus_tensor::{Compiled, Tensor, compile};
use std::sync::Arc;

/// Lengths that chunks of a prompt are padded to: each is a plan of its own.
const CHUNKS: &[usize] = &[1, 8, 32, 128, 512];

/// Positions of the first cache.
const FIRST_CAPACITY: usize = 256;

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
    cache: KvCache,
    /// The tokens whose keys and values the cache holds.
    held: Vec<i64>,
    /// Plans for this cache, by the length of their chunk.
    plans: Vec<(usize, Compiled)>,
}

impl Engine {
    /// An empty cache for a model.
    pub fn new(model: Arc<Decoder>) -> Engine {
        let cache = model.cache(FIRST_CAPACITY.min(model.config.context));
        Engine { model, cache, held: Vec::new(), plans: Vec::new() }
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
        &self.held
    }

    /// Plans compiled for the present capacity.
    pub fn plans(&self) -> usize {
        self.plans.len()
    }

    /// Logits of the token that follows a text. What the cache holds of its beginning is not computed again.
    pub fn logits_after(&mut self, text: &[i64]) -> Result<Vec<f32>> {
        let config = &self.model.config;
        if text.is_empty() || text.len() > config.context {
            let why = format!("must be from 1 to {}, the context of the model", config.context);
            return Err(Error::value(format!("{} tokens", text.len()), why));
        }
        let vocabulary = config.vocabulary as i64;
        if let Some(bad) = text.iter().find(|t| !(0..vocabulary).contains(*t)) {
            return Err(Error::value(
                format!("token {bad}"),
                format!("must be from 0 to {}", vocabulary - 1),
            ));
        }
        // The last token is always computed: its logits are not kept.
        let same = self.held.iter().zip(text).take_while(|(a, b)| a == b).count().min(text.len() - 1);
        self.rewind(same)?;
        self.grow(text.len())?;
        let mut logits = None;
        while self.held.len() < text.len() {
            let rest = &text[self.held.len()..];
            logits = Some(self.run(rest)?);
        }
        match logits {
            Some(logits) => logits.to(gradus_tensor::Device::CPU).to_vec(),
            None => Err(Error::value("a text", "is held completely already")),
        }
    }

    fn rewind(&mut self, to: usize) -> Result<()> {
        if to < self.held.len() {
            // What is behind the position is hidden, and written over later.
            self.cache.position.set_(&Tensor::from(to as i64))?;
            self.held.truncate(to);
        }
        Ok(())
    }

    /// Makes the capacity sufficient for a text, with what the cache holds.
    fn grow(&mut self, needed: usize) -> Result<()> {
        if needed <= self.cache.capacity {
            return Ok(());
        }
        let capacity = needed.next_power_of_two().min(self.model.config.context);
        let larger = self.model.cache(capacity);
        let old = self.cache.keys.iter().zip(&self.cache.values);
        for ((keys, values), (new_keys, new_values)) in old.zip(larger.keys.iter().zip(&larger.values)) {
            for (from, to) in [(keys, new_keys), (values, new_values)] {
                let rest = to.detach().narrow(2, self.cache.capacity, capacity - self.cache.capacity);
                to.set_(&Tensor::cat(&[&from.detach(), &rest], 2))?;
            }
        }
        larger.position.set_(&Tensor::from(self.held.len() as i64))?;
        (self.cache, self.plans) = (larger, Vec::new());
        Ok(())
    }

    /// Runs the next chunk of the rest of a text, and gives the logits behind it.
    fn run(&mut self, rest: &[i64]) -> Result<Tensor> {
        let left = self.cache.capacity - self.held.len();
        // The shortest that holds the rest, or else the longest; padding must fit the cache too.
        let fits = || CHUNKS.iter().copied().filter(|n| *n <= left);
        let length = fits().find(|n| *n >= rest.len()).or_else(|| fits().next_back()).unwrap_or(1);
        let count = rest.len().min(length);
        let mut ids = rest[..count].to_vec();
        ids.resize(length, 0);
        let device = self.model.device();
        let ids = Tensor::from_slice(&ids, [1, length]).to(device);
        let count_tensor = Tensor::from(count as i64);
        if !self.plans.iter().any(|(n, _)| *n == length) {
            let (model, cache) = (&self.model, &self.cache);
            let plan = compile(&[&ids, &count_tensor], |x| model.step(&x[0], &x[1], cache))?;
            self.plans.push((length, plan));
        }
        let plan = self.plans.iter().find(|(n, _)| *n == length);
        let (_, plan) = plan.ok_or_else(|| Error::value("a plan", "is not there"))?;
        let logits = plan.run(&[&ids, &count_tensor])?.remove(0);
        self.held.extend(&rest[..count]);
        Ok(logits)
    }

    /// Generates tokens behind a prompt. `each` hears of every token and says whether to go on; a token that ends the text is
    /// not among them.
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
