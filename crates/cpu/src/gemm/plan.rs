//! Chooses how a product is split into tasks.
//!
//! The choices that decide the order of sums (dot products or tiles, ranges of k) depend only on the problem and the kernels.
//! The blocks of C also depend on the number of threads, but do not change the result: the sum of an element is the same in
//! any block.

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
    /// If true, A is read in place where its rows and steps fill a tile; the last ones are packed if they do not.
    pub(super) direct_full_a: bool,
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

/// Bytes of a column of B that are read between two updates of C. Longer columns need fewer updates.
const COLUMN: usize = 4096;
/// Bytes from which B exceeds the second-level cache, and the number of steps between updates of C for such a B.
const STREAMED: usize = 1 << 20;
const STREAM: usize = 64;
/// Bytes of the packed columns of a block that are read between two updates of C. They stay in the second-level cache.
const PACKED: usize = 1 << 20;
/// Largest number of elements of a small C, the smallest k that is split for a small C, and the smallest number of steps of a
/// part.
const SMALL: usize = 1 << 16;
const LONG: usize = 2048;
const PART: usize = 256;
/// Smallest [`cost`] of a task: about 10 µs.
pub(super) const TASK: usize = 2 << 20;
/// Number of tasks per thread. With several, a slow thread delays the others less.
const SHARE: usize = 4;

impl Plan {
    pub(super) fn new<T: Real>(problem: &Problem<'_, T>, kernels: &Kernels<T>, threads: usize) -> Plan {
        let &Problem { batch, m, n, k, .. } = problem;
        let &Kernels { mr, nr, deep, .. } = kernels;
        let (a, b) = (ContiguousAxis::of(&problem.a), ContiguousAxis::of(&problem.b));
        let in_place = !kernels.tiles.is_empty();
        let dot = in_place && m.min(n) <= 2 * DOT && a == ContiguousAxis::Depth && b == ContiguousAxis::Depth;
        // If C has few rows or B is small, B is read in place if its strides allow that. A is then not packed either.
        let few = m <= 6 * mr || k * n <= 8 << 10;
        let direct_b = dot || in_place && b == ContiguousAxis::Lane && a != ContiguousAxis::Packed && few;
        let direct_a = direct_b || in_place && a == ContiguousAxis::Depth;
        let direct_full_a = !in_place && in_lines(&problem.a);
        let stream = direct_b && k * n * size_of::<T>() > STREAMED;
        let steps = match (dot, stream) {
            (true, _) => 4096,
            // A streamed B is read only once, at the full memory bandwidth if complete rows are read.
            (false, true) => STREAM,
            (false, false) => COLUMN / size_of::<T>(),
        };
        let steps = equal_length(k, steps).next_multiple_of(deep);
        // If C is small and k is long, k is split. Each operand is still packed only once, and the partial C are added.
        let parts = if batch * m * n <= SMALL && k >= LONG { (k / PART).min(8) } else { 1 };

        let (unit_m, unit_n) = if dot {
            (DOT, DOT)
        } else if direct_a {
            // Narrow tiles may have more rows.
            (kernels.tiles[n.div_ceil(kernels.lanes).min(kernels.tiles.len()) - 1].len(), nr)
        } else {
            (mr, nr)
        };
        // Divides few rows into strips of equal height: two strips of four rows are faster than strips of six and two.
        let unit_m = if direct_a { equal_length(m, unit_m) } else { unit_m };
        let widest = if direct_b { n } else { PACKED / size_of::<T>() / steps };
        let (mut down, mut across) = (1, n.div_ceil(widest.next_multiple_of(unit_n)));
        let work = cost(problem, kernels) / parts;
        let tasks = if threads == 1 { 1 } else { (work / TASK).min(SHARE * threads).div_ceil(batch * parts) };
        let (mut rows, mut cols) = (m, block_length(n, across, unit_n));
        // Blocks of a streamed B have complete rows of B, or large parts of them.
        let narrowest = if stream { 4 * unit_n } else { unit_n };
        while down * across < tasks {
            let (can_split_rows, can_split_cols) = (rows > 4 * unit_m, cols > narrowest);
            // Twice as many blocks down read B `down` more times; twice as many across read A `across` more times.
            let splitting_rows_is_cheaper = n * down < m * across;
            if can_split_rows && (splitting_rows_is_cheaper || !can_split_cols) {
                down *= 2;
            } else if can_split_cols {
                across *= 2;
            } else {
                break;
            }
            (rows, cols) = (block_length(m, down, unit_m), block_length(n, across, unit_n));
        }
        Plan { dot, tile: (unit_m, unit_n), direct_a, direct_full_a, direct_b, rows, cols, steps, parts }
    }
}

/// Estimates the cost of one product in multiplications, where reading an element from memory counts as
/// several.
pub(super) fn cost<T: Real>(problem: &Problem<'_, T>, kernels: &Kernels<T>) -> usize {
    let &Problem { m, n, k, .. } = problem;
    2 * m * n * k / kernels.speed + 32 * (m * k + k * n + m * n)
}

/// Returns true if all lanes start at cache lines, so that loading a vector reads a single cache line.
fn in_lines<T>(operand: &Operand<'_, T>) -> bool {
    let Operand::Strided(s) = operand else { return false };
    let far = |step: isize| (step * size_of::<T>() as isize) % LINE as isize == 0;
    s.depth == 1 && far(s.lane) && far(s.batch) && (s.data as usize).is_multiple_of(LINE)
}

/// Returns the length of equal pieces of `whole`, each at most `most`.
fn equal_length(whole: usize, most: usize) -> usize {
    whole.div_ceil(whole.div_ceil(most.max(1)).max(1)).max(1)
}

/// Returns the length of `count` pieces of `whole`, rounded up to `unit`.
fn block_length(whole: usize, count: usize, unit: usize) -> usize {
    whole.div_ceil(count).next_multiple_of(unit).max(1)
}

/// The axis of an operand whose elements are contiguous in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContiguousAxis {
    /// The summed axis.
    Depth,
    /// The rows of the first or the columns of the second operand.
    Lane,
    /// Neither, because both strides exceed 1.
    Neither,
    /// No axis, because the operand is not in memory: packing computes it.
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
