//! Divides a product into tasks: products of the batch, blocks of C, parts of k.

use super::block::Part;
use super::kernel::Kernels;
use super::plan::{Plan, TASK, cost};
use super::scratch::Scratch;
use super::{Finish, Operand, Output, Problem, Real, Strided, Tile};
use crate::Pool;
use crate::elements::Elements;
use gradus_ir::stop;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Number of elements of C per task when the sums of parts of k are added.
const SUMS: usize = 1 << 13;

/// A product being computed.
pub(super) struct Drive<'p, T: Real> {
    pub(super) pool: &'p Pool,
    pub(super) kernels: &'static Kernels<T>,
    pub(super) problem: &'p Problem<'p, T>,
    pub(super) plan: Plan,
    /// If true, the caller has requested a stop.
    stopped: AtomicBool,
}

// SAFETY: all tasks read the operands, and each writes its own part of C; the problem's closures are `Sync`.
unsafe impl<T: Real> Sync for Drive<'_, T> {}

/// Computes `problem`.
///
/// # Safety
/// The processor has the instructions of `kernels`; otherwise as for [`gemm`](super::gemm).
pub(super) unsafe fn run<T: Real>(pool: &Pool, kernels: &'static Kernels<T>, problem: &Problem<'_, T>) {
    let &Problem { batch, m, n, .. } = problem;
    if batch == 0 || m == 0 || n == 0 {
        return;
    }
    // A contiguous column of C is computed as a row of the transposed product, because kernels are faster for many columns.
    if let (1, 1, 2.., Operand::Strided(Strided { lane: 1, .. })) = (n, problem.c.row, m, problem.a) {
        let original = problem.finish;
        let finish = move |t: Tile<T::Sum>| {
            let (row0, rows, col0, cols) = (t.col0, t.cols, t.row0, t.rows);
            if let Some(finish) = original {
                finish(Tile { row0, rows, col0, cols, row: 1, ..t });
            }
        };
        let finish: Option<Finish<'_, T::Sum>> = original.is_some().then_some(&finish);
        // SAFETY: the caller guarantees the problem; transposing a C of one column gives a C of one row.
        return unsafe { run(pool, kernels, &Problem { finish, ..problem.transposed() }) };
    }
    let drive = Drive {
        pool,
        kernels,
        problem,
        plan: Plan::new(problem, kernels, pool.threads()),
        stopped: AtomicBool::new(false),
    };
    // SAFETY: `index` is below the number of products, and each call computes its own product.
    let one = |index: usize| unsafe { drive.one_product(index) };
    if drive.blocks() * drive.plan.parts > 1 {
        (0..batch).for_each(one);
    } else {
        let together = (TASK / cost(problem, kernels).max(1)).clamp(1, batch.div_ceil(8));
        pool.run(batch.div_ceil(together), &|chunk| {
            (chunk * together..((chunk + 1) * together).min(batch)).for_each(one);
        });
    }
}

impl<T: Real> Drive<'_, T> {
    /// Returns true if a stop is requested. Checked inside of blocks, because a block can take seconds. The
    /// first thread that notices the request sets a flag for the others.
    pub(super) fn is_stopped(&self) -> bool {
        if !self.stopped.load(Relaxed) && stop::requested() {
            self.stopped.store(true, Relaxed);
        }
        self.stopped.load(Relaxed)
    }

    /// Returns the number of blocks of C.
    fn blocks(&self) -> usize {
        self.problem.m.div_ceil(self.plan.rows) * self.problem.n.div_ceil(self.plan.cols)
    }

    /// Computes one product of the batch.
    unsafe fn one_product(&self, batch: usize) {
        let &Problem { m, n, k, c: Output { data, batch: stride, row }, accumulate, .. } = self.problem;
        let parts = self.plan.parts;
        // SAFETY: `batch` is below the number of products, so the offset is within C.
        let c = unsafe { data.offset(batch as isize * stride) };
        let whole = Part { batch, depth: 0..k, c, row, accumulate, finish: true };
        if parts == 1 {
            // SAFETY: each task has its own block of C.
            return self.pool.run(self.blocks(), &|block| unsafe { self.block(&whole, block) });
        }
        let scratch = Scratch::take::<T::Sum>(parts * m * n);
        // The sums of each part of k: one complete C for each part, one after the other.
        let sums = Elements(scratch.as_ptr::<T::Sum>());
        let (steps, blocks) = (k.div_ceil(parts).next_multiple_of(self.kernels.deep), self.blocks());
        self.pool.run(parts * blocks, &|task| {
            let index = task / blocks;
            let depth = (index * steps).min(k)..((index + 1) * steps).min(k);
            // SAFETY: each part has its own C in the scratch memory, and each task its own block of it.
            unsafe {
                let c = sums.at(index * m * n);
                let part = Part { batch, depth, c, row: n as isize, accumulate: false, finish: false };
                self.block(&part, task % blocks);
            }
        });
        let rows = (SUMS / n).clamp(1, m);
        self.pool.run(m.div_ceil(rows), &|chunk| {
            let rows = chunk * rows..((chunk + 1) * rows).min(m);
            for i in rows.clone() {
                // SAFETY: the rows of C belong to this task, and all tasks that wrote the sums have ended.
                let (to, sum) = unsafe {
                    let to = std::slice::from_raw_parts_mut(whole.c.offset(i as isize * row), n);
                    (to, |part: usize| {
                        std::slice::from_raw_parts(sums.at((part * m + i) * n).cast_const(), n)
                    })
                };
                for part in 0..parts {
                    let first = part == 0 && !accumulate;
                    to.iter_mut().zip(sum(part)).for_each(|(to, &x)| *to = if first { x } else { *to + x });
                }
            }
            self.finish(&whole, rows, 0..n);
        });
    }
}
