//! Choices and loops over tensors, as operations that trace, differentiate and batch.

use crate::apply::try_apply;
use crate::tensor::Tensor;
use crate::trace::{Outputs, TracedFunction, trace_function};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::movement::Concat;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::switch::Switch;
use gradus_ir::ops::while_loop::While;
use gradus_ir::{Aval, DType, Error, Graph, Op, Result, Shape};
use std::panic::Location;
use std::sync::Arc;

fn types(ins: &[&Tensor]) -> Result<Vec<Aval>> {
    let mut avals = Vec::with_capacity(ins.len());
    for t in ins {
        avals.extend(t.check()?.aval());
    }
    Ok(avals)
}

/// What several functions captured, each thing once, and the functions' graphs over (captured, own operands).
fn joined(functions: &[TracedFunction], own: usize) -> Result<(Vec<Tensor>, Vec<Arc<Graph>>)> {
    let mut captured: Vec<Tensor> = Vec::new();
    for f in functions {
        if !f.written.is_empty() {
            return Err(Error::trace("a branch or step writes a cell; carry its value instead"));
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
        let place = |t: &Tensor| captured.iter().position(|c| c.is_same(t)).map(|i| outer[i]);
        ins.extend(f.captured.iter().filter_map(place));
        let outs = b.inline(&f.graph, &ins);
        Ok(Arc::new(b.finish(&outs)?))
    };
    let graphs = functions.iter().map(extend).collect::<Result<Vec<_>>>()?;
    Ok((captured, graphs))
}

/// A function that a choice may run.
pub type Branch<'a> = &'a dyn Fn(&[Tensor]) -> Vec<Tensor>;

/// One of several functions of the operands, by an integer scalar; only the chosen one runs. All must give the same
/// types. The index is clamped to the functions there are.
#[track_caller]
pub fn switch(index: &Tensor, ins: &[&Tensor], branches: &[Branch<'_>]) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    let avals = types(ins)?;
    let functions = branches.iter().map(|f| trace_function(&avals, |x| f(x))).collect::<Result<Vec<_>>>();
    let functions = functions.map_err(|e| e.or_at(place))?;
    let (captured, branches) = joined(&functions, ins.len()).map_err(|e| e.or_at(place))?;
    let operands: Vec<&Tensor> = [index].into_iter().chain(&captured).chain(ins.iter().copied()).collect();
    try_apply(Op::from(Switch { branches }), &operands)
}

/// One of two functions of the operands, by a boolean scalar; only the chosen one runs.
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

/// Applies `step` to the carries as long as `condition` of them holds. Forward mode always works; reverse mode needs a
/// bound on the steps, beyond which the loop then does not go.
#[track_caller]
pub fn while_loop<R: Outputs>(
    init: &[&Tensor],
    bound: Option<usize>,
    condition: impl FnOnce(&[Tensor]) -> Tensor,
    step: impl FnOnce(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    let avals = types(init)?;
    let traced = trace_function(&avals, condition).and_then(|c| Ok([c, trace_function(&avals, step)?]));
    let (captured, graphs) = traced.and_then(|two| joined(&two, init.len())).map_err(|e| e.or_at(place))?;
    let [condition, body] = &graphs[..] else { return Err(Error::verify("two graphs were joined")) };
    let bound = match bound {
        Some(0) => return Ok(init.iter().map(|t| (*t).clone()).collect()),
        bound => bound.unwrap_or(0),
    };
    let (condition, body) = (condition.clone(), body.clone());
    let operands: Vec<&Tensor> = captured.iter().chain(init.iter().copied()).collect();
    try_apply(Op::from(While { condition, body, shared: captured.len(), bound }), &operands)
}

/// What a scan keeps for its reverse pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The carries of every step.
    #[default]
    All,
    /// The carries of every so many steps; those between are computed again.
    Every(usize),
    /// The carries of every √length steps: about 2·√length at a time.
    Sqrt,
    /// A number of carries that grows with log length; every step is computed again about log length times.
    Recursive,
}

/// How a scan runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanOptions {
    /// From the last slice to the first.
    pub reverse: bool,
    /// What is kept for the reverse pass.
    pub keep: Keep,
    /// The number of steps; needed only when there are no inputs to tell.
    pub length: Option<usize>,
    /// How many steps to write out one after the other per turn of the loop; 0 and 1 are the plain loop. Fewer turns
    /// for a larger program, whose steps a compiler sees at once.
    pub unroll: usize,
}

/// Applies `step(carries, slices) -> (carries, outputs)` along the first axis of the inputs. Gives the last carries and
/// the outputs stacked along a new first axis. The step may use tensors from outside; gradients flow to them.
#[track_caller]
pub fn scan(
    init: &[&Tensor],
    inputs: &[&Tensor],
    how: ScanOptions,
    step: impl FnOnce(&[Tensor], &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>),
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let place = Location::caller();
    let (carries, stacks) = (types(init)?, types(inputs)?);
    let length = match (stacks.first().map(|a| a.shape.first().copied()), how.length) {
        (Some(Some(n)), None) => n,
        (Some(Some(n)), Some(m)) if n == m => n,
        (None, Some(n)) => n,
        _ => {
            let why = "must be that of the inputs' first axis, or given without inputs";
            return Err(Error::value("the length", why).at(place));
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
    .map_err(|e| e.or_at(place))?;
    if given != carries.len() {
        let why = format!("must be {}, as many as at first", carries.len());
        return Err(Error::value(format!("{given} carries"), why).at(place));
    }
    let (captured, graphs) =
        joined(std::slice::from_ref(&traced), avals.len()).map_err(|e| e.or_at(place))?;
    let shared = captured.len();
    let base = Scan { body: graphs[0].clone(), shared, carries: carries.len(), length, reverse: how.reverse };
    let operands: Vec<&Tensor> =
        captured.iter().chain(init.iter().copied()).chain(inputs.iter().copied()).collect();
    let group = Group::Loop(how.keep, how.unroll);
    let mut outs = if group.chunk(length).is_none() {
        try_apply(Op::from(base), &operands)?
    } else {
        // A step that does not fit is refused as in a plain loop, before it is written into others.
        let avals = types(&operands)?;
        Op::from(base.clone()).infer(&avals).map_err(|e| e.at(place))?;
        let graph = Arc::new(nested(&base, group, &avals).map_err(|e| e.or_at(place))?);
        crate::apply::call("scan", &graph, &operands)?
    };
    let ys = outs.split_off(carries.len());
    Ok((outs, ys))
}

/// How steps are put together.
#[derive(Clone, Copy)]
enum Group {
    /// In a loop that keeps these carries, whose innermost turns take so many steps.
    Loop(Keep, usize),
    /// One after the other.
    Written,
}

impl Group {
    /// Steps per turn and how those are put together, if a turn is more than one step.
    fn chunk(self, length: usize) -> Option<(usize, Group)> {
        let Group::Loop(keep, unroll) = self else { return None };
        let k = match keep {
            Keep::All => 1,
            Keep::Every(k) => k,
            Keep::Sqrt => (length as f64).sqrt().ceil() as usize,
            // Two equal halves, which share one graph, and at most one step more.
            Keep::Recursive => length / 2,
        };
        if k > 1 && k < length {
            // Only a recursive loop is cut further.
            let deeper = if keep == Keep::Recursive { keep } else { Keep::All };
            return Some((k, Group::Loop(deeper, unroll)));
        }
        (unroll > 1 && length > 0).then_some((unroll.min(length), Group::Written))
    }
}

/// The scan in groups, as a graph.
fn nested(scan: &Scan, group: Group, operands: &[Aval]) -> Result<Graph> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = operands.iter().map(|a| b.input("x", a.clone())).collect();
    let outs = nest(&b, scan, group, &ins)?;
    b.finish(&outs)
}

/// Values with other first extents in place of their first `cut`.
fn regrouped<'g>(v: Var<'g>, cut: usize, first: &[usize]) -> Var<'g> {
    v.reshape(first.iter().chain(v.shape()[cut..].iter()).copied().collect::<Shape>())
}

