//! Several texts at once: what a server needs of a model.
//!
//! A [`Batch`] has slots. A prompt is admitted to the free slot whose cache holds the longest beginning of it; every
//! [`step`](Batch::step) gives at most one token to each running slot, and computes all slots together. Prompts are computed a
//! piece per step, so that long ones do not delay the others. Which prompt gets a free slot is decided by the caller.

use crate::decoder::Decoder;
use crate::engine::Options;
use crate::sequence::Sequence;
pub use crate::sequence::{Event, Token};
use crate::session::Session;
use gradus_ir::{Error, Result};
use std::sync::Arc;

/// Most tokens of a prompt that one step computes.
const PIECE: usize = 128;

/// A slot that runs a text, until it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(usize);

/// The state of a slot.
enum Work {
    Free,
    Running(Box<Sequence>),
    /// It has reported its end, and waits to be released.
    Ended,
}

/// Texts of one model that grow together.
pub struct Batch {
    session: Session,
    /// One entry per slot of the session.
    slots: Vec<Work>,
}

impl Batch {
    /// Slots for texts, each with a cache of its own.
    pub fn new(model: Arc<Decoder>, slots: usize) -> Batch {
        let slots = slots.max(1);
        Batch { session: Session::new(model, slots), slots: (0..slots).map(|_| Work::Free).collect() }
    }

    /// The model.
    pub fn model(&self) -> &Decoder {
        self.session.model()
    }

    /// Number of free slots.
    pub fn free(&self) -> usize {
        self.slots.iter().filter(|work| matches!(work, Work::Free)).count()
    }

    /// Whether no slot has anything to compute.
    pub fn is_idle(&self) -> bool {
        !self.slots.iter().any(|work| matches!(work, Work::Running(_)))
    }

    /// Begins a text in a free slot: the one whose cache holds most of the prompt's beginning.
    pub fn admit(&mut self, prompt: &[i64], options: &Options) -> Result<Slot> {
        let sequence = Sequence::new(&self.model().config, prompt, options)?;
        let held = |slot: usize| self.session.held(slot);
        let free = (0..self.slots.len()).filter(|slot| matches!(self.slots[*slot], Work::Free));
        // Of equals the one with the shortest text, so that others keep what they hold.
        let best = free.max_by_key(|slot| {
            let held = held(*slot);
            (common(held, prompt), std::cmp::Reverse(held.len()))
        });
        let Some(slot) = best else {
            return Err(Error::value(format!("all of {} slots", self.slots.len()), "are in use"));
        };
        self.slots[slot] = Work::Running(Box::new(sequence));
        Ok(Slot(slot))
    }

    /// Gives one token to each running slot whose prompt is computed. A slot that has ended or failed reports it once. An error
    /// concerns all slots.
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
        for (slot, work) in self.slots.iter().enumerate() {
            let Work::Running(sequence) = work else { continue };
            let text = sequence.text();
            let end = common(self.session.held(slot), text) + PIECE;
            texts.push((slot, &text[..end.min(text.len())]));
        }
        if texts.is_empty() {
            return Ok(events);
        }
        let logits = self.session.logits_after(&texts)?;
        let computed: Vec<(usize, usize)> = texts.iter().map(|(slot, text)| (*slot, text.len())).collect();
        for ((slot, length), logits) in computed.into_iter().zip(logits) {
            let Work::Running(sequence) = &mut self.slots[slot] else { continue };
            if length < sequence.text().len() {
                continue; // the rest of the prompt follows
            }
            let event = sequence.choose(&logits).unwrap_or_else(|e| Event::Failed(e.to_string()));
            if !matches!(event, Event::Token(_)) {
                self.slots[slot] = Work::Ended;
            }
            events.push((Slot(slot), event));
        }
        Ok(events)
    }

    /// Ends a text. The slot is free again, and keeps its cache for prompts that begin alike.
    pub fn release(&mut self, slot: Slot) {
        if let Some(work) = self.slots.get_mut(slot.0) {
            *work = Work::Free;
        }
    }
}

/// Number of tokens at the beginning of a text that are held.
fn common(held: &[i64], text: &[i64]) -> usize {
    held.iter().zip(text).take_while(|(a, b)| a == b).count()
}
