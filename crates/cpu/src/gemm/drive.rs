//! The loops around the kernels.

use super::kernel::{DOT, Kernels, Step};
use super::plan::Plan;
use super::scratch::Scratch;
use super::{Operand, Output, Panel, Problem, Strided, Tile};
use crate::Pool;
use std::ops::{Add, Range};

/// Numbers of B that are packed at a time, and fewer, which stay in the second cache, where each is read by one task.
const PACKED: usize = 4 << 20;
const PACKED_ONCE: usize = 1 << 17;
/// Elements of C that are worth a task when parts of k are added up.
const SUMS: usize = 1 << 13;
/// Arithmetic of small products worth a task.
const SMALL: usize = 1 << 18;

/// Computes `problem`.
///
/// # Safety
/// The processor has the instructions of `kernels`; the rest as for [`gemm`](super::gemm).
pub(super) unsafe fn run<T: Copy + Add<Output = T> + 'static>(
    pool: &Pool,
    kernels: &'static Kernels<T>,
    problem: &Problem<'_, T>,
) {
    let &Problem { batch, m, n, k, .. } = problem;
    if batch == 0 || m == 0 || n == 0 {
        return;
    }
    let drive = Drive { pool, kernels, problem, plan: Plan::new(problem, kernels) };
    // SAFETY: each call has products of its own.
    let one = |index: usize| unsafe { drive.item(index) };
    if drive.blocks() > 1 {
        (0..batch).for_each(one);
    } else {
        let together = (SMALL / (2 * m * n * k).max(1)).clamp(1, batch.div_ceil(8).max(1));
        pool.run(batch.div_ceil(together), &|chunk| {
            (chunk * together..((chunk + 1) * together).min(batch)).for_each(one);
        });
    }
}

/// A problem being computed.
struct Drive<'p, T: 'static> {
    pool: &'p Pool,
    kernels: &'static Kernels<T>,
    problem: &'p Problem<'p, T>,
    plan: Plan,
}

// SAFETY: what it points to is shared by the tasks, which write to parts of C of their own; the problem's closures are
// `Sync`.
unsafe impl<T> Sync for Drive<'_, T> {}

/// One product over a stretch of k, on its way to `c`.
struct Part<T> {
    batch: usize,
    depth: Range<usize>,
    c: *mut T,
    row: isize,
    accumulate: bool,
    finish: bool,
}

// SAFETY: tasks write to blocks of their own.
unsafe impl<T> Sync for Part<T> {}

/// Panels of B that all tasks read: columns `cols` over `depth`, visit after visit, panel after panel.
struct Panels<T> {
    data: *mut T,
    depth: Range<usize>,
    cols: Range<usize>,
}

// SAFETY: it is written panel by panel, each by one task, and then only read.
unsafe impl<T> Sync for Panels<T> {}

