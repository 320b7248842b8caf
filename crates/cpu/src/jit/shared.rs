//! A cache of generated code. Kernels with equal nodes share their code; extents, offsets and buffers are
//! passed at the call.

use super::emit::{Table, emit};
use super::lower::Lowered;
use super::memory::Pages;
use super::schedule::schedule;
use super::{avx2, avx512};
use crate::feature::Isa;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Code, and the layout of its table.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) pages: Pages,
    pub(super) table: Table,
    /// Number of row buffers.
    pub(super) kept: usize,
    /// Number of nodes, per element and row.
    pub(super) nodes: usize,
}

/// The code of each kernel that was generated. `None` for kernels without code, because detecting that takes as long as
/// generating code.
type Known = HashMap<(Isa, Lowered), Option<Arc<Shared>>>;

/// Largest number of entries, each of which has at least a page. A full cache is cleared.
const MAX: usize = 4096;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn known() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the code for nodes, if there is any. Generates it without holding the lock.
pub(super) fn shared(isa: Isa, lowered: Lowered) -> Option<Arc<Shared>> {
    let key = (isa.vectors(), lowered);
    if let Some(shared) = known().as_ref().and_then(|k| k.get(&key)) {
        return shared.clone();
    }
    let shared = match Shared::code(key.0, &key.1) {
        // A failed allocation of memory is not cached.
        Some(code) => Some(Arc::new(Shared::new(code, &key.1)?)),
        None => None,
    };
    let mut known = known();
    let all = known.get_or_insert_default();
    if all.len() >= MAX {
        all.clear();
    }
    // If another thread has generated the same code in the meantime, its code is used.
    all.entry(key).or_insert(shared).clone()
}

/// Instructions, the layout of their table, and the number of row buffers.
type Code = (Vec<u8>, Table, usize);

impl Shared {
    fn code(isa: Isa, lowered: &Lowered) -> Option<Code> {
        let (passes, kept) = schedule(lowered);
        let (code, table) = match isa {
            Isa::Avx512 => emit::<avx512::Avx512>(lowered, &passes, kept)?,
            Isa::Avx2 => emit::<avx2::Avx2>(lowered, &passes, kept)?,
            _ => return None,
        };
        Some((code, table, kept))
    }

    fn new((code, table, kept): Code, lowered: &Lowered) -> Option<Shared> {
        Some(Shared { pages: Pages::new(&code)?, table, kept, nodes: lowered.nodes.len() })
    }
}
