//! How a product is cut into tasks. Everything here depends on the problem and the kernels alone, never on threads.

use super::kernel::{DOT, Kernels};
use super::{Operand, Problem};

/// How a product is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Dot products instead of tiles.
    pub(super) dot: bool,
    /// Rows of A are read where they are.
    pub(super) direct_a: bool,
    /// Rows of B are read where they are.
    pub(super) direct_b: bool,
    /// Rows of a block of C.
    pub(super) rows: usize,
    /// Columns of a block of C.
    pub(super) cols: usize,
    /// Steps along k between two visits of C.
    pub(super) steps: usize,
    /// Parts of k that are summed apart and then added in order.
    pub(super) parts: usize,
}

/// Bytes of a panel of B over the steps of one visit: it stays in the first cache beside a panel of A.
const PANEL: usize = 32 << 10;
/// Largest block of C.
const ROWS: usize = 256;
const COLS: usize = 1024;
/// Arithmetic worth a task of its own: some 10 µs.
const TASK: usize = 1 << 20;
/// More tasks than this even out nothing more.
const TASKS: usize = 64;

impl Plan {
    pub(super) fn new<T>(problem: &Problem<'_, T>, kernels: &Kernels<T>) -> Plan {
        let &Problem { batch, m, n, k, .. } = problem;
        let &Kernels { mr, nr, .. } = kernels;
        let (a, b) = (strides(&problem.a), strides(&problem.b));
        let work = 2 * m * n * k;
        let dot = m.min(n) <= 2 * DOT
            && a.is_some_and(|(_, depth)| depth == 1)
            && b.is_some_and(|(_, depth)| depth == 1);
        let direct_a = dot
            || a.is_some_and(|(lane, depth)| {
                depth == 1 && (n <= 3 * nr || lane % 512 != 0) || lane == 1 && n <= 2 * nr
            });
        let direct_b = dot
            || b.is_some_and(|(lane, depth)| {
                lane == 1 && (m <= 4 * mr || k * n <= 24 * 1024 && depth % 1024 != 0)
            });
        let most = if dot { 4096 } else { PANEL / size_of::<T>() / nr };
        let steps = even(k, most);
        let tasks = (work / TASK).clamp(1, TASKS);
        let (unit_m, unit_n) = if dot { (DOT, DOT) } else { (mr, nr) };
        let (mut rows, mut cols) =
            (even(m, ROWS).next_multiple_of(unit_m), even(n, COLS).next_multiple_of(unit_n));
        while m.div_ceil(rows) * n.div_ceil(cols) < tasks {
            if rows > 8 * unit_m && (rows >= cols / 4 || cols <= 4 * unit_n) {
                rows = (rows / 2).next_multiple_of(unit_m);
            } else if cols > 4 * unit_n {
                cols = (cols / 2).next_multiple_of(unit_n);
            } else {
                break;
            }
        }
        let made = batch * m.div_ceil(rows) * n.div_ceil(cols);
        let parts = if made >= 4 { 1 } else { (work / (2 * TASK)).min(k / 512).min(8 / made.max(1)).max(1) };
        Plan { dot, direct_a, direct_b, rows, cols, steps, parts }
    }
}

/// Lengths of at most `most` that cut `whole` into equal pieces.
fn even(whole: usize, most: usize) -> usize {
    whole.div_ceil(whole.div_ceil(most.max(1)).max(1)).max(1)
}

fn strides<T>(operand: &Operand<'_, T>) -> Option<(isize, isize)> {
    match operand {
        Operand::Strided(strided) => Some((strided.lane, strided.depth)),
        Operand::Packed(_) => None,
    }
}
