//! Writes one pass of a thread over its elements of a row: loads, values, reductions and stores.
//! Rows of up to 16 elements per thread are unrolled, and their values stay in registers from one pass to the next.

use super::passes::Pass;
use super::{BLOCK, Shares, in_words};
use crate::build::{Build, GROUP};
use crate::int::Int;
use crate::memory::{load_four, per_word, register, store, store_four};
use crate::nest::{Nest, Point, decompose};
use crate::pointwise::{combine, identity};
use gradus_compile::{Level, Operation};
use gradus_ir::ops::Combine;

/// Elements that a thread processes together, with the values computed so far.
pub(super) type Lanes = Vec<(Point, Vec<Option<String>>)>;

/// A reduction in progress: its instruction, its combination, and the name of its variable.
type Reduction = (usize, Combine, String);

/// One pass over a row.
pub(super) struct Walk<'a> {
    pub(super) nest: &'a Nest<'a>,
    pub(super) shares: &'a Shares,
    pub(super) outer: &'a [Int],
    pub(super) inner: &'a [Int],
    pub(super) lane: &'a Int,
    pub(super) length: &'a Int,
    /// The condition that the thread has a row, if some threads have none.
    pub(super) active: Option<&'a str>,
    /// If true, elements are stored in this pass.
    pub(super) stores: bool,
}

