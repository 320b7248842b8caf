//! Sorts along one axis, or finds the first elements in sorted order. A *line* is a vector along that axis. One task
//! sorts a line.

use super::element::{Ordered, with_element};
use super::{Call, split_extents};
use crate::elements::Elements;
use gradus_ir::{DType, Result, stop};

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn sort(
    call: &Call<'_>,
    axis: usize,
    descending: bool,
    first: Option<usize>,
) -> Result<bool> {
    let extent = call.operand_type(0).shape[axis];
    let count = first.unwrap_or(extent);
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses; `T` is the
    // element type of the dtype.
    unsafe {
        with_element!(call.operand_type(0).dtype,
            T => if size_of::<T>() <= 4 && extent <= u32::MAX as usize {
                sort_lines::<T, u64>(call, axis, descending, count)
            } else {
                sort_lines::<T, (u64, usize)>(call, axis, descending, count)
            },
            Z => return Ok(false)
        );
    }
    Ok(true)
}

/// A sort key: the rank of an element and its position in the line.
trait Pair: Ord + Copy + Default + Send {
    /// Number of bits of a rank.
    const BITS: u32;
    fn new(rank: u64, position: usize) -> Self;
    fn rank(self) -> u64;
    fn position(self) -> usize;
}

/// Rank and position in one integer, for ranks of 32 bits.
impl Pair for u64 {
    const BITS: u32 = 32;
    fn new(rank: u64, position: usize) -> u64 {
        rank << 32 | position as u64
    }
    fn rank(self) -> u64 {
        self >> 32
    }
    fn position(self) -> usize {
        self as u32 as usize
    }
}

impl Pair for (u64, usize) {
    const BITS: u32 = 64;
    fn new(rank: u64, position: usize) -> (u64, usize) {
        (rank, position)
    }
    fn rank(self) -> u64 {
        self.0
    }
    fn position(self) -> usize {
        self.1
    }
}

/// Sorts each line by rank, and equal ranks by position, so that the sort is stable.
unsafe fn sort_lines<T: Ordered, K: Pair>(call: &Call<'_>, axis: usize, descending: bool, count: usize) {
    let (rows, n, width) = split_extents(&call.operand_type(0).shape, axis);
    // SAFETY: `T` is the element type of the operand's dtype.
    let x = unsafe { call.operand::<T>(0) };
    let (values, positions): (Elements<T>, Elements<i64>) = (call.result(0), call.result(1));
    let all_bits = if size_of::<T>() <= 4 { u64::from(u32::MAX) } else { u64::MAX };
    let flip = if descending { all_bits } else { 0 };
    // Selecting few elements of a line takes a sixteenth of the time of sorting the line.
    let few = count < n / MIN_RATIO && count <= LONG;
    let work = if few { n } else { 16 * n } * size_of::<T>();
    call.parts(rows * width, work, |from, to| {
        let mut pairs: Vec<K> = Vec::with_capacity(if few { 2 * count + EXTRA } else { n });
        let mut spare = Vec::new();
        for line in from..to {
            let start = line / width * n * width + line % width;
            pairs.clear();
            let rank = |x: T| x.rank() ^ flip;
            if few && width == 1 {
                collect_least(&mut pairs, x[start..start + n].chunks(CHUNK), count, rank);
            } else if few {
                collect_least(&mut pairs, (0..n).map(|k| &x[start + k * width..][..1]), count, rank);
            } else {
                for from in (0..n).step_by(POLL_STRIDE).take_while(|_| !stop::requested()) {
                    let some = from..n.min(from + POLL_STRIDE);
                    pairs.extend(some.map(|k| K::new(rank(x[start + k * width]), k)));
                }
            }
            if stop::requested() {
                return;
            }
            if !few && n >= LONG {
                radix_sort(&mut pairs, &mut spare);
            } else {
                keep_least(&mut pairs, count);
                pairs.sort_unstable();
            }
            pairs.truncate(count);
            let start_out = line / width * count * width + line % width;
            for (k, &p) in pairs.iter().enumerate() {
                if k % POLL_STRIDE == 0 && stop::requested() {
                    return;
                }
                let (at, p) = (start_out + k * width, p.position());
                // SAFETY: the results of this line belong to this task.
                unsafe {
                    values.at(at).write(x[start + p * width]);
                    positions.at(at).write(p as i64);
                }
            }
        }
    });
}

