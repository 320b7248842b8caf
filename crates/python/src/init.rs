//! Numbers of initial distributions, from `gradus::nn::init`. `gradus/nn/init.py` has PyTorch's functions.

use crate::error::value_error;
use crate::tensor::PyTensor;
use crate::value::T;
use gradus::Shape;
use gradus::nn::init::{self, Fan, Gain};
use pyo3::prelude::*;

/// The factor for a nonlinearity; `slope` is that of `leaky_relu`.
#[pyfunction]
pub(crate) fn _gain(nonlinearity: &str, slope: f64) -> PyResult<f64> {
    let gain = Gain::named(nonlinearity, slope);
    let unknown = || value_error(format!("Unsupported nonlinearity {nonlinearity}"));
    gain.map(Gain::factor).ok_or_else(unknown)
}

/// The numbers of inputs of an output and of outputs of an input.
#[pyfunction]
pub(crate) fn _fans(shape: Vec<usize>) -> PyResult<(usize, usize)> {
    if shape.len() < 2 {
        let why = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions";
        return Err(value_error(why));
    }
    Ok(init::fans(&Shape::from(shape)))
}

/// The standard deviation of He's distributions.
#[pyfunction]
pub(crate) fn _kaiming_std(shape: Vec<usize>, mode: &str, gain: f64) -> PyResult<f64> {
    let fan = match mode.to_lowercase().as_str() {
        "fan_in" => Fan::In,
        "fan_out" => Fan::Out,
        _ => {
            let why = format!("Mode {mode} not supported, please use one of ['fan_in', 'fan_out']");
            return Err(value_error(why));
        }
    };
    _fans(shape.clone())?;
    Ok(init::kaiming_std(&Shape::from(shape), fan, gain))
}

/// The standard deviation of Glorot's distributions.
#[pyfunction]
pub(crate) fn _xavier_std(shape: Vec<usize>, gain: f64) -> PyResult<f64> {
    _fans(shape.clone())?;
    Ok(init::xavier_std(&Shape::from(shape), gain))
}

/// The bound of the uniform distribution around 0 with a standard deviation.
#[pyfunction]
pub(crate) fn _bound(std: f64) -> f64 {
    init::bound(std)
}

/// Numbers of a truncated normal distribution, from uniform numbers.
#[pyfunction]
pub(crate) fn _truncated(u: T, mean: f64, std: f64, low: f64, high: f64) -> PyResult<PyTensor> {
    PyTensor::out(init::truncated(&u.0, mean, std, low, high))
}