impl<T: Copy + Add<Output = T>> Drive<'_, T> {
    /// How many tasks one product is.
    fn blocks(&self) -> usize {
        let (Problem { m, n, .. }, Plan { rows, cols, parts, .. }) = (self.problem, self.plan);
        m.div_ceil(rows) * n.div_ceil(cols) * parts
    }

    /// Computes one product of the batch.
    unsafe fn item(&self, batch: usize) {
        let &Problem { m, n, k, c: Output { data, batch: stride, row }, accumulate, .. } = self.problem;
        let parts = self.plan.parts;
        // SAFETY: the product exists.
        let c = unsafe { data.offset(batch as isize * stride) };
        let whole = Part { batch, depth: 0..k, c, row, accumulate, finish: true };
        if parts == 1 {
            // SAFETY: C is that of the problem.
            return unsafe { self.part(&whole) };
        }
        let scratch = Scratch::take::<T>(parts * m * n);
        let sums = Shared(scratch.as_ptr::<T>());
        let steps = k.div_ceil(parts);
        self.pool.run(parts, &|index| {
            let depth = (index * steps).min(k)..((index + 1) * steps).min(k);
            // SAFETY: each part has a C of its own in the scratch.
            let c = unsafe { sums.get().add(index * m * n) };
            let part = Part { batch, depth, c, row: n as isize, accumulate: false, finish: false };
            // SAFETY: as above.
            unsafe { self.part(&part) };
        });
        let rows = (SUMS / n).clamp(1, m);
        self.pool.run(m.div_ceil(rows), &|chunk| {
            let rows = chunk * rows..((chunk + 1) * rows).min(m);
            for i in rows.clone() {
                for j in 0..n {
                    // SAFETY: rows of C of this task's own, and sums that all tasks have left.
                    unsafe {
                        let to = whole.c.offset(i as isize * row).add(j);
                        let first = *sums.get().add(i * n + j);
                        let first = if accumulate { *to + first } else { first };
                        *to =
                            (1..parts).fold(first, |sum, part| sum + *sums.get().add((part * m + i) * n + j));
                    }
                }
            }
            self.finish(&whole, rows, 0..n);
        });
    }

    /// Computes a stretch of k of one product.
    unsafe fn part(&self, part: &Part<T>) {
        let (&Problem { m, n, .. }, Plan { rows, cols, steps, .. }) = (self.problem, self.plan);
        let down = m.div_ceil(rows);
        if self.plan.direct_b {
            let panels = Panels { data: std::ptr::null_mut(), depth: part.depth.clone(), cols: 0..n };
            return self.pool.run(down * n.div_ceil(cols), &|task| {
                // SAFETY: each task has a block of C of its own.
                unsafe { self.block(part, &panels, task % down, task / down, true) }
            });
        }
        // As much of k as fits, then as many blocks of columns.
        let nr = self.kernels.nr;
        let packed = if down == 1 { PACKED_ONCE } else { PACKED };
        let deep = (packed / cols / steps).max(1) * steps;
        let deep = deep.min(part.depth.len()).max(1);
        let wide = (packed / cols / deep).max(1) * cols;
        let scratch = Scratch::take::<T>(deep * wide.min(n.next_multiple_of(nr)));
        let mut first = part.depth.start;
        loop {
            let depth = first..(first + deep).min(part.depth.end);
            let last = depth.end == part.depth.end;
            let part = &Part {
                accumulate: part.accumulate || first > part.depth.start,
                depth: depth.clone(),
                ..*part
            };
            for left in (0..n).step_by(wide) {
                let panels =
                    Panels { data: scratch.as_ptr(), depth: depth.clone(), cols: left..(left + wide).min(n) };
                let across = panels.cols.len().div_ceil(nr);
                let together = (SUMS / (depth.len() * nr).max(1)).max(1);
                self.pool.run(across.div_ceil(together), &|chunk| {
                    for index in chunk * together..((chunk + 1) * together).min(across) {
                        // SAFETY: each panel is filled by one task.
                        unsafe { self.fill_b(part.batch, &panels, index) };
                    }
                });
                self.pool.run(down * panels.cols.len().div_ceil(cols), &|task| {
                    // SAFETY: each task has a block of C of its own, and the panels are filled.
                    unsafe { self.block(part, &panels, task % down, left / cols + task / down, last) }
                });
            }
            first = depth.end;
            if last {
                return;
            }
        }
    }

    /// Packs one panel of columns, for all visits.
    unsafe fn fill_b(&self, batch: usize, panels: &Panels<T>, index: usize) {
        let nr = self.kernels.nr;
        let lane = panels.cols.start + index * nr;
        let lanes = nr.min(panels.cols.end - lane);
        for depth in panels.depth.clone().step_by(self.plan.steps) {
            let steps = self.plan.steps.min(panels.depth.end - depth);
            let panel = Panel { batch, lane, lanes, depth, steps, width: nr };
            // SAFETY: the panel is within the buffer, and no other task fills it.
            unsafe { fill(&self.problem.b, self.kernels.pack_b, panel, panels.at(depth, steps, index, nr)) };
        }
    }

    /// Computes one block of C over the depth of `part`.
    unsafe fn block(&self, part: &Part<T>, panels: &Panels<T>, down: usize, across: usize, last: bool) {
        let (Problem { m, n, a, b, .. }, plan, kernels) = (self.problem, &self.plan, self.kernels);
        let rows = down * plan.rows..((down + 1) * plan.rows).min(*m);
        let cols = across * plan.cols..((across + 1) * plan.cols).min(*n);
        let (mr, nr) = if plan.dot { (DOT, DOT) } else { (kernels.mr, kernels.nr) };
        let scratch =
            (!plan.direct_a).then(|| Scratch::take::<T>(rows.len().next_multiple_of(mr) * plan.steps));
        let mut depth = part.depth.start;
        loop {
            let steps = plan.steps.min(part.depth.end - depth);
            let accumulate = part.accumulate || depth > part.depth.start;
            // SAFETY: panels of rows lie one after the other in the scratch.
            let packed_a =
                |i: usize| unsafe { scratch.as_ref().map(|s| s.as_ptr::<T>().add((i - rows.start) * steps)) };
            for i in rows.clone().step_by(mr) {
                if let Some(out) = packed_a(i) {
                    let lanes = mr.min(rows.end - i);
                    let panel = Panel { batch: part.batch, lane: i, lanes, depth, steps, width: mr };
                    // SAFETY: the scratch has room for the panel.
                    unsafe { fill(a, kernels.pack_a, panel, out) };
                }
            }
            for j in cols.clone().step_by(nr) {
                let width = nr.min(cols.end - j);
                // SAFETY: panels and operands have these elements.
                let (b, b_depth) = unsafe {
                    match b {
                        Operand::Strided(b) if plan.direct_b => {
                            (b.at(part.batch, j, depth), if plan.dot { b.lane } else { b.depth })
                        }
                        _ => (
                            panels.at(depth, steps, (j - panels.cols.start) / nr, nr).cast_const(),
                            nr as isize,
                        ),
                    }
                };
                for i in rows.clone().step_by(mr) {
                    let height = mr.min(rows.end - i);
                    // SAFETY: panels and operands have these elements.
                    let (a, a_lane, a_depth) = unsafe {
                        match (packed_a(i), a) {
                            (None, Operand::Strided(a)) => (a.at(part.batch, i, depth), a.lane, a.depth),
                            (packed, _) => {
                                (packed.unwrap_or(std::ptr::null_mut()).cast_const(), 1, mr as isize)
                            }
                        }
                    };
                    let kernel = if plan.dot {
                        kernels.dots[height - 1][width - 1]
                    } else if height == mr && width > nr - kernels.lanes && !plan.direct_a && !plan.direct_b {
                        kernels.packed
                    } else {
                        kernels.tiles[height - 1][width.div_ceil(kernels.lanes) - 1]
                    };
                    // SAFETY: the tile is within the block.
                    unsafe {
                        let c = part.c.offset(i as isize * part.row).add(j);
                        let last = (width - 1) % kernels.lanes + 1;
                        kernel(&Step {
                            k: steps,
                            a,
                            a_lane,
                            a_depth,
                            b,
                            b_depth,
                            c,
                            c_row: part.row,
                            last,
                            accumulate,
                        });
                    }
                }
            }
            depth += steps;
            if depth == part.depth.end {
                break;
            }
        }
        if last {
            self.finish(part, rows, cols);
        }
    }

    fn finish(&self, part: &Part<T>, rows: Range<usize>, cols: Range<usize>) {
        if let (true, Some(finish)) = (part.finish, self.problem.finish) {
            // SAFETY: the block is within C.
            let data = unsafe { part.c.offset(rows.start as isize * part.row).add(cols.start) };
            let (batch, row) = (part.batch, part.row);
            finish(Tile {
                batch,
                row0: rows.start,
                rows: rows.len(),
                col0: cols.start,
                cols: cols.len(),
                data,
                row,
            });
        }
    }
}

