//! Values under evaluation, and the number of bytes they hold at a time.
//!
//! Everything that an evaluation holds is a [`Value`], which counts itself when made and when dropped.

use crate::Literal;
use crate::literal::Data;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes held now and at peak. Values that share their elements count once.
#[derive(Debug, Default)]
pub(super) struct Live(RefCell<Counts>);

#[derive(Debug, Default)]
struct Counts {
    now: usize,
    peak: usize,
    /// Number of values that hold the elements at an address.
    holders: HashMap<usize, usize>,
}

/// Returns the address of the elements, and their size in bytes in the carrier of their class.
fn storage(literal: &Literal) -> (usize, usize) {
    match literal.data() {
        Data::F(v) => (Arc::as_ptr(v) as usize, size_of_val(&v[..])),
        Data::C(v) => (Arc::as_ptr(v) as usize, size_of_val(&v[..])),
        Data::I(v) => (Arc::as_ptr(v) as usize, size_of_val(&v[..])),
    }
}

impl Live {
    /// Returns the largest number of bytes held at a time.
    pub(super) fn peak(&self) -> usize {
        self.0.borrow().peak
    }

    fn add(&self, literal: &Literal) {
        let (at, bytes) = storage(literal);
        let mut counts = self.0.borrow_mut();
        let holders = counts.holders.entry(at).or_insert(0);
        *holders += 1;
        if *holders == 1 {
            counts.now += bytes;
            counts.peak = counts.peak.max(counts.now);
        }
    }

    fn remove(&self, literal: &Literal) {
        let (at, bytes) = storage(literal);
        let mut counts = self.0.borrow_mut();
        if let Some(holders) = counts.holders.get_mut(&at) {
            *holders -= 1;
            if *holders == 0 {
                counts.holders.remove(&at);
                counts.now -= bytes;
            }
        }
    }
}

/// A value held by an evaluation; counted if the evaluation counts bytes.
pub(super) struct Value<'l> {
    literal: Literal,
    live: Option<&'l Live>,
}

impl<'l> Value<'l> {
    pub(super) fn new(literal: Literal, live: Option<&'l Live>) -> Value<'l> {
        if let Some(live) = live {
            live.add(&literal);
        }
        Value { literal, live }
    }

    /// Returns the elements for modification. They must not be shared.
    pub(super) fn data_mut(&mut self) -> &mut Data {
        self.literal.data_mut()
    }
}

impl Clone for Value<'_> {
    fn clone(&self) -> Self {
        Value::new(self.literal.clone(), self.live)
    }
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        if let Some(live) = self.live {
            live.remove(&self.literal);
        }
    }
}

impl Deref for Value<'_> {
    type Target = Literal;
    fn deref(&self) -> &Literal {
        &self.literal
    }
}
