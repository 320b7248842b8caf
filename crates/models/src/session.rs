//! Computes the logits of several texts of one model, with a cache slot for each text and compiled plans.
//!
//! [`Session::logits_after`] takes the full texts on every call and computes only the tokens that their slots
//! do not hold. Prefill, decoding and reuse of a common prefix all use this function. Texts that need one
//! token are computed together in one plan; longer pieces are computed text by text. The caller chooses the
//! next tokens.

use crate::decoder::{Decoder, KvCache, Texts};
use gradus_ir::{Error, Result};
use gradus_nn::Module;
use gradus_tensor::{Compiled, Device, Tensor, Timeline, compile};
use std::sync::Arc;

/// Lengths to which pieces of a text are padded; each length has its own plan.
const CHUNKS: &[usize] = &[1, 8, 32, 128, 512];

/// Initial capacity of a slot, in positions. All positions take memory, whether they are used or not.
const FIRST_CAPACITY: usize = 512;

/// A model with the caches of several texts. See the [module](self).
pub struct Session {
    model: Arc<Decoder>,
    device: Device,
    cache: KvCache,
    /// The tokens whose keys and values each slot holds.
    held: Vec<Vec<i64>>,
    /// Plans for the current cache, by number of texts and of tokens per text.
    plans: Vec<((usize, usize), Compiled)>,
}

/// The next tokens of a text in a slot.
struct Piece<'a> {
    slot: usize,
    tokens: &'a [i64],
}

impl Session {
    /// Makes a session of `slots` empty slots (at least one).
    pub fn new(model: Arc<Decoder>, slots: usize) -> Session {
        let slots = slots.max(1);
        let device = model.device();
        let cache = model.cache(slots, FIRST_CAPACITY.min(model.config.context));
        Session { model, device, cache, held: vec![Vec::new(); slots], plans: Vec::new() }
    }

    /// Returns the model.
    pub fn model(&self) -> &Arc<Decoder> {
        &self.model
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.held.len()
    }

    /// Returns the tokens whose keys and values a slot caches; empty if there is no such slot.
    pub fn cached_tokens(&self, slot: usize) -> &[i64] {
        self.held.get(slot).map_or(&[], Vec::as_slice)
    }

    /// Empties all slots. Must be called after weights have changed, because the caches were computed with
    /// the old weights.
    pub fn forget(&mut self) {
        self.held.iter_mut().for_each(Vec::clear);
    }

    /// Number of plans compiled for the current capacity.
    pub fn plans(&self) -> usize {
        self.plans.len()
    }

    /// Returns the logits of the token after each text. Each text is given with its slot; slots must be
    /// distinct. The common prefix of a text and its slot is not computed again.
    pub fn logits_after(&mut self, texts: &[(usize, &[i64])]) -> Result<Vec<Vec<f32>>> {
        self.check(texts)?;
        let longest = texts.iter().map(|(_, text)| text.len()).max().unwrap_or(0);
        self.grow(longest);
        for (slot, text) in texts {
            // The last token is always computed, because its logits are not stored.
            let same = self.held[*slot].iter().zip(*text).take_while(|(a, b)| a == b).count();
            // Later positions of the cache are masked, and overwritten by new tokens.
            self.held[*slot].truncate(same.min(text.len() - 1));
        }
        let mut logits: Vec<Vec<f32>> = vec![Vec::new(); texts.len()];
        let (mut together, mut numbers) = (Vec::new(), Vec::new());
        for (i, &(slot, text)) in texts.iter().enumerate() {
            if text.len() - self.held[slot].len() == 1 {
                together.push(Piece { slot, tokens: &text[text.len() - 1..] });
                numbers.push(i);
                continue;
            }
            while self.held[slot].len() < text.len() {
                let rest = &text[self.held[slot].len()..];
                let length = self.chunk(slot, rest.len());
                let tokens = &rest[..rest.len().min(length)];
                logits[i] = self.run(&[Piece { slot, tokens }], length)?.swap_remove(0);
            }
        }
        if !together.is_empty() {
            for (i, own) in numbers.into_iter().zip(self.run(&together, 1)?) {
                logits[i] = own;
            }
        }
        // This loop has no early exit, so that the compiler vectorises it.
        if logits.iter().any(|own| own.iter().fold(false, |bad, x| bad | x.is_nan())) {
            self.clear();
        }
        Ok(logits)
    }