impl<T> Panels<T> {
    /// Where the panel `index` for `steps` from `depth` is.
    unsafe fn at(&self, depth: usize, steps: usize, index: usize, nr: usize) -> *mut T {
        let across = self.cols.len().next_multiple_of(nr);
        // SAFETY: the caller asks for a panel there is.
        unsafe { self.data.add((depth - self.depth.start) * across + index * steps * nr) }
    }
}

impl<T> Strided<T> {
    unsafe fn at(&self, batch: usize, lane: usize, depth: usize) -> *const T {
        let offset = batch as isize * self.batch + lane as isize * self.lane + depth as isize * self.depth;
        // SAFETY: the caller asks for an element there is.
        unsafe { self.data.offset(offset) }
    }
}

/// Packs one panel.
unsafe fn fill<T>(operand: &Operand<'_, T>, packer: super::pack::Packer<T>, panel: Panel, out: *mut T) {
    let Panel { batch, lane, lanes, depth, steps, width } = panel;
    match operand {
        // SAFETY: the operand has these elements, `out` has room for them.
        Operand::Strided(s) => unsafe {
            packer(s.at(batch, lane, depth), s.lane, s.depth, lanes, steps, out)
        },
        // SAFETY: as above; scratch is never uninitialised.
        Operand::Packed(pack) => {
            pack.pack(panel, unsafe { std::slice::from_raw_parts_mut(out, steps * width) })
        }
    }
}

/// A pointer that tasks share.
struct Shared<T>(*mut T);

// SAFETY: tasks use parts of their own.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}
