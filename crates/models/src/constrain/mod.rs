//! Constrains generated text to a grammar, such as the documents of a JSON schema.
//!
//! A [`Grammar`] is made from a schema and a [`Vocabulary`]; a [`Matcher`] follows one text and tells which tokens may come next.
//! Which of them is taken is decided by sampling.

mod automaton;
mod document;
mod expression;
mod integer;
mod schema;
mod vocabulary;

pub use document::{Document, Fields};
pub use vocabulary::Vocabulary;

use automaton::{Automaton, State};
use gradus_ir::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// A set of texts, over the tokens of a vocabulary.
pub struct Grammar {
    vocabulary: Arc<Vocabulary>,
    automaton: Mutex<Automaton>,
    start: State,
}

impl std::fmt::Debug for Grammar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Grammar")
    }
}

impl Grammar {
    /// The JSON documents that a schema permits. A schema with a keyword that cannot be honoured is refused with its name.
    ///
    /// Objects have the properties that the schema lists, in its order; optional ones may be absent. Numbers have at most 15 digits
    /// before the point, and values nest at most [`MOST_DEPTH`] levels: all documents are valid, but not every valid document can
    /// be made.
    pub fn json_schema(schema: &Document, vocabulary: &Arc<Vocabulary>) -> Result<Grammar> {
        Ok(Grammar::new(schema::expression(schema)?, vocabulary))
    }

    /// All JSON objects.
    pub fn json_object(vocabulary: &Arc<Vocabulary>) -> Result<Grammar> {
        Ok(Grammar::new(schema::any_object()?, vocabulary))
    }

    fn new(root: (expression::Arena, expression::Id), vocabulary: &Arc<Vocabulary>) -> Grammar {
        let (automaton, start) = Automaton::new(root.0, root.1);
        Grammar { vocabulary: vocabulary.clone(), automaton: Mutex::new(automaton), start }
    }

    /// Number of bytes of the shortest text.
    pub fn shortest(&self) -> usize {
        self.lock().shortest(&self.start)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Automaton> {
        // The automaton is a cache: whatever a panicking thread left is valid.
        self.automaton.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Most levels of arrays and objects in a document.
pub const MOST_DEPTH: usize = 32;

/// One text of a grammar, as it grows token by token.
#[derive(Clone)]
pub struct Matcher {
    grammar: Arc<Grammar>,
    state: State,
}

impl Matcher {
    /// Begins a text.
    pub fn new(grammar: &Arc<Grammar>) -> Matcher {
        Matcher { grammar: grammar.clone(), state: grammar.start.clone() }
    }

    /// For every token whether it may come next, if `left` tokens may follow in all. The text can always be completed within
    /// `left` tokens if it could before, provided that every byte is a token of its own.
    pub fn allowed(&self, left: usize) -> Vec<bool> {
        let mut automaton = self.grammar.lock();
        let feasible = automaton.shortest(&self.state) <= left;
        let budget = if feasible { left.saturating_sub(1) } else { usize::MAX };
        automaton.mask(&self.state, &self.grammar.vocabulary, budget)
    }

    /// Whether the text is complete as it is.
    pub fn is_complete(&self) -> bool {
        self.grammar.lock().accepts(&self.state)
    }

    /// Whether nothing more can follow.
    pub fn is_finished(&self) -> bool {
        self.grammar.lock().is_finished(&self.state)
    }

    /// Takes the next token.
    pub fn push(&mut self, token: i64) -> Result<()> {
        let refused = || Error::value(format!("token {token}"), "does not continue a text of the grammar");
        let bytes = self.grammar.vocabulary.bytes(token).ok_or_else(refused)?;
        let mut automaton = self.grammar.lock();
        let mut state = self.state.clone();
        for byte in bytes {
            state = automaton.step(&state, *byte).ok_or_else(refused)?;
        }
        drop(automaton);
        self.state = state;
        Ok(())
    }
}
