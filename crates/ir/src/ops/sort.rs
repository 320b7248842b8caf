//! Sorting along an axis.

use super::*;
use crate::{DType, op_struct};

op_struct! {
    /// Sorts elements along an axis, and returns all or the first of them with their original indices. Stable; NaN
    /// counts as largest.
    pub struct Sort = "sort" {
        /// The axis.
        axis: usize,
        /// If true, the largest comes first.
        descending: bool,
        /// Number of leading elements to return along the axis; `None` for all.
        first: Option<usize>,
    }
}

impl Sort {
    /// Sorts all elements.
    pub fn all(axis: usize, descending: bool) -> Sort {
        Sort { axis, descending, first: None }
    }
}

impl Primitive for Sort {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        check_axes(&[self.axis], ins[0].rank())?;
        if ins[0].dtype.is_complex() {
            return Err(Error::dtype(ins[0].dtype, "complex numbers have no order"));
        }
        let mut shape = ins[0].shape.to_vec();
        if let Some(first) = self.first {
            if first > shape[self.axis] {
                let extent = shape[self.axis];
                return Err(Error::value(
                    format!("`first` = {first}"),
                    format!("must be at most {extent}, the extent of axis {}", self.axis),
                ));
            }
            shape[self.axis] = first;
        }
        let values = Aval::new(ins[0].dtype, shape);
        Ok(vec![values.clone(), values.with_dtype(DType::I64)])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        vec![tangents[0].map(|t| t.take_along(rule.outs[1], self.axis)), None]
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Sort { axis: self.axis + 1, ..self.clone() })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Sort { axis: self.axis, descending: self.descending, first: self.first }
    }
}

impl Sampled for Sort {
    fn samples(s: &mut Samples) {
        for (shape, axis, descending) in
            [(&[2, 4][..], 1, false), (&[3, 2], 0, true), (&[0], 0, false), (&[1], 0, true)]
        {
            let x = s.distinct(shape);
            s.case(Sort::all(axis, descending), [x]);
            let x = s.ints((0, 3), shape);
            s.case(Sort::all(axis, descending), [x]);
            for first in 0..shape[axis] {
                let x = s.distinct(shape);
                s.case(Sort { axis, descending, first: Some(first) }, [x]);
            }
        }
        let ties = s.floats([6], &[2.0, 1.0, 2.0, 1.0, f64::NAN, 0.0]);
        s.kink(Sort { axis: 0, descending: true, first: Some(4) }, [ties.clone()]);
        s.kink(Sort::all(0, true), [ties]);
        s.error(Sort::all(0, false), &[Aval::new(DType::C64, [2])], "complex numbers have no order");
        s.error(
            Sort { axis: 0, descending: false, first: Some(3) },
            &[Aval::new(DType::F32, [2])],
            "`first` = 3 must be at most 2, the extent of axis",
        );
    }
}
