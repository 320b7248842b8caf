//! Reads and writes at computed indices. An index out of range is an error when the op is evaluated.

use super::*;
use crate::attr::AttrField;
use crate::{Class, DType, Shape, message, op_struct};

fn check_index(aval: &Aval) -> Result<()> {
    if aval.dtype.class() == Class::Int {
        Ok(())
    } else {
        Err(Error::dtype(aval.dtype, "indices must be integers"))
    }
}

/// Replaces one axis of `data` by the axes of `index`.
fn spliced(data: &Shape, axis: usize, index: &Shape) -> Shape {
    data[..axis].iter().chain(index.iter()).chain(&data[axis + 1..]).copied().collect()
}

op_struct! {
    /// Takes slices of the first operand along an axis, at the indices in the second. The axes of the indices
    /// replace that axis.
    pub struct Take = "take" {
        /// The axis.
        axis: usize,
    }
}

impl Primitive for Take {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 2)?;
        check_axes(&[self.axis], ins[0].rank())?;
        check_index(&ins[1])?;
        Ok(vec![ins[0].with_shape(spliced(&ins[0].shape, self.axis, &ins[1].shape))])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::Only(&[0]))
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let zeros = rule.ins[0].full_like(0.0);
        Some(zeros.scatter(rule.ins[1], ct, self.axis, Some(Combine::Sum)))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let (x, index, axis) = (batch.ins[0], batch.ins[1], self.axis);
        let rank = batch.inner(0).rank();
        let lead = batch.inner(1).rank();
        match (batch.batched[0], batch.batched[1]) {
            (_, false) => vec![x.take(index, axis + 1)],
            (false, true) => {
                // The batch axis is among the index's axes; move it to the front.
                let y = x.take(index, axis);
                let order: Vec<usize> = [axis].into_iter().chain(0..axis).chain(axis + 1..y.rank()).collect();
                vec![y.permute(&order)]
            }
            (true, true) => {
                // Merges the batch axis (n) and the indexed axis (N): one axis of n·N slices, of which each batch
                // element indexes its own N.
                let (merged, extent) = merge_batch(x, axis);
                let y = merged.take(offset_by_batch(index, extent), 0);
                // [n, index…, before…, after…] to [n, before…, index…, after…].
                let order: Vec<usize> = [0]
                    .into_iter()
                    .chain(1 + lead..1 + lead + axis)
                    .chain(1..1 + lead)
                    .chain(1 + lead + axis..lead + rank)
                    .collect();
                vec![y.permute(&order)]
            }
        }
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Take { axis: self.axis }
    }
}

impl Sampled for Take {
    fn samples(s: &mut Samples) {
        for (shape, axis, index) in
            [(&[4, 2][..], 0, &[3][..]), (&[2, 5], 1, &[2, 2]), (&[3], 0, &[]), (&[3, 2], 0, &[0])]
        {
            let ins = [s.normal(shape), s.ints((0, shape[axis] as i64), index)];
            s.case(Take { axis }, ins);
        }
        let (x, i) = (Aval::new(DType::F64, [3]), Aval::new(DType::I64, [2]));
        s.error(Take { axis: 1 }, &[x.clone(), i], "axis 1 is out of range");
        s.error(Take { axis: 0 }, &[x.clone(), x], "indices must be integers");
    }
}

/// The function that combines an update with the element at its index. `None` replaces the element; of several updates
/// at an index, the last remains.
impl AttrField for Option<Combine> {
    fn to_attr(&self) -> Attr {
        Attr::Str(self.map_or("set", Combine::name).into())
    }
    fn from_attr(a: &Attr) -> Option<Self> {
        if *a == Attr::Str("set".into()) { Some(None) } else { Combine::from_attr(a).map(Some) }
    }
}

/// Reshapes `[n, before…, N, after…]` to `[n·N, before…, after…]`. Also returns N.
fn merge_batch(x: Var<'_>, axis: usize) -> (Var<'_>, usize) {
    let shape = x.shape();
    let order: Vec<usize> =
        [0, axis + 1].into_iter().chain(1..axis + 1).chain(axis + 2..shape.rank()).collect();
    let moved = x.permute(&order);
    let merged: Shape =
        [shape[0] * shape[axis + 1]].into_iter().chain(moved.shape()[2..].iter().copied()).collect();
    (moved.reshape(merged), shape[axis + 1])
}

