//! Evaluates index arithmetic and computed indices to positions, and reads there. Takes a tensor with one
//! axis per such index; returns it with the axes of the indices instead. Writes at positions are in
//! `solver::scatter`.

use super::{Eval, Term, fault};
use crate::builtin::named::{Named, pointwise, union};
use crate::builtin::{Positions, RuntimeCheck};
use crate::elaborate::core::{Index, Place};
use crate::syntax::ast::Name;
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::limit::fits;
use gradus_ir::{Class, DType};
use gradus_tensor::Tensor;

impl Term<'_> {
    /// Evaluates index arithmetic or a computed index to positions.
    pub(super) fn positions(&self, place: &Place) -> Eval<Positions> {
        match &place.index {
            Index::Affine(sum) => {
                let (terms, offset) = self.factors_of(sum)?;
                let (mut low, mut high, mut known) = (offset, offset, true);
                let scalar = |x: i64| Tensor::full([], x as f64).to_dtype(DType::I64);
                let mut at = Named::new(scalar(offset), Vec::new());
                for (by, name) in terms {
                    let counted = match self.current_step(name) {
                        Some(now) => {
                            known = false;
                            Named::new(now.to_dtype(DType::I64) * &scalar(by), Vec::new())
                        }
                        None => {
                            let n = self.sized(name, place.span)?;
                            let last = n.saturating_sub(1) as i64;
                            if by > 0 {
                                high += by * last
                            } else {
                                low += by * last
                            }
                            let all = Tensor::iota(DType::I64, [n], 0);
                            Named::new(all * &scalar(by), vec![name.clone()])
                        }
                    };
                    at = pointwise(&[at, counted], |t| t[0] + t[1]);
                }
                at.tensor.check().map_err(|x| fault(place.span, &x))?;
                let range = known.then_some((low, high));
                Ok(Positions { at, range, strict: false, span: place.span, step: None })
            }
            Index::Computed(e) => {
                let value = self.constant(|| self.eval(e))?;
                let is_open = value.tensor.dtype() == DType::Bool && self.options.is_guessing();
                let value = if is_open { value.with(value.tensor.to_dtype(DType::I64)) } else { value };
                if value.tensor.dtype().is_complex() || value.tensor.dtype() == DType::Bool {
                    let what = format!("positions are integers, not {}", value.tensor.dtype());
                    return Err(Diagnostic::error(place.span, what).into());
                }
                let step = self.at_step();
                Ok(Positions { at: value.exact(), range: None, strict: true, span: place.span, step })
            }
            _ => Err(super::Fault::Silent),
        }
    }
}

/// Converts computed positions to integers in range. Others are reported by the run if it reads checks, else by the
/// op.
pub(crate) fn checked(
    p: &Positions,
    extent: usize,
    name: &Name,
    options: &crate::solve::Options,
) -> Positions {
    if !p.strict {
        return p.clone();
    }
    let x = &p.at.tensor;
    options.watch(RuntimeCheck::Position(extent), name.clone(), p.span, &p.at, p.step.as_ref());
    let whole = match x.dtype().class() {
        Class::Float => x.eq(&x.floor()),
        _ => x.eq(x),
    };
    let zero = Tensor::full([], 0.0).to_dtype(x.dtype());
    let end = Tensor::full([], extent as f64).to_dtype(x.dtype());
    let good = whole.logical_and(&x.ge(&zero)).logical_and(&x.lt(&end));
    // If the run does not read checks, an out-of-range position makes the op fail.
    let otherwise = if options.is_read() { zero } else { end };
    let at = p.at.with(good.select(x, &otherwise).to_dtype(DType::I64).stop_gradient());
    Positions { at, range: Some((0, extent.max(1) as i64 - 1)), ..p.clone() }
}

/// Reads a tensor at positions. `reads` holds axes, under unique names, with the positions along each.
pub(super) fn gathered(mut value: Named, mut reads: Vec<(Name, Positions)>) -> gradus_ir::Result<Named> {
    while !reads.is_empty() {
        // Positions that share an index with each other are read together.
        let mut group = vec![reads.remove(0)];
        while let Some(at) = reads
            .iter()
            .position(|r| group.iter().any(|g| r.1.at.axes.iter().any(|a| g.1.at.axes.contains(a))))
        {
            group.push(reads.remove(at));
        }
        value = gathered_at(&value, &group)?;
    }
    Ok(value)
}

fn gathered_at(value: &Named, group: &[(Name, Positions)]) -> gradus_ir::Result<Named> {
    let new = union(group.iter().map(|g| &g.1.at));
    let shared: Vec<Name> = value.axes.iter().filter(|a| new.contains(a)).cloned().collect();
    let rest: Vec<Name> = {
        let own = |a: &&Name| !shared.contains(a) && !group.iter().any(|g| g.0 == **a);
        value.axes.iter().filter(own).cloned().collect()
    };
    let size = |a: &Name| {
        let of_positions = group.iter().find_map(|g| g.1.at.size(a));
        of_positions.or_else(|| value.size(a)).unwrap_or(1)
    };
    let extents: Vec<usize> = new.iter().map(size).collect();
    let others: Vec<usize> = rest.iter().map(|a| value.size(a).unwrap_or(1)).collect();
    let all: Vec<usize> = extents.iter().chain(&others).copied().collect();
    fits(&all)?;
    let axes: Vec<Name> = new.iter().chain(&rest).cloned().collect();
    let lead: Vec<Name> = shared.iter().cloned().chain(group.iter().map(|g| g.0.clone())).collect();
    let counts: Vec<usize> = lead.iter().map(|a| value.size(a).unwrap_or(1)).collect();
    if counts.contains(&0) || all.contains(&0) {
        let zeros = Tensor::zeros(all).to_dtype(value.tensor.dtype());
        return Ok(Named::new(zeros, axes));
    }
    let mut linear = Named::new(Tensor::full([], 0.0).to_dtype(DType::I64), Vec::new());
    let mut inside: Option<Named> = None;
    for (axis, n) in lead.iter().zip(&counts) {
        let at = match group.iter().find(|g| g.0 == *axis) {
            Some((_, p)) => {
                let mask = p.inside(*n);
                let last = Tensor::full([], (*n - 1) as f64).to_dtype(DType::I64);
                let zero = Tensor::full([], 0.0).to_dtype(DType::I64);
                let at = match &mask {
                    Some(_) => p.at.with(p.at.tensor.maximum(&zero).minimum(&last)),
                    None => p.at.clone(),
                };
                inside = match (inside, mask) {
                    (Some(a), Some(b)) => Some(pointwise(&[a, b], |t| t[0].logical_and(t[1]))),
                    (a, b) => a.or(b),
                };
                at
            }
            None => Named::new(Tensor::iota(DType::I64, [*n], 0), vec![axis.clone()]),
        };
        let count = Tensor::full([], *n as f64).to_dtype(DType::I64);
        linear = pointwise(&[linear, at], |t| t[0] * &count + t[1]);
    }
    let flat: usize = counts.iter().product();
    let order: Vec<Name> = lead.iter().chain(&rest).cloned().collect();
    let table = value.aligned(&order).reshape([&[flat][..], &others].concat());
    let ids = linear.aligned(&new).expand(extents.clone()).reshape([-1]);
    let mut out = Named::new(table.index_select(0, &ids).reshape(all), axes);
    if let Some(inside) = inside {
        let mask = inside.aligned(&out.axes).expand(out.tensor.shape().to_vec());
        out = out.with(mask.select(&out.tensor, &out.tensor.zeros_like()));
    }
    out.tensor.check()?;
    Ok(out)
}
