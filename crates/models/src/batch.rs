//! Several texts at once: what a server needs of a model.
//!
//! A [`Batch`] has slots. A prompt is admitted to the free slot whose cache holds the longest beginning of it; every
//! [`step`](Batch::step) gives at most one token to each running slot. Prompts are computed a piece per step, so that long ones do
//! not hold up the others. Who waits for a slot is decided by the caller.

use crate::decoder::Decoder;
use crate::engine::{Engine, Options};
use crate::sequence::Sequence;
pub use crate::sequence::{Event, Token};
use gradus_ir::{Error, Result};
use std::sync::Arc;

/// Most tokens of a prompt that one step computes.
const PIECE: usize = 128;

/// A slot that runs a text, until it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(usize);

/// What a slot does.
enum Work {
    Free,
    Running(Box<Sequence>),
    /// It has reported its end, and waits to be released.
    Ended,
}

/// Texts of one model that grow together.
pub struct Batch {
    model: Arc<Decoder>,
    slots: Vec<(Engine, Work)>,
}

impl Batch {
    /// Slots for texts, each with a cache of its own.
    pub fn new(model: Arc<Decoder>, slots: usize) -> Batch {
        let slots = (0..slots.max(1)).map(|_| (Engine::new(model.clone()), Work::Free)).collect();
        Batch { model, slots }
    }

    /// The model.
    pub fn model(&self) -> &Decoder {
        &self.model
    }

    /// Number of free slots.
    pub fn free(&self) -> usize {
        self.slots.iter().filter(|(_, work)| matches!(work, Work::Free)).count()
    }

    /// Whether no slot has anything to compute.
    pub fn is_idle(&self) -> bool {
        !self.slots.iter().any(|(_, work)| matches!(work, Work::Running(_)))
    }

    /// Begins a text in a free slot: the one whose cache holds most of the prompt's beginning.
    pub fn admit(&mut self, prompt: &[i64], options: &Options) -> Result<Slot> {
        let sequence = Sequence::new(&self.model.config, prompt, options)?;
        let common = |engine: &Engine| engine.held().iter().zip(prompt).take_while(|(a, b)| a == b).count();
        let free = self.slots.iter().enumerate().filter(|(_, (_, work))| matches!(work, Work::Free));
        // Of equals the one with the shortest text, so that others keep what they hold.
        let best = free.max_by_key(|(_, (e, _))| (common(e), std::cmp::Reverse(e.held().len())));
        let Some((slot, _)) = best else {
            return Err(Error::value(format!("all of {} slots", self.slots.len()), "are in use"));
        };
        self.slots[slot].1 = Work::Running(Box::new(sequence));
        Ok(Slot(slot))
    }

    /// Gives one token to each running slot whose prompt is computed. A slot that has ended or failed reports it once. An error
    /// concerns all slots.
    pub fn step(&mut self) -> Result<Vec<(Slot, Event)>> {
        let mut events = Vec::new();
        for (i, (engine, work)) in self.slots.iter_mut().enumerate() {
            let Work::Running(sequence) = work else { continue };
            let event = match advance(engine, sequence) {
                Ok(None) => continue,
                Ok(Some(event)) => event,
                Err(e) => Event::Failed(e.to_string()),
            };
            if !matches!(event, Event::Token(_)) {
                *work = Work::Ended;
            }
            events.push((Slot(i), event));
        }
        Ok(events)
    }

    /// Ends a text. The slot is free again, and keeps its cache for prompts that begin alike.
    pub fn release(&mut self, slot: Slot) {
        if let Some((_, work)) = self.slots.get_mut(slot.0) {
            *work = Work::Free;
        }
    }
}

/// Computes the next piece of a prompt, or the next token.
fn advance(engine: &mut Engine, sequence: &mut Sequence) -> Result<Option<Event>> {
    if let Some(finish) = sequence.prepare() {
        return Ok(Some(Event::Finished(finish)));
    }
    let text = sequence.text();
    let held = engine.held().iter().zip(text).take_while(|(a, b)| a == b).count();
    if text.len() - held > PIECE {
        engine.logits_after(&text[..held + PIECE])?;
        return Ok(None);
    }
    let logits = engine.logits_after(text)?;
    sequence.choose(&logits).map(Some)
}