/// The scan as a loop over groups of steps, and one shorter group for what is left over.
fn nest<'g>(b: &'g Builder, scan: &Scan, group: Group, ins: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
    let (k, inner) = match (group, group.chunk(scan.length)) {
        (Group::Written, _) => return written(b, scan, ins),
        (_, None) => return b.try_apply(scan.clone(), ins),
        (_, Some((k, inner))) if k == scan.length => return nest(b, scan, inner, ins),
        (_, Some(chunk)) => chunk,
    };
    let (fixed, xs) = ins.split_at(scan.shared + scan.carries);
    let (whole, left) = (scan.length / k, scan.length % k);
    // The part that is left over is the last that is run.
    let (main, rest) = if scan.reverse { (left, 0) } else { (0, whole * k) };
    let cut = |x: &Var<'g>, from: usize, n: usize| x.slice_axis(0, from, from + n);
    let turns: Vec<Var<'g>> = xs.iter().map(|x| regrouped(cut(x, main, whole * k), 1, &[whole, k])).collect();
    let slices = turns.iter().map(|x| x.aval().with_shape(&x.shape()[1..]));
    let takes: Vec<Aval> = fixed.iter().map(|v| v.aval()).chain(slices).collect();
    let body = Arc::new(nested(&Scan { length: k, ..scan.clone() }, inner, &takes)?);
    let outer = Scan { body, length: whole, ..scan.clone() };
    let outs = b.try_apply(outer, &[fixed, &turns].concat())?;
    let (carries, ys) = outs.split_at(scan.carries);
    let ys: Vec<Var<'g>> = ys.iter().map(|y| regrouped(*y, 2, &[whole * k])).collect();
    if left == 0 {
        return Ok([carries, &ys].concat());
    }
    let tail = Scan { length: left, ..scan.clone() };
    let rest: Vec<Var<'g>> = xs.iter().map(|x| cut(x, rest, left)).collect();
    let outs = nest(b, &tail, inner, &[&fixed[..scan.shared], carries, &rest].concat())?;
    let (carries, more) = outs.split_at(scan.carries);
    let join = |(y, z): (&Var<'g>, &Var<'g>)| joined_along(b, scan.reverse, vec![*y, *z]);
    Ok([carries, &ys.iter().zip(more).map(join).collect::<Vec<_>>()].concat())
}

