//! Running combinations along an axis: sum, product, maximum, minimum, log-sum-exp.
//! Takes one operand; returns a value of the same type. Its values are computed in `reference/combine.rs`.

use super::*;
use crate::attr::AttrField;
use crate::{DType, Shape, op_struct};

op_struct! {
    /// Running combination along an axis: `sum`, `prod`, `max`, `min` or `logsumexp`. Element `i` of the result includes
    /// element `i` of the operand. If running maxima (or minima) are equal, the latest one gets the derivative; NaN counts
    /// as the extreme. The derivative of a running log-sum-exp is 0 while it is minus infinity.
    pub struct Cumulate = "cumulate" {
        /// The function that combines elements.
        combine: Combine,
        /// The axis.
        axis: usize,
        /// If true, starts at the end of the axis.
        reverse: bool,
    }
}

/// In text, the name of the variant.
impl AttrField for Combine {
    fn to_attr(&self) -> Attr {
        Attr::Str(self.name().into())
    }
    fn from_attr(a: &Attr) -> Option<Combine> {
        Combine::ALL.into_iter().find(|c| matches!(a, Attr::Str(s) if s == c.name()))
    }
}

impl Combine {
    /// All ways to combine.
    pub const ALL: [Combine; 5] =
        [Combine::Sum, Combine::Prod, Combine::Max, Combine::Min, Combine::LogSumExp];

    /// Returns the name in text.
    pub fn name(self) -> &'static str {
        match self {
            Combine::Sum => "sum",
            Combine::Prod => "prod",
            Combine::Max => "max",
            Combine::Min => "min",
            Combine::LogSumExp => "logsumexp",
        }
    }

    /// Returns true if elements of this dtype can be combined this way.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            Combine::Sum | Combine::Prod => dtype != DType::Bool,
            Combine::Max | Combine::Min => !dtype.is_complex(),
            Combine::LogSumExp => dtype.is_differentiable() && !dtype.is_complex(),
        }
    }
}

impl Primitive for Cumulate {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        check_axes(&[self.axis], ins[0].rank())?;
        if !self.combine.takes(ins[0].dtype) {
            return Err(Error::dtype(
                ins[0].dtype,
                format!("a running {} is not defined on it", self.combine.name()),
            ));
        }
        Ok(ins.to_vec())
    }

    fn derivative(&self) -> Derivative {
        if self.combine == Combine::Sum { Derivative::Linear(Operands::All) } else { Derivative::Jvp }
    }

    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.builder().apply1(Cumulate { reverse: !self.reverse, ..self.clone() }, &[ct]))
    }

    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let Some(t) = tangents[0] else { return vec![None] };
        let (x, y) = (rule.ins[0], rule.outs[0]);
        vec![Some(match self.combine {
            Combine::Max | Combine::Min => self.extreme_tangent(x, y, t),
            _ => self.weighted_tangent(x, y, t),
        })]
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Cumulate { axis: self.axis + 1, ..self.clone() })
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Cumulate { combine: self.combine, axis: self.axis, reverse: self.reverse }
    }

    fn bound(&self) -> Bound {
        Bound::Terms(2.0)
    }
}

