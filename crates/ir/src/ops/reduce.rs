//! Reductions over axes: sum, product, maximum, minimum, and the indices of extremes.
//! Takes one operand and axes; returns a value without these axes. Composites such as `mean` are in `gradus-tensor`.

use super::*;
use crate::{Class, DType, op_struct};

fn infer_reduction(
    ins: &[Aval],
    axes: &[usize],
    takes: impl Fn(DType) -> bool,
    fits: &str,
) -> Result<Vec<Aval>> {
    arity(ins, 1)?;
    check_axes(axes, ins[0].rank())?;
    if !takes(ins[0].dtype) {
        return Err(Error::dtype(ins[0].dtype, fits));
    }
    Ok(vec![ins[0].with_shape(ins[0].shape.without(axes))])
}

op_struct! {
    /// Sum over axes; 0 for an empty operand. Integers wrap.
    pub struct Sum = "sum" {
        /// The axes to reduce.
        axes: Vec<usize>,
    }
}

impl Primitive for Sum {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        infer_reduction(
            ins,
            &self.axes,
            |d| d != DType::Bool,
            "it takes numbers (cast to an integer to count)",
        )
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.spread(&self.axes, &rule.ins[0].shape()))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Sum { axes: shifted(&self.axes) })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Reduce { combine: Combine::Sum, axes: self.axes.clone() }
    }
    fn bound(&self) -> Bound {
        Bound::Terms(1.0)
    }
}

op_struct! {
    /// Product over axes; 1 for an empty operand. The derivative is exact where factors are zero.
    pub struct Prod = "prod" {
        /// The axes to reduce.
        axes: Vec<usize>,
    }
}

impl Primitive for Prod {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        infer_reduction(
            ins,
            &self.axes,
            |d| d != DType::Bool,
            "it takes numbers; `all` and `any` reduce booleans",
        )
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    // Each factor's cofactor is the product before it times the product after it. There is no division, so zeros are
    // exact. The axes are merged into one so that the factors have an order.
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let Some(t) = tangents[0] else { return vec![None] };
        let shape = rule.ins[0].shape();
        let reduced = crate::axis_mask(&self.axes, shape.rank());
        let kept: Vec<usize> = (0..shape.rank()).filter(|a| !reduced[*a]).collect();
        let order: Vec<usize> = kept.iter().chain(&self.axes).copied().collect();
        let count: usize = self.axes.iter().map(|&a| shape[a]).product();
        let merged: crate::Shape = kept.iter().map(|&a| shape[a]).chain([count]).collect();
        let last = kept.len();
        let (x, t) = (rule.ins[0].permute(&order).reshape(&merged), t.permute(&order).reshape(&merged));
        let (before, after) = (x.running_exclusive(last, false), x.running_exclusive(last, true));
        vec![Some((t * before * after).sum(&[last]))]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Prod { axes: shifted(&self.axes) })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Reduce { combine: Combine::Prod, axes: self.axes.clone() }
    }
    fn bound(&self) -> Bound {
        Bound::Terms(2.0)
    }
}

/// Returns the tangent of an extreme value: the mean of the tangents of the elements that attain it. `None`
/// over an empty axis: the value is then a constant of the dtype.
fn extreme_jvp<'g>(rule: &Rule<'_, 'g>, axes: &[usize], t: Option<Var<'g>>) -> Vec<Option<Var<'g>>> {
    let Some(t) = t else { return vec![None] };
    let x = rule.ins[0];
    if axes.iter().any(|&a| x.shape()[a] == 0) {
        return vec![None];
    }
    let hit = x.eq(rule.outs[0].spread(axes, &x.shape()));
    let count = hit.to(x.dtype()).sum(axes);
    vec![Some(hit.select(t, t.full_like(0.0)).sum(axes) / count)]
}

op_struct! {
    /// Maximum over axes; for an empty operand, the least value of the dtype. NaN counts as largest; ties share the
    /// derivative evenly. On booleans, true if any is true.
    pub struct Max = "max" {
        /// The axes to reduce.
        axes: Vec<usize>,
    }
}

impl Primitive for Max {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        infer_reduction(ins, &self.axes, |d| !d.is_complex(), "complex numbers have no order")
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        extreme_jvp(rule, &self.axes, tangents[0])
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Max { axes: shifted(&self.axes) })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Reduce { combine: Combine::Max, axes: self.axes.clone() }
    }
}

op_struct! {
    /// Minimum over axes; for an empty operand, the greatest value of the dtype. NaN counts as smallest; ties share
    /// the derivative evenly. On booleans, true if all are true.
    pub struct Min = "min" {
        /// The axes to reduce.
        axes: Vec<usize>,
    }
}

impl Primitive for Min {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        infer_reduction(ins, &self.axes, |d| !d.is_complex(), "complex numbers have no order")
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        extreme_jvp(rule, &self.axes, tangents[0])
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Min { axes: shifted(&self.axes) })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Reduce { combine: Combine::Min, axes: self.axes.clone() }
    }
}

fn infer_arg_reduction(ins: &[Aval], axis: usize) -> Result<Vec<Aval>> {
    arity(ins, 1)?;
    check_axes(&[axis], ins[0].rank())?;
    if ins[0].dtype.class() == Class::Complex {
        return Err(Error::dtype(ins[0].dtype, "complex numbers have no order"));
    }
    if ins[0].shape[axis] == 0 && ins[0].shape.without(&[axis]).numel() > 0 {
        return Err(Error::shape(format!("axis {axis}"), "has extent 0, so there is no element to select"));
    }
    Ok(vec![Aval::new(DType::I64, ins[0].shape.without(&[axis]))])
}

