//! Computes attention over a cache of keys and values, and writes to that cache. A cache is `[slots, heads, capacity, width]`:
//! each slot holds the positions of one text. Takes memory and extents. The regions `cache_write` and `cached_attention`
//! define the operands.

use crate::elements::Elements;
use crate::gemm::{Operand, Output, Problem, Scratch, Strided, gemm, prefetch};
use crate::quantized;
use crate::vector::{Loops, loops};
use crate::wide::{GROUP, Plain, Wide};
use crate::{Isa, Pool};
use gradus_ir::format::Format;
use std::ops::Range;

/// Largest number of new positions of a text that are computed row by row. More positions use matrix products.
const FEW: usize = 4;

/// Positions of a text in one block of matrix products.
const BLOCK: usize = 64;

/// Distance in positions at which keys are prefetched.
const AHEAD: usize = 8;
/// Number of elements in a cache line.
const LINE: usize = 16;

/// Smallest number of bytes per task.
const TASK: usize = 1 << 15;

/// The representation of the rows of a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stored {
    F32,
    Bf16,
    /// Blocks of Q8_0.
    Q8,
}

impl Stored {
    /// Returns the bytes of a row of `width` features.
    fn row_bytes(self, width: usize) -> usize {
        match self {
            Stored::F32 => width * size_of::<f32>(),
            Stored::Bf16 => width * size_of::<u16>(),
            Stored::Q8 => width / Format::Q8_0.block_elements() * Format::Q8_0.block_bytes(),
        }
    }

    /// Converts consecutive rows to `f32`. `count` is the number of features of all rows.
    ///
    /// # Safety
    /// `from` holds `count` features, and `to` has space for as many numbers.
    unsafe fn read(self, from: *const u8, count: usize, to: *mut f32) {
        // SAFETY: the caller guarantees `count` features at `from` and space for as many numbers at `to`.
        unsafe {
            match self {
                Stored::F32 => std::ptr::copy_nonoverlapping(from.cast(), to, count),
                Stored::Bf16 => {
                    let from = std::slice::from_raw_parts(from.cast::<u16>(), count);
                    let to = std::slice::from_raw_parts_mut(to.cast::<u32>(), count);
                    from.iter().zip(to).for_each(|(x, to)| *to = u32::from(*x) << 16);
                }
                Stored::Q8 => {
                    quantized::unpack(Format::Q8_0, from, count / Format::Q8_0.block_elements(), to);
                }
            }
        }
    }
}

/// The extents of a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cache {
    pub(crate) slots: usize,
    pub(crate) heads: usize,
    pub(crate) capacity: usize,
    pub(crate) width: usize,
    pub(crate) stored: Stored,
}

impl Cache {
    fn row_bytes(&self) -> usize {
        self.stored.row_bytes(self.width)
    }

    fn bytes(&self) -> usize {
        self.slots * self.heads * self.capacity * self.row_bytes()
    }

    /// Returns the offset in bytes of the first position of a head of a slot.
    fn at(&self, slot: usize, head: usize) -> usize {
        (slot * self.heads + head) * self.capacity * self.row_bytes()
    }
}

/// The slots of texts, and the position of each text in its slot.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    /// The slot of each text.
    pub(crate) slots: &'a [i64],
    /// The position of the first token of each text.
    pub(crate) first: &'a [i64],
    /// Tokens of each text, padding included.
    pub(crate) time: usize,
}

