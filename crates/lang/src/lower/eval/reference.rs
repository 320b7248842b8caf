//! Reads tensors at their indices: notes and checks sizes, takes positions and ranges, fills offsets out of range with
//! 0.

use super::positions::{checked, gathered};
use super::{Eval, Fault, Sizes, Term, Value, fault};
use crate::builtin::named::Named;
use crate::builtin::{Base, Callee};
use crate::elaborate::core::{Expr, Index, Kind, Ref};
use crate::elaborate::scope::{distinct, key, keys};
use crate::syntax::ast::{Array, Name};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::{from_moment, is_time};
use crate::syntax::source::Span;
use gradus_tensor::{Ix, Tensor};

impl<'a> Term<'a> {
    /// Notes the sizes that tensors give to the indices of an expression; they must agree. In arguments of functions
    /// that are positional or resize an axis, an index may have another size than elsewhere.
    pub(super) fn note_sizes(&self, e: &Expr, sizes: &mut Sizes) -> Eval<()> {
        match &e.kind {
            Kind::Ref(r) => {
                self.note_size(r, sizes)?;
                r.computed().try_for_each(|p| self.note_sizes(p, sizes))
            }
            Kind::Array(array, at) => self.note_list(array, *at, sizes),
            Kind::Call(call) if knows_places_only(&call.callee) => {
                call.args.iter().try_for_each(|arg| self.note_sizes(&arg.value, &mut Sizes::new()))
            }
            _ => e.parts().into_iter().try_for_each(|part| self.note_sizes(part, sizes)),
        }
    }

    /// Notes the sizes of one tensor's indices.
    fn note_size(&self, r: &Ref, sizes: &mut Sizes) -> Eval<()> {
        if self.options.numbers.contains_key(&r.name) && r.places.is_empty() {
            return Ok(());
        }
        let value = self.value(r)?.clone();
        let timed = self.timed(r);
        let own = value.tensor.rank() - value.batch.len();
        let indices = r.places.len() - usize::from(timed);
        if own != indices {
            let axes = if own == 1 { "one axis".into() } else { format!("{own} axes") };
            let shape = value.tensor.shape();
            let what = format!("`{}` has shape {shape}: {axes} for {indices} indices", r.name);
            return Err(Diagnostic::error(r.span, what).about(&r.name).into());
        }
        let mut axis = value.batch.len();
        for place in &r.places {
            if timed && (is_time(&self.equation.target, place) || matches!(place.index, Index::Step(_))) {
                continue;
            }
            let n = value.tensor.dim(axis as isize);
            axis += 1;
            let n = match &place.index {
                Index::Named(_, 0) => n,
                Index::Slice(_, range) => range_len(n, range[0], range[1], range[2].unwrap_or(1)),
                _ => continue,
            };
            let Some(name) = &key(place) else { continue };
            let declared = self.options.axes.get(name);
            if let Some((size, span)) = declared.filter(|(size, _)| *size != n) {
                let what = format!("index `{name}` has size {size}, but `{}` has {n} there", r.name);
                return Err(Diagnostic::error(place.span, what)
                    .here(format!("{n} here"))
                    .and(*span, "declared here")
                    .about(&r.name)
                    .into());
            }
            match sizes.get(name) {
                Some((before, span)) if *before != n => {
                    let what = format!("index `{name}` has size {n} in `{}`, but {before} elsewhere", r.name);
                    let fault = Diagnostic::error(place.span, what).here(format!("{n} here")).about(&r.name);
                    return Err(fault.and(*span, format!("{before} here")).into());
                }
                Some(_) => {}
                None => {
                    sizes.insert(name.clone(), (n, place.span));
                }
            }
        }
        Ok(())
    }

    /// Notes the sizes of a list, whose axes are those of the left side.
    fn note_list(&self, array: &Array, span: Span, sizes: &mut Sizes) -> Eval<()> {
        if array.shape.len() != self.left.len() {
            return Ok(());
        }
        for (name, n) in self.left.iter().zip(&array.shape) {
            match sizes.get(name) {
                Some((before, other)) if before != n => {
                    let what = format!("index `{name}` has size {n} in this list, but {before} elsewhere");
                    let fault = Diagnostic::error(span, what).here(format!("{n} here"));
                    let help = "a list has a number for every place; one number for all stands without brackets, \
                        and a place is taken by the list's name: A[0]";
                    return Err(fault.and(*other, format!("{before} here")).help(help).into());
                }
                Some(_) => {}
                None => {
                    sizes.insert(name.clone(), (*n, span));
                }
            }
        }
        Ok(())
    }

    /// Returns true if a tensor is read at the current time step, without its time axis.
    pub(super) fn timed(&self, r: &Ref) -> bool {
        self.moment.is_some() && from_moment(&self.equation.target, &r.places).is_some()
    }

