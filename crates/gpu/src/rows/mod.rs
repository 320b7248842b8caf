//! Writes kernels with reductions. Threads of a group share a row (or a column), and combine their results by a fixed tree.
//! A reduction that depends on another is a further pass over the row in the same kernel.

mod passes;
mod walk;

use crate::build::{Build, GROUP, GROUP_NUMBER, Launch};
use crate::dialect::{Dialect, Unit};
use crate::int::Int;
use crate::limits::{Barriers, Limits};
use crate::memory::{per_word, store};
use crate::nest::{INLINED, Nest, Point, decompose, lines};
use crate::program::GpuProgram;
use gradus_compile::{Access, Kernel, Level, Operation, Text};
use passes::passes;
use walk::{Lanes, Walk};

/// Number of iterations of a thread after which it adds its sum to the total; this limits rounding errors.
const BLOCK: usize = 64;
/// Largest number of iterations of one thread on software adapters: llvmpipe ends loops after 65,535 iterations in total.
const LONGEST: usize = 1 << 15;
/// Largest number of elements that a thread keeps in registers.
const KEPT: usize = 16;
/// Largest number of instructions of an unrolled row.
const UNROLLED: usize = 1200;

/// The assignment of elements to threads.
pub(crate) struct Shares {
    /// Threads per row.
    threads: u32,
    /// Number of neighbouring elements that a thread processes together, to load four words at once and to write complete
    /// words.
    lanes: usize,
    /// If true, neighbouring threads process neighbouring rows.
    columns: bool,
    /// If true, the sums of a thread are long, so they are computed in blocks of [`BLOCK`] iterations.
    long: bool,
    /// Number of iterations, if the row is unrolled.
    unrolled: Option<usize>,
    /// If true, an unrolled row has elements for every thread in every iteration.
    even: bool,
}

impl Shares {
    fn of(program: &GpuProgram, kernel: &Kernel, limits: &Limits) -> Shares {
        let (rows, length) = (kernel.rows(), kernel.row_length());
        let own = lines(kernel);
        let lanes = lanes(program, kernel, 4 * own <= INLINED);
        let threads = match limits.barriers {
            Barriers::Expensive if length * passes(kernel).len() > LONGEST => GROUP,
            Barriers::Expensive => 1,
            // Each thread processes a column of its own if there are many columns or columns are short.
            Barriers::Cheap if kernel.columns && (rows >= 1 << 14 || length < 64) => 1,
            // If there are few columns with many elements, a group processes eight columns, which still fill a memory sector.
            Barriers::Cheap if kernel.columns && rows < 1 << 13 && length >= 1 << 10 => 32,
            Barriers::Cheap if kernel.columns => 8,
            Barriers::Cheap if length < 16 * lanes => 1,
            Barriers::Cheap if length < 32 * lanes => 8,
            Barriers::Cheap if length < 256 * lanes => 32,
            Barriers::Cheap => 256,
        };
        let threads = threads.min(GROUP);
        let step = threads as usize * lanes;
        let iterations = length.div_ceil(step);
        let kept = iterations * lanes;
        let short = kept * kernel.body.len() <= UNROLLED && kept * own <= 4 * INLINED;
        let unrolled = length > 0 && kept <= KEPT && short;
        Shares {
            threads,
            lanes,
            columns: kernel.columns,
            long: length > BLOCK * step * 2,
            unrolled: unrolled.then_some(iterations),
            even: length.is_multiple_of(step),
        }
    }
}

/// Returns the number of neighbouring elements that a thread processes together. If `short` is true, the code for four
/// elements is short enough.
fn lanes(program: &GpuProgram, kernel: &Kernel, short: bool) -> usize {
    let narrow = |access: &Access| program.buffers[access.buffer].dtype.size() <= 4;
    if short && kernel.loads().any(|access| narrow(access) && in_words(kernel, access, 4)) {
        return 4;
    }
    let stores = kernel.stores.iter().filter(|s| kernel.body[s.value].level == Level::Element);
    let per = stores.map(|s| (per_word(program.buffers[s.access.buffer].dtype), &s.access));
    per.filter(|(per, access)| in_words(kernel, access, *per)).map(|(per, _)| per).max().unwrap_or(1)
}

