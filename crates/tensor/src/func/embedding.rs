//! Embedding lookup, one-hot vectors, dropout.

use crate::eager::apply::apply1;
use crate::random::Generator;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::index::Take;
use gradus_ir::{Class, DType, Error, Result};

/// Selects rows of a table (`[rows, ...]`) by integers of any shape, whose axes come first in the result. No gradient
/// flows to the row `padding_idx`, which counts from the end if negative. Every id must be in `0..rows`; other ids,
/// including negative ones, are an error when the embedding is evaluated.
#[track_caller]
pub fn embedding(ids: &Tensor, table: &Tensor, padding_idx: Option<i64>) -> Tensor {
    let ins = [table, ids];
    let fits = || -> Result<Option<i64>> {
        if ids.dtype().class() != Class::Int {
            return Err(Error::dtype(ids.dtype(), "ids must be integers"));
        }
        let shape = table.shape();
        let Some(&rows) = shape.first() else {
            return Err(Error::shape("a scalar table", "has no rows"));
        };
        let Some(pad) = padding_idx else { return Ok(None) };
        let at = if pad < 0 { pad + rows as i64 } else { pad };
        if !(0..rows as i64).contains(&at) {
            let why = format!("is out of range for a table of {rows} rows");
            return Err(Error::value(format!("padding_idx {pad}"), why));
        }
        Ok(Some(at))
    };
    let padding = match fits() {
        Ok(padding) => padding,
        Err(e) => return Tensor::refuse("embedding", &ins, e),
    };
    let args = padding.map(|p| arg("padding_idx", p)).into_iter().collect();
    region1("embedding", args, &ins, |x| {
        let rows = apply1(Take { axis: 0 }, &[&x[0], &x[1]]);
        let Some(pad) = padding else { return rows };
        let extents: Vec<usize> = x[1].shape().iter().copied().chain(vec![1; x[0].rank() - 1]).collect();
        let padded = x[1].to_dtype(DType::I64).eq(pad).reshape(extents);
        padded.select(&rows.stop_gradient(), &rows)
    })
}

impl Tensor {
    /// Maps each integer to a vector along a new last axis that is 1 at that index and 0 elsewhere, of dtype `i64`.
    /// Integers must be in `0..classes`. This is checked only on the CPU and outside of traces; elsewhere, others give
    /// zeros.
    #[track_caller]
    pub fn one_hot(&self, classes: usize) -> Tensor {
        if self.error().is_some() {
            return self.clone();
        }
        let fits = || {
            if self.dtype().class() != Class::Int {
                return Err(Error::dtype(self.dtype(), "classes must be integers"));
            }
            if !self.is_traced() && !crate::trace::is_tracing() && self.device().is_cpu() {
                let ids = self.detach().to_dtype(DType::I64).to_vec::<i64>()?;
                if ids.iter().any(|i| !(0..classes as i64).contains(i)) {
                    let why = format!("is out of range; classes must be in 0..{classes}");
                    return Err(Error::value("a class", why));
                }
            }
            Ok(())
        };
        if let Err(e) = fits() {
            return Tensor::refuse("one_hot", &[self], e);
        }
        region1("one_hot", vec![arg("classes", classes)], &[self], |x| {
            let ids = x[0].to_dtype(DType::I64).unsqueeze(-1);
            let count = Tensor::iota(DType::I64, [classes], 0);
            ids.eq(&count).to_dtype(DType::I64)
        })
    }

    /// In training, sets elements to 0 with probability `p` and divides the others by `1 - p`, which keeps the
    /// expectation. The mask is drawn from the generator. If not training, or if `p` is 0, returns the tensor itself
    /// and draws nothing.
    #[track_caller]
    pub fn dropout(&self, p: f64, training: bool, generator: &Generator) -> Tensor {
        if self.error().is_some() {
            return self.clone();
        }
        if let Err(e) = check_dropout(p, self.dtype()) {
            return Tensor::refuse("dropout", &[self], e);
        }
        if !training || p == 0.0 {
            return self.clone();
        }
        let drawn = {
            let _back = self.device().enter();
            generator.rand(self.shape())
        };
        let kept = drawn.ge(p);
        region1("dropout", vec![arg("p", p)], &[self, &kept], |x| drop_out(&x[0], &x[1], p))
    }
}

/// Returns an error if `p` is not a probability or the dtype is not a float.
pub(super) fn check_dropout(p: f64, dtype: DType) -> Result<()> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::value(format!("p {p}"), "must be a probability, from 0 to 1"));
    }
    if !dtype.is_differentiable() {
        return Err(Error::dtype(dtype, "it takes floats; convert integers first"));
    }
    Ok(())
}

/// Scales the kept elements and zeroes the others.
pub(super) fn drop_out(x: &Tensor, kept: &Tensor, p: f64) -> Tensor {
    let scale = if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 };
    kept.select(&(x * scale), &x.zeros_like())
}

pub(super) fn samples(s: &mut super::Samples) {
    for (table, ids) in [(&[5, 3][..], &[2, 2][..]), (&[4, 2], &[]), (&[3, 2, 2], &[4]), (&[1, 1], &[0])] {
        let ins = [s.draw.normal(table), s.draw.ints((0, table[0] as i64), ids)];
        s.case("embedding", ins.clone(), |x| embedding(&x[1], &x[0], None));
        s.kink("embedding", ins, |x| embedding(&x[1], &x[0], Some(-1)));
    }
    for (shape, classes) in [(&[3][..], 4), (&[2, 2], 3), (&[], 1), (&[0], 2)] {
        let ids = s.draw.ints((0, classes as i64), shape);
        s.case("one_hot", [ids], move |x| x[0].one_hot(classes));
    }
    for (shape, p) in [(&[2, 3][..], 0.5), (&[4], 0.9), (&[], 0.2), (&[0, 2], 0.5), (&[3], 1.0)] {
        let ins = [s.draw.normal(shape), s.draw.ints_of(DType::U32, (0, 1 << 31), [4])];
        s.case("dropout", ins.clone(), move |x| {
            // Draws as `dropout` does, but with the generator state as an operand, so that every call has the
            // same mask.
            let [bits, _] = crate::eager::apply::apply_n(
                gradus_ir::ops::source::RandomBits { shape: x[0].shape() },
                &[&x[1]],
            );
            let kept = bits.shr(8).to_dtype(DType::F32).ge(p * (1u32 << 24) as f64);
            region1("dropout", vec![arg("p", p)], &[&x[0], &kept], |x| drop_out(&x[0], &x[1], p))
        });
        let [x, _] = ins;
        s.case("dropout", [x], move |x| x[0].dropout(p, false, crate::random::default_generator()));
    }
}
