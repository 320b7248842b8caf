//! Discrete Fourier transform along one axis.

use super::*;
use crate::stop;
use crate::{C, DType, op_struct};
use rustfft::algorithm::{BluesteinsAlgorithm, MixedRadix};
use rustfft::{Direction, FftDirection, FftPlanner, Length};

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
        let direction = if self.inverse { FftDirection::Inverse } else { FftDirection::Forward };
        let fft = plan(&mut FftPlanner::new(), n, direction);
        let mut line = vec![C::ZERO; n];
        for start in (0..data.len()).step_by(n * inner).flat_map(|o| (0..inner).map(move |i| o + i)) {
            stop::poll()?;
            line.iter_mut().enumerate().for_each(|(k, z)| *z = data[start + k * inner]);
            fft.process(&mut line);
            line.iter().enumerate().for_each(|(k, z)| data[start + k * inner] = *z);
        }
        Ok(vec![Literal::new(x.aval().clone(), data)?])
    }
}

/// Longest transform that runs without looking at whether it should stop: a few milliseconds.
const UNSTOPPABLE: usize = 1 << 14;

/// A transform of extent `n` that can be stopped: a long one is composed of shorter ones.
fn plan(planner: &mut FftPlanner<f64>, n: usize, direction: FftDirection) -> Arc<dyn rustfft::Fft<f64>> {
    if n <= UNSTOPPABLE {
        return Arc::new(Stoppable(planner.plan_fft(n, direction)));
    }
    let divisor = (2..=n.isqrt()).rev().find(|d| n.is_multiple_of(*d));
    match divisor {
        Some(d) => Arc::new(MixedRadix::new(plan(planner, d, direction), plan(planner, n / d, direction))),
        // A prime extent is a convolution of twice that extent.
        None => {
            let inner = plan(planner, (2 * n - 1).next_power_of_two(), direction);
            Arc::new(BluesteinsAlgorithm::new(n, inner))
        }
    }
}

/// A short transform that is left out once the results are no longer wanted.
struct Stoppable(Arc<dyn rustfft::Fft<f64>>);

impl Length for Stoppable {
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Direction for Stoppable {
    fn fft_direction(&self) -> FftDirection {
        self.0.fft_direction()
    }
}

impl rustfft::Fft<f64> for Stoppable {
    fn process_with_scratch(&self, buffer: &mut [C], scratch: &mut [C]) {
        for part in buffer.chunks_mut(self.together()).take_while(|_| !stop::wanted()) {
            self.0.process_with_scratch(part, scratch);
        }
    }
    fn process_outofplace_with_scratch(&self, input: &mut [C], output: &mut [C], scratch: &mut [C]) {
        let n = self.together();
        for (from, to) in input.chunks_mut(n).zip(output.chunks_mut(n)).take_while(|_| !stop::wanted()) {
            self.0.process_outofplace_with_scratch(from, to, scratch);
        }
    }
    fn process_immutable_with_scratch(&self, input: &[C], output: &mut [C], scratch: &mut [C]) {
        let n = self.together();
        for (from, to) in input.chunks(n).zip(output.chunks_mut(n)).take_while(|_| !stop::wanted()) {
            self.0.process_immutable_with_scratch(from, to, scratch);
        }
    }
    fn get_inplace_scratch_len(&self) -> usize {
        self.0.get_inplace_scratch_len()
    }
    fn get_outofplace_scratch_len(&self) -> usize {
        self.0.get_outofplace_scratch_len()
    }
    fn get_immutable_scratch_len(&self) -> usize {
        self.0.get_immutable_scratch_len()
    }
}

impl Stoppable {
    /// How many elements to transform between two looks: those of as many transforms as stay below the limit.
    fn together(&self) -> usize {
        self.len() * (UNSTOPPABLE / self.len().max(1)).max(1)
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
