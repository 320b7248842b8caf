//! Ops that move elements without computing: reshape, permute, broadcast, slice, flip, pad, concat.
//!
//! Permute, broadcast, slice and flip are views: a tensor applies them without a copy. Reshape is one if strides can
//! express it.

use super::*;
use crate::{DType, Shape, message, op_struct};

op_struct! {
    /// The same elements in row-major order with other extents.
    pub struct Reshape = "reshape" {
        /// The new extents.
        shape: Shape,
    }
}

impl Primitive for Reshape {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        if self.shape.checked_numel() != ins[0].shape.checked_numel() {
            let what = format!("{} elements of {}", ins[0].shape.numel(), ins[0].shape);
            return Err(Error::shape(what, format!("do not fill {}", self.shape)));
        }
        Ok(vec![ins[0].with_shape(&self.shape)])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.reshape(rule.ins[0].shape()))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Reshape { shape: prepend(batch.size, &self.shape).into() })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Reshape
    }
}

impl Sampled for Reshape {
    fn samples(s: &mut Samples) {
        for (from, to) in [(&[2, 3][..], &[3, 2][..]), (&[6], &[1, 2, 3]), (&[1], &[]), (&[0, 2], &[4, 0])] {
            let x = s.normal(from);
            s.case(Reshape { shape: to.into() }, [x]);
        }
        s.error(
            Reshape { shape: [4].into() },
            &[Aval::new(DType::F64, [2, 3])],
            "6 elements of [2,3] do not fill [4]",
        );
    }
}

op_struct! {
    /// Axes in another order: result axis `j` is operand axis `axes[j]`.
    pub struct Permute = "permute" {
        /// The operand's axes in the result's order.
        axes: Vec<usize>,
    }
}

impl Primitive for Permute {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        check_axes(&self.axes, ins[0].rank())?;
        if self.axes.len() != ins[0].rank() {
            let why = format!("must name each of the {} axes once", ins[0].rank());
            return Err(Error::shape(format!("the order {:?}", self.axes), why));
        }
        Ok(vec![ins[0].with_shape(self.axes.iter().map(|&a| ins[0].shape[a]).collect::<Shape>())])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let mut inverse = vec![0; self.axes.len()];
        self.axes.iter().enumerate().for_each(|(j, &a)| inverse[a] = j);
        Some(ct.permute(&inverse))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Permute { axes: prepend(0, &shifted(&self.axes)) })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        let steps = self.axes.iter().map(|&a| Some((a, 1))).collect();
        Form::View(IndexMap { offset: vec![0; self.axes.len()], steps })
    }
}

impl Sampled for Permute {
    fn samples(s: &mut Samples) {
        for (shape, axes) in
            [(&[2, 3, 4][..], &[2, 0, 1][..]), (&[2, 3], &[1, 0]), (&[], &[]), (&[0, 2], &[1, 0])]
        {
            let x = s.normal(shape);
            s.case(Permute { axes: axes.to_vec() }, [x]);
        }
        let x = Aval::new(DType::F64, [2, 3]);
        s.error(Permute { axes: vec![0, 0] }, std::slice::from_ref(&x), "axis 0 is out of range or repeated");
        s.error(Permute { axes: vec![0] }, &[x], "must name each of the 2 axes once");
    }
}

op_struct! {
    /// Repeats along new leading axes and along axes of extent 1, as NumPy broadcasts.
    pub struct Broadcast = "broadcast" {
        /// The new extents.
        shape: Shape,
    }
}

impl Primitive for Broadcast {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        if ins[0].shape.broadcast(&self.shape).as_ref() != Some(&self.shape) {
            let why = format!(
                "do not broadcast to {}: aligned at the last axis, each must be 1 or equal",
                self.shape
            );
            return Err(Error::shape(format!("extents {}", ins[0].shape), why));
        }
        Ok(vec![ins[0].with_shape(&self.shape)])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.sum_to(&rule.ins[0].shape()))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        // The operand's own axes stay aligned at the end.
        let (x, inner) = (batch.with_axis(0), batch.inner(0).shape);
        let ones = vec![1; self.shape.rank() - inner.rank()];
        let x = x.reshape([&[batch.size][..], &ones, &inner].concat());
        vec![x.broadcast_to(&prepend(batch.size, &self.shape).into())]
    }
    fn form(&self, ins: &[Aval]) -> Form {
        let lead = self.shape.rank() - ins[0].rank();
        let step =
            |j: usize| j.checked_sub(lead).filter(|&a| ins[0].shape[a] == self.shape[j]).map(|a| (a, 1));
        Form::View(IndexMap {
            offset: vec![0; ins[0].rank()],
            steps: (0..self.shape.rank()).map(step).collect(),
        })
    }
}

