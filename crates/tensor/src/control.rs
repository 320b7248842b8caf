//! Branches and loops over tensors: `switch`, `cond`, `while_loop`, `scan`.
//! Takes Rust functions, which are traced at the types of their operands; returns results that can be traced,
//! differentiated and batched.
//! The ops are in `gradus_ir::ops`. This file also nests scans, which saves memory in reverse mode, and unrolls them.

use crate::eager::apply::try_apply;
use crate::tensor::Tensor;
use crate::trace::{Outputs, TracedFunction, trace_function};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::movement::Concat;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::switch::Switch;
use gradus_ir::ops::while_loop::While;
use gradus_ir::{Aval, DType, Error, Graph, Op, Result, Shape, Term, message};
use std::panic::Location;
use std::sync::Arc;

fn types(ins: &[&Tensor]) -> Result<Vec<Aval>> {
    let mut avals = Vec::with_capacity(ins.len());
    for t in ins {
        avals.extend(t.check()?.aval());
    }
    Ok(avals)
}

/// Merges the captured tensors of several functions into one list without repetitions. Rewrites each graph so that its
/// inputs are that list, then its `own` operands.
fn merge_captures(functions: &[TracedFunction], own: usize) -> Result<(Vec<Tensor>, Vec<Arc<Graph>>)> {
    let mut captured: Vec<Tensor> = Vec::new();
    for f in functions {
        if !f.written.is_empty() {
            return Err(Error::trace(message!(
                "a branch or loop step cannot write ",
                Term::Cell,
                "; carry its value instead"
            )));
        }
        for t in &f.captured {
            if !captured.iter().any(|c| c.is_same(t)) {
                captured.push(t.clone());
            }
        }
    }
    let shared: Vec<Aval> = captured.iter().filter_map(|t| t.aval()).collect();
    let extend = |f: &TracedFunction| {
        let b = Builder::new();
        let outer: Vec<Var<'_>> = shared.iter().map(|a| b.input("shared", a.clone())).collect();
        let mut ins: Vec<Var<'_>> =
            f.graph.input_avals()[..own].iter().map(|a| b.input("x", a.clone())).collect();
        let outer_of = |t: &Tensor| captured.iter().position(|c| c.is_same(t)).map(|i| outer[i]);
        ins.extend(f.captured.iter().filter_map(outer_of));
        let outs = b.inline(&f.graph, &ins);
        Ok(Arc::new(b.finish(&outs)?))
    };
    let graphs = functions.iter().map(extend).collect::<Result<Vec<_>>>()?;
    Ok((captured, graphs))
}

/// A branch of a `switch`.
pub type Branch<'a> = &'a dyn Fn(&[Tensor]) -> Vec<Tensor>;

