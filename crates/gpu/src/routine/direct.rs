//! Writes convolutions of floats for adapters with expensive barriers. A thread computes several output channels at
//! several neighbouring positions, each sum in a separate variable. Elements of the operand that neighbouring windows
//! share are loaded once, and index arithmetic is outside of the innermost loop.

use super::Call;
use super::convolve::{number, sizes, spread};
use super::implicit::total;
use crate::build::{Build, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::memory::{load, store};
use crate::nest::decompose;
use gradus_compile::Text;
use gradus_ir::DType;
use gradus_ir::ops::Window;
use std::collections::BTreeMap;

/// Largest number of output channels, and of positions, of a thread.
const MAX: usize = 8;
/// Largest number of elements of the window along the last axis in one iteration.
const UNROLLED: usize = 16;
/// Number of threads that occupy the adapter. If there would be fewer, sums are split among several threads.
const ENOUGH: usize = 128;
/// Largest number of terms of a sum in one thread, because software adapters end loops after 65,535 iterations.
const LONGEST: usize = 1 << 15;

/// The sizes of a convolution, and its division among threads.
struct Geometry<'a> {
    window: &'a Window,
    xs: Vec<usize>,
    ws: Vec<usize>,
    os: Vec<usize>,
    /// Number of output channels of a thread, and number of positions along the last axis.
    high: usize,
    wide: usize,
    /// Elements of the window along the last axis in one iteration.
    unrolled: usize,
    /// Parts into which the summed channels are split.
    parts: usize,
}

/// Returns a block length for an extent that gives few blocks and few unused indices.
fn block(extent: usize) -> usize {
    (1..=MAX).rev().min_by_key(|n| extent.div_ceil(*n) * (n + 3)).unwrap_or(1)
}

impl Geometry<'_> {
    /// Returns the number of blocks of output channels, and of positions along the last axis.
    fn blocks(&self) -> [usize; 2] {
        let last = self.os.len() - 1;
        [self.os[2].div_ceil(self.high), self.os[last].div_ceil(self.wide)]
    }

    /// Returns the extents of the loop: channels, window, and iterations along its last axis.
    fn loops(&self) -> Vec<usize> {
        let mut all = self.ws[2..].to_vec();
        if let Some(last) = all.last_mut() {
            *last = last.div_ceil(self.unrolled);
        }
        all
    }

    /// Returns the extents of the index of a thread: part, image, group, block of channels, positions, block of positions.
    fn threads(&self) -> Vec<usize> {
        let [down, across] = self.blocks();
        let mut all = vec![self.parts, self.os[0], self.os[1], down];
        all.extend(&self.os[3..self.os.len() - 1]);
        all.push(across);
        all
    }
}

/// Returns the kernels of a convolution of floats. Returns `None` if it has no spatial axis, or if parts of its sums would
/// be longer than [`LONGEST`].
pub(super) fn launches(call: &mut Call<'_>, window: &Window) -> Result<Option<Vec<Launch>>, String> {
    let routine = call.routine;
    let shape = |t: &gradus_ir::Aval| t.shape.to_vec();
    let (xs, ws, os) = (shape(&routine.types[0]), shape(&routine.types[1]), shape(&routine.results[0]));
    if window.stride.is_empty() || [&xs, &ws, &os].iter().any(|s| s.contains(&0)) {
        return Ok(None);
    }
    let (rows, last, along) = (os[2], os[os.len() - 1], ws[ws.len() - 1]);
    let (high, wide, unrolled) = match call.text {
        Text::Special => (block(rows), block(last), (1..=UNROLLED).rev().find(|n| along.is_multiple_of(*n))),
        // Generic text has few variants, so that few kernels are compiled for many shapes.
        Text::Generic => (if rows < 4 { 1 } else { 4 }, 4, None),
    };
    let mut g = Geometry { window, xs, ws, os, high, wide, unrolled: unrolled.unwrap_or(1), parts: 1 };
    let (channels, terms) = (g.ws[2], g.ws[2..].iter().product::<usize>());
    let threads: usize = g.threads().iter().product();
    let parts = (ENOUGH / threads).max(terms.div_ceil(LONGEST)).clamp(1, channels);
    // Reduces the number of parts so that no part is without channels.
    g.parts = channels.div_ceil(channels.div_ceil(parts));
    if channels.div_ceil(g.parts) * (terms / channels) > LONGEST {
        return Ok(None);
    }
    let out = routine.outs[0];
    let (dtype, numel) = (routine.results[0].dtype, routine.results[0].shape.numel());
    if g.parts == 1 && dtype == DType::F32 {
        return Ok(Some(vec![kernel(call, &g, out)?]));
    }
    // Partial sums and sums of narrow floats are first stored as `f32`.
    let scratch = call.scratch(DType::F32, g.parts * numel);
    let mut all = vec![kernel(call, &g, scratch)?];
    all.extend(total(call, scratch, g.parts, out)?);
    Ok(Some(all))
}