impl Sampled for Broadcast {
    fn samples(s: &mut Samples) {
        for (from, to) in [
            (&[3][..], &[2, 3][..]),
            (&[2, 1], &[2, 3]),
            (&[], &[2]),
            (&[1], &[0]),
            (&[2, 1, 3], &[4, 2, 5, 3]),
        ] {
            let x = s.normal(from);
            s.case(Broadcast { shape: to.into() }, [x]);
        }
        s.error(
            Broadcast { shape: [2, 3].into() },
            &[Aval::new(DType::F64, [2])],
            "do not broadcast to [2,3]",
        );
    }
}

op_struct! {
    /// Every `step`-th index from `start` up to but excluding `stop`, per axis.
    pub struct Slice = "slice" {
        /// First index, per axis.
        start: Vec<usize>,
        /// Index after the last, per axis.
        stop: Vec<usize>,
        /// Step, at least 1, per axis.
        step: Vec<usize>,
    }
}

impl Primitive for Slice {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let shape = &ins[0].shape;
        if [&self.start, &self.stop, &self.step].iter().any(|v| v.len() != shape.rank()) {
            return Err(Error::shape(
                "the slice",
                format!("must give start, stop and step for {} axes", shape.rank()),
            ));
        }
        let extent = |a: usize| {
            let (start, stop, step) = (self.start[a], self.stop[a], self.step[a]);
            if start > stop || stop > shape[a] || step == 0 {
                let why =
                    format!("does not fit extent {}: 0 <= start <= stop <= extent, step >= 1", shape[a]);
                return Err(Error::shape(format!("{start}..{stop} by {step} on axis {a}"), why));
            }
            Ok((stop - start).div_ceil(step))
        };
        let shape = (0..shape.rank()).map(extent).collect::<Result<Shape>>()?;
        Ok(vec![ins[0].with_shape(shape)])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let (to, from) = (rule.ins[0].shape(), ct.shape());
        let low: Vec<i64> = self.start.iter().map(|&x| x as i64).collect();
        // A step beyond the extent takes one element, as the extent itself would, which cannot overflow.
        let step = |a: usize| self.step[a].min(to[a].max(1));
        let reach = |a: usize| if from[a] == 0 { 0 } else { (from[a] - 1) * step(a) + 1 };
        let high = (0..low.len()).map(|a| to[a] as i64 - low[a] - reach(a) as i64).collect();
        Some(ct.pad(low, high, (0..from.rank()).map(|a| step(a) - 1).collect()))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let (start, stop) = (prepend(0, &self.start), prepend(batch.size, &self.stop));
        batch.apply(Slice { start, stop, step: prepend(1, &self.step) })
    }
    fn form(&self, ins: &[Aval]) -> Form {
        let step = |(a, &s): (usize, &usize)| Some((a, s.min(ins[0].shape[a].max(1)) as i64));
        let steps = self.step.iter().enumerate().map(step).collect();
        Form::View(IndexMap { offset: self.start.iter().map(|&x| x as i64).collect(), steps })
    }
}

impl Sampled for Slice {
    fn samples(s: &mut Samples) {
        let x = s.normal([5, 4]);
        s.case(Slice { start: vec![1, 0], stop: vec![5, 3], step: vec![2, 1] }, [x.clone()]);
        s.case(Slice { start: vec![0, 1], stop: vec![4, 4], step: vec![3, 2] }, [x.clone()]);
        s.case(Slice { start: vec![2, 0], stop: vec![2, 4], step: vec![1, 1] }, [x]);
        let x = Aval::new(DType::F64, [3]);
        s.error(
            Slice { start: vec![1], stop: vec![4], step: vec![1] },
            &[x],
            "1..4 by 1 on axis 0 does not fit extent 3",
        );
    }
}

op_struct! {
    /// Reverses the elements along the given axes.
    pub struct Flip = "flip" {
        /// The axes.
        axes: Vec<usize>,
    }
}

