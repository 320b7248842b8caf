//! Computes attention over a cache of keys and values, and writes to that cache. A cache is a pool of blocks `[blocks, heads,
//! positions, width]`; a table lists the blocks of each text. Takes memory and extents. The regions `cache_write` and
//! `cached_attention` define the operands.

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
    pub(crate) blocks: usize,
    pub(crate) heads: usize,
    /// Positions of a block.
    pub(crate) positions: usize,
    pub(crate) width: usize,
    pub(crate) stored: Stored,
}

impl Cache {
    fn row_bytes(&self) -> usize {
        self.stored.row_bytes(self.width)
    }

    fn bytes(&self) -> usize {
        self.blocks * self.block_bytes()
    }

    fn block_bytes(&self) -> usize {
        self.heads * self.head_bytes()
    }

    /// Returns the bytes of one head of a block.
    fn head_bytes(&self) -> usize {
        self.positions * self.row_bytes()
    }

    /// Returns the number of the block nearest to `block` that the cache has.
    fn nearest(&self, block: i64) -> usize {
        block.clamp(0, self.blocks as i64 - 1) as usize
    }
}

/// The blocks of texts, and the position at which each text begins.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    /// The blocks of each text in the order of positions, row by row. All texts have the same number of entries.
    pub(crate) table: &'a [i64],
    /// The position of the first token of each text.
    pub(crate) first: &'a [i64],
    /// Tokens of each text, padding included.
    pub(crate) time: usize,
}

impl<'a> Texts<'a> {
    /// Number of blocks of each text.
    fn columns(&self) -> usize {
        self.table.len() / self.first.len().max(1)
    }

    /// Returns the blocks of a text.
    fn blocks(&self, text: usize) -> &'a [i64] {
        &self.table[text * self.columns()..][..self.columns()]
    }
}

/// Copies `from` to `to`, and writes the first `count` tokens of each text of `new` to the text's blocks. If `from` and `to` are
/// the same memory, writes only these tokens. Skips tokens outside of the table or the cache. If two texts write to the same
/// position of a block, the later one is written last.
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
            for (b, (first, count)) in texts.first.iter().zip(count).enumerate() {
                let blocks = texts.blocks(b);
                let tokens = usize::try_from(*count).unwrap_or(0).min(texts.time);
                for t in 0..tokens {
                    let position = first.checked_add(t as i64).and_then(|p| usize::try_from(p).ok());
                    let Some(position) = position.filter(|_| cache.positions > 0) else { continue };
                    let Some(block) = blocks.get(position / cache.positions) else { continue };
                    let block = usize::try_from(*block).ok().filter(|b| *b < cache.blocks);
                    let Some(block) = block else { continue };
                    let row = new.at(((b * texts.time + t) * cache.heads + head) * row_bytes);
                    let inside = block * cache.block_bytes() + head * cache.head_bytes();
                    let target = to.at(inside + position % cache.positions * row_bytes);
                    std::ptr::copy_nonoverlapping(row, target, row_bytes);
                }
            }
        };
        let bytes = texts.first.len() * texts.time * row_bytes;
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

