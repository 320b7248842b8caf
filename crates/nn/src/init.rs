//! Initial values of parameters: PyTorch's distributions, drawn from a generator.

use gradus_ir::{DType, Shape};
use gradus_tensor::{Device, Generator, Tensor};

/// Uniform in `low..high`.
#[track_caller]
pub fn uniform(shape: impl Into<Shape>, low: f64, high: f64, g: &Generator) -> Tensor {
    g.rand(shape) * (high - low) + low
}

/// Normal with this mean and standard deviation.
#[track_caller]
pub fn normal(shape: impl Into<Shape>, mean: f64, std: f64, g: &Generator) -> Tensor {
    g.randn(shape) * std + mean
}

/// Normal, truncated to `low..high`: draws a uniform number between the values of the distribution function at
/// `low` and `high`, and inverts the function.
#[track_caller]
pub fn trunc_normal(
    shape: impl Into<Shape>,
    mean: f64,
    std: f64,
    low: f64,
    high: f64,
    g: &Generator,
) -> Tensor {
    let root2 = std::f64::consts::SQRT_2;
    let at = |x: f64| Tensor::from((x - mean) / std / root2).erf();
    let (a, b) = (at(low), at(high));
    // Computed in `f64` on the CPU, because not every device has that dtype.
    let u = Device::CPU.with(|| g.rand(shape)).to_dtype(DType::F64) + 0.5 / (1u32 << 24) as f64;
    let x = (&u * (&b - &a) + &a).erfinv() * (root2 * std) + mean;
    x.clamp(low, high).to_dtype(DType::F32).to(Device::default())
}

/// Returns the number of inputs of each output (fan-in), and of outputs of each input (fan-out). The first axis
/// of a weight is the outputs, the second the inputs, all others positions of a kernel.
pub fn fans(shape: &Shape) -> (usize, usize) {
    let positions: usize = shape.iter().skip(2).product();
    let at = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    (at(1) * positions, at(0) * positions)
}

/// Factor that compensates for the decrease of standard deviations by a nonlinearity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gain {
    /// None: linear layers and sigmoids.
    Linear,
    /// `tanh`: 5/3.
    Tanh,
    /// `relu`: √2.
    Relu,
    /// `leaky_relu` with this slope.
    LeakyRelu(f64),
    /// `selu`: 3/4.
    Selu,
}

impl Gain {
    /// Returns the factor.
    pub fn factor(self) -> f64 {
        match self {
            Gain::Linear => 1.0,
            Gain::Tanh => 5.0 / 3.0,
            Gain::Relu => 2f64.sqrt(),
            Gain::LeakyRelu(slope) => (2.0 / (1.0 + slope * slope)).sqrt(),
            Gain::Selu => 0.75,
        }
    }
}

/// He's normal distribution: standard deviation gain / √fan-in.
#[track_caller]
pub fn kaiming_normal(shape: impl Into<Shape>, gain: Gain, g: &Generator) -> Tensor {
    let shape = shape.into();
    let std = gain.factor() / (fans(&shape).0.max(1) as f64).sqrt();
    normal(shape, 0.0, std, g)
}

/// He's uniform distribution, with the same standard deviation.
#[track_caller]
pub fn kaiming_uniform(shape: impl Into<Shape>, gain: Gain, g: &Generator) -> Tensor {
    let shape = shape.into();
    let bound = gain.factor() * (3.0 / fans(&shape).0.max(1) as f64).sqrt();
    uniform(shape, -bound, bound, g)
}

/// Glorot's normal distribution: standard deviation gain · √(2 / (fan-in + fan-out)).
#[track_caller]
pub fn xavier_normal(shape: impl Into<Shape>, gain: Gain, g: &Generator) -> Tensor {
    let shape = shape.into();
    let (inputs, outputs) = fans(&shape);
    normal(shape, 0.0, gain.factor() * (2.0 / (inputs + outputs).max(1) as f64).sqrt(), g)
}

/// Glorot's uniform distribution, with the same standard deviation.
#[track_caller]
pub fn xavier_uniform(shape: impl Into<Shape>, gain: Gain, g: &Generator) -> Tensor {
    let shape = shape.into();
    let (inputs, outputs) = fans(&shape);
    let bound = gain.factor() * (6.0 / (inputs + outputs).max(1) as f64).sqrt();
    uniform(shape, -bound, bound, g)
}

/// PyTorch's initial distribution of linear layers and convolutions: uniform within ±1 / √fan-in.
#[track_caller]
pub(crate) fn within_fan(shape: impl Into<Shape>, inputs: usize, g: &Generator) -> Tensor {
    let bound = 1.0 / (inputs.max(1) as f64).sqrt();
    uniform(shape, -bound, bound, g)
}
