//! Texts of one model that grow together: a cache with a slot for each, and compiled plans.
//!
//! [`Session::logits_after`] takes whole texts every time and computes only what their slots do not hold yet. Prefill, decoding
//! and reuse of a common beginning are that one function. Texts that lack one token are computed together, in one plan; longer
//! pieces one text after the other. Which token follows is decided elsewhere.

use crate::decoder::{Decoder, KvCache, Texts};
use gradus_ir::{Error, Result};
use gradus_nn::Module;
use gradus_tensor::{Compiled, Device, Tensor, compile};
use std::sync::Arc;

/// Lengths that pieces of a text are padded to: each is a plan of its own.
const CHUNKS: &[usize] = &[1, 8, 32, 128, 512];

/// Positions of the first cache. Its memory is provided by the system as positions are written.
const FIRST_CAPACITY: usize = 2048;

/// A model with the caches of several texts.
pub struct Session {
    model: Arc<Decoder>,
    device: Device,
    cache: KvCache,
    /// The tokens whose keys and values each slot holds.
    held: Vec<Vec<i64>>,
    /// Plans for this cache, by their number of texts and tokens.
    plans: Vec<((usize, usize), Compiled)>,
}

/// The next tokens of a text in a slot.
struct Piece<'a> {
    slot: usize,
    tokens: &'a [i64],
}

impl Session {
    /// Empty caches for `slots` texts.
    pub fn new(model: Arc<Decoder>, slots: usize) -> Session {
        let slots = slots.max(1);
        let device = model.device();
        let cache = model.cache(slots, FIRST_CAPACITY.min(model.config.context));
        Session { model, device, cache, held: vec![Vec::new(); slots], plans: Vec::new() }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Decoder> {
        &self.model
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.held.len()
    }

    /// Tokens that a slot holds; none if there is no such slot.
    pub fn held(&self, slot: usize) -> &[i64] {
        self.held.get(slot).map_or(&[], Vec::as_slice)
    }

    /// Forgets all texts. Must be called when weights have changed, because the caches were computed with the old ones.
    pub fn forget(&mut self) {
        self.held.iter_mut().for_each(Vec::clear);
    }

    /// Plans compiled for the present capacity.
    pub fn plans(&self) -> usize {
        self.plans.len()
    }

    /// Logits of the token that follows each text, given with its slot. What a slot holds of the beginning of its text is not
    /// computed again. All slots must be different.
    pub fn logits_after(&mut self, texts: &[(usize, &[i64])]) -> Result<Vec<Vec<f32>>> {
        self.check(texts)?;
        let longest = texts.iter().map(|(_, text)| text.len()).max().unwrap_or(0);
        self.grow(longest);
        for (slot, text) in texts {
            // The last token is always computed: its logits are not kept.
            let same = self.held[*slot].iter().zip(*text).take_while(|(a, b)| a == b).count();
            // The cache after this position is hidden, and overwritten later.
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

    /// The length of the next piece of a text: the shortest that holds `left` tokens, or else the longest.
    fn chunk(&self, slot: usize, left: usize) -> usize {
        // Padding must fit the cache too.
        let capacity = self.cache.capacity - self.held[slot].len();
        let fits = || CHUNKS.iter().copied().filter(|n| *n <= capacity);
        fits().find(|n| *n >= left).or_else(|| fits().next_back()).unwrap_or(1)
    }

    /// Makes the capacity sufficient for a text. All texts are then computed again: copying the caches would write, and so
    /// commit, every page of every slot. Each growth doubles the capacity, so there are few.
    fn grow(&mut self, needed: usize) {
        if needed <= self.cache.capacity {
            return;
        }
        let capacity = needed.next_power_of_two().min(self.model.config.context);
        self.cache = self.model.cache(self.slots(), capacity);
        self.plans.clear();
        self.held.iter_mut().for_each(Vec::clear);
    }

    /// Runs pieces of different texts in one plan, and gives the logits behind each.
    fn run(&mut self, pieces: &[Piece<'_>], length: usize) -> Result<Vec<Vec<f32>>> {
        // A few numbers of texts, so that there are few plans. Texts that fill up have no tokens.
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
        let operands = [&ids, &slots, &first, &tokens];
        let key = (count, length);
        if !self.plans.iter().any(|(own, _)| *own == key) {
            let (model, cache) = (&self.model, &self.cache);
            let step =
                |x: &[Tensor]| model.step(&x[0], &Texts { slots: &x[1], first: &x[2], count: &x[3], cache });
            self.plans.push((key, compile(&operands, step)?));
        }
        let plan = self.plans.iter().find(|(own, _)| *own == key);
        let (_, plan) = plan.ok_or_else(|| Error::value("a plan", "is missing"))?;
        let logits = plan.run(&operands)?.swap_remove(0).to(Device::CPU);
        for Piece { slot, tokens } in pieces {
            self.held[*slot].extend(*tokens);
        }
        let all = logits.to_vec::<f32>()?;
        let width = all.len() / count;
        Ok(all.chunks(width.max(1)).take(pieces.len()).map(<[f32]>::to_vec).collect())
    }
}
