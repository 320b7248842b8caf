//! Combines the terms of a name into its value: determines sizes, writes terms at the left side's indices, and reduces
//! them.

use super::Solver;
use crate::builtin::Shape;
use crate::builtin::named::{Named, combined, identity, meeting};
use crate::elaborate::core::{Equation, Expr, Index, Kind, Place};
use crate::elaborate::scope::key;
use crate::lower::eval::{Eval, Fault, Value, fault, real, window};
use crate::syntax::ast::{Name, Projection};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::is_timed;
use crate::syntax::limit::fits;
use crate::syntax::source::Span;
use gradus_tensor::Tensor;

/// The first and last time step of a name.
pub(super) type Moments = (i64, i64);

impl<'a> Solver<'a> {
    /// Returns the value of a name from the terms of all its equations. Inside a loop over time (`sizes`
    /// given) there is no time axis.
    pub(super) fn joined(
        &self,
        terms: &[(&'a Equation, Named)],
        relation: bool,
        inside: Option<&[Option<usize>]>,
    ) -> Eval<Value> {
        let Some((first, _)) = terms.first() else { return Err(Fault::Silent) };
        let float = self.options.float;
        let moments = self.moments(terms.iter().map(|t| t.0));
        let sizes = self.sizes(terms, moments, inside)?;
        // Positions that a term writes to can depend on the axes that a call added.
        let extent = |b: &Name| terms.iter().find_map(|(_, v)| v.size(b).or_else(|| v.size_of_positions(b)));
        let brought = self.batch.iter().filter_map(|b| Some((b.clone(), extent(b)?)));
        let (batch, extents): (Vec<Name>, Vec<usize>) = brought.unzip();
        let start = moments.map_or(0, |m| m.0);
        let all: Vec<usize> = extents.iter().chain(&sizes).copied().collect();
        fits(&all).map_err(|x| fault(first.span, &x))?;
        let mut values: Vec<Named> = terms.iter().map(|t| t.1.clone()).collect();
        if terms.len() > 1 && !relation {
            values = meeting(&values, float);
        }
        let steps = self.options.steps;
        let mut sums: Vec<Joined> = Vec::new();
        let several = terms.iter().any(|t| t.0.projection != first.projection) && !relation;
        for ((e, term), mut value) in terms.iter().zip(values) {
            value = self.repeated(e, value);
            if relation {
                let number = real(value, e.value.span, "is not a boolean")?.float(float);
                value = number.with(number.tensor.gt(0.0));
            }
            let how = if relation { Projection::Sum } else { e.projection };
            let ground = Ground {
                batch: &batch,
                extents: &extents,
                sizes: &sizes,
                start,
                steps,
                inside: inside.is_some(),
            };
            let scattered = match &term.writes {
                Some(writes) if !relation => Some(self.scattered(e, &value, writes, &ground, several)?),
                _ => None,
            };
            if let Some((value, covers)) = scattered {
                add(&mut sums, Joined { how, value, covers });
                continue;
            }
            let placed = ground.placed(e, &value);
            placed.check().map_err(|x| fault(e.span, &x))?;
            let covers = (several || how != Projection::Sum && is_partial(e)).then(|| {
                let there = value.with(Tensor::full(value.tensor.shape().to_vec(), true));
                ground.placed(e, &there)
            });
            let value = match &covers {
                Some(covers) if how != Projection::Sum => {
                    // Integers have no infinity.
                    let number = Named::new(placed.clone(), Vec::new()).float(float).tensor;
                    covers.select(&number, &identity(how, number.dtype(), &number.shape()))
                }
                _ => placed,
            };
            add(&mut sums, Joined { how, value, covers });
        }
        // Lines with different reductions never write to the same element.
        let joined = sums.into_iter().reduce(|a, b| {
            let dtype = a.value.dtype().promote(b.value.dtype());
            let value = match &b.covers {
                Some(covers) => covers.select(&b.value.to_dtype(dtype), &a.value.to_dtype(dtype)),
                None => b.value.clone(),
            };
            Joined { value, ..a }
        });
        let tensor = joined.ok_or(Fault::Silent)?.value;
        tensor.check().map_err(|x| fault(first.span, &x))?;
        Ok(Value { batch, start, ..Value::new(tensor) })
    }

    /// Repeats a value along indices that it lacks and that the left side has at offsets: they have their declared sizes.
    fn repeated(&self, e: &Equation, value: Named) -> Named {
        let mut out = value;
        for place in &e.target.places {
            let Index::Named(index, 1.. | ..=-1) = &place.index else { continue };
            let Some((n, _)) = self.options.axes.get(index).copied() else { continue };
            if out.size(index).is_none() {
                let axes = out.axes.iter().cloned().chain([index.clone()]).collect();
                let shape = [&out.tensor.shape()[..], &[n]].concat();
                out = Named::new(out.tensor.unsqueeze(-1).expand(shape), axes);
            }
        }
        out
    }

    /// Returns the function, if the right side is a call along axes that it keeps.
    fn keeps_names(&self, e: &Equation) -> Option<Name> {
        let Kind::Call(call) = &e.value.kind else { return None };
        (call.callee.shape() == Shape::Along).then(|| call.function.clone())
    }

    /// Returns the time steps that some equations define, if their left sides have time. Time starts at 0:
    /// earlier writes are dropped, like writes out of range of other indices.
    pub(super) fn moments<'e>(&self, equations: impl Iterator<Item = &'e Equation>) -> Option<Moments> {
        let mut all: Option<Moments> = None;
        let mut absolute = Vec::new();
        let steps = self.options.steps as i64;
        for p in equations.flat_map(|e| &e.target.places) {
            match p.index {
                Index::Time(_, by) => {
                    let own = (by.max(0), by + steps - 1);
                    all = Some(all.map_or(own, |a| (a.0.min(own.0), a.1.max(own.1))));
                }
                Index::Step(at) => absolute.push(at),
                _ => {}
            }
        }
        for at in absolute.into_iter().filter(|at| *at >= 0) {
            all = Some(all.map_or((at, at), |a| (a.0.min(at), a.1.max(at))));
        }
        all
    }

    /// One size for every index of the left side.
    fn sizes(
        &self,
        terms: &[(&'a Equation, Named)],
        moments: Option<Moments>,
        inside: Option<&[Option<usize>]>,
    ) -> Eval<Vec<usize>> {
        let rank = terms.first().map_or(0, |t| t.0.target.places.len());
        let mut sizes = Vec::with_capacity(rank);
        for p in 0..rank {
            let mut found: Option<(usize, Span)> =
                inside.and_then(|s| s.get(p).copied().flatten()).map(|n| (n, Span::default()));
            // The furthest positions that equations write, from the front and from the end.
            let [mut first, mut last]: [Option<(i64, Span)>; 2] = [None; 2];
            let (mut missing, mut reach, mut moved) = (None, None, None);
            for (e, value) in terms {
                let Some(place) = e.target.places.get(p) else { continue };
                let declared = match &place.index {
                    Index::Named(name, _) => self.options.axes.get(name).copied(),
                    _ => None,
                };
                let own = match &place.index {
                    Index::At(at) | Index::Symbol(_, at) => {
                        let far = if *at < 0 { &mut last } else { &mut first };
                        if far.is_none_or(|(before, _)| at.abs() > before.abs()) {
                            *far = Some((*at, place.span));
                        }
                        continue;
                    }
                    Index::Affine(_) | Index::Computed(_) => {
                        let own = value.writes.iter().flat_map(|w| &w.at).find(|(at, _)| *at == p);
                        reach = reach.max(own.and_then(|(_, at)| at.range).map(|r| (r.1 + 1).max(0)));
                        continue;
                    }
                    Index::Time(..) | Index::Step(_) if inside.is_some() => Some((1, place.span)),
                    Index::Time(..) | Index::Step(_) => {
                        moments.map(|m| ((m.1 - m.0 + 1).max(0) as usize, place.span))
                    }
                    // The size comes from this term; the left side is shared by all terms.
                    _ => key(place)
                        .and_then(|k| Some((value.size(&k)?, seen(&e.value, &k).unwrap_or(e.value.span)))),
                };
                // An offset determines a size only if nothing else does.
                if matches!(place.index, Index::Named(_, 1.. | ..=-1)) {
                    moved = moved.or(own.or(declared));
                    missing = missing.or(Some(place).filter(|_| moved.is_none()));
                    continue;
                }
                if let (Some((n, _)), Some((size, span))) = (own, declared)
                    && n != size
                {
                    let what = format!("index `{}` has size {n} here", place.index);
                    let fault = Diagnostic::error(place.span, what);
                    return Err(fault.and(span, format!("declared to be {size} here")).into());
                }
                match (own.or(declared), found) {
                    (Some((n, at)), Some((before, other))) if n != before => {
                        let (index, name) = (&place.index, &e.target.name);
                        let what = format!(
                            "index `{index}` of `{name}` has size {n} in one term and {before} in another"
                        );
                        let fault = Diagnostic::error(at, what).here(format!("{n} here")).about(name);
                        let other = if other == Span::default() { e.target.span } else { other };
                        let fault = fault.and(other, format!("{before} here"));
                        // NumPy would broadcast; here a tensor without the index is repeated along it.
                        let one = n.min(before) == 1;
                        let help = "an axis of size 1 is not broadcast: leave the index out there (no keepdims=true)";
                        return Err(if one { fault.help(help) } else { fault }.into());
                    }
                    (Some(own), None) => found = Some(own),
                    (None, _) => missing = missing.or(Some(place)),
                    _ => {}
                }
            }
            if found.is_none() && moved.is_some() {
                let known =
                    self.extents.get(&terms[0].0.target.name).and_then(|e| e.get(p).copied().flatten());
                found = known.map(|n| (n, Span::default())).or(moved);
            }
            let (name, count) =
                (&terms[0].0.target.name, |n: usize| if n == 1 { "position" } else { "positions" });
            if let Some((n, at)) = found {
                let outside = |(p, _): &(i64, Span)| if *p < 0 { -*p > n as i64 } else { *p >= n as i64 };
                if let Some((place, span)) = first.into_iter().chain(last).find(outside) {
                    let what =
                        format!("position {place} is outside of `{name}`, which has {n} {} there", count(n));
                    let fault = Diagnostic::error(span, what).about(name);
                    let known = at != Span::default();
                    return Err(if known { fault.and(at, format!("{n} here")) } else { fault }.into());
                }
            }
            if let (None, None, Some((place, span))) = (found, missing, last) {
                let what =
                    format!("position {place} counts from the end, but the size of `{name}` is not known");
                let help = "count from the start (0 is the first position), or define all elements";
                return Err(Diagnostic::error(span, what).help(help).about(name).into());
            }
            // The size may come from other terms of the name.
            let kept_by = || self.extents.get(name)?.get(p).copied().flatten();
            // Positions that share a domain have its size.
            let domain = || {
                let relation = terms[0].0.target.relation || first.is_some();
                relation.then(|| self.options.domain_size(name, p)).flatten()
            };
            let computed = terms.iter().find_map(|(e, _)| {
                e.target.places.get(p).filter(|place| matches!(place.index, Index::Computed(_)))
            });
            let read = || computed.and_then(|_| self.size_by_readers(name, p));
            match (found.map(|f| f.0).or_else(kept_by).or_else(domain).or_else(read), missing) {
                (Some(n), _) => sizes.push(n),
                (None, None) if computed.is_some() => {
                    let span = computed.map(|c| c.span).unwrap_or_default();
                    let what = format!(
                        "the size of `{name}` at a computed index is not known: sizes do not depend on values"
                    );
                    return Err(Diagnostic::error(span, what).help(help_for_size(name)).about(name).into());
                }
                (None, Some(place)) => {
                    let what = format!(
                        "the size of index `{}` is not known: it appears on the left only",
                        place.index
                    );
                    let help = match &place.index {
                        Index::Slice(None, ..) => {
                            "the name of a range is its text: write the same range on the right, \
                                                   or give it a name there (Y[s] = X[s=2:])"
                                .to_string()
                        }
                        index => match terms.iter().find_map(|(e, _)| self.keeps_names(e)) {
                            Some(function) => format!(
                                "`{function}` keeps the index names of its argument: write these on the left, and rename them in another equation"
                            ),
                            None => format!("declare it (axis {} = …), or use it on the right", bare(index)),
                        },
                    };
                    return Err(Diagnostic::error(place.span, what).help(help).about(name).into());
                }
                (None, None) => {
                    let reach = reach.unwrap_or(0) as usize;
                    sizes.push(first.map_or(0, |(place, _)| place as usize + 1).max(reach));
                }
            }
        }
        Ok(sizes)
    }
}

/// Returns the location of an index in an expression; the entire call, if the call may change sizes.
fn seen(e: &Expr, index: &Name) -> Option<Span> {
    match &e.kind {
        Kind::Ref(r) => r.places.iter().find(|p| key(p).as_ref() == Some(index)).map(|p| p.span),
        Kind::Call(call) => {
            let by_number = call.callee.shape() == Shape::Pointwise;
            let inside = call.args.iter().find_map(|a| seen(&a.value, index));
            inside.map(|at| if by_number { at } else { e.span })
        }
        _ => e.parts().into_iter().find_map(|p| seen(p, index)),
    }
}

/// Returns an index without its offset.
pub(super) fn bare(index: &Index) -> String {
    match index {
        Index::Named(name, _) | Index::Time(name, _) | Index::Slice(Some(name), ..) => name.to_string(),
        other => other.to_string(),
    }
}

/// The combined value of lines of one name with the same reduction, and the elements they contribute to, if needed.
struct Joined {
    how: Projection,
    value: Tensor,
    covers: Option<Tensor>,
}

/// Combines a line with earlier ones that have the same reduction.
fn add(sums: &mut Vec<Joined>, line: Joined) {
    let Some(sum) = sums.iter_mut().find(|s| s.how == line.how) else { return sums.push(line) };
    let dtype = sum.value.dtype().promote(line.value.dtype());
    sum.value = combined(line.how, &sum.value.to_dtype(dtype), &line.value.to_dtype(dtype));
    sum.covers = sum.covers.as_ref().zip(line.covers).map(|(a, b)| a.logical_or(&b));
}

/// The shape of a name that terms are written to.
pub(super) struct Ground<'s> {
    /// The axes that a call added, and their extents.
    pub(super) batch: &'s [Name],
    pub(super) extents: &'s [usize],
    /// The sizes of the left side's indices.
    pub(super) sizes: &'s [usize],
    /// The first time step.
    pub(super) start: i64,
    /// The number of steps.
    pub(super) steps: usize,
    /// If true, terms are of one time step.
    pub(super) inside: bool,
}

/// Returns true if a left side does not write to all elements of its name.
fn is_partial(e: &Equation) -> bool {
    let keys = crate::elaborate::scope::keys(&e.target);
    let moved = |p: &Place| matches!(p.index, Index::At(_) | Index::Symbol(..) | Index::Step(_) | Index::Named(_, 1.. | ..=-1) | Index::Time(_, 1.. | ..=-1));
    e.target.places.iter().any(moved) || (1..keys.len()).any(|i| keys[..i].contains(&keys[i]))
}

impl Ground<'_> {
    /// Returns a term at the indices of the left side: repeated along missing ones, shifted by offsets, on
    /// diagonals, at fixed positions.
    pub(super) fn placed(&self, e: &Equation, value: &Named) -> Tensor {
        let Ground { batch, extents, sizes, start, steps, inside } = *self;
        let mut axes: Vec<Name> = batch.to_vec();
        let mut full: Vec<usize> = extents.to_vec();
        let mut moving = Vec::new();
        for (p, place) in e.target.places.iter().enumerate() {
            if inside && matches!(place.index, Index::Time(..) | Index::Step(_)) {
                continue;
            }
            let Some(k) = key(place) else { continue };
            if axes.contains(&k) {
                continue;
            }
            // A name may have more steps than its line, or fewer.
            let own = if is_timed(place) { steps } else { sizes[p] };
            full.push(value.size(&k).unwrap_or(own));
            axes.push(k);
        }
        let mut out = value.aligned(&axes).expand(full);
        let mut seen: Vec<Name> = Vec::new();
        let mut at = batch.len();
        for (p, place) in e.target.places.iter().enumerate() {
            if inside && matches!(place.index, Index::Time(..) | Index::Step(_)) {
                continue;
            }
            let k = key(place);
            match (&place.index, k) {
                (_, Some(k)) if seen.contains(&k) => {
                    // A repeated index: the value is on the diagonal.
                    let first = batch.len() + seen.iter().position(|s| *s == k).unwrap_or(0);
                    // Offsets are applied after this loop: until then, an axis at an offset has the size of its index.
                    let n = match place.index {
                        Index::Named(_, 1.. | ..=-1) => out.dim(first as isize),
                        _ => sizes[p],
                    };
                    out = on_diagonal(&out, first, at, n);
                    seen.push(k);
                }
                (_, Some(k)) => seen.push(k),
                (Index::At(i) | Index::Symbol(_, i), None) => {
                    let i = if *i < 0 { *i + sizes[p] as i64 } else { *i };
                    out = window(&out.unsqueeze(at as isize), at, -i, sizes[p]);
                    seen.push("".into());
                }
                (Index::Step(i), None) => {
                    let i = if *i < 0 { *i + sizes[p] as i64 } else { *i - start };
                    out = window(&out.unsqueeze(at as isize), at, -i, sizes[p]);
                    seen.push("".into());
                }
                _ => {}
            }
            match &place.index {
                Index::Named(_, by) if *by != 0 => moving.push((at, -by, sizes[p])),
                Index::Time(_, by) => moving.push((at, start - by, sizes[p])),
                _ => {}
            }
            at += 1;
        }
        for (axis, from, len) in moving {
            if from != 0 || out.dim(axis as isize) != len {
                out = window(&out, axis, from, len);
            }
        }
        out
    }
}

/// Returns the suggestion for a tensor none of whose lines has an index of known size on some axis.
pub(super) fn help_for_size(name: &Name) -> String {
    format!(
        "give it a line that has the axis, or read it with an index of known size: axis n = …, Out[n] = {name}[n]"
    )
}

/// Adds an axis along which the value is 0, except where its index equals that of another axis.
fn on_diagonal(t: &Tensor, first: usize, at: usize, n: usize) -> Tensor {
    let extents: Vec<usize> = {
        let mut e: Vec<usize> = t.shape().to_vec();
        e.insert(at, n);
        e
    };
    let i = Tensor::iota(gradus_ir::DType::I64, extents.clone(), first);
    let j = Tensor::iota(gradus_ir::DType::I64, extents.clone(), at);
    let spread = t.unsqueeze(at as isize).expand(extents);
    i.eq(&j).select(&spread, &spread.zeros_like())
}
