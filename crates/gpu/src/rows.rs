//! Kernels with reductions: threads of a group share a row (or a column), and combine what they found by a fixed tree.
//! Reductions that depend on others are further passes over the row in the same kernel.

use crate::build::{Build, GROUP, GROUP_NUMBER, Launch};
use crate::dialect::{Dialect, Unit};
use crate::int::Int;
use crate::limits::{Barriers, Limits};
use crate::memory::{per_word, register, store, store_four};
use crate::nest::{Nest, Point, decompose};
use crate::pointwise::{combine, identity};
use crate::program::Program;
use gradus_compile::{Access, Kernel, Level, Operation, Text};
use gradus_ir::ops::Combine;

/// Elements that a thread adds before their sum is added to that of others: long sums would lose digits.
const BLOCK: usize = 64;
/// Most iterations of one thread on adapters in software: llvmpipe ends loops after 65,535 iterations of all of them.
const LONGEST: usize = 1 << 15;

/// Which threads take which elements.
struct Shares {
    /// Threads per row.
    threads: u32,
    /// Elements that a thread takes at a time, so that it writes whole words.
    lanes: usize,
    /// Whether neighbouring threads have neighbouring rows.
    columns: bool,
    /// Whether sums are long.
    long: bool,
}

impl Shares {
    fn of(program: &Program, kernel: &Kernel, limits: &Limits) -> Shares {
        let (rows, length) = (kernel.rows(), kernel.row_length());
        let threads = match limits.barriers {
            Barriers::Dear if length * passes(kernel).len() > LONGEST => GROUP,
            Barriers::Dear => 1,
            // A group takes 32 columns, or each thread one.
            Barriers::Cheap if kernel.columns && (rows >= 1 << 14 || length < 64) => 1,
            // Few columns of many elements: eight of them still fill a sector of memory.
            Barriers::Cheap if kernel.columns && rows < 1 << 13 && length >= 1 << 10 => 32,
            Barriers::Cheap if kernel.columns => 8,
            Barriers::Cheap if length < 16 => 1,
            Barriers::Cheap if length < 128 => 8,
            Barriers::Cheap if length < 1024 => 32,
            Barriers::Cheap => 256,
        };
        let threads = threads.min(GROUP);
        let mut lanes = 1;
        for s in &kernel.stores {
            let per = per_word(program.buffers[s.access.buffer].dtype);
            if kernel.body[s.value].level == Level::Element && per > 1 && in_words(kernel, &s.access, per) {
                lanes = lanes.max(per);
            }
        }
        let long = length > BLOCK * threads as usize * 2;
        Shares { threads, lanes: if kernel.columns { 1 } else { lanes }, columns: kernel.columns, long }
    }
}

/// Whether neighbours along the last axis are whole words of a result.
fn in_words(kernel: &Kernel, access: &Access, per: usize) -> bool {
    let even = |x: i64| x % per as i64 == 0;
    let Some((last, outer)) = access.layout.strides.split_last() else { return false };
    *last == 1
        && !kernel.columns
        && even(access.layout.offset)
        && kernel.axes.last().is_some_and(|e| e % per == 0)
        && outer.iter().zip(&kernel.axes).all(|(s, e)| *e == 1 || even(*s))
}

/// Instructions of one pass over a row: those per element, then reductions and others per row.
struct Pass {
    elements: Vec<bool>,
    rows: Vec<usize>,
}

