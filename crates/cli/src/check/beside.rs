//! Values and gradients of a program on a device, beside those of the CPU.

use crate::given::Ready;
use crate::{Done, Failure, Terminal, show};
use gradus::lang::ast::Name;
use gradus::lang::{Gradient, Program};
use gradus::{DType, Device, Tensor};
use std::collections::BTreeMap;

/// How far numbers may be apart, relative to the largest of their tensor: devices add in another order, in `f32`.
const WITHIN: f64 = 1e-4;

/// Computes everything in `f32` on the CPU and on the device, and shows how far they are apart. Nothing to do for the CPU.
pub(super) fn compare(
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
        let apart = distance(expected, found)?;
        let right = apart <= WITHIN;
        if !right {
            wrong.push(name.to_string());
        }
        let shape: Vec<String> = expected.shape().iter().map(usize::to_string).collect();
        let verdict = if right { "ok" } else { "WRONG" };
        rows.push(vec![name.to_string(), shape.join("×"), format!("{apart:.1e}"), verdict.to_string()]);
    }
    writeln!(
        terminal.out,
        "\nvalues and gradients in f32 on {device}, and how far they are from the CPU's:\n"
    )?;
    write!(terminal.out, "{}", show::table(&["name", "shape", "difference", ""], &rows))?;
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(format!("values on {device} are wrong: {}", wrong.join(", ")))),
    }
}

/// Wide floats as those that every device has.
fn narrow(t: &Tensor) -> Tensor {
    match t.dtype() {
        DType::F64 => t.to_dtype(DType::F32),
        DType::C128 => t.to_dtype(DType::C64),
        _ => t.clone(),
    }
}

/// The largest difference of two tensors, relative to the largest number. NaN and infinities must be the same.
fn distance(expected: &Tensor, found: &Tensor) -> gradus::Result<f64> {
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
    let apart = |(a, b): (&f64, &f64)| match a == b || (a.is_nan() && b.is_nan()) {
        true => 0.0,
        false if (a - b).is_finite() => (a - b).abs() / scale,
        false => f64::INFINITY,
    };
    Ok(expected.iter().zip(&found).map(apart).fold(0.0, f64::max))
}