/// Runs one of several functions of the operands, selected by an integer scalar. All must return the same
/// types. An index out of range is clamped to the first or the last function.
#[track_caller]
pub fn switch(index: &Tensor, ins: &[&Tensor], branches: &[Branch<'_>]) -> Result<Vec<Tensor>> {
    let location = Location::caller();
    let avals = types(ins)?;
    let functions = branches.iter().map(|f| trace_function(&avals, |x| f(x))).collect::<Result<Vec<_>>>();
    let functions = functions.map_err(|e| e.or_at(location))?;
    let (captured, branches) = merge_captures(&functions, ins.len()).map_err(|e| e.or_at(location))?;
    let operands: Vec<&Tensor> = [index].into_iter().chain(&captured).chain(ins.iter().copied()).collect();
    try_apply(Op::from(Switch { branches }), &operands)
}

/// Runs one of two functions of the operands, selected by a boolean scalar.
#[track_caller]
pub fn cond<R: Outputs>(
    predicate: &Tensor,
    ins: &[&Tensor],
    yes: impl Fn(&[Tensor]) -> R,
    no: impl Fn(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    let index = predicate.to_dtype(DType::Bool).to_dtype(DType::I64);
    switch(&index, ins, &[&|x| no(x).outputs(), &|x| yes(x).outputs()])
}

/// Applies `step` to the carries while `condition` holds. Forward mode always works. Reverse mode needs a
/// bound on the number of steps; the loop stops at the bound.
#[track_caller]
pub fn while_loop<R: Outputs>(
    init: &[&Tensor],
    bound: Option<usize>,
    condition: impl FnOnce(&[Tensor]) -> Tensor,
    step: impl FnOnce(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    let location = Location::caller();
    let avals = types(init)?;
    let traced = trace_function(&avals, condition).and_then(|c| Ok([c, trace_function(&avals, step)?]));
    let (captured, graphs) =
        traced.and_then(|two| merge_captures(&two, init.len())).map_err(|e| e.or_at(location))?;
    let [condition, body] = &graphs[..] else {
        return Err(Error::verify("expected the graphs of condition and step"));
    };
    let bound = match bound {
        Some(0) => return Ok(init.iter().map(|t| (*t).clone()).collect()),
        bound => bound.unwrap_or(0),
    };
    let (condition, body) = (condition.clone(), body.clone());
    let operands: Vec<&Tensor> = captured.iter().chain(init.iter().copied()).collect();
    try_apply(Op::from(While { condition, body, shared: captured.len(), bound }), &operands)
}

/// The selection of carries that a scan stores for its reverse pass; the others are recomputed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The carries of every step.
    #[default]
    All,
    /// The carries of every n-th step; those between are recomputed.
    Every(usize),
    /// The carries of every √length-th step. At most about 2·√length carries are stored at a time.
    Sqrt,
    /// About log(length) carries; every step is recomputed about log(length) times.
    Recursive,
}

/// Options of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanOptions {
    /// Runs from the last slice to the first.
    pub reverse: bool,
    /// Carries that are stored for the reverse pass.
    pub keep: Keep,
    /// The number of steps; needed only if there are no inputs.
    pub length: Option<usize>,
    /// Number of steps per loop iteration; 0 and 1 give a loop without unrolling. Larger numbers give a larger program,
    /// which the compiler can optimize across steps.
    pub unroll: usize,
}

/// Applies `step(carries, slices) -> (carries, outputs)` along the first axis of the inputs. Returns the last
/// carries, and the outputs stacked along a new first axis. The step may use tensors from outside; gradients
/// flow to them.
#[track_caller]
pub fn scan(
    init: &[&Tensor],
    inputs: &[&Tensor],
    how: ScanOptions,
    step: impl FnOnce(&[Tensor], &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>),
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let location = Location::caller();
    let (carries, stacks) = (types(init)?, types(inputs)?);
    let length = match (stacks.first().map(|a| a.shape.first().copied()), how.length) {
        (Some(Some(n)), None) => n,
        (Some(Some(n)), Some(m)) if n == m => n,
        (None, Some(n)) => n,
        _ => {
            let why = "must be the extent of the inputs' first axis; it is required if there are no inputs";
            return Err(Error::value("the length", why).at(location));
        }
    };
    let slices = stacks.iter().map(|a| a.with_shape(&a.shape[1.min(a.rank())..]));
    let avals: Vec<Aval> = carries.iter().cloned().chain(slices).collect();
    let mut given = 0;
    let traced = trace_function(&avals, |x| {
        let (c, ys) = step(&x[..carries.len()], &x[carries.len()..]);
        given = c.len();
        [c, ys].concat()
    })
    .map_err(|e| e.or_at(location))?;
    if given != carries.len() {
        let why = format!("returns {given} carries; it must return {}, one per initial carry", carries.len());
        return Err(Error::value("the step", why).at(location));
    }
    let (captured, graphs) =
        merge_captures(std::slice::from_ref(&traced), avals.len()).map_err(|e| e.or_at(location))?;
    let shared = captured.len();
    let base = Scan { body: graphs[0].clone(), shared, carries: carries.len(), length, reverse: how.reverse };
    let operands: Vec<&Tensor> =
        captured.iter().chain(init.iter().copied()).chain(inputs.iter().copied()).collect();
    let group = Group::Loop(how.keep, how.unroll);
    let mut outs = if group.chunk(length).is_none() {
        try_apply(Op::from(base), &operands)?
    } else {
        // Checks the step as part of a plain loop, before it is copied into groups.
        let avals = types(&operands)?;
        Op::from(base.clone()).infer(&avals).map_err(|e| e.at(location))?;
        let graph = Arc::new(grouped_graph(&base, group, &avals).map_err(|e| e.or_at(location))?);
        crate::eager::apply::call("scan", &graph, &operands)?
    };
    let ys = outs.split_off(carries.len());
    Ok((outs, ys))
}

/// The grouping of the steps of a scan.
#[derive(Clone, Copy)]
enum Group {
    /// A loop that stores the carries that `Keep` selects, and unrolls its innermost loop by this number of steps.
    Loop(Keep, usize),
    /// Unrolled completely.
    Unrolled,
}

impl Group {
    /// Returns the number of steps per iteration and the grouping of these; `None` if an iteration is one step.
    fn chunk(self, length: usize) -> Option<(usize, Group)> {
        let Group::Loop(keep, unroll) = self else { return None };
        let k = match keep {
            Keep::All => 1,
            Keep::Every(k) => k,
            Keep::Sqrt => (length as f64).sqrt().ceil() as usize,
            // Two equal halves, which share one graph, and at most one remaining step.
            Keep::Recursive => length / 2,
        };
        if k > 1 && k < length {
            // Only `Recursive` groups are split further.
            let deeper = if keep == Keep::Recursive { keep } else { Keep::All };
            return Some((k, Group::Loop(deeper, unroll)));
        }
        (unroll > 1 && length > 0).then_some((unroll.min(length), Group::Unrolled))
    }
}

/// Builds the grouped scan as a graph.
fn grouped_graph(scan: &Scan, group: Group, operands: &[Aval]) -> Result<Graph> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = operands.iter().map(|a| b.input("x", a.clone())).collect();
    let outs = build_groups(&b, scan, group, &ins)?;
    b.finish(&outs)
}

