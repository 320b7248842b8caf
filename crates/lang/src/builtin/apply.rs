//! Applying a function, or its derivative, to tensors with named axes.

use super::{Base, Callee, Settings, Shape};
use crate::ast::{Name, Projection};
use crate::limit::MOST_OPERATIONS;
use crate::named::{Named, pointwise, union};
use gradus_ir::{Error, Result};
use gradus_tensor::{Tensor, apply1, vjp_within};
use std::cell::RefCell;

/// What applying needs from around the call.
pub(crate) struct Around<'a> {
    /// The names of the left side: they name the axes of functions that know places only.
    pub(crate) left: &'a [Name],
    /// Runs a function of the program's own.
    pub(crate) own: &'a dyn Fn(&crate::ast::Function, &[Named]) -> Result<Named>,
}

impl Callee {
    /// The function of these arguments.
    pub(crate) fn apply(&self, args: &[Named], s: &Settings, around: &Around<'_>) -> Result<Named> {
        if self.order == 0 {
            return self.plain(args, s, around);
        }
        let wrt = s.words("wrt");
        if wrt.is_empty() && self.shape() == Shape::Pointwise {
            return self.slope(self.order, args, s, around);
        }
        if wrt.len() != self.order {
            let why = format!("must name {} of the arguments: wrt=\"x\"", self.order);
            return Err(Error::value("wrt", why));
        }
        self.pulled(self.order, &wrt, args, s, around)
    }

    /// The derivative of a function of one number, number by number.
    fn slope(&self, order: usize, args: &[Named], s: &Settings, around: &Around<'_>) -> Result<Named> {
        if order == 0 {
            return self.plain(args, s, around);
        }
        self.vjp_of(args, 0, |args| self.slope(order - 1, args, s, around), |out| Ok(out.tensor.ones_like()))
    }

    /// The cotangent of one argument from that of the result: the last argument.
    fn pulled(
        &self,
        order: usize,
        wrt: &[Name],
        args: &[Named],
        s: &Settings,
        around: &Around<'_>,
    ) -> Result<Named> {
        let Some((last, inner_wrt)) = wrt.split_last().filter(|_| order > 0) else {
            return self.plain(args, s, around);
        };
        let Some((g, args)) = args.split_last() else {
            return Err(Error::value(self.name().to_string(), "needs a cotangent as last argument"));
        };
        let before = Callee { order: order - 1, ..self.clone() };
        let params = before.params();
        let many = params.first().is_some_and(|p| p.starts_with('*'));
        let at = match last.parse::<usize>() {
            Ok(number) if many => Some(number),
            _ => params.iter().position(|p| p.trim_start_matches(['?', '*']) == &**last),
        };
        let at = at.filter(|at| *at < args.len()).ok_or_else(|| {
            let names: Vec<&str> = params.iter().map(|p| p.trim_start_matches(['?', '*'])).collect();
            Error::value(format!("wrt \"{last}\""), format!("must be one of {}", names.join(", ")))
        })?;
        // What changes the extent of an axis leaves one that is called otherwise in the cotangent.
        let resizes = matches!(&self.base, Base::Table(b) if matches!(b.name, "topk" | "glu"));
        let by_place = self.shape() == Shape::Positional || resizes;
        self.vjp_of(
            args,
            at,
            |args| self.pulled(order - 1, inner_wrt, args, s, around),
            |out| cotangent_for(g, out, by_place),
        )
    }

    fn vjp_of(
        &self,
        args: &[Named],
        at: usize,
        f: impl Fn(&[Named]) -> Result<Named>,
        cotangent: impl Fn(&Named) -> Result<Tensor>,
    ) -> Result<Named> {
        let out: RefCell<Option<Vec<Name>>> = RefCell::new(None);
        let traced = |x: &[Tensor]| {
            let mut args = args.to_vec();
            args[at].tensor = x[0].clone();
            match f(&args) {
                Ok(value) => {
                    *out.borrow_mut() = Some(value.axes);
                    value.tensor
                }
                Err(e) => Tensor::failed(e),
            }
        };
        let (values, pull) = vjp_within(&[&args[at].tensor], traced, MOST_OPERATIONS)?;
        let axes = out.take().unwrap_or_default();
        let Some(value) = values.into_iter().next() else {
            return Err(Error::gradient("the function gives nothing"));
        };
        let given = cotangent(&Named::new(value, axes))?;
        let pulled = pull(&[&given])?;
        let Some(tensor) = pulled.into_iter().next() else {
            return Err(Error::gradient(format!("`{}` has no derivative", self.name())));
        };
        Ok(Named::new(tensor, args[at].axes.clone()))
    }