impl Cumulate {
    /// Takes the tangents from the index where each running extreme was last attained.
    fn extreme_tangent<'g>(&self, x: Var<'g>, y: Var<'g>, t: Var<'g>) -> Var<'g> {
        let index = x.builder().iota(DType::I64, x.shape(), self.axis);
        let none = index.full_like(if self.reverse { i64::MAX as f64 } else { -1.0 });
        let combine = if self.reverse { Combine::Min } else { Combine::Max };
        // NaN is unequal to itself, but from its index on it is the extreme.
        let attained = x.eq(y).maximum(x.ne(x));
        let seen = attained.select(index, none);
        let last = x.builder().apply1(Cumulate { combine, ..self.clone() }, &[seen]);
        t.take_along(last, self.axis)
    }

    /// Computes `t_i = Σ_j w_ij t_j` with each weight computed separately, so that zeros (products) and large ranges
    /// (log-sum-exp) are exact. This takes n² weights along the axis.
    fn weighted_tangent<'g>(&self, x: Var<'g>, y: Var<'g>, t: Var<'g>) -> Var<'g> {
        let (b, shape, axis) = (x.builder(), x.shape(), self.axis);
        let n = shape[axis];
        // Axis `axis` is j (the source), axis `axis + 1` is i (the result).
        let wide: Shape = shape[..=axis].iter().chain([&n]).chain(&shape[axis + 1..]).copied().collect();
        let along_j = |v: Var<'g>| v.spread(&[axis + 1], &wide);
        let along_i = |v: Var<'g>| v.spread(&[axis], &wide);
        let (j, i) = (b.iota(DType::I64, &wide, axis), b.iota(DType::I64, &wide, axis + 1));
        let (reaches, beyond) = if self.reverse { (i.le(j), i.lt(j)) } else { (i.ge(j), i.gt(j)) };
        let one = b.full(&x.aval().with_shape(&wide), 1.0);
        let weight = if self.combine == Combine::Prod {
            // The product up to i without j: all factors before j, times those between j and i.
            let before = x.running_exclusive(axis, self.reverse);
            let between = beyond.select(along_i(x), one);
            along_j(before) * b.apply1(Cumulate { axis: axis + 1, ..self.clone() }, &[between])
        } else {
            // Mask before the exponential, so that elements that do not contribute to i cannot overflow. Where y is
            // minus infinity, every earlier x is too, and x - y would be NaN.
            let lowest = y.full_like(f64::NEG_INFINITY);
            let finite = y.eq(lowest).select(y.full_like(0.0), y);
            reaches.select(along_j(x) - along_i(finite), one.full_like(f64::NEG_INFINITY)).exp()
        };
        reaches.select(weight * along_j(t), one.full_like(0.0)).sum(&[axis])
    }
}

impl Sampled for Cumulate {
    fn samples(s: &mut Samples) {
        for combine in Combine::ALL {
            for (shape, axis, reverse) in
                [(&[2, 4][..], 1, false), (&[3, 2], 0, true), (&[0, 2], 0, false), (&[1], 0, true)]
            {
                let x = s.distinct(shape);
                s.case(Cumulate { combine, axis, reverse }, [x]);
            }
            if combine.takes(DType::I64) {
                let x = s.ints((-3, 4), [2, 4]);
                s.case(Cumulate { combine, axis: 1, reverse: false }, [x]);
            }
            let op = Cumulate { combine, axis: 1, reverse: false };
            s.error(op, &[Aval::new(DType::F64, [3])], "axis 1 is out of range");
        }
        let zeros = s.floats([5], &[2.0, 0.0, 3.0, 0.0, 4.0]);
        s.case(Cumulate { combine: Combine::Prod, axis: 0, reverse: false }, [zeros]);
        let ties = s.floats([5], &[1.0, 3.0, 3.0, 2.0, 3.0]);
        s.kink(Cumulate { combine: Combine::Max, axis: 0, reverse: false }, [ties]);
        let nan = s.floats([2, 3], &[f64::NAN, 3.0, 1.0, 1.0, f64::NAN, 2.0]);
        for (combine, reverse) in [(Combine::Max, false), (Combine::Min, true)] {
            s.kink(Cumulate { combine, axis: 1, reverse }, [nan.clone()]);
        }
        let none = s.floats([5], &[f64::NEG_INFINITY, f64::NEG_INFINITY, 0.5, f64::NEG_INFINITY, 1.0]);
        s.kink(Cumulate { combine: Combine::LogSumExp, axis: 0, reverse: false }, [none]);
        let z = s.complex((-1.0, 1.0), [3]);
        s.case(Cumulate { combine: Combine::Prod, axis: 0, reverse: false }, [z]);
        let op = Cumulate { combine: Combine::Max, axis: 0, reverse: false };
        s.error(op, &[Aval::new(DType::C128, [3])], "a running max is not defined on it");
    }
}

impl<'g> Var<'g> {
    /// Returns, for each element, the product of all elements before it along an axis (after it, in reverse).
    pub fn running_exclusive(self, axis: usize, reverse: bool) -> Var<'g> {
        let n = self.shape()[axis];
        if n == 0 {
            return self;
        }
        let running = self.builder().apply1(Cumulate { combine: Combine::Prod, axis, reverse }, &[self]);
        let one = self.slice_axis(axis, 0, 1).full_like(1.0);
        let parts = if reverse {
            [running.slice_axis(axis, 1, n), one]
        } else {
            [one, running.slice_axis(axis, 0, n - 1)]
        };
        self.builder().apply1(movement::Concat { axis }, &parts)
    }
}