/// Parts that were computed in this order, joined along the steps.
fn joined_along<'g>(b: &'g Builder, reverse: bool, mut parts: Vec<Var<'g>>) -> Var<'g> {
    if reverse {
        parts.reverse();
    }
    b.apply1(Concat { axis: 0 }, &parts)
}

/// The steps of a scan one after the other, without a loop.
fn written<'g>(b: &'g Builder, scan: &Scan, ins: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
    let (shared, rest) = ins.split_at(scan.shared);
    let (first, xs) = rest.split_at(scan.carries);
    let mut carries = first.to_vec();
    let mut ys: Vec<Vec<Var<'g>>> = vec![Vec::new(); scan.body.outputs().len() - scan.carries];
    for step in 0..scan.length {
        let i = if scan.reverse { scan.length - 1 - step } else { step };
        let slices: Vec<Var<'g>> = xs.iter().map(|x| regrouped(x.slice_axis(0, i, i + 1), 1, &[])).collect();
        let mut outs = b.inline(&scan.body, &[shared, &carries, &slices].concat());
        let made = outs.split_off(scan.carries);
        made.into_iter().zip(&mut ys).for_each(|(y, all)| all.push(regrouped(y, 0, &[1])));
        carries = outs;
    }
    let ys = ys.into_iter().map(|parts| joined_along(b, scan.reverse, parts));
    Ok(carries.iter().copied().chain(ys).collect())
}