impl Primitive for Flip {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        check_axes(&self.axes, ins[0].rank())?;
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.flip(&self.axes))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Flip { axes: shifted(&self.axes) })
    }
    fn form(&self, ins: &[Aval]) -> Form {
        let flipped = |a: usize| self.axes.contains(&a) && ins[0].shape[a] > 0;
        let offset = |a: usize| if flipped(a) { ins[0].shape[a] as i64 - 1 } else { 0 };
        let steps = (0..ins[0].rank()).map(|a| Some((a, if flipped(a) { -1 } else { 1 }))).collect();
        Form::View(IndexMap { offset: (0..ins[0].rank()).map(offset).collect(), steps })
    }
}

impl Sampled for Flip {
    fn samples(s: &mut Samples) {
        for (shape, axes) in
            [(&[2, 3][..], vec![0]), (&[2, 3, 2], vec![0, 2]), (&[0, 2], vec![0]), (&[], vec![])]
        {
            let x = s.normal(shape);
            s.case(Flip { axes }, [x]);
        }
        s.error(Flip { axes: vec![2] }, &[Aval::new(DType::F64, [2, 3])], "axis 2 is out of range");
    }
}

op_struct! {
    /// Pads the operand with zeros before, after and between its elements; negative padding crops.
    pub struct Pad = "pad" {
        /// Zeros before, per axis.
        low: Vec<i64>,
        /// Zeros after, per axis.
        high: Vec<i64>,
        /// Zeros between neighbours, per axis.
        interior: Vec<usize>,
    }
}

impl Primitive for Pad {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let shape = &ins[0].shape;
        if self.low.len() != shape.rank()
            || self.high.len() != shape.rank()
            || self.interior.len() != shape.rank()
        {
            return Err(Error::shape(
                "the padding",
                format!("must have one entry for each of {} axes", shape.rank()),
            ));
        }
        let extent = |a: usize| {
            let inner = shape[a]
                .saturating_sub(1)
                .checked_mul(self.interior[a])
                .and_then(|n| n.checked_add(shape[a]));
            // Rejects padding of 2⁶¹ and more: smaller padding added to an index cannot overflow.
            let small = self.low[a].unsigned_abs().max(self.high[a].unsigned_abs()) < 1 << 61;
            let total = inner
                .filter(|_| small)
                .and_then(|n| i64::try_from(n).ok())
                .and_then(|n| n.checked_add(self.low[a])?.checked_add(self.high[a]));
            total.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
                let what = format!("padding {} and {} of axis {a}", self.low[a], self.high[a]);
                Error::shape(what, format!("leaves no valid extent of {}", shape[a]))
            })
        };
        let shape = (0..shape.rank()).map(extent).collect::<Result<Shape>>()?;
        Ok(vec![ins[0].with_shape(shape)])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    // Undo each part: crop the padding, restore cropped elements as zeros, then take every (interior+1)-th.
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let negate = |v: &[i64]| v.iter().map(|x| -x).collect::<Vec<_>>();
        let uncropped = ct.pad(negate(&self.low), negate(&self.high), vec![0; self.low.len()]);
        let (shape, to) = (uncropped.shape(), rule.ins[0].shape());
        let stop = (0..to.rank()).map(|a| if to[a] == 0 { 0 } else { shape[a] }).collect();
        let step = self.interior.iter().map(|&i| i + 1).collect();
        Some(ct.builder().apply1(Slice { start: vec![0; to.rank()], stop, step }, &[uncropped]))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let (low, high, interior) =
            (prepend(0, &self.low), prepend(0, &self.high), prepend(0, &self.interior));
        batch.apply(Pad { low, high, interior })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pad { low: self.low.clone(), interior: self.interior.clone() }
    }
}

impl Sampled for Pad {
    fn samples(s: &mut Samples) {
        let x = s.normal([2, 3]);
        s.case(Pad { low: vec![1, 0], high: vec![0, 2], interior: vec![0, 1] }, [x.clone()]);
        s.case(Pad { low: vec![-1, 2], high: vec![1, -1], interior: vec![2, 0] }, [x]);
        let empty = s.normal([0]);
        s.case(Pad { low: vec![1], high: vec![2], interior: vec![1] }, [empty]);
        let bools = s.bools([3]);
        s.case(Pad { low: vec![1], high: vec![1], interior: vec![0] }, [bools]);
        let x = Aval::new(DType::F64, [3]);
        s.error(Pad { low: vec![-4], high: vec![0], interior: vec![0] }, &[x], "leaves no valid extent of 3");
    }
}

op_struct! {
    /// Concatenates operands along an axis.
    pub struct Concat = "concat" {
        /// The axis.
        axis: usize,
    }
}