/// Copies `from` to `to`, and writes the first `count` tokens of each text of `new` to the text's slot. If `from` and `to` are
/// the same memory, writes only these tokens. Skips tokens outside of the cache. If two texts have the same slot, the later one
/// is written last.
///
/// # Safety
/// `from` and `to` have the extents of the cache, `new` is `[texts, time, heads, width]` in its representation, and no
/// other thread accesses `to`.
pub(crate) unsafe fn write(
    pool: &Pool,
    cache: Cache,
    (from, to): (*const u8, *mut u8),
    new: *const u8,
    texts: Texts<'_>,
    count: &[i64],
) {
    // SAFETY: the caller guarantees the extents of `from`, `to` and `new`, and that no other thread uses
    // `to`. Heads are tasks, so no two tasks write the same element.
    unsafe {
        if !std::ptr::eq(from, to) {
            std::ptr::copy_nonoverlapping(from, to, cache.bytes());
        }
        let (to, new, row_bytes) = (Elements(to), Elements(new.cast_mut()), cache.row_bytes());
        let head = |head: usize| {
            for (b, ((slot, first), count)) in texts.slots.iter().zip(texts.first).zip(count).enumerate() {
                let Some(slot) = usize::try_from(*slot).ok().filter(|s| *s < cache.slots) else { continue };
                let tokens = usize::try_from(*count).unwrap_or(0).min(texts.time);
                for t in 0..tokens {
                    let position = first.checked_add(t as i64).and_then(|p| usize::try_from(p).ok());
                    let Some(position) = position.filter(|p| *p < cache.capacity) else { continue };
                    let row = new.at(((b * texts.time + t) * cache.heads + head) * row_bytes);
                    let target = to.at(cache.at(slot, head) + position * row_bytes);
                    std::ptr::copy_nonoverlapping(row, target, row_bytes);
                }
            }
        };
        let bytes = texts.slots.len() * texts.time * row_bytes;
        if bytes < TASK { (0..cache.heads).for_each(head) } else { pool.run(cache.heads, &head) }
    }
}

/// Parameters of a call of attention, in addition to the extents of the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention {
    /// Heads of queries, a multiple of those of the cache.
    pub(crate) heads: usize,
    /// Multiplies the scores; positive.
    pub(crate) scale: f32,
    /// Number of positions that a query sees, the last of which is its own; `None` if it sees all positions up to its
    /// own.
    pub(crate) window: Option<usize>,
    /// Limits scores `s` to `c·tanh(s/c)`; positive.
    pub(crate) softcap: Option<f32>,
}

impl Attention {
    /// Returns the positions that a query at `position` sees.
    fn seen(&self, position: i64, capacity: usize) -> Range<usize> {
        let end = usize::try_from(position.saturating_add(1)).unwrap_or(0);
        let from = self.window.map_or(0, |w| end.saturating_sub(w));
        from.min(capacity)..end.min(capacity)
    }
}

impl Attention {
    /// Returns the positions that at least one of `rows` queries from `position` on sees.
    fn seen_by(&self, position: i64, rows: usize, capacity: usize) -> Range<usize> {
        let last = position.saturating_add(rows.max(1) as i64 - 1);
        let start = self.seen(position, capacity).start;
        start..self.seen(last, capacity).end.max(start)
    }
}

/// Computes `softmax(q·kᵀ·scale)·v` for each token, over the positions of its slot up to its own. The result of a query that
/// sees no position is 0. A slot outside of the cache is replaced by the nearest one.
///
/// # Safety
/// Queries and results are `[texts, time, heads, width]`, keys and values have the extents of the cache, and no other
/// thread accesses the results.
pub(crate) unsafe fn attend(
    pool: &Pool,
    (cache, attention): (Cache, Attention),
    queries: *const f32,
    [keys, values]: [*const u8; 2],
    texts: Texts<'_>,
    out: *mut f32,
) {
    let Attention { heads, .. } = attention;
    let (time, width) = (texts.time, cache.width);
    let group = heads / cache.heads.max(1);
    if cache.bytes() == 0 || heads == 0 || time == 0 {
        // SAFETY: the caller guarantees results of these extents.
        return unsafe { out.write_bytes(0, texts.slots.len() * time * heads * width) };
    }
    let (queries, out) = (Elements(queries.cast_mut()), Elements(out));
    let [keys, values] = [keys, values].map(|p| Elements(p.cast_mut()));
    let block = if time <= FEW { 1 } else { BLOCK };
    let blocks = time.div_ceil(block);
    let attend_one = attend_one(Isa::best());
    // Rows that are not `f32` are converted once for all heads of queries that read them, so these heads are one task.
    let shared = if cache.stored == Stored::F32 { 1 } else { group };
    let parts = heads / shared * blocks;
    let task = |task: usize| {
        let (b, rest) = (task / parts, task % parts);
        let (head, from) = (rest / blocks * shared, rest % blocks * block);
        let slot = texts.slots[b].clamp(0, cache.slots as i64 - 1) as usize;
        let start = cache.at(slot, head / group);
        let position = texts.first[b].saturating_add(from as i64);
        let rows = block.min(time - from);
        let seen = attention.seen_by(position, rows, cache.capacity);
        let scratch;
        let [keys, values] = match cache.stored {
            Stored::F32 => [keys, values].map(|p| p.at(start).cast::<f32>().cast_const()),
            stored => {
                let count = seen.len() * width;
                scratch = Scratch::take::<f32>(2 * count);
                let to = [scratch.as_ptr::<f32>(), scratch.as_ptr::<f32>().wrapping_add(count)];
                for (p, to) in [keys, values].into_iter().zip(to) {
                    // SAFETY: positions that are seen are inside of the cache; the scratch has a number for each feature.
                    unsafe { stored.read(p.at(start + seen.start * cache.row_bytes()), count, to) };
                }
                to.map(|p| p.wrapping_sub(seen.start * width).cast_const())
            }
        };
        for head in head..head + shared {
            let row = (b * time + from) * heads * width + head * width;
            // SAFETY: the rows are inside of queries and results; keys and values have the positions that are seen.
            unsafe {
                let (queries, out) = (queries.at(row), out.at(row));
                let (stride, capacity) = (heads * width, cache.capacity);
                let one = Head { queries, keys, values, out, stride, width, capacity, attention };
                match block {
                    1 => attend_one(&one, position),
                    _ => one.many(pool, position, rows),
                }
            }
        }
    };
    let tasks = texts.slots.len() * parts;
    let longest = texts
        .first
        .iter()
        .max()
        .map_or(0, |p| attention.seen(p.saturating_add(time as i64), cache.capacity).len());
    let work = longest * width * size_of::<f32>() * block * shared;
    let each = (TASK / work.max(1)).clamp(1, tasks.max(1));
    pool.run(tasks.div_ceil(each), &|chunk| {
        (chunk * each..((chunk + 1) * each).min(tasks)).for_each(task);
    });
}

