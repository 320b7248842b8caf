//! Code that is generated once: it holds for every kernel of the same nodes, whatever its extents, places and buffers, which
//! are handed over when it is called.

use super::emit::{Table, emit};
use super::lower::Lowered;
use super::memory::Pages;
use super::schedule::schedule;
use super::{avx2, avx512};
use crate::feature::Isa;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Code, and what it is handed.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) pages: Pages,
    pub(super) table: Table,
    /// Row buffers.
    pub(super) kept: usize,
    /// Values per element and row.
    pub(super) nodes: usize,
}

/// By nodes: their code, or that they have none, which takes as long to find out.
type Known = HashMap<(Isa, Lowered), Option<Arc<Shared>>>;

/// Most that is kept for kernels to come, a page or more each; then all of it is forgotten, and made again when wanted.
const MOST: usize = 4096;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn known() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The code for nodes, if they have some; generated without holding the lock.
pub(super) fn shared(isa: Isa, lowered: Lowered) -> Option<Arc<Shared>> {
    let key = (isa.vectors(), lowered);
    if let Some(shared) = known().as_ref().and_then(|k| k.get(&key)) {
        return shared.clone();
    }
    let shared = match Shared::code(key.0, &key.1) {
        // A moment without memory for it is nothing to remember.
        Some(code) => Some(Arc::new(Shared::new(code, &key.1)?)),
        None => None,
    };
    let mut known = known();
    let all = known.get_or_insert_default();
    if all.len() >= MOST {
        all.clear();
    }
    // Another thread may have been faster: its code is the same.
    all.entry(key).or_insert(shared).clone()
}

/// Instructions, what they are handed, and how many row buffers they need.
type Code = (Vec<u8>, Table, usize);

impl Shared {
    fn code(isa: Isa, lowered: &Lowered) -> Option<Code> {
        let (turns, kept) = schedule(lowered);
        let (code, table) = match isa {
            Isa::Avx512 => emit::<avx512::Avx512>(lowered, &turns, kept)?,
            Isa::Avx2 => emit::<avx2::Avx2>(lowered, &turns, kept)?,
            _ => return None,
        };
        Some((code, table, kept))
    }

    fn new((code, table, kept): Code, lowered: &Lowered) -> Option<Shared> {
        Some(Shared { pages: Pages::new(&code)?, table, kept, nodes: lowered.nodes.len() })
    }
}