    fn plain(&self, args: &[Named], s: &Settings, around: &Around<'_>) -> Result<Named> {
        let b = match &self.base {
            Base::User(f) => return (around.own)(f, args),
            Base::Row(row) => return checked(pointwise(args, |t| spread(t, |t| apply1(*row, t)))),
            Base::Table(b) => *b,
        };
        let refs = |t: &[Tensor]| (b.apply)(&t.iter().collect::<Vec<_>>(), s);
        match b.shape {
            Shape::Pointwise => checked(pointwise(args, |t| spread(t, |t| (b.apply)(t, s)))),
            Shape::OfIndex => checked(Named::new(refs(&[args[0].tensor.clone()]), args[0].axes.clone())),
            Shape::Part => {
                let axes = super::arrays::slice_axes(s.word("at"), &args[0].axes);
                checked(Named::new(refs(&[args[0].tensor.clone()]), axes))
            }
            Shape::Positional => {
                let tensors: Vec<Tensor> = args.iter().map(|a| a.tensor.clone()).collect();
                let tensor = refs(&tensors);
                let axes = by_position(tensor.rank(), args, around.left);
                checked(Named::new(tensor, axes))
            }
            Shape::Along => {
                let axes = union(args);
                let first = broadcast(&args[0], &axes, args);
                let rest = args[1..].iter().map(|a| a.aligned(&axes).expand_as(&first));
                let tensors: Vec<Tensor> = [first.clone()].into_iter().chain(rest).collect();
                let tensor = refs(&tensors);
                let axes = resized(&tensor, &first, axes, around.left);
                checked(Named::new(tensor, axes))
            }
            Shape::Reduce => {
                let axes = &args[0].axes;
                let tensors: Vec<Tensor> = args.iter().map(|a| a.aligned(axes)).collect();
                let tensor = refs(&tensors);
                let gone: Vec<usize> = s.axes.iter().map(|a| wrapped(*a, axes.len())).collect();
                let left: Vec<Name> = axes
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| !gone.contains(i))
                    .map(|(_, a)| a.clone())
                    .collect();
                if tensor.rank() == 0 {
                    return checked(Named::new(tensor, Vec::new()));
                }
                if s.flag("keepdims", false) {
                    let mut gone = gone.clone();
                    gone.sort_unstable();
                    let kept = gone.iter().fold(tensor, |t, i| t.unsqueeze(*i as isize));
                    return checked(Named::new(kept, axes.clone()));
                }
                let extents: Vec<usize> = left.iter().filter_map(|a| args[0].size(a)).collect();
                checked(Named::new(tensor.reshape(extents), left))
            }
        }
    }
}

fn wrapped(axis: isize, rank: usize) -> usize {
    if axis < 0 { (axis + rank as isize).max(0) as usize } else { axis as usize }
}

/// Where a function has changed the extent of an axis, the axis is called as the left side calls what is new there.
fn resized(out: &Tensor, x: &Tensor, mut axes: Vec<Name>, left: &[Name]) -> Vec<Name> {
    let new: Vec<&Name> = left.iter().filter(|l| !axes.contains(l)).collect();
    let changed = (0..axes.len()).find(|i| out.dim(*i as isize) != x.dim(*i as isize));
    if let (Some(i), [name]) = (changed, &new[..]) {
        axes[i] = (*name).clone();
    }
    axes
}

/// The first argument repeated along axes that only the others have.
fn broadcast(x: &Named, axes: &[Name], all: &[Named]) -> Tensor {
    let extent = |a: &Name| all.iter().find_map(|n| n.size(a)).unwrap_or(1);
    let extents: Vec<usize> = axes.iter().map(extent).collect();
    x.aligned(axes).expand(extents)
}

/// All operands at the extents they have together, which the ops of the catalog ask for.
fn spread(operands: &[&Tensor], f: impl FnOnce(&[&Tensor]) -> Tensor) -> Tensor {
    let rank = operands.first().map_or(0, |t| t.rank());
    let extent = |i: usize| operands.iter().map(|t| t.dim(i as isize)).find(|n| *n != 1).unwrap_or(1);
    let extents: Vec<usize> = (0..rank).map(extent).collect();
    let spread: Vec<Tensor> = operands.iter().map(|t| t.expand(extents.clone())).collect();
    f(&spread.iter().collect::<Vec<_>>())
}

fn checked(v: Named) -> Result<Named> {
    v.tensor.check()?;
    Ok(v)
}

/// Names for the axes of a function that knows places only: those of the left side if there are as many, else those
/// of the first argument that has as many, else new ones.
fn by_position(rank: usize, args: &[Named], left: &[Name]) -> Vec<Name> {
    if left.len() == rank {
        return left.to_vec();
    }
    match args.iter().find(|a| a.axes.len() == rank) {
        Some(a) => a.axes.clone(),
        None => (0..rank).map(|i| Name::from(format!("axis {i}"))).collect(),
    }
}

/// A cotangent brought to the axes of the result it is for: what it has more is summed, what it lacks is repeated.
fn cotangent_for(g: &Named, out: &Named, by_place: bool) -> Result<Tensor> {
    let shape = out.tensor.shape();
    let dtype = out.tensor.dtype();
    if by_place && !g.axes.is_empty() && g.tensor.rank() == out.tensor.rank() {
        return Ok(g.tensor.to_dtype(dtype).expand(shape.to_vec()));
    }
    let g = g.projected(&out.axes, Projection::Sum);
    Ok(g.aligned(&out.axes).to_dtype(dtype).expand(shape.to_vec()))
}