/// The passes over a row: a reduction that needs another's result comes in a later one.
fn passes(kernel: &Kernel) -> Vec<Pass> {
    let reduces = |i: usize| matches!(kernel.body[i].op, Operation::Reduce(_));
    // For elements the first pass in which they are available; for rows the pass after which they are.
    let mut pass: Vec<i64> = Vec::with_capacity(kernel.body.len());
    for (i, inst) in kernel.body.iter().enumerate() {
        let per_element = inst.level == Level::Element || reduces(i);
        let first = if inst.level == Level::Row && !reduces(i) { -1 } else { 0 };
        let after = |a: &usize| pass[*a] + (per_element && kernel.body[*a].level == Level::Row) as i64;
        let own = inst.args.iter().map(after).max().unwrap_or(first).max(first);
        pass.push(own);
    }
    let stored = kernel.stores.iter().map(|s| s.value).filter(|v| kernel.body[*v].level == Level::Element);
    let last = pass.iter().copied().max().unwrap_or(0).max(0);
    (-1..=last)
        .map(|now| {
            let mut elements = vec![false; kernel.body.len()];
            for (i, inst) in kernel.body.iter().enumerate() {
                if reduces(i) && pass[i] == now {
                    inst.args.iter().for_each(|a| elements[*a] = true);
                }
            }
            if now == last {
                stored.clone().for_each(|v| elements[v] = true);
            }
            for (i, inst) in kernel.body.iter().enumerate().rev() {
                if elements[i] && inst.level == Level::Element {
                    inst.args.iter().for_each(|a| elements[*a] = true);
                }
            }
            for (own, inst) in elements.iter_mut().zip(&kernel.body) {
                *own &= inst.level == Level::Element;
            }
            let rows = (0..kernel.body.len())
                .filter(|i| kernel.body[*i].level == Level::Row && pass[*i] == now)
                .collect();
            Pass { elements, rows }
        })
        .collect()
}

/// The kernel and its launch, or why there is none.
pub(crate) fn launch(
    program: &Program,
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
    Nest::bind(&mut b, kernel, |access, written| match written && !by_words(access) {
        true => Unit::Atomic,
        false => Unit::Word,
    });
    let nest = Nest::new(&mut b, kernel, false)?;
    let rows = kernel.rows();
    let group_rows = GROUP / shares.threads;
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
        // All threads meet at barriers: those without a row repeat the last one, and write nothing.
        b.value(format!("min({number}, {} - 1u)", most.text()))
    };
    let active = (shares.threads > 1).then(|| b.value(format!("{number} < {}", most.text())));
    let (outer, inner) = nest.extents.split_at(nest.parallel);
    let outer = decompose(&mut b, &Int::Text(row), outer);
    let inner: Vec<Int> = inner.to_vec();
    let here = Point { index: [outer.clone(), vec![Int::Literal(0); inner.len()]].concat(), flat: None };
    let mut values: Vec<Option<String>> = vec![None; kernel.body.len()];
    let all = passes(kernel);
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
        walk.pass(&mut b, pass, &mut values)?;
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

/// One pass over a row.
struct Walk<'a> {
    nest: &'a Nest<'a>,
    shares: &'a Shares,
    outer: &'a [Int],
    inner: &'a [Int],
    lane: &'a Int,
    length: &'a Int,
    active: Option<&'a str>,
    stores: bool,
}

