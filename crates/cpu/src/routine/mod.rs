//! Runs ops that are not loop nests, and regions that the device claims. An op has code here if that is faster than the
//! reference evaluator, which runs all other ops.
//!
//! This code computes in the same types as the reference and rounds once, so results equal those of the reference bit for bit.
//! Exceptions are convolutions, which sum in their own dtype as products do, and factorisations. No result depends on the
//! number of threads.

mod bits;
mod conv;
mod element;
mod fold;
mod index;
#[cfg(not(target_arch = "wasm32"))]
mod linalg;
mod lines;
mod order;
mod patches;
pub(crate) mod region;
mod shifted;
pub(crate) mod siblings;
mod spread;
mod thin;

pub(crate) use region::CLAIMS;

use crate::Pool;
use crate::elements::Elements;
use crate::literal::{from_memory, to_memory};
use crate::tile::Memory;
use gradus_compile::Routine;
#[cfg(not(target_arch = "wasm32"))]
use gradus_ir::ops::External;
use gradus_ir::ops::Form;
use gradus_ir::{Aval, Error, Literal, Result, reference};

/// Smallest number of bytes per task.
const GRAIN: usize = 1 << 16;

/// Runs an op on complete buffers.
///
/// # Safety
/// Buffers have the sizes that their types state, and no other thread accesses them during the call.
pub(crate) unsafe fn run(routine: &Routine, pool: &Pool, memory: Memory<'_>) -> Result<()> {
    let call = Call { routine, pool, memory };
    // SAFETY: the caller guarantees buffers of the stated sizes, which no other thread accesses.
    let done = unsafe {
        match routine.op.def().form(&routine.types) {
            Form::Bits => bits::fill(&call),
            Form::Convolve(window) => conv::convolve(&call, &window),
            Form::Fold(window) => fold::fold(&call, &window),
            Form::Take { axis } => index::take(&call, axis),
            Form::Scatter { axis, combine } => index::scatter(&call, axis, combine),
            Form::ArgReduce { largest, axis } => lines::arg_reduce(&call, largest, axis),
            Form::Cumulate { combine, axis, reverse } => lines::cumulate(&call, combine, axis, reverse),
            Form::Sort { axis, descending, first } => order::sort(&call, axis, descending, first),
            #[cfg(not(target_arch = "wasm32"))]
            Form::External { kind: External::Matrix(kind), .. } => linalg::factorise(&call, kind),
            _ => Ok(false),
        }
    };
    let done = match done {
        // SAFETY: the caller guarantees buffers of the stated sizes, which no other thread accesses.
        Ok(false) => unsafe { run_reference(routine, memory) },
        done => done.map(|_| ()),
    };
    let named = |e: Error| {
        let e = e.in_op(routine.op.name(), &routine.types);
        routine.origin.as_ref().map_or(e.clone(), |origin| e.of(origin))
    };
    done.map_err(named)
}

unsafe fn run_reference(routine: &Routine, memory: Memory<'_>) -> Result<()> {
    let read = |(b, aval): (&usize, &Aval)| {
        // SAFETY: the caller guarantees the buffer of this operand.
        unsafe { from_memory(aval, memory.0[*b]) }
    };
    let ins = routine.ins.iter().zip(&routine.types).map(read).collect::<Result<Vec<Literal>>>()?;
    gradus_ir::stop::poll()?; // reading operands can take long
    let outs = reference::apply(&routine.op, &ins)?;
    gradus_ir::stop::poll()?;
    for (l, &b) in outs.iter().zip(&routine.outs) {
        // SAFETY: the caller guarantees the buffer of this result, which has the literal's type.
        unsafe { to_memory(l, memory.0[b]) };
    }
    Ok(())
}

/// An op, its buffers and the threads it may use.
struct Call<'a> {
    routine: &'a Routine,
    pool: &'a Pool,
    memory: Memory<'a>,
}

impl<'a> Call<'a> {
    /// Returns the type of an operand.
    fn operand_type(&self, i: usize) -> &'a Aval {
        &self.routine.types[i]
    }

    /// Returns an operand's elements.
    ///
    /// # Safety
    /// `T` is the element type of the operand's dtype, and no thread writes to the operand while the slice
    /// lives.
    unsafe fn operand<T>(&self, i: usize) -> &'a [T] {
        let n = self.operand_type(i).shape.numel();
        if n == 0 {
            return &[];
        }
        // SAFETY: the caller guarantees the type, and the caller of `run` that buffers have the sizes that their types state.
        unsafe { std::slice::from_raw_parts(self.memory.0[self.routine.ins[i]].cast(), n) }
    }

    /// Returns the buffer of a result.
    fn result<T>(&self, i: usize) -> Elements<T> {
        Elements(self.memory.0[self.routine.outs[i]].cast())
    }

    /// Calls `part(from, to)` for parts that cover `0..count`, on several threads. Each item is `bytes` bytes of work.
    fn parts(&self, count: usize, bytes: usize, part: impl Fn(usize, usize) + Sync) {
        let each = (GRAIN / bytes.max(1)).clamp(1, count.max(1));
        self.pool.run(count.div_ceil(each), &|chunk| part(chunk * each, ((chunk + 1) * each).min(count)));
    }
}

/// Returns the number of elements before the axis, its extent, and the number of elements after it.
fn split_extents(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
}
