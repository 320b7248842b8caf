//! Computes one task of a product: a block of C over a range of k.
//! Packs operands into panels where needed, calls the kernel for each tile, and calls `finish` for finished
//! bands.
//! `plan.rs` chooses block sizes and packing, `drive.rs` distributes the blocks.

use super::drive::Drive;
use super::kernel::Step;
use super::pack::Packer;
use super::scratch::Scratch;
use super::{Operand, Panel, Problem, Real, Strided, Tile};
use std::ops::Range;

/// Bytes of C that are finished together, while they are in the first-level cache.
const BAND: usize = 32 << 10;
/// Number of rows that are packed together, because a cache line may have elements of more rows than a strip has.
const GROUP: usize = 48;
/// Number of steps that are packed before the next strip, unless the kernel packs more together.
const STRETCH: usize = 8;

/// One product over a range of k, written to `c`.
pub(super) struct Part<T> {
    pub(super) batch: usize,
    pub(super) depth: Range<usize>,
    pub(super) c: *mut T,
    pub(super) row: isize,
    pub(super) accumulate: bool,
    pub(super) finish: bool,
}

// SAFETY: each task writes only to its own block of C.
unsafe impl<T> Sync for Part<T> {}

/// A strip of lanes: element (`l`, `p`) is `data[l * lane + p * depth]`.
#[derive(Clone, Copy)]
struct Strip<T> {
    data: *const T,
    lane: isize,
    depth: isize,
}