impl Walk<'_> {
    fn pass(&self, b: &mut Build<'_>, pass: &Pass, values: &mut [Option<String>]) -> Result<(), String> {
        let kernel = self.nest.kernel;
        let reductions: Vec<(usize, Combine)> = pass
            .rows
            .iter()
            .filter_map(|&i| match kernel.body[i].op {
                Operation::Reduce(c) => Some((i, c)),
                _ => None,
            })
            .collect();
        let stored: Vec<usize> = (0..kernel.stores.len())
            .filter(|k| self.stores && kernel.body[kernel.stores[*k].value].level == Level::Element)
            .collect();
        if reductions.is_empty() && stored.is_empty() {
            return Ok(());
        }
        let mut found: Vec<(usize, Combine, String, Option<String>)> = Vec::new();
        for &(i, how) in &reductions {
            let inst = &kernel.body[i];
            register(inst.dtype).ok_or_else(|| format!("kernels do not compute in {}", inst.dtype))?;
            let all = b.variable(identity(how, inst.dtype));
            found.push((i, how, all, None));
        }
        let lanes = self.shares.lanes as u32;
        let step = self.shares.threads * lanes;
        let mut first = self.lane.times(&Int::Literal(lanes)).text();
        let mut end = self.length.text();
        if self.shares.long {
            let outer = b.name();
            let block = step as usize * BLOCK;
            b.line(format!("for (var {outer} = {first}; {outer} < {end}; {outer} = {outer} + {block}u) {{"));
            end = b.value(format!("min({outer} + {block}u, {end})"));
            first = outer;
            for (i, how, _, part) in &mut found {
                *part = Some(b.variable(identity(*how, kernel.body[*i].dtype)));
            }
        }
        let j = b.name();
        b.line(format!("for (var {j} = {first}; {j} < {end}; {j} = {j} + {step}u) {{"));
        let base = decompose(b, &Int::Text(j.clone()), self.inner);
        let mut each: Vec<(Point, Vec<Option<String>>)> = Vec::new();
        for k in 0..lanes {
            let mut inner = base.clone();
            if let Some(last) = inner.last_mut() {
                *last = last.plus(&Int::Literal(k));
            }
            let point = Point { index: [self.outer.to_vec(), inner].concat(), flat: None };
            let mut own = values.to_vec();
            self.nest.values(b, &point, &mut own, |i| pass.elements[i])?;
            for (i, how, all, part) in &found {
                let inst = &kernel.body[*i];
                let x = own[inst.args[0]].clone().ok_or("an operand is missing")?;
                let to = part.as_ref().unwrap_or(all);
                let sum = combine(*how, inst.dtype, to, &x)?;
                b.line(format!("{to} = {sum};"));
            }
            each.push((point, own));
        }
        self.store(b, &stored, &each)?;
        b.line("}");
        if self.shares.long {
            for (i, how, all, part) in &found {
                let part = part.as_deref().unwrap_or_default();
                let both = combine(*how, kernel.body[*i].dtype, all, part)?;
                b.line(format!("{all} = {both};"));
            }
            b.line("}");
        }
        for (i, how, all, _) in found {
            values[i] = Some(self.combined(b, i, how, &all)?);
        }
        Ok(())
    }

    fn store(
        &self,
        b: &mut Build<'_>,
        stored: &[usize],
        each: &[(Point, Vec<Option<String>>)],
    ) -> Result<(), String> {
        let kernel = self.nest.kernel;
        if stored.is_empty() {
            return Ok(());
        }
        if let Some(active) = self.active {
            b.line(format!("if ({active}) {{"));
        }
        for &k in stored {
            let (place, s) = (&self.nest.stores[k], &kernel.stores[k]);
            let all: Option<Vec<String>> = each.iter().map(|(_, own)| own[s.value].clone()).collect();
            let all = all.ok_or("a stored value is missing")?;
            let per = per_word(b.dtype(place.buffer));
            if per > 1 && each.len() >= per && in_words(kernel, &s.access, per) {
                for (part, (point, _)) in all.chunks(per).zip(each.iter().step_by(per)) {
                    let at = Nest::at(place, point);
                    store_four(b, place.buffer, &at, part);
                }
            } else {
                for (value, (point, _)) in all.iter().zip(each) {
                    let at = Nest::at(place, point);
                    store(b, place.buffer, &at, value);
                }
            }
        }
        if self.active.is_some() {
            b.line("}");
        }
        Ok(())
    }

    /// What all threads of a row found, combined by a tree in shared memory.
    fn combined(&self, b: &mut Build<'_>, i: usize, how: Combine, own: &str) -> Result<String, String> {
        let threads = self.shares.threads;
        if threads == 1 {
            return Ok(own.to_string());
        }
        let dtype = self.nest.kernel.body[i].dtype;
        // Booleans cannot be shared with the host's layout rules in mind, so they are words.
        let (kind, bools) = match register(dtype) {
            Some("bool") => ("u32", true),
            Some(kind) => (kind, false),
            None => return Err(format!("kernels do not compute in {dtype}")),
        };
        let shared = b.shared(kind, GROUP);
        let stride = if self.shares.columns { GROUP / threads } else { 1 };
        let put = |x: &str| if bools { format!("select(0u, 1u, {x})") } else { x.to_string() };
        let get = |at: &str| match bools {
            true => format!("({shared}[{at}] != 0u)"),
            false => format!("{shared}[{at}]"),
        };
        b.line(format!("{shared}[local] = {};\nworkgroupBarrier();", put(own)));
        let mut half = threads / 2;
        while half > 0 {
            b.line(format!("if ({} < {half}u) {{", self.lane.text()));
            let other = get(&format!("local + {}u", half * stride));
            let sum = combine(how, dtype, &get("local"), &other)?;
            b.line(format!("{shared}[local] = {};\n}}\nworkgroupBarrier();", put(&sum)));
            half /= 2;
        }
        let first = if self.shares.columns {
            format!("local % {stride}u")
        } else {
            format!("(local / {threads}u) * {threads}u")
        };
        let result = b.value(get(&first));
        b.line("workgroupBarrier();");
        Ok(result)
    }
}