/// Undoes [`merge_batch`].
fn split_batch<'g>(x: Var<'g>, shape: &Shape, axis: usize) -> Var<'g> {
    let moved: Shape =
        [shape[0], shape[axis + 1]].into_iter().chain(x.shape()[1..].iter().copied()).collect();
    let order: Vec<usize> =
        [0].into_iter().chain(2..axis + 2).chain([1]).chain(axis + 2..shape.rank()).collect();
    x.reshape(moved).permute(&order)
}

/// Returns a number that marks an index as out of range for an axis of this extent when it is added to the index. Use
/// it before the axis is merged into a larger one: the sum is out of range for every axis, and [`Error::index`] decodes
/// the original index and extent from it.
pub fn out_of_range_marker(extent: usize) -> i64 {
    MARKER_BASE + ((extent as i64).min(MARKER_LIMIT - 1) << 31)
}

/// The base of markers, far below every valid index. A marker is this number plus the extent times 2³¹; the
/// caller adds it to the index.
const MARKER_BASE: i64 = -(1 << 62);
/// Limit of the indices and extents that a marker can encode.
const MARKER_LIMIT: i64 = 1 << 30;

/// Returns the index and extent of which [`out_of_range_marker`] has made this index; `None` for any other index.
pub(crate) fn decode_marker(index: i64) -> Option<(i64, usize)> {
    let both = index.checked_sub(MARKER_BASE).filter(|_| index < MARKER_BASE / 2)?;
    let extent = (both + MARKER_LIMIT) >> 31;
    Some((both - (extent << 31), usize::try_from(extent).ok()?))
}

/// Shifts the indices of each batch element to its part of a merged axis. An index out of range gets a marker, because
/// shifted it could be in range for another batch element.
fn offset_by_batch(index: Var<'_>, extent: usize) -> Var<'_> {
    let index = index.to(DType::I64);
    let own = index + index.builder().iota(DType::I64, index.shape(), 0) * extent as f64;
    let inside = index.ge(index.full_like(0.0)).and(index.lt(index.full_like(extent as f64)));
    let known = index.lt(index.full_like((MARKER_BASE / 2) as f64));
    inside.select(own, known.select(index, index + index.full_like(out_of_range_marker(extent) as f64)))
}

op_struct! {
    /// Combines slices of the third operand with the slices of the first along an axis, at the indices in the
    /// second: `set`, `sum`, `max` or `min`. If several `set` updates have the same index, the last in
    /// row-major order wins. Ties of `max` and `min` share the derivative evenly.
    pub struct Scatter = "scatter" {
        /// The axis.
        axis: usize,
        /// The function that combines an update with the element at its index.
        combine: Option<Combine>,
    }
}

impl Primitive for Scatter {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 3)?;
        check_axes(&[self.axis], ins[0].rank())?;
        check_index(&ins[1])?;
        let updates = ins[0].with_shape(spliced(&ins[0].shape, self.axis, &ins[1].shape));
        if ins[2] != updates {
            return Err(Error::shape(message!("updates ", &ins[2]), message!("must be ", &updates)));
        }
        match self.combine {
            None => Ok(vec![ins[0].clone()]),
            Some(Combine::LogSumExp | Combine::Prod) => {
                Err(Error::value("combine", "must be set, sum, max or min"))
            }
            Some(c) if !c.takes(ins[0].dtype) => {
                Err(Error::dtype(ins[0].dtype, format!("it has no {}", c.name())))
            }
            Some(_) => Ok(vec![ins[0].clone()]),
        }
    }

    fn derivative(&self) -> Derivative {
        match self.combine {
            None | Some(Combine::Sum) => Derivative::Linear(Operands::Only(&[0, 2])),
            _ => Derivative::Jvp,
        }
    }

    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let (index, updates) = (rule.ins[1], rule.ins[2]);
        Some(match (self.combine, operand) {
            (Some(_), 0) => ct,
            (Some(_), _) => ct.take(index, self.axis),
            (None, 0) => ct.scatter(index, updates.full_like(0.0), self.axis, None),
            (None, _) => {
                let shape = updates.shape();
                let order = ct.builder().iota(DType::I64, [shape.numel()], 0).reshape(&shape);
                let unset = ct.builder().full(&ct.aval().with_dtype(DType::I64), -1.0);
                let winner = unset.scatter(index, order, self.axis, None).take(index, self.axis);
                winner.eq(order).select(ct.take(index, self.axis), updates.full_like(0.0))
            }
        })
    }

    // The mean of the tangents of all elements that attain the extreme.
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let (base, index, updates, y) = (rule.ins[0], rule.ins[1], rule.ins[2], rule.outs[0]);
        let hit_base = base.eq(y);
        let hit_updates = updates.eq(y.take(index, self.axis));
        let add = |a: Var<'g>, b: Var<'g>| a.scatter(index, b, self.axis, Some(Combine::Sum));
        let masked = |hit: Var<'g>, like: Var<'g>, t: Option<Var<'g>>| {
            let zero = like.full_like(0.0);
            t.map_or(zero, |t| hit.select(t, zero))
        };
        let count = add(hit_base.to(y.dtype()), hit_updates.to(y.dtype()));
        let total = add(masked(hit_base, base, tangents[0]), masked(hit_updates, updates, tangents[2]));
        vec![Some(total / count)]
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let (base, index, updates) = (batch.with_axis(0), batch.with_axis(1), batch.with_axis(2));
        let (axis, lead) = (self.axis, batch.inner(1).rank());
        let (shape, (merged, extent)) = (base.shape(), merge_batch(base, axis));
        // Updates [n, before…, index…, after…] to [n, index…, before…, after…].
        let order: Vec<usize> = [0]
            .into_iter()
            .chain(1 + axis..1 + axis + lead)
            .chain(1..1 + axis)
            .chain(1 + axis + lead..updates.rank())
            .collect();
        let written =
            merged.scatter(offset_by_batch(index, extent), updates.permute(&order), 0, self.combine);
        vec![split_batch(written, &shape, axis)]
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Scatter { axis: self.axis, combine: self.combine }
    }

    fn bound(&self) -> Bound {
        Bound::Terms(1.0)
    }
}

