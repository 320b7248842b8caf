//! Constrains generated text to a grammar, such as the documents of a JSON schema.
//!
//! A [`Grammar`] is made from a schema and a [`Vocabulary`]. A [`Matcher`] follows one text and returns the
//! tokens that may come next; sampling chooses among them.

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

/// A set of permitted texts, over the tokens of a vocabulary.
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
    /// Makes the grammar of the JSON documents that a schema permits. Fails if the schema has an unsupported
    /// keyword, which the error names.
    ///
    /// Objects have the properties that the schema lists, in its order; optional properties may be absent.
    /// Numbers have at most 15 digits before the point, and values nest at most [`MAX_DEPTH`] levels. All
    /// documents of the grammar are valid, but not every valid document is in it.
    pub fn json_schema(schema: &Document, vocabulary: &Arc<Vocabulary>) -> Result<Grammar> {
        Ok(Grammar::new(schema::expression(schema)?, vocabulary))
    }

    /// Makes the grammar of all JSON objects.
    pub fn json_object(vocabulary: &Arc<Vocabulary>) -> Result<Grammar> {
        Ok(Grammar::new(schema::any_object()?, vocabulary))
    }

    fn new(root: (expression::Arena, expression::Id), vocabulary: &Arc<Vocabulary>) -> Grammar {
        let (automaton, start) = Automaton::new(root.0, root.1);
        Grammar { vocabulary: vocabulary.clone(), automaton: Mutex::new(automaton), start }
    }

    /// Number of bytes of the shortest text of the grammar.
    pub fn shortest(&self) -> usize {
        self.lock().shortest(&self.start)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Automaton> {
        // A panic leaves the automaton valid: it only caches states.
        self.automaton.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Largest nesting depth of arrays and objects in a document.
pub const MAX_DEPTH: usize = 32;

/// Follows one text of a grammar, token by token.
#[derive(Clone)]
pub struct Matcher {
    grammar: Arc<Grammar>,
    state: State,
}

impl Matcher {
    /// Starts an empty text.
    pub fn new(grammar: &Arc<Grammar>) -> Matcher {
        Matcher { grammar: grammar.clone(), state: grammar.start.clone() }
    }

    /// Returns for every token whether it may come next, if at most `left` tokens may still be added. If the
    /// text can be completed within `left` tokens, this stays so after each permitted token, provided that
    /// every byte has its own token.
    pub fn allowed(&self, left: usize) -> Vec<bool> {
        let mut automaton = self.grammar.lock();
        let feasible = automaton.shortest(&self.state) <= left;
        let budget = if feasible { left.saturating_sub(1) } else { usize::MAX };
        automaton.mask(&self.state, &self.grammar.vocabulary, budget)
    }

    /// Returns true if the text is complete; it may still be continued.
    pub fn is_complete(&self) -> bool {
        self.grammar.lock().accepts(&self.state)
    }

    /// Returns true if the text is complete and cannot be continued.
    pub fn is_finished(&self) -> bool {
        self.grammar.lock().is_finished(&self.state)
    }

    /// Appends a token. Fails if the grammar does not permit it; the matcher is then unchanged.
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