    pub(super) fn value(&self, r: &Ref) -> Eval<&'a Value> {
        if let Some(moment) = self.moment
            && let Some(offset) = from_moment(&self.equation.target, &r.places)
        {
            return moment.get(&(r.name.clone(), offset)).ok_or(Fault::Silent);
        }
        match self.values.get(&r.name) {
            Some(Some(value)) => Ok(value),
            Some(None) => Err(Fault::Silent),
            None => {
                Err(Diagnostic::error(r.span, format!("`{}` has no value", r.name)).about(&r.name).into())
            }
        }
    }

    /// Reads a tensor at its indices.
    pub(super) fn reference(&self, r: &Ref) -> Eval<Named> {
        if let Some(x) = self.options.numbers.get(&r.name).filter(|_| r.places.is_empty()) {
            return Ok(Named::scalar(*x, self.options.float));
        }
        let value = self.value(r)?;
        let timed = self.timed(r);
        let places = r.places.iter().filter(|p| !(timed && is_time(&self.equation.target, p)));
        let mut parts = vec![Ix::Range(None, None, 1); value.batch.len()];
        let mut axes: Vec<(Name, i64, bool)> = value.batch.iter().map(|b| (b.clone(), 0, false)).collect();
        let mut whole = value.tensor.clone();
        let mut reads = Vec::new();
        for (i, place) in places.enumerate() {
            let n = value.tensor.dim((value.batch.len() + i) as isize) as i64;
            let within = |at: i64| {
                let from_front = if at < 0 { at + n } else { at };
                if (0..n).contains(&from_front) {
                    return Ok(Ix::At(from_front as isize));
                }
                let what = format!("position {at} is outside of `{}`, which has {n} positions there", r.name);
                Err(Fault::from(Diagnostic::error(place.span, what).about(&r.name)))
            };
            let named = key(place);
            let only_last = matches!(place.index, Index::Time(..) | Index::Step(0..));
            if value.ended && only_last {
                let what = format!("only the last step of `{}` can be read", r.name);
                let fault = Diagnostic::error(place.span, what).about(&r.name);
                return Err(fault.help("its time ends by a condition: read the last step, *-1").into());
            }
            match &place.index {
                Index::Named(_, by) => axes.extend(named.map(|k| (k, *by, false))),
                Index::Time(_, by) => axes.extend(named.map(|k| (k, *by - value.start, true))),
                Index::Slice(..) => axes.extend(named.map(|k| (k, 0, false))),
                Index::At(_) | Index::Symbol(..) | Index::Step(_) => {}
                Index::Affine(_) | Index::Computed(_) => {
                    let axis: Name = format!(" position {i}").into();
                    let positions = checked(&self.positions(place)?, n as usize, &r.name, self.options);
                    reads.push((axis.clone(), positions));
                    axes.push((axis, 0, false));
                }
            }
            parts.push(match &place.index {
                Index::At(at) | Index::Symbol(_, at) => within(*at)?,
                Index::Step(at) => {
                    let from = if *at < 0 { at + n } else { at - value.start };
                    if (0..n).contains(&from) {
                        Ix::At(from as isize)
                    } else {
                        // Outside its time steps a value is 0.
                        whole = window(&whole, value.batch.len() + i, from, 1);
                        Ix::At(0)
                    }
                }
                Index::Slice(_, range) => {
                    let [from, to, by] = range.map(|x| x.map(|x| x as isize));
                    Ix::Range(from, to, by.unwrap_or(1))
                }
                _ => Ix::Range(None, None, 1),
            });
        }
        let plain = parts.iter().all(|p| matches!(p, Ix::Range(None, None, 1)));
        let mut tensor = if plain { whole } else { whole.at(parts) };
        for (axis, (name, by, time)) in axes.iter().enumerate() {
            let n = tensor.dim(axis as isize);
            let len = match time {
                true => self.options.steps,
                false if *by != 0 => self.size_of(name).unwrap_or(n),
                false => n,
            };
            if *by != 0 || len != n {
                tensor = window(&tensor, axis, *by, len);
            }
        }
        tensor.check().map_err(|x| fault(r.span, &x))?;
        let mut out = Named::new(tensor, axes.into_iter().map(|a| a.0).collect()).diagonal();
        if !reads.is_empty() {
            out = gathered(out, reads).map_err(|x| fault(r.span, &x))?;
            // Axes that a call added come first, then the indices in the order in which they appear.
            let order = distinct(self.batch.iter().cloned().chain(keys(r)));
            let order: Vec<Name> = order.into_iter().filter(|a| out.axes.contains(a)).collect();
            out = Named::new(out.aligned(&order), order);
        }
        Ok(self.where_taken(out))
    }
}

/// Returns true if a function matches the axes of its arguments by position, so that one index may have several sizes.
fn knows_places_only(callee: &Callee) -> bool {
    callee.shape().is_of_any_size() && !matches!(callee.base, Base::User(_))
}

/// Returns the number of positions of a range within `n`.
fn range_len(n: usize, from: Option<i64>, to: Option<i64>, by: i64) -> usize {
    let n = n as i64;
    let within = |x: i64, low: i64, high: i64| (if x < 0 { x + n } else { x }).clamp(low, high);
    let (first, last) = if by > 0 {
        (from.map_or(0, |x| within(x, 0, n)), to.map_or(n, |x| within(x, 0, n)))
    } else {
        (from.map_or(n - 1, |x| within(x, -1, n - 1)), to.map_or(-1, |x| within(x, -1, n - 1)))
    };
    let count = if by > 0 { (last - first + by - 1) / by } else { (first - last - by - 1) / -by };
    count.max(0) as usize
}

/// Returns elements `from..from + len` along an axis, with 0 outside the tensor.
pub(crate) fn window(t: &Tensor, axis: usize, from: i64, len: usize) -> Tensor {
    let (n, len) = (t.dim(axis as isize) as i64, len as i64);
    let (first, last) = (from.clamp(0, n), (from + len).clamp(0, n));
    let inside = t.narrow(axis as isize, first as usize, (last - first).max(0) as usize);
    let mut padding = vec![(0, 0); t.rank()];
    let before = (-from).clamp(0, len);
    padding[axis] = (before, len - before - (last - first).max(0));
    if padding[axis] == (0, 0) { inside } else { inside.pad_zeros(&padding) }
}
