//! Chooses how a product is split into tasks.
//!
//! The choices that decide the order of sums (dot products or tiles, ranges of k) depend only on the problem
//! and the kernels. Only the blocks of C also depend on the number of threads. They do not change the result:
//! an element's sum is the same in any block.

use super::kernel::{DOT, Kernels};
use super::pack::LINE;
use super::{Operand, Problem, Real};

/// The plan of a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// If true, dot products are used instead of tiles.
    pub(super) dot: bool,
    /// Rows and columns of a tile.
    pub(super) tile: (usize, usize),
    /// If true, A is read in place.
    pub(super) direct_a: bool,
    /// If true, A is read in place, except where rows or steps are too few for a tile.
    pub(super) whole_a: bool,
    /// If true, B is read in place.
    pub(super) direct_b: bool,
    /// Rows of a block of C.
    pub(super) rows: usize,
    /// Columns of a block of C.
    pub(super) cols: usize,
    /// Steps along k between two updates of C.
    pub(super) steps: usize,
    /// Parts of k that are summed separately and then added in order.
    pub(super) parts: usize,
}

/// Bytes of a column of B between two updates of C; longer columns need fewer updates.
const COLUMN: usize = 4096;
/// Bytes of a B that exceeds the second-level cache, and the number of steps between updates if such a B is
/// read.
const STREAMED: usize = 1 << 20;
const STREAM: usize = 64;
/// Bytes of the packed columns of a block between two updates of C; they stay in the second-level cache.
const PACKED: usize = 1 << 20;
/// Elements of a small C, the smallest k that is split for it, and the fewest steps of a part.
const SMALL: usize = 1 << 16;
const LONG: usize = 2048;
const PART: usize = 256;
/// A [`cost`] that is worth a task: about 10 µs.
pub(super) const TASK: usize = 2 << 20;
/// Tasks per thread, so that a late thread does not delay the others.
const SHARE: usize = 4;

impl Plan {
    pub(super) fn new<T: Real>(problem: &Problem<'_, T>, kernels: &Kernels<T>, threads: usize) -> Plan {
        let &Problem { batch, m, n, k, .. } = problem;
        let &Kernels { mr, nr, deep, .. } = kernels;
        let (a, b) = (ContiguousAxis::of(&problem.a), ContiguousAxis::of(&problem.b));
        let in_place = !kernels.tiles.is_empty();
        let dot = in_place && m.min(n) <= 2 * DOT && a == ContiguousAxis::Depth && b == ContiguousAxis::Depth;
        // If B is read in place, every strip of A is used repeatedly and therefore not packed either.
        let few = m <= 6 * mr || k * n <= 8 << 10;
        let direct_b = dot || in_place && b == ContiguousAxis::Lane && a != ContiguousAxis::Packed && few;
        let direct_a = direct_b || in_place && a == ContiguousAxis::Depth;
        let whole_a = !in_place && in_lines(&problem.a);
        let stream = direct_b && k * n * size_of::<T>() > STREAMED;
        let steps = match (dot, stream) {
            (true, _) => 4096,
            // B is read once, at memory speed if complete rows are read.
            (false, true) => STREAM,
            (false, false) => COLUMN / size_of::<T>(),
        };
        let steps = even(k, steps).next_multiple_of(deep);
        // Small C and long k: splitting k packs every operand once, and the partial C are added up.
        let parts = if batch * m * n <= SMALL && k >= LONG { (k / PART).min(8) } else { 1 };

        let (unit_m, unit_n) = if dot {
            (DOT, DOT)
        } else if direct_a {
            // Narrow tiles may be taller.
            (kernels.tiles[n.div_ceil(kernels.lanes).min(kernels.tiles.len()) - 1].len(), nr)
        } else {
            (mr, nr)
        };
        // Few rows are divided into strips of equal height: two of four are better than six and two.
        let unit_m = if direct_a { even(m, unit_m) } else { unit_m };
        let widest = if direct_b { n } else { PACKED / size_of::<T>() / steps };
        let (mut down, mut across) = (1, n.div_ceil(widest.next_multiple_of(unit_n)));
        let work = cost(problem, kernels) / parts;
        let tasks = if threads == 1 { 1 } else { (work / TASK).min(SHARE * threads).div_ceil(batch * parts) };
        let (mut rows, mut cols) = (m, block(n, across, unit_n));
        // Complete rows of a streamed B, or large parts of them.
        let narrowest = if stream { 4 * unit_n } else { unit_n };
        while down * across < tasks {
            let (flatter, narrower) = (rows > 4 * unit_m, cols > narrowest);
            // Narrower blocks read all of A once more, flatter ones all of B.
            let cheaper = n * down < m * across;
            if flatter && (cheaper || !narrower) {
                down *= 2;
            } else if narrower {
                across *= 2;
            } else {
                break;
            }
            (rows, cols) = (block(m, down, unit_m), block(n, across, unit_n));
        }
        Plan { dot, tile: (unit_m, unit_n), direct_a, whole_a, direct_b, rows, cols, steps, parts }
    }
}

/// Estimates the cost of one product, in multiplications; an element from memory counts as several.
pub(super) fn cost<T: Real>(problem: &Problem<'_, T>, kernels: &Kernels<T>) -> usize {
    let &Problem { m, n, k, .. } = problem;
    2 * m * n * k / kernels.speed + 32 * (m * k + k * n + m * n)
}

/// Returns true if all lanes start at cache lines, so that a vector of them is loaded one line at a time.
fn in_lines<T>(operand: &Operand<'_, T>) -> bool {
    let Operand::Strided(s) = operand else { return false };
    let far = |step: isize| (step * size_of::<T>() as isize) % LINE as isize == 0;
    s.depth == 1 && far(s.lane) && far(s.batch) && (s.data as usize).is_multiple_of(LINE)
}

/// Returns the length of equal pieces of `whole`, each at most `most`.
fn even(whole: usize, most: usize) -> usize {
    whole.div_ceil(whole.div_ceil(most.max(1)).max(1)).max(1)
}

/// Returns the length of `count` pieces of `whole`, rounded up to `unit`.
fn block(whole: usize, count: usize, unit: usize) -> usize {
    whole.div_ceil(count).next_multiple_of(unit).max(1)
}

/// The axis of an operand whose elements are contiguous in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContiguousAxis {
    /// The summed axis.
    Depth,
    /// The rows of the first or the columns of the second operand.
    Lane,
    /// Neither: both strides exceed 1.
    Neither,
    /// None in memory: the operand is produced by packing.
    Packed,
}

impl ContiguousAxis {
    fn of<T>(operand: &Operand<'_, T>) -> ContiguousAxis {
        match operand {
            Operand::Strided(strided) if strided.depth == 1 => ContiguousAxis::Depth,
            Operand::Strided(strided) if strided.lane == 1 => ContiguousAxis::Lane,
            Operand::Strided(_) => ContiguousAxis::Neither,
            Operand::Packed(_) => ContiguousAxis::Packed,
        }
    }
}