impl Primitive for Concat {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        let Some(first) = ins.first() else {
            return Err(Error::value("concat", "needs at least one operand"));
        };
        check_axes(&[self.axis], first.rank())?;
        let mut extent = 0usize;
        for a in ins {
            if a.dtype != first.dtype {
                return Err(Error::dtype(a.dtype, message!("the first operand is ", first.dtype)));
            }
            if a.rank() != first.rank() || a.shape.with(self.axis, 0) != first.shape.with(self.axis, 0) {
                let why = format!("differ on an axis other than {}", self.axis);
                return Err(Error::shape(format!("extents {} and {}", first.shape, a.shape), why));
            }
            extent = extent.saturating_add(a.shape[self.axis]);
        }
        Ok(vec![first.with_shape(first.shape.with(self.axis, extent))])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let extent = |v: &Var<'g>| v.shape()[self.axis];
        let start: usize = rule.ins[..operand].iter().map(extent).sum();
        Some(ct.slice_axis(self.axis, start, start + extent(&rule.ins[operand])))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Concat { axis: self.axis + 1 })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Concat { axis: self.axis }
    }
}

impl Sampled for Concat {
    fn samples(s: &mut Samples) {
        let ins = [s.normal([2, 3]), s.normal([2, 1]), s.normal([2, 0])];
        s.case(Concat { axis: 1 }, ins);
        let ins = [s.normal([3]), s.normal([2])];
        s.case(Concat { axis: 0 }, ins);
        let (x, y) = (Aval::new(DType::F64, [2, 3]), Aval::new(DType::F64, [3, 3]));
        s.error(Concat { axis: 1 }, &[x, y], "extents [2,3] and [3,3] differ on an axis other than 1");
        s.error(Concat { axis: 0 }, &[], "needs at least one operand");
    }
}

impl<'g> Var<'g> {
    /// Returns the same elements with other extents.
    pub fn reshape(self, shape: impl Into<Shape>) -> Var<'g> {
        let shape = shape.into();
        if self.shape() == shape { self } else { self.builder().apply1(Reshape { shape }, &[self]) }
    }
    /// Permutes the axes.
    pub fn permute(self, axes: &[usize]) -> Var<'g> {
        let same = axes.len() == self.rank() && axes.iter().enumerate().all(|(i, &a)| i == a);
        if same { self } else { self.builder().apply1(Permute { axes: axes.to_vec() }, &[self]) }
    }
    /// Broadcasts to other extents.
    pub fn broadcast_to(self, shape: &Shape) -> Var<'g> {
        if self.shape() == *shape {
            self
        } else {
            self.builder().apply1(Broadcast { shape: shape.clone() }, &[self])
        }
    }
    /// Sums over the axes along which a value of `shape` would have been broadcast to this shape.
    pub fn sum_to(self, shape: &Shape) -> Var<'g> {
        let from = self.shape();
        let lead = from.rank().saturating_sub(shape.rank());
        let axes: Vec<usize> = (0..from.rank()).filter(|&a| a < lead || shape[a - lead] != from[a]).collect();
        self.sum(&axes).reshape(shape)
    }
    /// Restores the axes that a reduction over `axes` of `like` removed, and broadcasts along them.
    pub fn spread(self, axes: &[usize], like: &Shape) -> Var<'g> {
        let removed = crate::axis_mask(axes, like.rank());
        let kept: Shape = like.iter().zip(removed).map(|(&d, removed)| if removed { 1 } else { d }).collect();
        self.reshape(kept).broadcast_to(like)
    }
    /// Takes a range of one axis.
    pub fn slice_axis(self, axis: usize, start: usize, stop: usize) -> Var<'g> {
        let shape = self.shape();
        let mut op =
            Slice { start: vec![0; shape.rank()], stop: shape.to_vec(), step: vec![1; shape.rank()] };
        (op.start[axis], op.stop[axis]) = (start, stop);
        if start == 0 && stop == shape[axis] { self } else { self.builder().apply1(op, &[self]) }
    }
    /// Reverses axes.
    pub fn flip(self, axes: &[usize]) -> Var<'g> {
        self.builder().apply1(Flip { axes: axes.to_vec() }, &[self])
    }
    /// Pads with zeros.
    pub fn pad(self, low: Vec<i64>, high: Vec<i64>, interior: Vec<usize>) -> Var<'g> {
        let none = low.iter().chain(&high).all(|&x| x == 0) && interior.iter().all(|&x| x == 0);
        if none { self } else { self.builder().apply1(Pad { low, high, interior }, &[self]) }
    }
}