/// Selection is used if a line has more than `MIN_RATIO` times as many elements as are requested, and at most [`LONG`]
/// are requested.
const MIN_RATIO: usize = 8;
/// Number of elements that are compared together.
const CHUNK: usize = 32;
/// Number of pairs that are collected, in addition to twice the requested number, before all but the least are dropped.
const EXTRA: usize = 256;

/// Number of elements processed between two polls for a stop.
const POLL_STRIDE: usize = 1 << 18;

/// Collects the least pairs of a line, in any order. Most chunks are skipped after one comparison with the current bound.
fn collect_least<'a, T: Ordered + 'a, K: Pair>(
    pairs: &mut Vec<K>,
    chunks: impl Iterator<Item = &'a [T]>,
    count: usize,
    rank: impl Fn(T) -> u64,
) {
    if count == 0 {
        return;
    }
    // Once enough pairs are found, accepts only ranks below the largest rank of the kept pairs. Equal ranks are not accepted,
    // because among them the first positions are kept.
    let (mut enough, mut bound, mut k) = (false, 0, 0usize);
    for chunk in chunks {
        if k.is_multiple_of(POLL_STRIDE) && stop::requested() {
            return;
        }
        if !enough || chunk.iter().fold(false, |near, x| near | (rank(*x) < bound)) {
            for (x, k) in chunk.iter().zip(k..) {
                let own = rank(*x);
                if !enough || own < bound {
                    pairs.push(K::new(own, k));
                }
            }
            if pairs.len() > 2 * count + EXTRA - CHUNK {
                keep_least(pairs, count);
                (enough, bound) = (true, pairs[count - 1].rank());
            }
        }
        k += chunk.len();
    }
    keep_least(pairs, count);
}

/// Drops all but the least `count` pairs.
fn keep_least<K: Ord>(pairs: &mut Vec<K>, count: usize) {
    if (1..pairs.len()).contains(&count) {
        pairs.select_nth_unstable(count - 1);
    }
    pairs.truncate(count);
}

/// Smallest length of a line that is sorted by radix.
const LONG: usize = 1 << 12;
/// Number of bits of a digit.
const DIGIT: u32 = 11;

/// Sorts pairs, which are in the order of positions, by rank: a stable radix sort from the lowest digit. Skips digits that are
/// equal in all pairs, as most digits of small integers are.
fn radix_sort<K: Pair>(pairs: &mut Vec<K>, spare: &mut Vec<K>) {
    let digit = |p: K, d: usize| (p.rank() >> (d as u32 * DIGIT)) as usize % (1 << DIGIT);
    let mut counts = vec![[0usize; 1 << DIGIT]; K::BITS.div_ceil(DIGIT) as usize];
    for some in pairs.chunks(POLL_STRIDE).take_while(|_| !stop::requested()) {
        for &p in some {
            for (d, counts) in counts.iter_mut().enumerate() {
                counts[digit(p, d)] += 1;
            }
        }
    }
    spare.resize(pairs.len(), K::default());
    for (d, positions) in counts.iter_mut().enumerate() {
        if positions.contains(&pairs.len()) || stop::requested() {
            continue;
        }
        let mut next = 0;
        positions.iter_mut().for_each(|position| next += std::mem::replace(position, next));
        for some in pairs.chunks(POLL_STRIDE).take_while(|_| !stop::requested()) {
            for &p in some {
                let position = &mut positions[digit(p, d)];
                spare[*position] = p;
                *position += 1;
            }
        }
        std::mem::swap(pairs, spare);
    }
}