/// A head of queries and the keys and values that it reads.
struct Head {
    queries: *const f32,
    /// The address of position 0. Memory is valid only at positions that are seen.
    keys: *const f32,
    values: *const f32,
    out: *mut f32,
    /// Elements from one token to the next, of queries and results.
    stride: usize,
    width: usize,
    capacity: usize,
    attention: Attention,
}

impl Head {
    /// Computes one query.
    ///
    /// # Safety
    /// As for [`attend`]; the caller guarantees the instruction set of `W`.
    #[inline(always)]
    unsafe fn one<W: Wide>(&self, position: i64) {
        let seen = self.attention.seen(position, self.capacity);
        let (width, n) = (self.width, seen.len());
        let whole = width / GROUP * GROUP;
        let scratch = Scratch::take::<f32>(n);
        // SAFETY: the caller guarantees queries, cache and results of these extents and the instruction set
        // of `W`; the scratch has a score for every key that is seen.
        unsafe {
            let scores = std::slice::from_raw_parts_mut(scratch.as_ptr::<f32>(), n);
            let [keys, values] = [self.keys, self.values].map(|p| p.wrapping_add(seen.start * width));
            for (j, score) in scores.iter_mut().enumerate() {
                let key = keys.add(j * width);
                // Prefetches, because since the last token the weights of the layers have evicted keys and
                // values from the processor's cache.
                for line in (0..width).step_by(LINE) {
                    prefetch(key.wrapping_add(AHEAD * width + line));
                    prefetch(values.wrapping_add(j * width + line));
                }
                let mut sum = W::zero();
                for d in (0..whole).step_by(GROUP) {
                    sum = W::load(self.queries.add(d)).mul_add(W::load(key.add(d)), sum);
                }
                *score = sum.sum();
                for d in whole..width {
                    *score += *self.queries.add(d) * *key.add(d);
                }
            }
            weigh(loops::<f32>(), scores, &self.attention);
            let mut d = 0;
            while d < whole {
                // Two sums at a time, because each waits for its last addition.
                d += match whole - d {
                    GROUP => weighted::<W, 1>(scores, values.add(d), width, self.out.add(d)),
                    _ => weighted::<W, 2>(scores, values.add(d), width, self.out.add(d)),
                };
            }
            for d in whole..width {
                let terms = scores.iter().enumerate().map(|(j, p)| p * *values.add(j * width + d));
                *self.out.add(d) = terms.sum();
            }
        }
    }