/// Computes `softmax(q·kᵀ·scale)·v` for each token, over the positions of its text up to its own. The result of a query that
/// sees no position is 0. A block outside of the cache is replaced by the nearest one.
///
/// # Safety
/// Queries and results are `[texts, time, heads, width]`, keys and values have the extents of the cache, and no other
/// thread accesses the results.
pub(crate) unsafe fn attend(
    threads: &Pool,
    (cache, attention): (Cache, Attention),
    queries: *const f32,
    [keys, values]: [*const u8; 2],
    texts: Texts<'_>,
    out: *mut f32,
) {
    let Attention { heads, .. } = attention;
    let (time, width) = (texts.time, cache.width);
    let group = heads / cache.heads.max(1);
    let capacity = texts.columns() * cache.positions;
    if cache.bytes() == 0 || heads == 0 || time == 0 || capacity == 0 {
        // SAFETY: the caller guarantees results of these extents.
        return unsafe { out.write_bytes(0, texts.first.len() * time * heads * width) };
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
        let position = texts.first[b].saturating_add(from as i64);
        let rows = block.min(time - from);
        let seen = attention.seen_by(position, rows, capacity);
        let inside = head / group * cache.head_bytes();
        let [keys, values] = [keys, values].map(|p| p.at(inside).cast_const());
        let pool = Rows {
            keys: keys.cast(),
            values: values.cast(),
            blocks: texts.blocks(b),
            cache,
            length: cache.positions,
            stride: cache.block_bytes() / size_of::<f32>(),
        };
        let scratch;
        let rows_of = match cache.stored {
            Stored::F32 => pool,
            stored => {
                let count = seen.len() * width;
                scratch = Scratch::take::<f32>(2 * count);
                let to = [scratch.as_ptr::<f32>(), scratch.as_ptr::<f32>().wrapping_add(count)];
                let mut done = 0;
                while done < seen.len() {
                    let (block, first, n) = pool.run(seen.start + done, seen.end);
                    let offset = block * cache.block_bytes() + first * cache.row_bytes();
                    for (p, to) in [keys, values].into_iter().zip(to) {
                        // SAFETY: positions that are seen are inside of the cache; the scratch has a number for each feature.
                        unsafe { stored.read(p.add(offset), n * width, to.add(done * width)) };
                    }
                    done += n;
                }
                // The copies are one block, which begins at the first position that is seen.
                let [keys, values] = to.map(|p| p.wrapping_sub(seen.start * width).cast_const());
                Rows { keys, values, blocks: &[0], cache, length: capacity, stride: 0 }
            }
        };
        for head in head..head + shared {
            let row = (b * time + from) * heads * width + head * width;
            // SAFETY: the rows are inside of queries and results; keys and values have the positions that are seen.
            unsafe {
                let (queries, out) = (queries.at(row), out.at(row));
                let one =
                    Head { queries, rows: rows_of, out, stride: heads * width, width, capacity, attention };
                match block {
                    1 => attend_one(&one, position),
                    _ => one.many(threads, position, rows),
                }
            }
        }
    };
    let tasks = texts.first.len() * parts;
    let longest =
        texts.first.iter().max().map_or(0, |p| attention.seen(p.saturating_add(time as i64), capacity).len());
    let work = longest * width * size_of::<f32>() * block * shared;
    let each = (TASK / work.max(1)).clamp(1, tasks.max(1));
    threads.run(tasks.div_ceil(each), &|chunk| {
        (chunk * each..((chunk + 1) * each).min(tasks)).for_each(task);
    });
}

/// Keys and values of one head of a text, in blocks.
#[derive(Clone, Copy)]
struct Rows<'a> {
    /// The address of this head in block 0. Memory is valid only at positions that are seen.
    keys: *const f32,
    values: *const f32,
    blocks: &'a [i64],
    cache: Cache,
    /// Positions of a block.
    length: usize,
    /// Numbers from one block to the next.
    stride: usize,
}

impl Rows<'_> {
    /// Returns the block of a position, the position inside of this block, and the number of positions that follow in the same
    /// block before `end`, itself included.
    #[inline(always)]
    fn run(&self, position: usize, end: usize) -> (usize, usize, usize) {
        let (column, inside) = (position / self.length, position % self.length);
        let block = self.cache.nearest(self.blocks[column]);
        (block, inside, (self.length - inside).min(end - position))
    }

    /// Returns the addresses of the key and the value of a position, and the number of positions whose rows follow there before
    /// `end`, itself included.
    #[inline(always)]
    fn at(&self, position: usize, end: usize) -> ([*const f32; 2], usize) {
        let (block, inside, count) = self.run(position, end);
        let offset = block * self.stride + inside * self.cache.width;
        ([self.keys, self.values].map(|p| p.wrapping_add(offset)), count)
    }
}

/// A head of queries and the keys and values that it reads.
struct Head<'a> {
    queries: *const f32,
    rows: Rows<'a>,
    out: *mut f32,
    /// Elements from one token to the next, of queries and results.
    stride: usize,
    width: usize,
    capacity: usize,
    attention: Attention,
}

