//! Registers the primitives of users by name, so that graph text with these ops can be parsed.

use super::{Attr, Op};
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

type Parse = fn(&dyn Fn(&str) -> Option<Attr>) -> Option<Op>;

static PRIMITIVES: RwLock<Option<HashMap<String, Parse>>> = RwLock::new(None);

/// Registers `parse` as the function that builds the op `name` from graph text.
pub fn register(name: &str, parse: Parse) {
    let mut table = PRIMITIVES.write().unwrap_or_else(PoisonError::into_inner);
    table.get_or_insert_default().insert(name.to_string(), parse);
}

pub(super) fn is_known(name: &str) -> bool {
    PRIMITIVES.read().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|t| t.contains_key(name))
}

pub(super) fn parse(name: &str, attrs: &dyn Fn(&str) -> Option<Attr>) -> Option<Op> {
    let parse = *PRIMITIVES.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(name)?;
    parse(attrs)
}