impl<T: Real> Drive<'_, T> {
    /// Computes block `index` of C.
    ///
    /// Packed columns stay in the second-level cache while the strips of rows are processed; each strip of rows is in the
    /// first-level cache. If B is read in place, the loops are exchanged: each strip of columns is multiplied with all rows.
    ///
    /// # Safety
    /// The problem satisfies the contract of [`gemm`](super::gemm), and no other thread accesses the block.
    pub(super) unsafe fn block(&self, part: &Part<T::Sum>, index: usize) {
        let (&Problem { m, n, .. }, plan, kernels) = (self.problem, &self.plan, self.kernels);
        let (down, across) = (index % m.div_ceil(plan.rows), index / m.div_ceil(plan.rows));
        let rows = down * plan.rows..((down + 1) * plan.rows).min(m);
        let cols = across * plan.cols..((across + 1) * plan.cols).min(n);
        let (mr, nr) = plan.tile;
        let group = (GROUP / mr).max(1);
        let _guard = BlockGuard::new(kernels.before_and_after);
        let buffer_a = (!plan.direct_a).then(|| Scratch::take::<T>(group * mr * plan.steps));
        let buffer_b =
            (!plan.direct_b).then(|| Scratch::take::<T>(cols.len().next_multiple_of(nr) * plan.steps));
        let band = (BAND / size_of::<T::Sum>() / cols.len()).max(1).next_multiple_of(mr);
        let mut depth = part.depth.start;
        while !self.is_stopped() {
            let steps = plan.steps.min(part.depth.end - depth);
            let stored = steps.next_multiple_of(kernels.deep);
            let last = depth + steps == part.depth.end;
            let accumulate = part.accumulate || depth > part.depth.start;
            let panel = |lane: usize, lanes: usize, width: usize| Panel {
                batch: part.batch,
                lane,
                lanes: width.min(lanes - lane),
                depth,
                steps,
                width,
            };
            let tile = |i: usize, a: Strip<T>, j: usize, b: Strip<T>| {
                let (height, width) = (mr.min(rows.end - i), nr.min(cols.end - j));
                let kernel = if plan.dot {
                    kernels.dots[height - 1][width - 1]
                } else if kernels.tiles.is_empty()
                    || height == mr && width > nr - kernels.lanes && !plan.direct_a && !plan.direct_b
                {
                    kernels.packed
                } else {
                    kernels.tiles[width.div_ceil(kernels.lanes) - 1][height - 1]
                };
                let (b_depth, last) =
                    (if plan.dot { b.lane } else { b.depth }, (width - 1) % kernels.lanes + 1);
                let (k, c_row, a_lane, a_depth) = (steps, part.row, a.lane, a.depth);
                // SAFETY: the tile is within the block, and the strips cover all its lanes and steps.
                unsafe {
                    let c = part.c.offset(i as isize * part.row).add(j);
                    kernel(&Step {
                        k,
                        a: a.data,
                        a_lane,
                        a_depth,
                        b: b.data,
                        b_depth,
                        c,
                        c_row,
                        rows: height,
                        last,
                        accumulate,
                    });
                }
            };
            // SAFETY: `buffer_a` has space for a group of strips of rows, and `buffer_b` for all columns of the block.
            // Rows, columns and steps are within the operands.
            unsafe {
                match buffer_b {
                    None => {
                        for j in cols.clone().step_by(nr).take_while(|_| !self.is_stopped()) {
                            let b = panel(j, cols.end, nr);
                            let b = self.strip(&self.problem.b, kernels.pack_b[0], b, None);
                            for i in rows.clone().step_by(mr) {
                                let a = panel(i, rows.end, mr);
                                tile(i, self.strip(&self.problem.a, kernels.pack_a, a, None), j, b);
                            }
                        }
                    }
                    Some(ref buffer_b) => {
                        let buffer_b = buffer_b.as_ptr::<T>();
                        for i in rows.clone().step_by(mr).take_while(|_| !self.is_stopped()) {
                            let in_place = plan.direct_full_a && i + mr <= rows.end && steps == stored;
                            let a = match buffer_a.as_ref().filter(|_| !in_place) {
                                None => {
                                    let a = panel(i, rows.end, mr);
                                    self.strip(&self.problem.a, kernels.pack_a, a, None)
                                }
                                Some(buffer) => {
                                    let strip = (i - rows.start) / mr % group;
                                    if strip == 0 {
                                        let end = (i + group * mr).min(rows.end);
                                        self.pack_rows(panel(i, end, mr), end, buffer.as_ptr());
                                    }
                                    let data = buffer.as_ptr::<T>().add(strip * mr * stored).cast_const();
                                    Strip { data, lane: 1, depth: mr as isize }
                                }
                            };
                            for (index, j) in cols.clone().step_by(nr).enumerate() {
                                let buffer = buffer_b.add(index * nr * stored);
                                // Packs the panel when the first strip of rows needs it, so that it is in the first-level
                                // cache.
                                let (width, packer) = kernels.panel_of(cols.end - j);
                                let b = if i == rows.start {
                                    self.strip(
                                        &self.problem.b,
                                        packer,
                                        panel(j, cols.end, width),
                                        Some(buffer),
                                    )
                                } else {
                                    Strip { data: buffer.cast_const(), lane: 1, depth: width as isize }
                                };
                                tile(i, a, j, b);
                            }
                            let done = (i + mr).min(rows.end);
                            if last
                                && part.finish
                                && ((done - rows.start).is_multiple_of(band) || done == rows.end)
                            {
                                let from = (done - 1 - rows.start) / band * band + rows.start;
                                self.finish(part, from..done, cols.clone());
                            }
                        }
                    }
                }
            }
            if last {
                break;
            }
            depth += steps;
        }
        if plan.direct_b && part.finish {
            self.finish(part, rows, cols);
        }
    }

    /// Packs strips of rows, from the strip of `panel` up to row `end`.
    unsafe fn pack_rows(&self, panel: Panel, end: usize, buffer: *mut T) {
        let deep = self.kernels.deep;
        let alone = end <= panel.lane + panel.width;
        let stretch = if alone { panel.steps.max(1) } else { STRETCH.max(deep) };
        let stored = panel.steps.next_multiple_of(deep);
        for from in (0..panel.steps).step_by(stretch) {
            for (strip, lane) in (panel.lane..end).step_by(panel.width).enumerate() {
                let (lanes, steps) = (panel.width.min(end - lane), stretch.min(panel.steps - from));
                let part = Panel { lane, lanes, depth: panel.depth + from, steps, ..panel };
                // SAFETY: the buffer has space for these strips, one after the other, and the panel is within the
                // operand.
                unsafe {
                    let out = buffer.add((strip * stored + from) * panel.width);
                    self.strip(&self.problem.a, self.kernels.pack_a, part, Some(out));
                }
            }
        }
    }

    /// Returns the lanes and steps of `panel`: in place, or packed into `buffer`.
    unsafe fn strip(
        &self,
        operand: &Operand<'_, T>,
        packer: Packer<T>,
        panel: Panel,
        buffer: Option<*mut T>,
    ) -> Strip<T> {
        let Panel { batch, lane, lanes, depth, steps, width } = panel;
        match (operand, buffer) {
            (Operand::Strided(s), None) => {
                // SAFETY: the panel is within the operand.
                let data = unsafe { s.at(batch, lane, depth) };
                return Strip { data, lane: s.lane, depth: s.depth };
            }
            (Operand::Strided(s), Some(buffer)) => {
                // SAFETY: the panel is within the operand, and the buffer holds it.
                unsafe { packer(s.at(batch, lane, depth), s.lane, s.depth, lanes, steps, buffer) }
            }
            (Operand::Packed(pack), Some(buffer)) if self.kernels.deep > 1 => {
                let plain = Scratch::take::<T>(steps * width);
                // SAFETY: the panel is within the operand, and the buffer holds it. Packed lane by lane, it is a strided
                // operand.
                unsafe {
                    pack.pack(panel, std::slice::from_raw_parts_mut(plain.as_ptr(), steps * width));
                    packer(plain.as_ptr::<T>().cast_const(), 1, width as isize, lanes, steps, buffer);
                }
            }
            (Operand::Packed(pack), Some(buffer)) => {
                // SAFETY: the buffer holds a panel, and scratch memory is always initialized.
                let buffer = unsafe { std::slice::from_raw_parts_mut(buffer, steps * width) };
                pack.pack(panel, buffer);
            }
            // Does not occur: the plan always packs such an operand.
            (Operand::Packed(_), None) => {}
        }
        let data = buffer.unwrap_or(std::ptr::null_mut()).cast_const();
        Strip { data, lane: 1, depth: width as isize }
    }

    pub(super) fn finish(&self, part: &Part<T::Sum>, rows: Range<usize>, cols: Range<usize>) {
        if let Some(finish) = self.problem.finish {
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

/// Calls one function before a block and another after it, also during unwinding.
struct BlockGuard(Option<[unsafe fn(); 2]>);

impl BlockGuard {
    fn new(functions: Option<[unsafe fn(); 2]>) -> BlockGuard {
        if let Some([before, _]) = functions {
            // SAFETY: the function needs the instruction set of the kernels, which the caller of `drive::run`
            // guarantees.
            unsafe { before() }
        }
        BlockGuard(functions)
    }
}

impl Drop for BlockGuard {
    fn drop(&mut self) {
        if let Some([_, after]) = self.0 {
            // SAFETY: the function needs the instruction set of the kernels, which the caller of `drive::run` guarantees.
            unsafe { after() }
        }
    }
}

impl<T> Strided<T> {
    pub(super) unsafe fn at(&self, batch: usize, lane: usize, depth: usize) -> *const T {
        let offset = batch as isize * self.batch + lane as isize * self.lane + depth as isize * self.depth;
        // SAFETY: the caller guarantees that the element exists.
        unsafe { self.data.offset(offset) }
    }
}
