//! Discrete Fourier transform along one axis.
//! Takes complex numbers; returns their transform, not normalised. Real transforms and normalisation are composites in
//! `gradus-tensor`.

use super::*;
use crate::stop;
use crate::{C, DType, message, op_struct};
use rustfft::{FftDirection, FftPlanner};

op_struct! {
    /// `y[k] = Σ x[t] exp(∓2πi k t / n)` along an axis of extent `n`: negative sign forward, positive sign for the
    /// inverse. The result is not divided by `n`. Operands are complex.
    pub struct Fft = "fft" {
        /// The axis.
        axis: usize,
        /// If true, the exponent is positive.
        inverse: bool,
    }
}

impl Primitive for Fft {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        check_axes(&[self.axis], ins[0].rank())?;
        if !ins[0].dtype.is_complex() {
            return Err(Error::dtype(ins[0].dtype, message!("it takes ", &[DType::C64, DType::C128][..])));
        }
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    /// The matrix of the transform is symmetric, and its conjugate is the matrix of the inverse.
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.builder().apply1(Fft { inverse: !self.inverse, ..self.clone() }, &[ct]))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(Fft { axis: self.axis + 1, ..self.clone() })
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Fourier(self.clone())
    }
    fn bound(&self) -> Bound {
        Bound::Largest(64.0)
    }
}

impl Fft {
    pub(crate) fn run(&self, ins: &[Literal]) -> Result<Vec<Literal>> {
        let [x] = ins else { return Err(Error::verify("a transform takes one operand")) };
        let n = x.shape()[self.axis];
        let inner: usize = x.shape()[self.axis + 1..].iter().product();
        let mut data = stop::copied(x.c())?;
        if data.is_empty() {
            return Ok(vec![x.clone()]);
        }
        let direction = if self.inverse { FftDirection::Inverse } else { FftDirection::Forward };
        let fft = Algorithm::new(&mut FftPlanner::new(), n, direction)?;
        if inner == 1 {
            fft.run(&mut data)?;
            return Ok(vec![Literal::new(x.aval().clone(), data)?]);
        }
        let mut line = stop::filled(n, C::ZERO)?;
        for start in (0..data.len()).step_by(n * inner).flat_map(|o| (0..inner).map(move |i| o + i)) {
            stop::poll()?;
            line.iter_mut().enumerate().for_each(|(k, z)| *z = data[start + k * inner]);
            fft.run(&mut line)?;
            line.iter().enumerate().for_each(|(k, z)| data[start + k * inner] = *z);
        }
        Ok(vec![Literal::new(x.aval().clone(), data)?])
    }
}

/// Longest transform that runs without polling for a stop request: a few milliseconds.
const UNSTOPPABLE: usize = 1 << 14;

/// Elements that a simple loop processes between two polls.
const POLL_INTERVAL: usize = 1 << 16;

/// The algorithm for a transform of some extent. Long transforms are composed of short ones, so that they can be
/// stopped in between.
enum Algorithm {
    Short(Arc<dyn rustfft::Fft<f64>>),
    /// A composite extent `rows · columns`.
    Split {
        rows: Box<Algorithm>,
        columns: Box<Algorithm>,
        roots: Roots,
    },
    /// A large prime extent, as a convolution with a chirp (Bluestein), by transforms of a power of two.
    Chirp {
        chirp: Vec<C>,
        kernel: Vec<C>,
        forward: Box<Algorithm>,
        inverse: Box<Algorithm>,
    },
}

/// The powers `0..n` of the `n`-th root of unity, each the product of entries of two tables of about `sqrt(n)` entries.
struct Roots {
    fine: Vec<C>,
    coarse: Vec<C>,
}

impl Roots {
    fn new(n: usize, direction: FftDirection) -> Roots {
        let step = n.isqrt() + 1;
        let sign = if direction == FftDirection::Forward { -1.0 } else { 1.0 };
        let root = |k: usize| C::from_polar(1.0, sign * std::f64::consts::TAU * k as f64 / n as f64);
        Roots {
            fine: (0..step).map(root).collect(),
            coarse: (0..n.div_ceil(step)).map(|k| root(k * step)).collect(),
        }
    }

    fn at(&self, k: usize) -> C {
        self.coarse[k / self.fine.len()] * self.fine[k % self.fine.len()]
    }
}

