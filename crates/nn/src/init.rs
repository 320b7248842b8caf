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

/// Normal, truncated to `low..high`.
#[track_caller]
pub fn trunc_normal(
    shape: impl Into<Shape>,
    mean: f64,
    std: f64,
    low: f64,
    high: f64,
    g: &Generator,
) -> Tensor {
    // Computed in `f64` on the CPU, because not every device has that dtype. The offset moves each number to
    // the middle of its interval of width 2⁻²⁴, so that none is 0.
    let u = Device::CPU.with(|| g.rand(shape)).to_dtype(DType::F64) + 0.5 / (1u32 << 24) as f64;
    truncated(&u, mean, std, low, high).to_dtype(DType::F32).to(Device::default())
}

/// Converts uniform numbers in `0..1` to numbers of the normal distribution truncated to `low..high`: scales
/// them to the range of its distribution function between `low` and `high`, and inverts the function.
#[track_caller]
pub fn truncated(u: &Tensor, mean: f64, std: f64, low: f64, high: f64) -> Tensor {
    let root2 = std::f64::consts::SQRT_2;
    let at = |x: f64| Tensor::from((x - mean) / std / root2).erf().to_dtype(u.dtype());
    let (a, b) = (at(low), at(high));
    ((u * (&b - &a) + &a).erfinv() * (root2 * std) + mean).clamp(low, high)
}

/// Returns the fan-in (the number of inputs of each output) and the fan-out (the number of outputs of each
/// input). Axis 0 of a weight indexes the outputs, axis 1 the inputs, and all other axes the positions of a
/// kernel.
pub fn fans(shape: &Shape) -> (usize, usize) {
    let positions: usize = shape.iter().skip(2).product();
    let at = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    (at(1) * positions, at(0) * positions)
}

/// The fan by which the variance of the weights is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fan {
    /// The number of inputs: keeps the scale of activations.
    In,
    /// The number of outputs: keeps the scale of gradients.
    Out,
}

/// Factor of the initial weights. It compensates for a nonlinearity that reduces the standard deviation of
/// activations.
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

    /// Returns the gain of a function by its name in PyTorch; `slope` is that of `leaky_relu`.
    pub fn named(name: &str, slope: f64) -> Option<Gain> {
        Some(match name {
            "linear" | "sigmoid" => Gain::Linear,
            "tanh" => Gain::Tanh,
            "relu" => Gain::Relu,
            "leaky_relu" => Gain::LeakyRelu(slope),
            "selu" => Gain::Selu,
            name if name.starts_with("conv") => Gain::Linear,
            _ => return None,
        })
    }
}

/// Returns the standard deviation of Kaiming He's distributions, gain / √fan.
pub fn kaiming_std(shape: &Shape, fan: Fan, gain: f64) -> f64 {
    let (inputs, outputs) = fans(shape);
    let fan = if fan == Fan::In { inputs } else { outputs };
    gain / (fan.max(1) as f64).sqrt()
}

/// Returns the standard deviation of Glorot's distributions, gain · √(2 / (fan-in + fan-out)).
pub fn xavier_std(shape: &Shape, gain: f64) -> f64 {
    let (inputs, outputs) = fans(shape);
    gain * (2.0 / (inputs + outputs).max(1) as f64).sqrt()
}

/// Returns the number `b` for which the uniform distribution on `-b..b` has this standard deviation.
pub fn bound(std: f64) -> f64 {
    3f64.sqrt() * std
}

/// Draws from Kaiming He's normal distribution: standard deviation gain / √fan-in.
#[track_caller]
pub fn kaiming_normal(shape: impl Into<Shape>, gain: Gain, g: &Generator) -> Tensor {
    let shape = shape.into();
    let std = kaiming_std(&shape, Fan::In, gain.factor());
    normal(shape, 0.0, std, g)
}

/// Draws from Kaiming He's uniform distribution, with the standard deviation of [`kaiming_normal`].
#[track_caller]
pub fn kaiming_uniform(shape: impl Into<Shape>, gain: Gain, g: &Generator) -> Tensor {
    let shape = shape.into();
    let bound = bound(kaiming_std(&shape, Fan::In, gain.factor()));
    uniform(shape, -bound, bound, g)
}

/// Draws from Glorot's normal distribution: standard deviation gain · √(2 / (fan-in + fan-out)).
#[track_caller]
pub fn xavier_normal(shape: impl Into<Shape>, gain: Gain, g: &Generator) -> Tensor {
    let shape = shape.into();
    let std = xavier_std(&shape, gain.factor());
    normal(shape, 0.0, std, g)
}

/// Draws from Glorot's uniform distribution, with the standard deviation of [`xavier_normal`].
#[track_caller]
pub fn xavier_uniform(shape: impl Into<Shape>, gain: Gain, g: &Generator) -> Tensor {
    let shape = shape.into();
    let bound = bound(xavier_std(&shape, gain.factor()));
    uniform(shape, -bound, bound, g)
}

/// PyTorch's initial distribution of linear layers and convolutions: uniform within ±1 / √fan-in.
#[track_caller]
pub(crate) fn within_fan(shape: impl Into<Shape>, inputs: usize, g: &Generator) -> Tensor {
    let bound = 1.0 / (inputs.max(1) as f64).sqrt();
    uniform(shape, -bound, bound, g)
}