    fn check(&self, texts: &[(usize, &[i64])]) -> Result<()> {
        let config = &self.model.config;
        for (i, (slot, text)) in texts.iter().enumerate() {
            if *slot >= self.slots() || texts[..i].iter().any(|(other, _)| other == slot) {
                let why = format!("must be below {} and different from the others", self.slots());
                return Err(Error::value(format!("slot {slot}"), why));
            }
            if text.is_empty() || text.len() > config.context {
                let why = format!("must be from 1 to {}, the context of the model", config.context);
                return Err(Error::value(format!("{} tokens", text.len()), why));
            }
            let known = 0..config.vocabulary as i64;
            if let Some(bad) = text.iter().find(|t| !known.contains(*t)) {
                return Err(Error::value(
                    format!("token {bad}"),
                    format!("must be from 0 to {}", known.end - 1),
                ));
            }
        }
        Ok(())
    }

    /// Returns the padded length of the next piece: the shortest that holds `left` tokens, or else the
    /// longest that fits.
    fn chunk(&self, slot: usize, left: usize) -> usize {
        // Padding must also fit into the cache.
        let capacity = self.cache.capacity - self.held[slot].len();
        let fits = || CHUNKS.iter().copied().filter(|n| *n <= capacity);
        fits().find(|n| *n >= left).or_else(|| fits().next_back()).unwrap_or(1)
    }

    /// Grows the capacity to at least `needed` positions. Plans are compiled again; capacities double, so
    /// this is rare.
    fn grow(&mut self, needed: usize) {
        if needed > self.cache.capacity {
            let capacity = needed.next_power_of_two().min(self.model.config.context);
            self.model.extend_cache(&mut self.cache, capacity);
            self.plans.clear();
        }
    }

    /// Replaces the cache by an empty one, because a failed text leaves NaN in its slot. Masked positions are
    /// multiplied by zero, which does not remove NaN, so the next text in the slot would fail too.
    fn clear(&mut self) {
        self.cache = self.model.cache(self.slots(), self.cache.capacity);
        self.plans.clear();
        self.forget();
    }

    /// Computes a text in a slot, then its last token once more. Returns the time of each step of the plan of this token.
    pub fn timeline(&mut self, slot: usize, text: &[i64]) -> Result<Timeline> {
        self.logits_after(&[(slot, text)])?;
        self.held[slot].truncate(text.len() - 1);
        let tokens = &text[text.len() - 1..];
        let (plan, operands) = self.prepare(&[Piece { slot, tokens }], 1)?;
        let timeline = plan.timeline(&operands.each_ref())?;
        self.held[slot].extend(tokens);
        Ok(timeline)
    }

    /// Runs pieces of different texts in one plan, and returns the logits after each piece.
    fn run(&mut self, pieces: &[Piece<'_>], length: usize) -> Result<Vec<Vec<f32>>> {
        let (plan, operands) = self.prepare(pieces, length)?;
        let logits = plan.run(&operands.each_ref())?.swap_remove(0).to(Device::CPU);
        for Piece { slot, tokens } in pieces {
            self.held[*slot].extend(*tokens);
        }
        (0..pieces.len()).map(|i| logits.narrow(0, i, 1).to_vec()).collect()
    }

    /// Returns the plan for some pieces, which is compiled if it is new, and its operands.
    fn prepare(&mut self, pieces: &[Piece<'_>], length: usize) -> Result<(&Compiled, [Tensor; 4])> {
        // The number of texts is rounded up to a power of two, so that few plans are compiled. Padding texts
        // have no tokens.
        let count = pieces.len().next_power_of_two();
        let (mut ids, mut numbers) = (vec![0i64; count * length], [const { Vec::new() }; 3]);
        for (i, Piece { slot, tokens }) in pieces.iter().enumerate() {
            ids[i * length..][..tokens.len()].copy_from_slice(tokens);
            let own = [*slot, self.held[*slot].len(), tokens.len()];
            numbers.iter_mut().zip(own).for_each(|(all, n)| all.push(n as i64));
        }
        for all in &mut numbers {
            all.resize(count, 0i64);
        }
        let ids = Tensor::from_slice(&ids, [count, length]).to(self.device);
        let [slots, first, tokens] = numbers.map(|n| Tensor::from(n).to(self.device));
        let operands = [ids, slots, first, tokens];
        let key = (count, length);
        let known = self.plans.iter().position(|(own, _)| *own == key);
        let index = match known {
            Some(index) => index,
            None => {
                let (model, cache) = (&self.model, &self.cache);
                let step = |x: &[Tensor]| {
                    model.step(&x[0], &Texts { slots: &x[1], first: &x[2], count: &x[3], cache })
                };
                let plan = compile(&operands.each_ref(), step)?;
                self.plans.push((key, plan));
                self.plans.len() - 1
            }
        };
        Ok((&self.plans[index].1, operands))
    }
}