/// Returns true if each group of `per` neighbours along the last axis, which is reduced, starts at a multiple of `per`
/// elements.
fn in_words(kernel: &Kernel, access: &Access, per: usize) -> bool {
    let even = |x: i64| x % per as i64 == 0;
    let Some((last, outer)) = access.layout.strides.split_last() else { return false };
    *last == 1
        && !kernel.columns
        && kernel.parallel < kernel.axes.len()
        && even(access.layout.offset)
        && kernel.axes.last().is_some_and(|e| e % per == 0)
        && outer.iter().zip(&kernel.axes).all(|(s, e)| *e == 1 || even(*s))
}

/// Returns the kernel and its launch, or the reason why there is none.
pub(crate) fn launch(
    program: &GpuProgram,
    kernel: &Kernel,
    limits: &Limits,
    dialect: Dialect,
    text: Text,
) -> Result<Launch, String> {
    let shares = Shares::of(program, kernel, limits);
    let mut b = Build::new(program, dialect, text);
    let level = |access: &Access| {
        let own = kernel.stores.iter().find(|s| std::ptr::eq(&s.access, access));
        own.map_or(Level::Element, |s| kernel.body[s.value].level)
    };
    let by_words = |access: &Access| {
        let per = per_word(program.buffers[access.buffer].dtype);
        per == 1 || (level(access) == Level::Element && shares.lanes >= per && in_words(kernel, access, per))
    };
    let size = |access: &Access| program.buffers[access.buffer].dtype.size();
    Nest::bind(&mut b, kernel, |access, written| match written && !by_words(access) {
        true => Unit::Atomic,
        false if shares.lanes == 4 && size(access) == 4 && in_words(kernel, access, 4) => Unit::Four,
        false => Unit::Word,
    });
    let nest = Nest::new(&mut b, kernel, false)?;
    let rows = kernel.rows();
    if shares.threads == 1 {
        b.without_barriers(limits, rows);
    }
    let group_rows = b.group() / shares.threads;
    let most = b.size(rows as i64);
    let length = b.size(kernel.row_length() as i64);
    let (row, lane) = match (shares.columns, shares.threads) {
        (_, 1) => ("local".to_string(), Int::Literal(0)),
        (true, _) => {
            let lane = b.value(format!("local / {group_rows}u"));
            (format!("(local % {group_rows}u)"), Int::Text(lane))
        }
        (false, n) => {
            let lane = b.value(format!("local % {n}u"));
            (format!("(local / {n}u)"), Int::Text(lane))
        }
    };
    let number = b.value(format!("{GROUP_NUMBER} * {group_rows}u + {row}"));
    let row = if shares.threads == 1 {
        b.line(format!("if ({number} >= {}) {{\nreturn;\n}}", most.text()));
        number.clone()
    } else {
        // All threads must reach the barriers, so threads without a row compute the last row and write nothing.
        b.value(format!("min({number}, {} - 1u)", most.text()))
    };
    let active = (shares.threads > 1).then(|| b.value(format!("{number} < {}", most.text())));
    let (outer, inner) = nest.extents.split_at(nest.parallel);
    let outer = decompose(&mut b, &Int::Text(row), outer);
    let inner: Vec<Int> = inner.to_vec();
    let here = Point { index: [outer.clone(), vec![Int::Literal(0); inner.len()]].concat(), flat: None };
    let mut values: Vec<Option<String>> = vec![None; kernel.body.len()];
    let all = passes(kernel);
    let mut kept: Vec<Lanes> = Vec::new();
    for (k, pass) in all.iter().enumerate() {
        let walk = Walk {
            nest: &nest,
            shares: &shares,
            outer: &outer,
            inner: &inner,
            lane: &lane,
            length: &length,
            active: active.as_deref(),
            stores: k + 1 == all.len(),
        };
        walk.pass(&mut b, pass, &mut values, &mut kept)?;
        for &i in pass.rows.iter().filter(|i| !matches!(kernel.body[**i].op, Operation::Reduce(_))) {
            nest.values(&mut b, &here, &mut values, |j| j == i)?;
        }
    }
    let per_row: Vec<usize> = (0..kernel.stores.len())
        .filter(|k| kernel.body[kernel.stores[*k].value].level == Level::Row)
        .collect();
    if !per_row.is_empty() {
        if let Some(active) = &active {
            b.line(format!("if ({active} && {} == 0u) {{", lane.text()));
        }
        for k in per_row {
            let value = values[kernel.stores[k].value].clone().ok_or("a stored value is missing")?;
            let at = Nest::at(&nest.stores[k], &here);
            store(&mut b, nest.stores[k].buffer, &at, &value);
        }
        if active.is_some() {
            b.line("}");
        }
    }
    b.finish(rows.div_ceil(group_rows as usize), limits.groups, limits.bindings)
}