impl Walk<'_> {
    /// Writes a pass. `values` are the values per row; `kept` are the values of the elements of unrolled rows.
    pub(super) fn pass(
        &self,
        b: &mut Build<'_>,
        pass: &Pass,
        values: &mut [Option<String>],
        kept: &mut Vec<Lanes>,
    ) -> Result<(), String> {
        let kernel = self.nest.kernel;
        let stored: Vec<usize> = (0..kernel.stores.len())
            .filter(|k| self.stores && kernel.body[kernel.stores[*k].value].level == Level::Element)
            .collect();
        let mut found: Vec<Reduction> = Vec::new();
        for &i in &pass.rows {
            let Operation::Reduce(how) = kernel.body[i].op else { continue };
            let dtype = kernel.body[i].dtype;
            register(dtype).ok_or_else(|| format!("kernels do not compute in {dtype}"))?;
            found.push((i, how, b.variable(identity(how, dtype))));
        }
        if found.is_empty() && stored.is_empty() {
            return Ok(());
        }
        match self.shares.unrolled {
            Some(iterations) => self.unrolled(b, pass, values, kept, iterations, &found, &stored)?,
            None => self.looped(b, pass, values, &found, &stored)?,
        }
        for (i, how, all) in found {
            values[i] = Some(self.combined(b, i, how, &all)?);
        }
        Ok(())
    }

    /// Writes all iterations one after the other.
    #[expect(clippy::too_many_arguments, reason = "the parameters of a pass")]
    fn unrolled(
        &self,
        b: &mut Build<'_>,
        pass: &Pass,
        values: &[Option<String>],
        kept: &mut Vec<Lanes>,
        iterations: usize,
        found: &[Reduction],
        stored: &[usize],
    ) -> Result<(), String> {
        let lanes = self.shares.lanes as u32;
        let step = self.shares.threads * lanes;
        for it in 0..iterations {
            let j = self.lane.times(&Int::Literal(lanes)).plus(&Int::Literal(it as u32 * step));
            // A thread without elements in the last iteration computes the last elements again, and does not combine them.
            let exists = match self.shares.even {
                true => None,
                false => Some(b.value(format!("{} < {}", j.text(), self.length.text()))),
            };
            if kept.len() <= it {
                let own = match self.shares.even {
                    true => b.int(j),
                    false => {
                        Int::Text(b.value(format!("min({}, {} - {lanes}u)", j.text(), self.length.text())))
                    }
                };
                let points = self.points(b, &own);
                kept.push(points.into_iter().map(|p| (p, vec![None; values.len()])).collect());
            }
            let each = &mut kept[it];
            self.values(b, pass, values, each)?;
            for (i, how, all) in found {
                let inst = &self.nest.kernel.body[*i];
                for (_, own) in each.iter() {
                    let x = own[inst.args[0]].clone().ok_or("an operand is missing")?;
                    let both = combine(*how, inst.dtype, all, &x)?;
                    b.line(match &exists {
                        Some(exists) => format!("{all} = select({all}, {both}, {exists});"),
                        None => format!("{all} = {both};"),
                    });
                }
            }
            self.store(b, stored, each, exists.as_deref())?;
        }
        Ok(())
    }

    /// Writes a loop over the elements. For long rows, writes a loop over blocks of elements, and combines the results of
    /// blocks.
    fn looped(
        &self,
        b: &mut Build<'_>,
        pass: &Pass,
        values: &[Option<String>],
        found: &[Reduction],
        stored: &[usize],
    ) -> Result<(), String> {
        let kernel = self.nest.kernel;
        let lanes = self.shares.lanes as u32;
        let step = self.shares.threads * lanes;
        let mut first = self.lane.times(&Int::Literal(lanes)).text();
        let mut end = self.length.text();
        let mut parts: Vec<String> = Vec::new();
        if self.shares.long {
            let outer = b.name();
            let block = step as usize * BLOCK;
            b.line(format!("for (var {outer} = {first}; {outer} < {end}; {outer} = {outer} + {block}u) {{"));
            end = b.value(format!("min({outer} + {block}u, {end})"));
            first = outer;
            for (i, how, _) in found {
                parts.push(b.variable(identity(*how, kernel.body[*i].dtype)));
            }
        }
        let j = b.name();
        b.line(format!("for (var {j} = {first}; {j} < {end}; {j} = {j} + {step}u) {{"));
        let points = self.points(b, &Int::Text(j));
        let mut each: Lanes = points.into_iter().map(|p| (p, vec![None; values.len()])).collect();
        self.values(b, pass, values, &mut each)?;
        for (k, (i, how, all)) in found.iter().enumerate() {
            let inst = &kernel.body[*i];
            let to = parts.get(k).unwrap_or(all);
            for (_, own) in &each {
                let x = own[inst.args[0]].clone().ok_or("an operand is missing")?;
                let both = combine(*how, inst.dtype, to, &x)?;
                b.line(format!("{to} = {both};"));
            }
        }
        self.store(b, stored, &each, None)?;
        b.line("}");
        if self.shares.long {
            for ((i, how, all), part) in found.iter().zip(&parts) {
                let both = combine(*how, kernel.body[*i].dtype, all, part)?;
                b.line(format!("{all} = {both};"));
            }
            b.line("}");
        }
        Ok(())
    }

    /// Returns the indices that a thread processes together, from the position of the first in its row.
    fn points(&self, b: &mut Build<'_>, first: &Int) -> Vec<Point> {
        let base = decompose(b, first, self.inner);
        let one = |k: u32| {
            let mut inner = base.clone();
            if let Some(last) = inner.last_mut() {
                *last = last.plus(&Int::Literal(k));
            }
            Point { index: [self.outer.to_vec(), inner].concat(), flat: None }
        };
        (0..self.shares.lanes as u32).map(one).collect()
    }

    /// Computes the values that the pass needs of some elements: first loads of four neighbours at once, then all others.
    fn values(
        &self,
        b: &mut Build<'_>,
        pass: &Pass,
        values: &[Option<String>],
        each: &mut Lanes,
    ) -> Result<(), String> {
        let kernel = self.nest.kernel;
        for (_, own) in each.iter_mut() {
            for (own, row) in own.iter_mut().zip(values) {
                if own.is_none() {
                    own.clone_from(row);
                }
            }
        }
        let wanted = (0..kernel.body.len()).filter(|i| pass.elements[*i]);
        for i in wanted.filter(|_| self.shares.lanes == 4) {
            let (Operation::Load(access), Some(element)) = (&kernel.body[i].op, self.nest.load(i)) else {
                continue;
            };
            if each[0].1[i].is_some() {
                continue;
            }
            if in_words(kernel, access, 4) && b.dtype(element.buffer).size() <= 4 {
                let at = Nest::at(element, &each[0].0);
                let at = b.int(at);
                let four = load_four(b, element.buffer, &at);
                for ((_, own), value) in each.iter_mut().zip(four) {
                    own[i] = Some(b.value(value));
                }
            } else if access.layout.strides.last() == Some(&0) {
                let value = self.nest.source(b, i, &each[0].0)?;
                each.iter_mut().for_each(|(_, own)| own[i].clone_from(&value));
            }
        }
        for (point, own) in each.iter_mut() {
            self.nest.values(b, point, own, |i| pass.elements[i])?;
        }
        Ok(())
    }

    fn store(
        &self,
        b: &mut Build<'_>,
        stored: &[usize],
        each: &Lanes,
        exists: Option<&str>,
    ) -> Result<(), String> {
        let kernel = self.nest.kernel;
        if stored.is_empty() {
            return Ok(());
        }
        let conditions: Vec<&str> = self.active.into_iter().chain(exists).collect();
        if !conditions.is_empty() {
            b.line(format!("if ({}) {{", conditions.join(" && ")));
        }
        for &k in stored {
            let (element, s) = (&self.nest.stores[k], &kernel.stores[k]);
            let all: Option<Vec<String>> = each.iter().map(|(_, own)| own[s.value].clone()).collect();
            let all = all.ok_or("a stored value is missing")?;
            let per = if each.len() == 4 && in_words(kernel, &s.access, 4) {
                4
            } else {
                per_word(b.dtype(element.buffer))
            };
            if per > 1 && each.len() >= per && in_words(kernel, &s.access, per) {
                for (part, (point, _)) in all.chunks(per).zip(each.iter().step_by(per)) {
                    let at = Nest::at(element, point);
                    store_four(b, element.buffer, &at, part);
                }
            } else {
                for (value, (point, _)) in all.iter().zip(each) {
                    let at = Nest::at(element, point);
                    store(b, element.buffer, &at, value);
                }
            }
        }
        if !conditions.is_empty() {
            b.line("}");
        }
        Ok(())
    }

    /// Combines the results of the threads of a row by a tree in shared memory.
    fn combined(&self, b: &mut Build<'_>, i: usize, how: Combine, own: &str) -> Result<String, String> {
        let threads = self.shares.threads;
        if threads == 1 {
            return Ok(own.to_string());
        }
        let dtype = self.nest.kernel.body[i].dtype;
        // Stores booleans as words, because they have no defined layout in shared memory.
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
        // The index of the value of the first thread of the row.
        let first = match self.shares.columns {
            true => b.value(format!("local % {stride}u")),
            false => b.value(format!("(local / {threads}u) * {threads}u")),
        };
        let at = |lane: u32| format!("{first} + {}u", lane * stride);
        // First a few threads combine the same number of values each; then every thread combines their results.
        let some = match threads {
            256 => 16,
            32 => 4,
            _ => threads,
        };
        if some < threads {
            b.line(format!("if ({} < {some}u) {{", self.lane.text()));
            let mut all = b.value(get("local"));
            for k in 1..threads / some {
                let other = get(&format!("local + {}u", k * some * stride));
                all = b.value(combine(how, dtype, &all, &other)?);
            }
            b.line(format!("{shared}[local] = {};\n}}\nworkgroupBarrier();", put(&all)));
        }
        let mut result = b.value(get(&at(0)));
        for k in 1..some {
            result = b.value(combine(how, dtype, &result, &get(&at(k)))?);
        }
        b.line("workgroupBarrier();");
        Ok(result)
    }
}
