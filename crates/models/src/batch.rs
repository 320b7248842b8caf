//! Generates several texts of one model at the same time, as a server needs.
//!
//! A [`Batch`] has a fixed number of slots. [`admit`](Batch::admit) puts a prompt into a free slot. Each
//! [`step`](Batch::step) computes all running slots together and generates at most one token for each. Prompts
//! are computed in pieces, one per step, so that a long prompt does not delay other slots. A common prefix of
//! several prompts is computed once. The caller decides which prompt gets a free slot.

use crate::decoder::Decoder;
use crate::engine::Options;
use crate::sequence::Sequence;
pub use crate::sequence::{Event, Token};
use crate::session::{Session, common_prefix};
use gradus_ir::{Error, Result};
use std::sync::Arc;

/// Largest number of tokens of a prompt that one step computes for a slot.
const PIECE: usize = 128;

/// Smallest number of tokens for which a slot waits while another slot computes the same ones.
const WORTH_WAITING: usize = 16;

/// The number of a slot, from [`Batch::admit`]; valid until the slot is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(usize);

/// The state of a slot.
enum Work {
    Free,
    Running(Box<Sequence>),
    /// The text has ended or failed; the slot is not yet released.
    Ended,
}

/// Slots that generate texts of one model together. See the [module](self).
pub struct Batch {
    session: Session,
    /// One entry per slot of the session.
    slots: Vec<Work>,
}

impl Batch {
    /// Makes a batch of `slots` slots (at least one).
    pub fn new(model: Arc<Decoder>, slots: usize) -> Batch {
        let slots = slots.max(1);
        Batch { session: Session::new(model, slots), slots: (0..slots).map(|_| Work::Free).collect() }
    }

    /// Returns the model.
    pub fn model(&self) -> &Decoder {
        self.session.model()
    }

    /// Number of tokens computed so far. Tokens whose keys and values were cached are not counted.
    pub fn computed(&self) -> u64 {
        self.session.computed()
    }

    /// Number of free slots.
    pub fn free(&self) -> usize {
        self.slots.iter().filter(|work| matches!(work, Work::Free)).count()
    }

    /// Returns true if no slot is running.
    pub fn is_idle(&self) -> bool {
        !self.slots.iter().any(|work| matches!(work, Work::Running(_)))
    }

    /// Starts a text in the free slot whose cache shares the longest prefix with the prompt. Fails if no slot
    /// is free.
    pub fn admit(&mut self, prompt: &[i64], options: &Options) -> Result<Slot> {
        let sequence = Sequence::new(&self.model().config, prompt, options)?;
        let cached = |slot: usize| self.session.cached_tokens(slot);
        let free = (0..self.slots.len()).filter(|slot| matches!(self.slots[*slot], Work::Free));
        // Among slots with equal prefixes, take the one with the shortest text, so that longer cached texts
        // are kept.
        let best = free.max_by_key(|slot| {
            let cached = cached(*slot);
            (common_prefix(cached, prompt), std::cmp::Reverse(cached.len()))
        });
        let Some(slot) = best else {
            return Err(Error::value(format!("all of {} slots", self.slots.len()), "are in use"));
        };
        self.slots[slot] = Work::Running(Box::new(sequence));
        Ok(Slot(slot))
    }

    /// Computes one step of every running slot. A slot whose prompt is complete gets one token; a slot that
    /// ends or fails reports this once. An error of this function concerns all slots.
    pub fn step(&mut self) -> Result<Vec<(Slot, Event)>> {
        let mut events = Vec::new();
        for (slot, work) in self.slots.iter_mut().enumerate() {
            let Work::Running(sequence) = work else { continue };
            if let Some(finish) = sequence.prepare() {
                events.push((Slot(slot), Event::Finished(finish)));
                *work = Work::Ended;
            }
        }
        let mut texts = Vec::new();
        // Texts of which more than one token is missing, with the number of their cached tokens.
        let mut long: Vec<(&[i64], usize)> = Vec::new();
        for (slot, work) in self.slots.iter().enumerate() {
            let Work::Running(sequence) = work else { continue };
            let text = sequence.text();
            let cached = self.session.cached(slot, text);
            // Waits while another slot computes tokens that both have in common.
            let waits = |(other, done): &(&[i64], usize)| {
                let common = common_prefix(other, text);
                common > *done && common >= cached + WORTH_WAITING
            };
            if long.iter().any(waits) {
                continue;
            }
            if cached + 1 < text.len() {
                long.push((text, cached));
            }
            texts.push((slot, &text[..(cached + PIECE).min(text.len())]));
        }
        if texts.is_empty() {
            return Ok(events);
        }
        let logits = self.session.logits_after(&texts)?;
        let computed: Vec<(usize, usize)> = texts.iter().map(|(slot, text)| (*slot, text.len())).collect();
        for ((slot, length), logits) in computed.into_iter().zip(logits) {
            let Work::Running(sequence) = &mut self.slots[slot] else { continue };
            if length < sequence.text().len() {
                continue; // the next step computes more of the prompt
            }
            let event = sequence.choose(&logits).unwrap_or_else(|e| Event::Failed(e.message()));
            if !matches!(event, Event::Token(_)) {
                self.slots[slot] = Work::Ended;
            }
            events.push((Slot(slot), event));
        }
        Ok(events)
    }

    /// Frees a slot. Its cache is kept for later prompts with the same prefix.
    pub fn release(&mut self, slot: Slot) {
        if let Some(work) = self.slots.get_mut(slot.0) {
            *work = Work::Free;
            self.session.release(slot.0);
        }
    }
}
