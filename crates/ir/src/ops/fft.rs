//! Discrete Fourier transform along one axis.

use super::*;
use crate::{C, DType, op_struct};
use rustfft::FftPlanner;

op_struct! {
    /// `y[k] = Σ x[t] exp(∓2πi k t / n)` along an axis of extent `n`, the sign being that of the inverse if it is one; never
    /// divided by `n`. It takes complex numbers.
    pub struct Fft = "fft" {
        /// The axis.
        axis: usize,
        /// Whether the exponent is positive.
        inverse: bool,
    }
}

impl Primitive for Fft {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        check_axes(&[self.axis], ins[0].rank())?;
        if !ins[0].dtype.is_complex() {
            return Err(Error::dtype(ins[0].dtype, "it takes c64 c128"));
        }
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    /// The matrix of the transform is symmetric, and its conjugate is that of the inverse.
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.builder().apply1(Fft { inverse: !self.inverse, ..self.clone() }, &[ct]))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Fft { axis: self.axis + 1, ..self.clone() })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        let op = self.clone();
        Form::External(Arc::new(move |ins: &[Literal]| op.run(ins)))
    }
    fn bound(&self) -> Bound {
        Bound::Largest(64.0)
    }
}

impl Fft {
    fn run(&self, ins: &[Literal]) -> Result<Vec<Literal>> {
        let [x] = ins else { return Err(Error::verify("one operand")) };
        let n = x.shape()[self.axis];
        let inner: usize = x.shape()[self.axis + 1..].iter().product();
        let mut data = x.c().to_vec();
        if data.is_empty() {
            return Ok(vec![x.clone()]);
        }
        let mut planner = FftPlanner::<f64>::new();
        let fft = if self.inverse { planner.plan_fft_inverse(n) } else { planner.plan_fft_forward(n) };
        let mut line = vec![C::ZERO; n];
        for start in (0..data.len()).step_by(n * inner).flat_map(|o| (0..inner).map(move |i| o + i)) {
            line.iter_mut().enumerate().for_each(|(k, z)| *z = data[start + k * inner]);
            fft.process(&mut line);
            line.iter().enumerate().for_each(|(k, z)| data[start + k * inner] = *z);
        }
        Ok(vec![Literal::new(x.aval().clone(), data)?])
    }
}

impl Sampled for Fft {
    fn samples(s: &mut Samples) {
        for (shape, axis, inverse) in [
            (&[8][..], 0, false),
            (&[2, 5], 1, true),
            (&[3, 2, 2], 0, false),
            (&[1], 0, true),
            (&[0, 2], 0, false),
            (&[7], 0, true),
        ] {
            let z = s.complex((-1.0, 1.0), shape);
            s.case(Fft { axis, inverse }, [z]);
        }
        let op = Fft { axis: 0, inverse: false };
        s.error(op.clone(), &[Aval::new(DType::F64, [2])], "it takes c64 c128");
        s.error(op, &[Aval::new(DType::C64, [])], "axis 0 of a scalar");
    }
}