fn kernel(call: &Call<'_>, g: &Geometry<'_>, to: usize) -> Result<Launch, String> {
    let (x, w) = (call.routine.ins[0], call.routine.ins[1]);
    let mut b = Build::new(call.program, call.dialect, call.text);
    b.bind(x, Unit::Word, false);
    b.bind(w, Unit::Word, false);
    b.bind(to, Unit::Word, true);
    let n = g.window.stride.len();
    let threads: usize = g.threads().iter().product();
    b.without_barriers(call.limits, threads);
    let most = b.size(threads as i64);
    let item = b.value(b.thread());
    b.line(format!("if ({item} >= {}) {{\nreturn;\n}}", most.text()));
    let extents = sizes(&mut b, &g.threads());
    let at = decompose(&mut b, &Int::Text(item), &extents);
    let [part, image, group, down] = [&at[0], &at[1], &at[2], &at[3]];
    let row = b.int(down.times(&Int::Literal(g.high as u32)));
    let column = b.int(at[3 + n].times(&Int::Literal(g.wide as u32)));
    let (strides, dilations, lows) = (
        sizes(&mut b, &g.window.stride),
        sizes(&mut b, &g.window.window_dilation),
        g.window.low.iter().map(|l| b.size(-l)).collect::<Vec<Int>>(),
    );
    // The start of the first window along each axis.
    let places = at[4..3 + n].iter().chain([&column]);
    let mut origin: Vec<Int> = Vec::new();
    for (i, place) in places.enumerate() {
        origin.push(b.int(place.times(&strides[i]).plus(&lows[i])));
    }
    let x_sizes = sizes(&mut b, &g.xs[2..]);
    let block_x: usize = g.xs[2..].iter().product();
    let block_x = b.size(block_x as i64);
    let image_x = number(&mut b, &g.xs[..2], &[image.clone(), group.clone()]).times(&block_x);
    let image_x = b.start(x, 0).plus(&image_x);
    let image_x = b.int(image_x);
    let block_w: usize = g.ws[2..].iter().product();
    let (rows, block_w) = (b.size(g.os[2] as i64), b.size(block_w as i64));
    let first_w = b.start(w, 0);
    let mut weights: Vec<Int> = Vec::new();
    for i in 0..g.high as u32 {
        let mut own = row.plus(&Int::Literal(i));
        // Channels after the last are replaced by the last, and their sums are not stored.
        if i > 0 && (b.text == Text::Generic || !g.os[2].is_multiple_of(g.high)) {
            own = Int::Text(b.value(format!("min({}, {} - 1u)", own.text(), rows.text())));
        }
        let own = group.times(&rows).plus(&own).times(&block_w);
        weights.push(b.int(first_w.plus(&own)));
    }
    let mut sums: Vec<Vec<String>> = Vec::new();
    for _ in 0..g.high {
        sums.push((0..g.wide).map(|_| b.variable("0.0f")).collect());
    }
    // Uses one loop over channels and windows, because software adapters copy all sums for each further loop or condition.
    let loops = g.loops();
    let each: usize = loops[1..].iter().product();
    let chunk = b.size((g.ws[2].div_ceil(g.parts) * each) as i64);
    let all = b.size((g.ws[2] * each) as i64);
    let from = b.int(part.times(&chunk));
    let end = b.value(format!("min({} + {}, {})", from.text(), chunk.text(), all.text()));
    let q = b.name();
    b.line(format!("for (var {q} = {}; {q} < {end}; {q} = {q} + 1u) {{", from.text()));
    let extents = sizes(&mut b, &loops);
    let mut index_w = decompose(&mut b, &Int::Text(q), &extents);
    let step = index_w[n].times(&Int::Literal(g.unrolled as u32));
    index_w[n] = b.int(step);
    let mut index_x = vec![index_w[0].clone()];
    let mut conditions = Vec::new();
    for i in 0..n - 1 {
        let own = origin[i].plus(&index_w[1 + i].times(&dilations[i]));
        let (own, inside) = spread(&mut b, own, g.window.base_dilation[i], &x_sizes[1 + i]);
        index_x.push(Int::Text(format!("min({}, {} - 1u)", own.text(), x_sizes[1 + i].text())));
        conditions.push(inside);
    }
    let exists = (!conditions.is_empty()).then(|| b.value(conditions.join(" && ")));
    let line_x = number(&mut b, &g.xs[2..2 + n], &index_x).times(&x_sizes[n]);
    let line_x = b.int(image_x.plus(&line_x));
    let line_w = number(&mut b, &g.ws[2..], &index_w);
    let line_w = b.int(line_w);
    let base = b.int(origin[n - 1].plus(&index_w[n].times(&dilations[n - 1])));
    // The elements of the operand that are already loaded, by their distance from the first.
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for u in 0..g.unrolled as u32 {
        let mut elements = Vec::new();
        for j in 0..g.wide as u32 {
            let away = Int::Literal(j).times(&strides[n - 1]);
            let away = away.plus(&Int::Literal(u).times(&dilations[n - 1]));
            if let Some(value) = known.get(&away.text()) {
                elements.push(value.clone());
                continue;
            }
            let (own, inside) = spread(&mut b, base.plus(&away), g.window.base_dilation[n - 1], &x_sizes[n]);
            let inside = exists.iter().cloned().chain([inside]).collect::<Vec<_>>().join(" && ");
            let own = Int::Text(format!("min({}, {} - 1u)", own.text(), x_sizes[n].text()));
            let from = b.int(line_x.plus(&own));
            let loaded = load(&b, x, &from);
            let value = b.value(format!("select(0.0f, {loaded}, {inside})"));
            known.insert(away.text(), value.clone());
            elements.push(value);
        }
        let own = b.int(line_w.plus(&Int::Literal(u)));
        for (row, start) in sums.iter().zip(&weights) {
            let from = b.int(start.plus(&own));
            let weight = load(&b, w, &from);
            let weight = b.value(weight);
            for (sum, element) in row.iter().zip(&elements) {
                b.line(format!("{sum} = fma({element}, {weight}, {sum});"));
            }
        }
    }
    b.line("}");
    results(&mut b, g, to, &sums, &at, &row, &column);
    b.finish_threads(threads, call.limits)
}

