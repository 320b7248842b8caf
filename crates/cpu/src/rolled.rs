//! Loops whose step is one elementwise kernel: the steps become rows of a larger kernel, which runs them in
//! order.
//!
//! A carry has one buffer, which every step reads and writes; stacks are indexed by their slices. Elements are
//! independent of each other, so that threads share the elements.

use crate::pool::Pool;
use crate::tile::{Memory, TileProgram};
use gradus_compile::{Access, BufferLocation, Control, Kernel, Layout, Operation, Plan, Step};
use gradus_ir::DType;

/// Smallest work per thread: elements of all steps times instructions.
const GRAIN: usize = 1 << 16;

/// Numbers of shared operands, carries and steps of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) shared: usize,
    pub(crate) carries: usize,
    pub(crate) length: usize,
    pub(crate) reverse: bool,
}

/// Largest number of elements processed together.
const MOST: usize = 1024;

/// A loop as a program.
#[derive(Debug)]
pub(crate) struct Rolled {
    program: TileProgram,
    /// Elements of a row, which threads share, and rows of one step.
    inner: usize,
    outer: usize,
    length: usize,
    cost: usize,
    /// Initial buffer, buffer and bytes of each carry.
    carries: Vec<(usize, usize, usize)>,
}

impl Rolled {
    /// Makes the program of a loop over buffers of its plan, with generated code if `native`. Returns `None` if
    /// its step is not an elementwise kernel.
    pub(crate) fn new(
        control: &Control,
        counts: Counts,
        buffers: &[(DType, usize)],
        native: bool,
    ) -> Option<Rolled> {
        let kernel = one_kernel(control, counts, buffers)?;
        let make = if native { TileProgram::new } else { TileProgram::interpreted };
        let program = make(&kernel, buffers).ok()?;
        let first = control.ins[counts.shared..].iter().zip(&control.outs).take(counts.carries);
        let bytes = |b: usize| buffers[b].1 * buffers[b].0.size();
        let carries = first.map(|(from, to)| (*from, *to, bytes(*to))).collect();
        let (inner, outer) = (*kernel.axes.last()?, kernel.axes[..kernel.axes.len() - 2].iter().product());
        Some(Rolled { program, inner, outer, length: counts.length, cost: kernel.body.len(), carries })
    }

    /// Returns the program of all steps.
    pub(crate) fn program(&self) -> &TileProgram {
        &self.program
    }

    /// # Safety
    /// Memory is that of the loop's plan, and no other thread accesses it during the call.
    pub(crate) unsafe fn run(&self, pool: &Pool, memory: Memory<'_>) {
        for &(from, to, bytes) in &self.carries {
            // SAFETY: both buffers have at least `bytes` bytes, and are different.
            unsafe { std::ptr::copy_nonoverlapping(memory.at(from), memory.at(to), bytes) };
        }
        let work = self.outer * self.inner * self.length * self.cost;
        let parts = (work / GRAIN / self.outer).clamp(1, self.inner.div_ceil(64));
        let each = self.inner.div_ceil(parts).next_multiple_of(64).min(MOST);
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

/// Builds the kernel of all steps: the step's kernel with an axis of steps before its last, over the buffers of
/// the loop's plan.
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
        layouts(&mut kernel)?.into_iter().for_each(|l| l.layout.strides.push(1));
    }
    let at = kernel.axes.len() - 1;
    kernel.axes.insert(at, length);
    kernel.parallel = kernel.axes.len();
    let carried = |access: &Access| match plan.buffers[access.buffer].location {
        BufferLocation::Input(i) => i.checked_sub(shared).filter(|c| *c < carries),
        BufferLocation::Output(k) => Some(k).filter(|k| *k < carries),
        _ => None,
    };
    // A carry must be read only where it is written.
    let mut of: Vec<Option<Layout>> = vec![None; carries];
    for access in layouts(&mut kernel)? {
        if let Some(c) = carried(access) {
            let known = of[c].get_or_insert_with(|| access.layout.clone());
            if *known != access.layout {
                return None;
            }
        }
    }
    for access in layouts(&mut kernel)? {
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

/// Returns everything that a kernel of plain loads reads and writes.
fn layouts(kernel: &mut Kernel) -> Option<Vec<&mut Access>> {
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