impl Sampled for Scatter {
    fn samples(s: &mut Samples) {
        for combine in [None, Some(Combine::Sum), Some(Combine::Max), Some(Combine::Min)] {
            for (shape, axis, index) in
                [(&[4, 2][..], 0, &[3][..]), (&[2, 3], 1, &[2, 2]), (&[3], 0, &[]), (&[3, 2], 0, &[0])]
            {
                let extents = Shape::from(shape);
                let ins = [
                    s.normal(shape),
                    s.ints((0, shape[axis] as i64), index),
                    s.normal(spliced(&extents, axis, &index.into())),
                ];
                s.case(Scatter { axis, combine }, ins);
            }
            let x = Aval::new(DType::F64, [3]);
            let i = Aval::new(DType::I64, [2]);
            s.error(Scatter { axis: 0, combine }, &[x.clone(), i, x], "updates f64[3] must be f64[2]");
        }
        let ties = [s.floats([2], &[1.0, 5.0]), s.ints((0, 1), [2]), s.floats([2], &[1.0, 1.0])];
        s.kink(Scatter { axis: 0, combine: Some(Combine::Max) }, ties);
    }
}

impl<'g> Var<'g> {
    /// Takes slices along an axis at the indices.
    pub fn take(self, index: Var<'g>, axis: usize) -> Var<'g> {
        self.builder().apply1(Take { axis }, &[self, index])
    }

    /// Combines slices of `updates` with the slices along an axis at the indices.
    pub fn scatter(self, index: Var<'g>, updates: Var<'g>, axis: usize, combine: Option<Combine>) -> Var<'g> {
        self.builder().apply1(Scatter { axis, combine }, &[self, index, updates])
    }

    /// Takes one element per index: `out[.., i, ..] = self[.., index[.., i, ..], ..]`. The index has the extents of
    /// the result and equal extents elsewhere.
    pub fn take_along(self, index: Var<'g>, axis: usize) -> Var<'g> {
        let flat = self.reshape([self.shape().numel()]);
        flat.take(index.flat_along(&self.shape(), axis), 0)
    }

    /// Converts indices along `axis` to row-major positions in a tensor of `shape`.
    pub fn flat_along(self, shape: &Shape, axis: usize) -> Var<'g> {
        // Computed in i64: a position might not fit a narrow index dtype.
        let index = self.to(DType::I64);
        let (b, strides, own) = (self.builder(), shape.strides(), self.shape());
        let along = |a: usize| if a == axis { index } else { b.iota(DType::I64, &own, a) };
        let terms = (0..own.rank()).map(|a| along(a) * strides[a] as f64);
        terms.reduce(|x, y| x + y).unwrap_or(index)
    }
}