/// Writes the lines that store the sums of a thread.
fn results(
    b: &mut Build<'_>,
    g: &Geometry<'_>,
    to: usize,
    sums: &[Vec<String>],
    at: &[Int],
    row: &Int,
    column: &Int,
) {
    let last = g.os.len() - 1;
    let (rows, columns) = (b.size(g.os[2] as i64), b.size(g.os[last] as i64));
    let numel = b.size(g.os.iter().product::<usize>() as i64);
    let start = b.start(to, 0).plus(&at[0].times(&numel));
    let start = b.int(start);
    let ragged = |extent: usize, block: usize| b.text == Text::Generic || !extent.is_multiple_of(block);
    let (ragged_rows, ragged_columns) = (ragged(g.os[2], g.high), ragged(g.os[last], g.wide));
    for (i, row_sums) in sums.iter().enumerate() {
        let own = b.int(row.plus(&Int::Literal(i as u32)));
        let guard = i > 0 && ragged_rows;
        if guard {
            b.line(format!("if ({} < {}) {{", own.text(), rows.text()));
        }
        let index = [&[at[1].clone(), at[2].clone(), own], &at[4..at.len() - 1]].concat();
        let line = number(b, &g.os[..last], &index).times(&columns);
        let line = b.int(start.plus(&line));
        for (j, sum) in row_sums.iter().enumerate() {
            let own = column.plus(&Int::Literal(j as u32));
            let guard = j > 0 && ragged_columns;
            if guard {
                b.line(format!("if ({} < {}) {{", own.text(), columns.text()));
            }
            store(b, to, &line.plus(&own), sum);
            if guard {
                b.line("}");
            }
        }
        if guard {
            b.line("}");
        }
    }
}
