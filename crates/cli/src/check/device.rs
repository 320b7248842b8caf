//! Compares the values and gradients that a program has on a device with those on the CPU.
//! Takes the program, its gradient and its inputs; prints a table and returns an error if a difference is too large.

use crate::inputs::Ready;
use crate::{Done, Failure, Terminal, show};
use gradus::lang::ast::Name;
use gradus::lang::{Gradient, Program};
use gradus::{DType, Device, Tensor};
use std::collections::BTreeMap;

/// Largest accepted difference, relative to the largest element of the tensor. Devices sum in another order, in `f32`.
const TOLERANCE: f64 = 1e-4;

/// Runs the program in `f32` on the CPU and on the device, and prints the differences. Does nothing if the device is the
/// CPU.
pub(super) fn compare_with_cpu(
    program: &Program,
    gradient: Option<&Gradient>,
    ready: &Ready,
    device: Device,
    terminal: &mut Terminal<'_>,
) -> Done {
    if device.is_cpu() {
        return Ok(());
    }
    let whole = match gradient {
        Some(gradient) => program.extended(&gradient.equations)?,
        None => program.clone(),
    };
    let gradients = gradient.iter().flat_map(|g| g.names.values().cloned());
    let mut names: Vec<Name> = program.outputs();
    names.extend(gradients.filter(|name| whole.definition(name).is_some()));
    let settings = gradus::lang::Settings { float: DType::F32, tolerance: None, ..ready.settings.clone() };
    let inputs: BTreeMap<Name, Tensor> = ready.inputs.iter().map(|(n, t)| (n.clone(), narrow(t))).collect();
    let expected = whole.run(&inputs, &settings, &names)?;
    let found = device.with(|| whole.run(&inputs, &settings, &names))?;
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for name in &names {
        let (Some(expected), Some(found)) = (expected.get(name), found.get(name)) else { continue };
        let difference = largest_difference(expected, found)?;
        let right = difference <= TOLERANCE;
        if !right {
            wrong.push(name.to_string());
        }
        let shape: Vec<String> = expected.shape().iter().map(usize::to_string).collect();
        let verdict = if right { "ok" } else { "WRONG" };
        rows.push(vec![name.to_string(), shape.join("×"), format!("{difference:.1e}"), verdict.to_string()]);
    }
    writeln!(terminal.out, "\nvalues and gradients in f32 on {device}, compared with the CPU:\n")?;
    write!(terminal.out, "{}", show::table(&["name", "shape", "difference", ""], &rows))?;
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(format!("values on {device} are wrong: {}", wrong.join(", ")))),
    }
}

/// Converts 64-bit floats to 32 bits, which every device has.
fn narrow(t: &Tensor) -> Tensor {
    match t.dtype() {
        DType::F64 => t.to_dtype(DType::F32),
        DType::C128 => t.to_dtype(DType::C64),
        _ => t.clone(),
    }
}

/// Returns the largest difference of two tensors, relative to the largest element. NaN and infinities must match.
fn largest_difference(expected: &Tensor, found: &Tensor) -> gradus::Result<f64> {
    let parts = |t: &Tensor| -> gradus::Result<Vec<f64>> {
        let t = t.to(Device::CPU);
        match t.dtype().is_complex() {
            true => Ok([t.real(), t.imag()]
                .map(|p| p.to_dtype(DType::F64).to_vec())
                .into_iter()
                .collect::<gradus::Result<Vec<Vec<f64>>>>()?
                .concat()),
            false => t.to_dtype(DType::F64).to_vec(),
        }
    };
    let (expected, found) = (parts(expected)?, parts(found)?);
    let scale = expected.iter().filter(|x| x.is_finite()).fold(1e-6, |m: f64, x| m.max(x.abs()));
    let difference = |(a, b): (&f64, &f64)| match a == b || (a.is_nan() && b.is_nan()) {
        true => 0.0,
        false if (a - b).is_finite() => (a - b).abs() / scale,
        false => f64::INFINITY,
    };
    Ok(expected.iter().zip(&found).map(difference).fold(0.0, f64::max))
}
