//! Regular expressions over bytes, the building blocks of a grammar. They are stored in an arena and refer to
//! each other by number.

use gradus_ir::{Error, Result};

/// The number of an expression in its arena.
pub(super) type Id = u32;

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bytes([u64; 4]);

impl Bytes {
    /// Makes a set of the bytes of some ranges, both ends included.
    pub(super) fn of(ranges: &[(u8, u8)]) -> Bytes {
        let mut set = [0; 4];
        for byte in ranges.iter().flat_map(|(from, to)| *from..=*to) {
            set[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        Bytes(set)
    }

    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }
}

/// An expression over bytes. It matches a set of texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Expression {
    /// Any one byte of a set.
    Byte(Bytes),
    /// Exactly these bytes; not empty.
    Literal(Box<[u8]>),
    /// The parts one after the other; the empty sequence matches the empty text.
    Sequence(Box<[Id]>),
    /// Any one of the parts; the empty choice matches no text.
    Choice(Box<[Id]>),
    /// `item` repeated `min` to `max` times; `u32::MAX` means without limit.
    Repeat { item: Id, min: u32, max: u32 },
}

/// Largest number of expressions of a grammar.
const MAX: usize = 200_000;

/// Length of the shortest text of an expression that matches no text.
pub(super) const NEVER: usize = usize::MAX;

/// Expressions by number, with the length of the shortest text that each matches.
#[derive(Default)]
pub(super) struct Arena {
    all: Vec<Expression>,
    shortest: Vec<usize>,
    same: std::collections::HashMap<Expression, Id>,
}

impl Arena {
    /// Adds an expression whose parts are already in the arena. Parts of a choice that match no text are
    /// dropped.
    pub(super) fn add(&mut self, mut expression: Expression) -> Result<Id> {
        if let Expression::Choice(parts) = &mut expression {
            *parts = parts.iter().copied().filter(|p| self.shortest(*p) != NEVER).collect();
        }
        if let Some(id) = self.same.get(&expression) {
            return Ok(*id);
        }
        if self.all.len() >= MAX {
            return Err(Error::value("the schema", format!("is too large: more than {MAX} parts")));
        }
        let shortest = match &expression {
            Expression::Byte(_) => 1,
            Expression::Literal(bytes) => bytes.len(),
            Expression::Sequence(parts) => {
                parts.iter().fold(0, |sum: usize, p| sum.saturating_add(self.shortest(*p)))
            }
            Expression::Choice(parts) => parts.iter().map(|p| self.shortest(*p)).min().unwrap_or(NEVER),
            Expression::Repeat { min: 0, .. } => 0,
            Expression::Repeat { item, min, .. } => self.shortest(*item).saturating_mul(*min as usize),
        };
        let id = self.all.len() as Id;
        self.all.push(expression.clone());
        self.shortest.push(shortest);
        self.same.insert(expression, id);
        Ok(id)
    }

    pub(super) fn get(&self, id: Id) -> &Expression {
        &self.all[id as usize]
    }

    /// Number of bytes of the shortest text that matches, or [`NEVER`].
    pub(super) fn shortest(&self, id: Id) -> usize {
        self.shortest[id as usize]
    }

    pub(super) fn literal(&mut self, text: &str) -> Result<Id> {
        if text.is_empty() {
            self.sequence(&[])
        } else {
            self.add(Expression::Literal(text.as_bytes().into()))
        }
    }

    pub(super) fn byte(&mut self, ranges: &[(u8, u8)]) -> Result<Id> {
        self.add(Expression::Byte(Bytes::of(ranges)))
    }

    pub(super) fn sequence(&mut self, parts: &[Id]) -> Result<Id> {
        self.add(Expression::Sequence(parts.into()))
    }

    pub(super) fn choice(&mut self, parts: &[Id]) -> Result<Id> {
        self.add(Expression::Choice(parts.into()))
    }

    /// `item` repeated `min` to `max` times. If `item` matches no text and `min` is 0, this is the empty
    /// text.
    pub(super) fn repeat(&mut self, item: Id, min: u32, max: u32) -> Result<Id> {
        match self.shortest(item) {
            _ if max == 0 => self.sequence(&[]),
            NEVER if min == 0 => self.sequence(&[]),
            _ => self.add(Expression::Repeat { item, min, max }),
        }
    }

    pub(super) fn optional(&mut self, item: Id) -> Result<Id> {
        self.repeat(item, 0, 1)
    }
}
