//! Random tensors from a counter-based generator (Philox), whose state is a cell.
//!
//! A seed gives the same words on every device. Drawing reads the state cell and advances it; in a trace both
//! become part of the graph.

use crate::data::{Data, Element};
use crate::device::Device;
use crate::eager::apply::{apply_n, apply1};
use crate::region::region1;
use crate::tensor::Tensor;
use gradus_cpu::{map_in_place, vector};
use gradus_ir::ops::pointwise::Cast;
use gradus_ir::ops::source::RandomBits;
use gradus_ir::{DType, Error, Result, Shape, philox, stop};
use std::sync::LazyLock;

/// A stream of random numbers.
#[derive(Clone)]
pub struct Generator {
    state: Tensor,
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Generator({})", self.state)
    }
}

static DEFAULT: LazyLock<Generator> = LazyLock::new(|| Generator::new(0));

/// Restarts the default generator.
pub fn manual_seed(seed: u64) {
    DEFAULT.seed(seed);
}

/// Spacing of uniform numbers: the upper 24 bits of a word, scaled to [0, 1).
const STEP: f64 = 1.0 / (1u32 << 24) as f64;

/// Converts words to uniform numbers in [0, 1).
fn uniform(bits: &Tensor) -> Tensor {
    apply1(Cast { to: DType::F32 }, &[&bits.shr(8)]) * STEP
}

/// Converts words to standard normal numbers, by inverting the distribution at the middle of each interval of
/// width `STEP`. `f32` represents these middles exactly after scaling to -1 to 1.
fn normal(bits: &Tensor) -> Tensor {
    (uniform(bits) * 2.0 - (1.0 - STEP)).erfinv() * std::f64::consts::SQRT_2
}

/// Largest number of elements drawn directly, which is faster than looking up a program.
const MAX_DIRECT: usize = 256;

/// Converts one word as [`uniform`] does.
fn uniform_of(word: &u32) -> f32 {
    (word >> 8) as f32 * STEP as f32
}

/// Converts words as [`normal`] does, by the loops that the compiled program uses.
fn normal_of(words: &[u32]) -> Vec<f32> {
    let middle = |word| uniform_of(word) * 2.0 - (1.0 - STEP) as f32;
    let mut all: Vec<f32> = words.iter().map(middle).collect();
    if let Some(erfinv) = vector::loops::<f32>().unary("erfinv") {
        map_in_place(erfinv, &mut all);
    }
    all.iter_mut().for_each(|x| *x *= std::f32::consts::SQRT_2);
    all
}

fn words_of(state: &Data) -> Option<[u32; 4]> {
    state.to_vec().ok()?.try_into().ok()
}

fn state_of(seed: u64) -> Tensor {
    Tensor::from([seed as u32, (seed >> 32) as u32, 0, 0])
}

impl Generator {
    /// Makes a generator from a seed.
    pub fn new(seed: u64) -> Generator {
        Generator { state: state_of(seed).cell().named("generator") }
    }

    /// Resets the generator to a seed.
    pub fn seed(&self, seed: u64) {
        // Cannot fail: the type of the state never changes, and a cell of integers requires no gradients.
        let _ = self.state.set_(&state_of(seed));
    }

    /// Returns the state cell, for saving and restoring.
    pub fn state(&self) -> &Tensor {
        &self.state
    }

    /// Draws random words on the default device of this thread.
    #[track_caller]
    pub fn bits(&self, shape: impl Into<Shape>) -> Tensor {
        // A guard, not a closure: inside a closure `track_caller` would lose the caller's line.
        let _quiet = stop::quiet();
        let shape = shape.into();
        // Repeats if another thread has drawn from this state meanwhile.
        while let (Some(n), Some(state)) = (shape.checked_numel(), self.state_words()) {
            let [bits, _] =
                apply_n(RandomBits { shape: shape.clone() }, &[&Tensor::from(state).to(Device::default())]);
            // A failed draw leaves the state unchanged.
            if bits.error().is_some() || self.advance_by(n, Some(state)).is_some() {
                return bits;
            }
        }
        let [bits, next] = apply_n(RandomBits { shape }, &[&self.state]);
        match next.check().and_then(|next| self.state.set_(next)) {
            Ok(()) => bits,
            Err(e) => Tensor::failed(e),
        }
    }

    /// Draws few numbers directly, one per word. Returns `None` in every other case, errors included.
    fn draw_few<T: Element>(&self, shape: &Shape, of: impl Fn(&[u32]) -> Vec<T>) -> Option<Tensor> {
        let n = shape.checked_numel().filter(|n| *n <= MAX_DIRECT && Device::default().is_cpu())?;
        let state = self.advance_by(n, None)?;
        let mut words = Vec::with_capacity(n);
        philox::fill_bits(state, |word| words.push(word), n);
        Data::new(shape.clone(), &of(&words)).ok().map(Tensor::data)
    }

    /// Returns the state, or `None` inside a trace, where the state is part of the graph.
    fn state_words(&self) -> Option<[u32; 4]> {
        let cell = self.state.as_cell().filter(|_| !crate::trace::is_tracing())?;
        cell.value().as_data().and_then(words_of)
    }

    /// Advances the state by `n` words atomically, so that two threads never draw the same words. Returns the
    /// old state. If `only` is given and differs from the state, returns `None` and changes nothing.
    fn advance_by(&self, n: usize, only: Option<[u32; 4]>) -> Option<[u32; 4]> {
        let cell = self.state.as_cell().filter(|_| !crate::trace::is_tracing())?;
        cell.update(|now| {
            let state = words_of(now).filter(|state| only.is_none_or(|only| only == *state))?;
            let next = Data::new([4].into(), &philox::advance(state, n)).ok()?;
            Some((next, state))
        })
    }