/// Reshapes a value: replaces its first `cut` extents by `first`.
fn replace_leading_extents<'g>(v: Var<'g>, cut: usize, first: &[usize]) -> Var<'g> {
    v.reshape(first.iter().chain(v.shape()[cut..].iter()).copied().collect::<Shape>())
}

/// Writes the scan as a loop over groups of steps, and one shorter group for the remainder.
fn build_groups<'g>(b: &'g Builder, scan: &Scan, group: Group, ins: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
    let (k, inner) = match (group, group.chunk(scan.length)) {
        (Group::Unrolled, _) => return build_unrolled(b, scan, ins),
        (_, None) => return b.try_apply(scan.clone(), ins),
        (_, Some((k, inner))) if k == scan.length => return build_groups(b, scan, inner, ins),
        (_, Some(chunk)) => chunk,
    };
    let (fixed, xs) = ins.split_at(scan.shared + scan.carries);
    let (count, left) = (scan.length / k, scan.length % k);
    // The remainder runs last.
    let (main, rest) = if scan.reverse { (left, 0) } else { (0, count * k) };
    let cut = |x: &Var<'g>, from: usize, n: usize| x.slice_axis(0, from, from + n);
    let groups: Vec<Var<'g>> =
        xs.iter().map(|x| replace_leading_extents(cut(x, main, count * k), 1, &[count, k])).collect();
    let slices = groups.iter().map(|x| x.aval().with_shape(&x.shape()[1..]));
    let body_types: Vec<Aval> = fixed.iter().map(|v| v.aval()).chain(slices).collect();
    let body = Arc::new(grouped_graph(&Scan { length: k, ..scan.clone() }, inner, &body_types)?);
    let outer = Scan { body, length: count, ..scan.clone() };
    let outs = b.try_apply(outer, &[fixed, &groups].concat())?;
    let (carries, ys) = outs.split_at(scan.carries);
    let ys: Vec<Var<'g>> = ys.iter().map(|y| replace_leading_extents(*y, 2, &[count * k])).collect();
    if left == 0 {
        return Ok([carries, &ys].concat());
    }
    let tail = Scan { length: left, ..scan.clone() };
    let rest: Vec<Var<'g>> = xs.iter().map(|x| cut(x, rest, left)).collect();
    let outs = build_groups(b, &tail, inner, &[&fixed[..scan.shared], carries, &rest].concat())?;
    let (carries, more) = outs.split_at(scan.carries);
    let join = |(y, z): (&Var<'g>, &Var<'g>)| concat_steps(b, scan.reverse, vec![*y, *z]);
    Ok([carries, &ys.iter().zip(more).map(join).collect::<Vec<_>>()].concat())
}

/// Concatenates outputs along the axis of steps; `parts` are in the order of computation.
fn concat_steps<'g>(b: &'g Builder, reverse: bool, mut parts: Vec<Var<'g>>) -> Var<'g> {
    if reverse {
        parts.reverse();
    }
    b.apply1(Concat { axis: 0 }, &parts)
}

/// Writes the steps of a scan one after the other, without a loop.
fn build_unrolled<'g>(b: &'g Builder, scan: &Scan, ins: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
    let (shared, rest) = ins.split_at(scan.shared);
    let (first, xs) = rest.split_at(scan.carries);
    let mut carries = first.to_vec();
    let mut ys: Vec<Vec<Var<'g>>> = vec![Vec::new(); scan.body.outputs().len() - scan.carries];
    for step in 0..scan.length {
        let i = if scan.reverse { scan.length - 1 - step } else { step };
        let slices: Vec<Var<'g>> =
            xs.iter().map(|x| replace_leading_extents(x.slice_axis(0, i, i + 1), 1, &[])).collect();
        let mut outs = b.inline(&scan.body, &[shared, &carries, &slices].concat());
        let step_outputs = outs.split_off(scan.carries);
        step_outputs
            .into_iter()
            .zip(&mut ys)
            .for_each(|(y, all)| all.push(replace_leading_extents(y, 0, &[1])));
        carries = outs;
    }
    let ys = ys.into_iter().map(|parts| concat_steps(b, scan.reverse, parts));
    Ok(carries.iter().copied().chain(ys).collect())
}
