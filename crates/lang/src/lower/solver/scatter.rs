//! Writes at positions: terms whose left side has index arithmetic or computed indices. Takes a term with its positions;
//! returns the value of the name with the term combined by its reduction. Positions are found by `eval::positions`.

use super::Solver;
use super::place::Ground;
use crate::builtin::Positions;
use crate::builtin::named::{Named, Writes, identity, pointwise, union};
use crate::elaborate::core::{Equation, Index, Place, Ref};
use crate::lower::eval::{Eval, checked, fault};
use crate::syntax::ast::{Name, Projection};
use crate::syntax::limit::fits;
use gradus_ir::DType;
use gradus_tensor::{Reduce, Tensor};

/// An axis of the result that is written at positions, and its size.
struct Write {
    /// The number of the axis: first those that a call added, then the index entries of the left side.
    axis: usize,
    size: usize,
    at: Positions,
}

impl<'a> Solver<'a> {
    /// Returns a term written at its positions and, if requested, which elements it contributes to.
    pub(super) fn scattered(
        &self,
        e: &'a Equation,
        value: &Named,
        writes: &Writes,
        ground: &Ground<'_>,
        wants_covers: bool,
    ) -> Eval<(Tensor, Option<Tensor>)> {
        let (name, lead) = (&e.target.name, ground.batch.len());
        let mut group: Vec<Write> = Vec::new();
        for (place, at) in &writes.at {
            let size = ground.sizes[*place];
            group.push(Write { axis: lead + place, size, at: checked(at, size, name, self.options) });
        }
        // Axes that a call added and plain indices are treated as positions if positions depend on them.
        let indices = union(group.iter().map(|w| &w.at.at));
        let extent = |n: &Name| value.size(n).or_else(|| group.iter().find_map(|w| w.at.at.size(n)));
        let batch = ground.batch.iter().map(|n| (n, 0, e.span)).zip(ground.extents).enumerate();
        let own = e.target.places.iter().zip(ground.sizes).enumerate();
        let own = own.filter_map(|(p, (place, size))| match &place.index {
            Index::Named(n, by) => Some((lead + p, ((n, *by, place.span), size))),
            _ => None,
        });
        let mut plain = Vec::new();
        for (axis, ((n, by, span), size)) in batch.chain(own).filter(|(_, ((n, ..), _))| indices.contains(n))
        {
            let count = extent(n).unwrap_or(*size);
            let by_scalar = Tensor::full([], by as f64).to_dtype(DType::I64);
            let at = Named::new(Tensor::iota(DType::I64, [count], 0) + &by_scalar, vec![n.clone()]);
            let range = Some((by, by + count as i64 - 1));
            let at = Positions { at, range, strict: false, span, step: None };
            plain.push(Write { axis, size: *size, at });
        }
        let counts: Vec<usize> = indices.iter().map(|n| extent(n).unwrap_or(1)).collect();
        group.extend(plain);
        let how = e.projection;
        let float = self.options.float;
        let number = if how == Projection::Sum { value.number(float) } else { value.float(float) };
        let place = |v: &Named, how: Projection| self.write(e, v, &group, &indices, &counts, ground, how);
        let out = match (&writes.count, how) {
            (Some(count), Projection::Avg) => {
                let sum = place(&number, Projection::Sum)?;
                let count = place(&count.float(float), Projection::Sum)?;
                sum / &count.to_dtype(number.tensor.dtype())
            }
            _ => place(&number, how)?,
        };
        let covers = match wants_covers {
            true => {
                let ones = Named::new(Tensor::full([], 1.0).to_dtype(float), Vec::new());
                Some(place(&ones, Projection::Sum)?.gt(0.0))
            }
            false => None,
        };
        out.check().map_err(|x| fault(e.span, &x))?;
        Ok((out, covers))
    }

    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        e: &Equation,
        value: &Named,
        group: &[Write],
        indices: &[Name],
        counts: &[usize],
        ground: &Ground<'_>,
        how: Projection,
    ) -> Eval<Tensor> {
        let failed = |x: &gradus_ir::Error| fault(e.span, x);
        let all = ground.batch.len();
        let is_written = |axis: usize| group.iter().any(|w| w.axis == axis);
        let others: Vec<usize> = (0..e.target.places.len()).filter(|p| !is_written(all + p)).collect();
        let kept: Vec<usize> = (0..all).filter(|b| !is_written(*b)).collect();
        let batch: Vec<Name> = kept.iter().map(|b| ground.batch[*b].clone()).collect();
        let extents: Vec<usize> = kept.iter().map(|b| ground.extents[*b]).collect();
        // First the value is evaluated as if the indices of positions were axes.
        let own: Vec<Place> = indices.iter().map(Place::named).collect();
        let places = own.into_iter().chain(others.iter().map(|p| e.target.places[*p].clone())).collect();
        let target = Ref { places, ..e.target.clone() };
        let line = Equation { target, ..e.clone() };
        let sizes: Vec<usize> =
            counts.iter().copied().chain(others.iter().map(|p| ground.sizes[*p])).collect();
        let own = Ground { batch: &batch, extents: &extents, sizes: &sizes, ..*ground };
        let axis_order = own.placed(&line, value);
        axis_order.check().map_err(|x| failed(&x))?;
        let lead = batch.len();
        let to_front: Vec<isize> = (lead..lead + indices.len())
            .chain(0..lead)
            .chain(lead + indices.len()..axis_order.rank())
            .map(|a| a as isize)
            .collect();
        let source = axis_order.permute(to_front);
        let rest: Vec<usize> = source.shape()[indices.len()..].to_vec();
        let rows: usize = counts.iter().product();
        let flat: usize = group.iter().fold(1usize, |n, w| n.saturating_mul(w.size));
        fits(&[&[flat.saturating_add(1)][..], &rest].concat()).map_err(|x| failed(&x))?;
        let source = source.reshape([&[rows][..], &rest].concat());
        let scalar = |x: usize| Tensor::full([], x as f64).to_dtype(DType::I64);
        let mut linear = Named::new(scalar(0), Vec::new());
        let mut inside: Option<Named> = None;
        for w in group {
            let mask = w.at.inside(w.size);
            inside = match (inside, mask) {
                (Some(a), Some(b)) => Some(pointwise(&[a, b], |t| t[0].logical_and(t[1]))),
                (a, b) => a.or(b),
            };
            linear = pointwise(&[linear, w.at.at.clone()], |t| t[0] * &scalar(w.size) + t[1]);
        }
        // Writes out of range go to an extra row, which is cut off.
        if let Some(inside) = inside {
            linear = pointwise(&[inside, linear], |t| t[0].select(t[1], &scalar(flat)));
        }
        let ids = linear.aligned(indices).expand(counts.to_vec()).reshape([-1]);
        let shape = [&[flat + 1][..], &rest].concat();
        let base = identity(how, source.dtype(), &shape);
        let out = if rows == 0 || rest.contains(&0) {
            base
        } else if how == Projection::Sum {
            base.index_add(0, &ids, &source)
        } else {
            let ones = vec![1; rest.len()];
            let index = ids.reshape([&[rows][..], &ones].concat()).expand(source.shape().to_vec());
            let how = match how {
                Projection::Max => Reduce::Amax,
                Projection::Min => Reduce::Amin,
                _ => Reduce::Prod,
            };
            base.scatter_reduce(0, &index, &source, how, true)
        };
        let written: Vec<usize> = group.iter().map(|w| w.size).collect();
        let out = out.narrow(0, 0, flat).reshape([&written[..], &rest].concat());
        // Back to the order of the left side: axes that a call added, then the indices.
        let timed = |p: &Place| ground.inside && crate::syntax::indices::is_timed(p);
        let own = e.target.places.iter().enumerate().filter(|(_, p)| !timed(p)).map(|(p, _)| all + p);
        let mut other = group.len()..;
        let order: Vec<isize> = (0..all)
            .chain(own)
            .filter_map(|axis| group.iter().position(|w| w.axis == axis).or_else(|| other.next()))
            .map(|axis| axis as isize)
            .collect();
        Ok(out.permute(order))
    }

    /// Returns the size of an axis of a name, from lines that read it there with an index of known size.
    pub(super) fn size_by_readers(&self, name: &Name, at: usize) -> Option<usize> {
        self.equations.equations.iter().find_map(|e| {
            let reads = e.reads().into_iter().filter(|r| r.name == *name);
            let index = |r: &Ref| match &r.places.get(at)?.index {
                Index::Named(n, 0) => Some(n.clone()),
                _ => None,
            };
            reads.filter_map(index).find_map(|n| {
                // The terms of a sum are lines of their own, which may name the index in another way.
                let own = e.target.places.iter().position(|p| p.index == Index::Named(n.clone(), 0));
                let of_line = |line: &'a Equation| match &line.target.places.get(own?)?.index {
                    Index::Named(n, 0) => self.size_elsewhere(line, n, name),
                    _ => None,
                };
                let lines = || self.equations.equations.iter().filter(|o| o.target.name == e.target.name);
                let declared = self.options.axes.get(&n).map(|a| a.0);
                declared.or_else(|| self.size_elsewhere(e, &n, name)).or_else(|| lines().find_map(of_line))
            })
        })
    }

    /// Returns the size that an index has in another tensor of an equation.
    fn size_elsewhere(&self, e: &Equation, index: &Name, name: &Name) -> Option<usize> {
        e.reads().into_iter().filter(|r| r.name != *name).find_map(|r| {
            let Some(Some(v)) = self.values.get(&r.name) else { return None };
            let at = r.places.iter().position(|p| p.index == Index::Named(index.clone(), 0))?;
            let axis = v.batch.len() + at;
            (axis < v.tensor.rank()).then(|| v.tensor.dim(axis as isize))
        })
    }
}