impl Head<'_> {
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
            let mut done = 0;
            while done < n {
                let ([keys, values], count) = self.rows.at(seen.start + done, seen.end);
                for (j, score) in scores[done..][..count].iter_mut().enumerate() {
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
                done += count;
            }
            weigh(loops::<f32>(), scores, &self.attention);
            let mut d = 0;
            while d < whole {
                // Two sums at a time, because each waits for its last addition.
                d += match whole - d {
                    GROUP => self.weighted::<W, 1>(scores, seen.start, d),
                    _ => self.weighted::<W, 2>(scores, seen.start, d),
                };
            }
            for d in whole..width {
                let (mut sum, mut done) = (0.0, 0);
                while done < n {
                    let ([_, values], count) = self.rows.at(seen.start + done, seen.end);
                    let terms = scores[done..][..count].iter().enumerate();
                    sum += terms.map(|(j, p)| p * *values.add(j * width + d)).sum::<f32>();
                    done += count;
                }
                *self.out.add(d) = sum;
            }
        }
    }

    /// Computes `N` groups of features from `d` on of the sum of all values from position `start` on, weighted by scores. Returns
    /// the number of features.
    ///
    /// # Safety
    /// As for [`Head::one`]; there are values of these features for every score.
    #[inline(always)]
    unsafe fn weighted<W: Wide, const N: usize>(&self, scores: &[f32], start: usize, d: usize) -> usize {
        // SAFETY: the caller guarantees the values, space for the results, and the instruction set.
        unsafe {
            let (mut sums, mut done) = ([W::zero(); N], 0);
            while done < scores.len() {
                let ([_, values], count) = self.rows.at(start + done, start + scores.len());
                let values = values.add(d);
                for (j, p) in scores[done..][..count].iter().enumerate() {
                    let p = W::splat(*p);
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum = W::load(values.add(j * self.width + i * GROUP)).mul_add_splat(p, *sum);
                    }
                }
                done += count;
            }
            sums.into_iter().enumerate().for_each(|(i, sum)| sum.store(self.out.add(d + i * GROUP)));
        }
        N * GROUP
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
        let product = |a, b, [n, k]: [usize; 2], accumulate, (data, row): (*mut f32, usize)| {
            let c = Output { data, batch: 0, row: row as isize };
            let problem = Problem { batch: 1, m: rows, n, k, a, b, c, accumulate, finish: None };
            // SAFETY: the operands are inside of queries, cache, results and scratch.
            unsafe { gemm(pool, &problem) };
        };
        // SAFETY: the caller guarantees queries, cache and results of these extents; positions that are seen
        // are inside of the cache.
        unsafe {
            if n == 0 {
                (0..rows).for_each(|i| self.out.add(i * self.stride).write_bytes(0, self.width));
                return;
            }
            let q = strided(self.queries, self.stride, 1);
            let mut done = 0;
            while done < n {
                let ([keys, _], count) = self.rows.at(from + done, seen.end);
                let keys = strided(keys, self.width, 1);
                product(q, keys, [count, self.width], false, (scores.add(done), n));
                done += count;
            }
            for i in 0..rows {
                let seen = self.attention.seen(position.saturating_add(i as i64), self.capacity);
                let row = std::slice::from_raw_parts_mut(scores.add(i * n), n);
                let (before, rest) = row.split_at_mut(seen.start - from);
                let (own, after) = rest.split_at_mut(seen.len());
                before.fill(0.0);
                after.fill(0.0);
                weigh(loops::<f32>(), own, &self.attention);
            }
            let mut done = 0;
            while done < n {
                let ([_, values], count) = self.rows.at(from + done, seen.end);
                let (p, values) = (strided(scores.add(done), n, 1), strided(values, 1, self.width));
                product(p, values, [self.width, count], done > 0, (self.out, self.stride));
                done += count;
            }
        }
    }
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
type AttendOne = unsafe fn(&Head<'_>, i64);

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
unsafe fn avx512(head: &Head<'_>, position: i64) {
    // SAFETY: the caller guarantees the memory of `head`; `attend_one` chose an instruction set that the
    // processor has.
    unsafe { head.one::<crate::wide::Avx512>(position) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2(head: &Head<'_>, position: i64) {
    // SAFETY: the caller guarantees the memory of `head`; `attend_one` chose an instruction set that the
    // processor has.
    unsafe { head.one::<crate::wide::Avx2>(position) }
}

unsafe fn plain(head: &Head<'_>, position: i64) {
    // SAFETY: the caller guarantees the memory of `head`; plain code runs on every processor.
    unsafe { head.one::<Plain>(position) }
}