impl Algorithm {
    fn new(planner: &mut FftPlanner<f64>, n: usize, direction: FftDirection) -> Result<Algorithm> {
        if n <= UNSTOPPABLE {
            return Ok(Algorithm::Short(planner.plan_fft(n, direction)));
        }
        if let Some(rows) = (2..=n.isqrt()).rev().find(|d| n.is_multiple_of(*d)) {
            let columns = Box::new(Algorithm::new(planner, n / rows, direction)?);
            let rows = Box::new(Algorithm::new(planner, rows, direction)?);
            return Ok(Algorithm::Split { rows, columns, roots: Roots::new(n, direction) });
        }
        // exp(∓πi k²/n) depends on k² modulo 2n.
        let roots = Roots::new(2 * n, direction);
        let long = (2 * n - 1).next_power_of_two();
        let (mut chirp, mut kernel) = (Vec::with_capacity(n), stop::filled(long, C::ZERO)?);
        for k in 0..n {
            if k % POLL_INTERVAL == 0 {
                stop::poll()?;
            }
            let root = roots.at((k as u128 * k as u128 % (2 * n) as u128) as usize);
            chirp.push(root);
            kernel[k] = root.conj() / long as f64;
            kernel[(long - k) % long] = kernel[k];
        }
        let forward = Box::new(Algorithm::new(planner, long, FftDirection::Forward)?);
        forward.run(&mut kernel)?;
        let inverse = Box::new(Algorithm::new(planner, long, FftDirection::Inverse)?);
        Ok(Algorithm::Chirp { chirp, kernel, forward, inverse })
    }

    fn len(&self) -> usize {
        match self {
            Algorithm::Short(fft) => fft.len(),
            Algorithm::Split { rows, columns, .. } => rows.len() * columns.len(),
            Algorithm::Chirp { chirp, .. } => chirp.len(),
        }
    }

    /// Transforms each consecutive block of `self.len()` elements.
    fn run(&self, data: &mut [C]) -> Result<()> {
        match self {
            Algorithm::Short(fft) => {
                let mut scratch = vec![C::ZERO; fft.get_inplace_scratch_len()];
                let together = fft.len() * (UNSTOPPABLE / fft.len().max(1)).max(1);
                for some in data.chunks_mut(together) {
                    stop::poll()?;
                    fft.process_with_scratch(some, &mut scratch);
                }
            }
            Algorithm::Split { rows, columns, roots } => {
                let (r, c) = (rows.len(), columns.len());
                let mut other = stop::filled(r * c, C::ZERO)?;
                for block in data.chunks_exact_mut(r * c) {
                    transpose(block, &mut other, c)?;
                    rows.run(&mut other)?;
                    for (t, row) in other.chunks_exact_mut(r).enumerate() {
                        stop::poll()?;
                        row.iter_mut().enumerate().for_each(|(k, z)| *z *= roots.at(t * k));
                    }
                    transpose(&other, block, r)?;
                    columns.run(block)?;
                    transpose(block, &mut other, c)?;
                    for (to, from) in block.chunks_mut(POLL_INTERVAL).zip(other.chunks(POLL_INTERVAL)) {
                        stop::poll()?;
                        to.copy_from_slice(from);
                    }
                }
            }
            Algorithm::Chirp { chirp, kernel, forward, inverse } => {
                let mut long = stop::filled(kernel.len(), C::ZERO)?;
                for block in data.chunks_exact_mut(chirp.len()) {
                    let (start, rest) = long.split_at_mut(block.len());
                    combine(start, block, chirp, |_, x, w| x * w)?;
                    for some in rest.chunks_mut(POLL_INTERVAL) {
                        stop::poll()?;
                        some.fill(C::ZERO);
                    }
                    forward.run(&mut long)?;
                    combine(&mut long, kernel, kernel, |z, k, _| z * k)?;
                    inverse.run(&mut long)?;
                    combine(block, &long, chirp, |_, z, w| z * w)?;
                }
            }
        }
        Ok(())
    }
}

/// Replaces each element of `to` by `f` of it and the elements of `a` and `b` at the same index.
fn combine(to: &mut [C], a: &[C], b: &[C], f: impl Fn(C, C, C) -> C) -> Result<()> {
    for (to, (a, b)) in to.chunks_mut(POLL_INTERVAL).zip(a.chunks(POLL_INTERVAL).zip(b.chunks(POLL_INTERVAL)))
    {
        stop::poll()?;
        to.iter_mut().zip(a.iter().zip(b)).for_each(|(z, (a, b))| *z = f(*z, *a, *b));
    }
    Ok(())
}

/// Transposes a matrix with `columns` columns. Writes 16 rows of the result at a time, so that they stay in cache.
fn transpose(from: &[C], to: &mut [C], columns: usize) -> Result<()> {
    const TOGETHER: usize = 16;
    let rows = from.len() / columns;
    for (block, to) in to.chunks_mut(TOGETHER * rows).enumerate() {
        stop::poll()?;
        let (first, count) = (block * TOGETHER, to.len() / rows);
        for (i, row) in from.chunks_exact(columns).enumerate() {
            for (j, z) in row[first..first + count].iter().enumerate() {
                to[j * rows + i] = *z;
            }
        }
    }
    Ok(())
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
        s.error(op.clone(), &[Aval::new(DType::F64, [2])], "it takes c64, c128");
        s.error(op, &[Aval::new(DType::C64, [])], "axis 0 is out of range for a scalar");
    }
}