    /// Uniform on [0, 1) in `f32`, from the upper 24 bits of a word.
    #[track_caller]
    pub fn rand(&self, shape: impl Into<Shape>) -> Tensor {
        let shape = shape.into();
        if let Some(few) = self.draw_few(&shape, |words| words.iter().map(uniform_of).collect()) {
            return few;
        }
        region1("uniform", vec![], &[&self.bits(shape)], |bits| uniform(&bits[0]))
    }

    /// Standard normal in `f32`, by inverting the distribution at the middle of each of 2²⁴ intervals.
    #[track_caller]
    pub fn randn(&self, shape: impl Into<Shape>) -> Tensor {
        let shape = shape.into();
        if let Some(few) = self.draw_few(&shape, normal_of) {
            return few;
        }
        region1("normal", vec![], &[&self.bits(shape)], |bits| normal(&bits[0]))
    }

    /// Integers in `low..high`, `i64`. Taking 32 bits modulo the range has a bias below range / 2³².
    #[track_caller]
    pub fn randint(&self, low: i64, high: i64, shape: impl Into<Shape>) -> Tensor {
        let range = high.checked_sub(low).filter(|r| (1..=1 << 32).contains(r));
        let Some(range) = range else {
            let why = "must be a range of 1 to 2^32 integers";
            return Tensor::refuse("randint", &[], Error::value(format!("{low}..{high}"), why));
        };
        let shape = shape.into();
        let of = |word: &u32| i64::from(*word) % range + low;
        if let Some(few) = self.draw_few(&shape, |words| words.iter().map(of).collect()) {
            return few;
        }
        // The range is an operand, so that one program works for all ranges.
        let ins = [&self.bits(shape), &Tensor::from(range), &Tensor::from(low)];
        region1("integers", vec![], &ins, |x| x[0].to_dtype(DType::I64).remainder(&x[1]) + &x[2])
    }

    /// Draws positions from rows of non-negative weights (last axis), `i64`. Without replacement, positions
    /// of weight 0 come last.
    #[track_caller]
    pub fn multinomial(&self, weights: &Tensor, n: usize, replacement: bool) -> Tensor {
        // Cumulative sums are `f64`, which not every device has.
        let drawn = {
            let _back = Device::CPU.enter();
            self.draw(&weights.to(Device::CPU), n, replacement)
        };
        match drawn {
            Ok(t) => t.to(weights.device()),
            Err(e) => Tensor::refuse("multinomial", &[weights], e),
        }
    }

    #[track_caller]
    fn draw(&self, weights: &Tensor, n: usize, replacement: bool) -> Result<Tensor> {
        let (shape, w) = (weights.check()?.shape(), weights.detach().to_dtype(DType::F64));
        let Some((&k, rows)) = shape.split_last() else {
            return Err(Error::shape("a scalar", "has no weights; the last axis holds them"));
        };
        if k == 0 {
            return Err(Error::shape(format!("shape {shape}"), "has no weights to draw from"));
        }
        if n == 0 {
            return Err(Error::value("0 draws", "are not allowed; draw at least 1"));
        }
        if n > k && !replacement {
            let why = format!("are fewer than the {n} to draw without replacement");
            return Err(Error::value(format!("{k} weights"), why));
        }
        if !weights.is_traced() && !crate::trace::is_tracing() {
            validate(&w)?;
        }
        let wide: Shape = rows.iter().copied().chain([n]).collect();
        if replacement {
            // The position is the number of cumulative sums that do not exceed the drawn height.
            let total = w.sum_keepdim(-1);
            let height = self.rand(&wide).to_dtype(DType::F64) * &total;
            let below = w.cumsum(-1).unsqueeze(-2).le(&height.unsqueeze(-1));
            Ok(below.sum(-1).minimum((k - 1) as i64))
        } else {
            // Exponential races: the first n arrivals are a sample without replacement.
            let u = self.rand(&shape).to_dtype(DType::F64) + 0.5 / (1u32 << 24) as f64;
            let arrival = (-u.log()) / &w;
            Ok(arrival.topk(n, -1, false).1)
        }
    }
}

/// Returns an error unless all weights are finite and not negative, and each row has a positive one.
fn validate(w: &Tensor) -> Result<()> {
    if !w.ge(0.0).and(&w.is_finite()).all(()).item::<bool>()? {
        return Err(Error::value("weights", "must be finite and not negative"));
    }
    if w.gt(0.0).sum(-1).eq(0).any(()).item::<bool>()? {
        return Err(Error::value("weights", "need at least 1 positive in every row"));
    }
    Ok(())
}

impl Tensor {
    /// Uniform on [0, 1) from the default generator.
    #[track_caller]
    pub fn rand(shape: impl Into<Shape>) -> Tensor {
        DEFAULT.rand(shape)
    }

    /// Standard normal from the default generator.
    #[track_caller]
    pub fn randn(shape: impl Into<Shape>) -> Tensor {
        DEFAULT.randn(shape)
    }

    /// Integers in `low..high` from the default generator.
    #[track_caller]
    pub fn randint(low: i64, high: i64, shape: impl Into<Shape>) -> Tensor {
        DEFAULT.randint(low, high, shape)
    }

    /// Draws positions from this tensor's rows of weights, with the default generator.
    #[track_caller]
    pub fn multinomial(&self, n: usize, replacement: bool) -> Tensor {
        DEFAULT.multinomial(self, n, replacement)
    }
}

/// Returns the generator used by [`Tensor::rand`] and related functions.
pub fn default_generator() -> &'static Generator {
    &DEFAULT
}