macro_rules! arg_reduce {
    ($($(#[doc = $doc:literal])* $name:ident $text:literal $largest:literal;)*) => {$(
        op_struct! {
            $(#[doc = $doc])*
            pub struct $name = $text {
                /// The axis to reduce.
                axis: usize,
            }
        }

        impl Primitive for $name {
            fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
                infer_arg_reduction(ins, self.axis)
            }
            fn derivative(&self) -> Derivative {
                Derivative::Zero
            }
            fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
                batch.apply($name { axis: self.axis + 1 })
            }
            fn form(&self, _ins: &[Aval]) -> Form {
                Form::ArgReduce { largest: $largest, axis: self.axis }
            }
        }

        impl Sampled for $name {
            fn samples(s: &mut Samples) {
                for (shape, axis) in [(&[2, 3][..], 1), (&[4, 2], 0), (&[0, 2], 1)] {
                    let x = s.distinct(shape);
                    s.case($name { axis }, [x]);
                    let x = s.ints((-3, 3), shape);
                    s.case($name { axis }, [x]);
                }
                s.error($name { axis: 0 }, &[Aval::new(DType::F64, [0])], "has extent 0, so there is no element");
                s.error($name { axis: 0 }, &[Aval::new(DType::C128, [2])], "complex numbers have no order");
            }
        }
    )*};
}

arg_reduce! {
    /// Index of the first largest element along an axis; the first NaN counts as largest.
    ArgMax "argmax" true;
    /// Index of the first smallest element along an axis; the first NaN counts as smallest.
    ArgMin "argmin" false;
}

fn samples_over_axes<T: Into<Op>>(s: &mut Samples, complex: bool, op: impl Fn(Vec<usize>) -> T) {
    let cases =
        [(&[2, 3][..], vec![0]), (&[2, 3], vec![1]), (&[2, 3, 2], vec![0, 2]), (&[3], vec![]), (&[], vec![])];
    for (shape, axes) in
        cases.into_iter().chain([(&[2, 2][..], vec![1, 0]), (&[1, 4], vec![0]), (&[0, 2], vec![1])])
    {
        let x = s.distinct(shape);
        s.case(op(axes.clone()), [x]);
        if complex {
            let z = s.complex((-2.0, 2.0), shape);
            s.case(op(axes.clone()), [z]);
        }
        let x = s.ints((-3, 4), shape);
        s.case(op(axes), [x]);
    }
    s.error(op(vec![2]), &[Aval::new(DType::F64, [2, 3])], "axis 2 is out of range or repeated for rank 2");
    s.error(
        op(vec![0, 0]),
        &[Aval::new(DType::F64, [2, 3])],
        "axis 0 is out of range or repeated for rank 2",
    );
}

impl Sampled for Sum {
    fn samples(s: &mut Samples) {
        samples_over_axes(s, true, |axes| Sum { axes });
        let empty = s.normal([0, 2]);
        s.case(Sum { axes: vec![0] }, [empty]);
        s.error(Sum { axes: vec![0] }, &[Aval::new(DType::Bool, [2])], "cast to an integer to count");
    }
}

impl Sampled for Prod {
    fn samples(s: &mut Samples) {
        samples_over_axes(s, true, |axes| Prod { axes });
        let zeros = s.floats([2, 3], &[0.0, 2.0, 3.0, 0.0, 0.0, 5.0]);
        s.case(Prod { axes: vec![1] }, [zeros]);
        let empty = s.normal([0, 2]);
        s.case(Prod { axes: vec![0] }, [empty]);
    }
}

impl Sampled for Max {
    fn samples(s: &mut Samples) {
        samples_over_axes(s, false, |axes| Max { axes });
        let ties = s.floats([2, 3], &[2.0, 2.0, 1.0, 5.0, 5.0, 5.0]);
        s.kink(Max { axes: vec![1] }, [ties]);
        let nan = s.floats([2, 2], &[1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        s.kink(Max { axes: vec![1] }, [nan]);
        let empty = s.normal([0, 2]);
        s.case(Max { axes: vec![0] }, [empty]);
        let bools = s.bools([2, 3]);
        s.case(Max { axes: vec![1] }, [bools]);
    }
}

impl Sampled for Min {
    fn samples(s: &mut Samples) {
        samples_over_axes(s, false, |axes| Min { axes });
        let ties = s.floats([2, 3], &[2.0, 2.0, 3.0, 5.0, 5.0, 5.0]);
        s.kink(Min { axes: vec![1] }, [ties]);
        let nan = s.floats([2, 2], &[1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        s.kink(Min { axes: vec![1] }, [nan]);
        let empty = s.normal([0, 2]);
        s.case(Min { axes: vec![0] }, [empty]);
        let bools = s.bools([2, 3]);
        s.case(Min { axes: vec![1] }, [bools]);
    }
}

impl<'g> Var<'g> {
    /// Sums over axes.
    pub fn sum(self, axes: &[usize]) -> Var<'g> {
        if axes.is_empty() { self } else { self.builder().apply1(Sum { axes: axes.to_vec() }, &[self]) }
    }
}
