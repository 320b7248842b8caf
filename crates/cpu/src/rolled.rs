//! Runs a loop whose body is one elementwise kernel as one larger kernel, in which the iterations are rows that run in order.
//!
//! A carry has one buffer, which every iteration reads and writes. The number of the row selects the slice of a stack.
//! Elements do not depend on each other, so each thread runs all iterations for a part of the elements.

use crate::pool::Pool;
use crate::tile::{Memory, TileProgram};
use gradus_compile::{Access, BufferLocation, Control, Kernel, Layout, Operation, Plan, Step};
use gradus_ir::DType;

/// Smallest work per thread, as the number of elements of all iterations times instructions.
const GRAIN: usize = 1 << 16;

/// The numbers of shared operands, carries and iterations of a loop, and its direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) shared: usize,
    pub(crate) carries: usize,
    pub(crate) length: usize,
    pub(crate) reverse: bool,
}

/// Largest number of elements processed together.
const MAX: usize = 1024;

/// A loop as a program.
#[derive(Debug)]
pub(crate) struct LoopProgram {
    program: TileProgram,
    /// Number of elements in a row, which are divided among threads, and number of rows of one iteration.
    inner: usize,
    outer: usize,
    length: usize,
    cost: usize,
    /// Initial buffer, buffer and bytes of each carry.
    carries: Vec<(usize, usize, usize)>,
}

impl LoopProgram {
    /// Makes the program of a loop over buffers of its plan, with generated code if `native` is true. Returns `None` if
    /// the body is not an elementwise kernel.
    pub(crate) fn new(
        control: &Control,
        counts: Counts,
        buffers: &[(DType, usize)],
        native: bool,
    ) -> Option<LoopProgram> {
        let kernel = one_kernel(control, counts, buffers)?;
        let make = if native { TileProgram::new } else { TileProgram::interpreted };
        let program = make(&kernel, buffers).ok()?;
        let first = control.ins[counts.shared..].iter().zip(&control.outs).take(counts.carries);
        let bytes = |b: usize| buffers[b].1 * buffers[b].0.size();
        let carries = first.map(|(from, to)| (*from, *to, bytes(*to))).collect();
        let (inner, outer) = (*kernel.axes.last()?, kernel.axes[..kernel.axes.len() - 2].iter().product());
        Some(LoopProgram { program, inner, outer, length: counts.length, cost: kernel.body.len(), carries })
    }

    /// Returns the program of all iterations.
    pub(crate) fn program(&self) -> &TileProgram {
        &self.program
    }

    /// Runs all iterations.
    ///
    /// # Safety
    /// `memory` holds the buffers of the loop's plan, and no other thread accesses them during the call.
    pub(crate) unsafe fn run(&self, pool: &Pool, memory: Memory<'_>) {
        for &(from, to, bytes) in &self.carries {
            // SAFETY: both buffers have at least `bytes` bytes, and are different.
            unsafe { std::ptr::copy_nonoverlapping(memory.at(from), memory.at(to), bytes) };
        }
        let work = self.outer * self.inner * self.length * self.cost;
        let parts = (work / GRAIN / self.outer).clamp(1, self.inner.div_ceil(64));
        let each = self.inner.div_ceil(parts).next_multiple_of(64).min(MAX);
        let parts = self.inner.div_ceil(each);
        pool.run(self.outer * parts, &|chunk| {
            let (row, start) = (chunk / parts * self.length, chunk % parts * each);
            // SAFETY: the caller guarantees the memory; chunks are separate elements, which no other chunk
            // reads or writes.
            unsafe {
                let elements = (start, each.min(self.inner - start));
                self.program.run_in_order(memory, (row, self.length), self.inner, elements);
            }
        });
    }
}

/// Builds the kernel of all iterations over the buffers of the loop's plan. It is the kernel of the body with an axis of
/// iterations before its last axis.
fn one_kernel(control: &Control, counts: Counts, buffers: &[(DType, usize)]) -> Option<Kernel> {
    let Counts { shared, carries, length, reverse } = counts;
    let plan: &Plan = control.plans.first()?;
    let [Step::Kernel(step)] = &plan.steps[..] else { return None };
    let mut kernel = step.clone();
    if kernel.parallel < kernel.axes.len() || kernel.axes.contains(&0) || length < 2 {
        return None;
    }
    if kernel.axes.is_empty() {
        kernel.axes.push(1);
        accesses(&mut kernel)?.into_iter().for_each(|l| l.layout.strides.push(1));
    }
    let at = kernel.axes.len() - 1;
    kernel.axes.insert(at, length);
    kernel.parallel = kernel.axes.len();
    let carry_of = |access: &Access| match plan.buffers[access.buffer].location {
        BufferLocation::Input(i) => i.checked_sub(shared).filter(|c| *c < carries),
        BufferLocation::Output(k) => Some(k).filter(|k| *k < carries),
        _ => None,
    };
    // A carry must be read only at the index at which it is written.
    let mut carry_layouts: Vec<Option<Layout>> = vec![None; carries];
    for access in accesses(&mut kernel)? {
        if let Some(c) = carry_of(access) {
            let known = carry_layouts[c].get_or_insert_with(|| access.layout.clone());
            if *known != access.layout {
                return None;
            }
        }
    }
    for access in accesses(&mut kernel)? {
        // The buffer of the loop's plan: `Ok` if it is a stack, of which an iteration accesses one slice, else `Err`.
        let stack = match plan.buffers[access.buffer].location {
            BufferLocation::Input(i) if i < shared => Err(control.ins[i]),
            BufferLocation::Input(i) if i < shared + carries => Err(control.outs[i - shared]),
            BufferLocation::Input(i) => Ok(control.ins[i]),
            BufferLocation::Output(k) if k < carries => Err(control.outs[k]),
            BufferLocation::Output(k) => Ok(control.outs[k]),
            BufferLocation::Constant(_) | BufferLocation::Arena(_) => return None,
        };
        let (Ok(buffer) | Err(buffer)) = stack;
        access.buffer = buffer;
        let slice = if stack.is_ok() { (buffers[buffer].1 / length) as i64 } else { 0 };
        access.layout.offset += if reverse { slice * (length as i64 - 1) } else { 0 };
        access.layout.strides.insert(at, if reverse { -slice } else { slice });
    }
    Some(kernel)
}

/// Returns the accesses of a kernel; `None` if it has other reads than plain loads.
fn accesses(kernel: &mut Kernel) -> Option<Vec<&mut Access>> {
    let mut all = Vec::new();
    for inst in &mut kernel.body {
        match &mut inst.op {
            Operation::Load(access) => all.push(access),
            Operation::Constant(_) | Operation::Scalar(_) => {}
            _ => return None,
        }
    }
    all.extend(kernel.stores.iter_mut().map(|s| &mut s.access));
    Some(all)
}
