//! Forms that are no loop nest: natively where that pays, else by the reference.

use crate::Pool;
use crate::literal::{from_memory, to_memory};
use crate::tile::Memory;
use gradus_compile::Routine;
use gradus_ir::{Literal, Result, reference};

/// Runs an op on whole buffers.
///
/// # Safety
/// Buffers are as large as their types say, and nobody else uses them meanwhile.
pub(crate) unsafe fn run(routine: &Routine, _pool: &Pool, memory: Memory<'_>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { by_reference(routine, memory) }
}

unsafe fn by_reference(routine: &Routine, memory: Memory<'_>) -> Result<()> {
    let read = |(b, aval): (&usize, &gradus_ir::Aval)| {
        // SAFETY: the caller's promise.
        unsafe { from_memory(aval, memory.0[*b]) }
    };
    let ins = routine.ins.iter().zip(&routine.types).map(read).collect::<Result<Vec<Literal>>>()?;
    let outs = reference::apply(&routine.op, &ins)?;
    for (l, &b) in outs.iter().zip(&routine.outs) {
        // SAFETY: the caller's promise.
        unsafe { to_memory(l, memory.0[b]) };
    }
    Ok(())
}
