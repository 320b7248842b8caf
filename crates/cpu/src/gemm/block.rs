//! One task: a block of C over a stretch of k.

use super::drive::Drive;
use super::kernel::Step;
use super::scratch::Scratch;
use super::{Operand, Panel, Problem, Strided, Tile};
use std::ops::{Add, Range};

/// Bytes of C that are finished together: they are still in the first cache.
const BAND: usize = 32 << 10;
/// Strips of rows that are packed together, since lines of memory are wider than a strip.
const GROUP: usize = 8;
/// Steps of them that are packed before the next strip's.
const STRETCH: usize = 8;

/// One product over a stretch of k, on its way to `c`.
pub(super) struct Part<T> {
    pub(super) batch: usize,
    pub(super) depth: Range<usize>,
    pub(super) c: *mut T,
    pub(super) row: isize,
    pub(super) accumulate: bool,
    pub(super) finish: bool,
}

// SAFETY: tasks write to blocks of their own.
unsafe impl<T> Sync for Part<T> {}

/// Where the lanes of a tile are over one visit: element (lane, p) is `data[lane * lane_stride + p * depth_stride]`.
#[derive(Clone, Copy)]
struct Strip<T> {
    data: *const T,
    lane: isize,
    depth: isize,
}

impl<T: Copy + Add<Output = T>> Drive<'_, T> {
    /// Computes the block `index` of C.
    ///
    /// Packed columns stay in the second cache while strips of rows pass by, each strip in the first cache for as long
    /// as it meets them. Where B is read in place, each strip of its columns meets all rows at once instead.
    ///
    /// # Safety
    /// The problem is as it says, and the block is nobody else's.
    pub(super) unsafe fn block(&self, part: &Part<T>, index: usize) {
        let (&Problem { m, n, .. }, plan, kernels) = (self.problem, &self.plan, self.kernels);
        let (down, across) = (index % m.div_ceil(plan.rows), index / m.div_ceil(plan.rows));
        let rows = down * plan.rows..((down + 1) * plan.rows).min(m);
        let cols = across * plan.cols..((across + 1) * plan.cols).min(n);
        let (mr, nr) = plan.tile;
        let room_a = (!plan.direct_a).then(|| Scratch::take::<T>(GROUP * mr * plan.steps));
        let room_b =
            (!plan.direct_b).then(|| Scratch::take::<T>(cols.len().next_multiple_of(nr) * plan.steps));
        let band = (BAND / size_of::<T>() / cols.len()).next_multiple_of(mr);
        let mut depth = part.depth.start;
        loop {
            let steps = plan.steps.min(part.depth.end - depth);
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
                } else if height == mr && width > nr - kernels.lanes && !plan.direct_a && !plan.direct_b {
                    kernels.packed
                } else {
                    kernels.tiles[width.div_ceil(kernels.lanes) - 1][height - 1]
                };
                let (b_depth, last) =
                    (if plan.dot { b.lane } else { b.depth }, (width - 1) % kernels.lanes + 1);
                let (k, c_row, a_lane, a_depth) = (steps, part.row, a.lane, a.depth);
                // SAFETY: the tile is within the block, the strips are there for all its lanes and steps.
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
                        last,
                        accumulate,
                    });
                }
            };
            // SAFETY: the rooms are for a strip of rows and for all columns of the block, which are within the operands.
            unsafe {
                match room_b {
                    None => {
                        for j in cols.clone().step_by(nr) {
                            let b = self.strip(&self.problem.b, panel(j, cols.end, nr), None);
                            for i in rows.clone().step_by(mr) {
                                tile(i, self.strip(&self.problem.a, panel(i, rows.end, mr), None), j, b);
                            }
                        }
                    }
                    Some(ref room_b) => {
                        let room_b = room_b.as_ptr::<T>();
                        for i in rows.clone().step_by(mr) {
                            let a = match &room_a {
                                None => self.strip(&self.problem.a, panel(i, rows.end, mr), None),
                                Some(room) => {
                                    let strip = (i - rows.start) / mr % GROUP;
                                    if strip == 0 {
                                        let end = (i + GROUP * mr).min(rows.end);
                                        self.pack_rows(panel(i, end, mr), end, room.as_ptr());
                                    }
                                    let data = room.as_ptr::<T>().add(strip * mr * steps).cast_const();
                                    Strip { data, lane: 1, depth: mr as isize }
                                }
                            };
                            for (index, j) in cols.clone().step_by(nr).enumerate() {
                                let room = room_b.add(index * nr * steps);
                                // Packed when the first strip needs it, and so in the first cache for it.
                                let b = if i == rows.start {
                                    self.strip(&self.problem.b, panel(j, cols.end, nr), Some(room))
                                } else {
                                    Strip { data: room.cast_const(), lane: 1, depth: nr as isize }
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

    /// Packs strips of rows from that of `panel` up to the row `end`.
    unsafe fn pack_rows(&self, panel: Panel, end: usize, room: *mut T) {
        for from in (0..panel.steps).step_by(STRETCH) {
            for (strip, lane) in (panel.lane..end).step_by(panel.width).enumerate() {
                let (lanes, steps) = (panel.width.min(end - lane), STRETCH.min(panel.steps - from));
                let stretch = Panel { lane, lanes, depth: panel.depth + from, steps, ..panel };
                // SAFETY: the room is for these strips, one after the other.
                unsafe {
                    let out = room.add((strip * panel.steps + from) * panel.width);
                    self.strip(&self.problem.a, stretch, Some(out));
                }
            }
        }
    }

    /// The lanes and steps of `panel`: where they are, or packed to `room`.
    unsafe fn strip(&self, operand: &Operand<'_, T>, panel: Panel, room: Option<*mut T>) -> Strip<T> {
        let Panel { batch, lane, lanes, depth, steps, width } = panel;
        match (operand, room) {
            (Operand::Strided(s), None) => {
                // SAFETY: the operand has these elements.
                let data = unsafe { s.at(batch, lane, depth) };
                return Strip { data, lane: s.lane, depth: s.depth };
            }
            (Operand::Strided(s), Some(room)) => {
                let packer = if width == self.kernels.nr { self.kernels.pack_b } else { self.kernels.pack_a };
                // SAFETY: the operand has these elements, the room is for a panel.
                unsafe { packer(s.at(batch, lane, depth), s.lane, s.depth, lanes, steps, room) }
            }
            (Operand::Packed(pack), Some(room)) => {
                // SAFETY: the room is for a panel, and scratch is never uninitialised.
                let room = unsafe { std::slice::from_raw_parts_mut(room, steps * width) };
                pack.pack(panel, room);
            }
            // No plan reads such an operand in place.
            (Operand::Packed(_), None) => {}
        }
        let data = room.unwrap_or(std::ptr::null_mut()).cast_const();
        Strip { data, lane: 1, depth: width as isize }
    }

    pub(super) fn finish(&self, part: &Part<T>, rows: Range<usize>, cols: Range<usize>) {
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

impl<T> Strided<T> {
    unsafe fn at(&self, batch: usize, lane: usize, depth: usize) -> *const T {
        let offset = batch as isize * self.batch + lane as isize * self.lane + depth as isize * self.depth;
        // SAFETY: the caller asks for an element there is.
        unsafe { self.data.offset(offset) }
    }
}