    /// Computes queries of consecutive positions.
    ///
    /// # Safety
    /// As for [`attend`].
    unsafe fn many(&self, pool: &Pool, position: i64, rows: usize) {
        let seen = self.attention.seen_by(position, rows, self.capacity);
        let (from, n) = (seen.start, seen.len());
        let scratch = Scratch::take::<f32>(rows * n);
        let scores = scratch.as_ptr::<f32>();
        let strided = |data: *const f32, lane: usize, depth: usize| {
            Operand::Strided(Strided { data, batch: 0, lane: lane as isize, depth: depth as isize })
        };
        let product = |a, b, n: usize, k: usize, data: *mut f32, row: usize| {
            let c = Output { data, batch: 0, row: row as isize };
            let problem = Problem { batch: 1, m: rows, n, k, a, b, c, accumulate: false, finish: None };
            // SAFETY: the operands are inside of queries, cache, results and scratch.
            unsafe { gemm(pool, &problem) };
        };
        // SAFETY: the caller guarantees queries, cache and results of these extents; positions that are seen
        // are inside of the cache.
        unsafe {
            let [keys, values] = [self.keys, self.values].map(|p| p.wrapping_add(from * self.width));
            let q = strided(self.queries, self.stride, 1);
            product(q, strided(keys, self.width, 1), n, self.width, scores, n);
            for i in 0..rows {
                let seen = self.attention.seen(position.saturating_add(i as i64), self.capacity);
                let row = std::slice::from_raw_parts_mut(scores.add(i * n), n);
                let (before, rest) = row.split_at_mut(seen.start - from);
                let (own, after) = rest.split_at_mut(seen.len());
                before.fill(0.0);
                after.fill(0.0);
                weigh(loops::<f32>(), own, &self.attention);
            }
            product(
                strided(scores, n, 1),
                strided(values, 1, self.width),
                self.width,
                n,
                self.out,
                self.stride,
            );
        }
    }
}

/// Computes the sums of `N` groups of features of all values, weighted by scores. Returns the number of features.
///
/// # Safety
/// `values` has `N` groups of features for every score at stride `width`, `out` has space for them, and the processor has the
/// instruction set of `W`.
#[inline(always)]
unsafe fn weighted<W: Wide, const N: usize>(
    scores: &[f32],
    values: *const f32,
    width: usize,
    out: *mut f32,
) -> usize {
    // SAFETY: the caller guarantees the values, space for the results, and the instruction set.
    unsafe {
        let mut sums = [W::zero(); N];
        for (j, p) in scores.iter().enumerate() {
            let p = W::splat(*p);
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = W::load(values.add(j * width + i * GROUP)).mul_add_splat(p, *sum);
            }
        }
        sums.into_iter().enumerate().for_each(|(i, sum)| sum.store(out.add(i * GROUP)));
    }
    N * GROUP
}

/// Replaces scores by the softmax of the scaled and capped scores.
fn weigh(loops: &Loops<f32>, scores: &mut [f32], attention: &Attention) {
    let (x, n) = (scores.as_mut_ptr(), scores.len());
    let (Some(sub), Some(mul), Some(exp), Some(tanh)) =
        (loops.binary("sub"), loops.binary("mul"), loops.unary("exp"), loops.unary("tanh"))
    else {
        unreachable!("every instruction set has these loops")
    };
    let mut scale = attention.scale;
    // SAFETY: each loop reads and writes the `n` scores, element by element.
    unsafe {
        if let Some(cap) = attention.softcap {
            (mul.vs)(x, scale / cap, x, n);
            tanh(x, x, n);
            scale = cap;
        }
        let top = (loops.max)(x, n);
        (sub.vs)(x, top, x, n);
        (mul.vs)(x, scale, x, n);
        exp(x, x, n);
        let total = (loops.sum)(x, n);
        (mul.vs)(x, 1.0 / total, x, n);
    }
}

/// A function that computes attention of one query, compiled for an instruction set.
type AttendOne = unsafe fn(&Head, i64);

fn attend_one(isa: Isa) -> AttendOne {
    match isa.clamped().vectors() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2,
        _ => plain,
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn avx512(head: &Head, position: i64) {
    // SAFETY: the caller guarantees the memory of `head`; `attend_one` chose an instruction set that the
    // processor has.
    unsafe { head.one::<crate::wide::Avx512>(position) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2(head: &Head, position: i64) {
    // SAFETY: the caller guarantees the memory of `head`; `attend_one` chose an instruction set that the
    // processor has.
    unsafe { head.one::<crate::wide::Avx2>(position) }
}

unsafe fn plain(head: &Head, position: i64) {
    // SAFETY: the caller guarantees the memory of `head`; plain code runs on every processor.
    unsafe { head.one::<Plain>(position) }
}
