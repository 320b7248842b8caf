//! Primitives declared outside of the core, through its public interface, and used in the same ways as those
//! of the core.
//!
//! `cargo run -p user_primitive` runs it; every result is asserted.

mod cube;
mod rot90;

use cube::Cube;
use gradus::ir::graph::parse;
use gradus::ir::ops::{Declared, registry};
use gradus::ir::{Op, reference, transform};
use gradus::{Result, Tensor, apply1, grad, hessian, jvp, trace, vmap};
use rot90::Rot90;

/// The functions that users of the primitives call.
fn cube(x: &Tensor) -> Tensor {
    apply1(Op::user(Cube {}), &[x])
}

fn rot90(x: &Tensor, quarters: i64) -> Tensor {
    apply1(Op::user(Rot90 { quarters }), &[x])
}

fn main() -> Result<()> {
    let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let w = Tensor::from([[1.0, -1.0], [2.0, 0.5], [-3.0, 1.0]]);

    // Eager: values, and gradients from the tape.
    assert_eq!(rot90(&x, 1).to_vec2::<f64>()?, [[3.0, 6.0], [2.0, 5.0], [1.0, 4.0]]);
    assert_eq!(rot90(&rot90(&x, 1), -1).to_vec2::<f64>()?, x.to_vec2::<f64>()?);
    let leaf = x.requires_grad_();
    (rot90(&cube(&leaf), 1) * &w).sum(()).backward()?;
    let right = [[-9.0, 24.0, 27.0], [48.0, 37.5, -108.0]];
    assert_eq!(leaf.grad().unwrap().to_vec2::<f64>()?, right);

    // Transforms of functions: reverse mode, forward mode, batches, second derivatives.
    let loss = |x: &Tensor| (rot90(&cube(x), 1) * &w).sum(());
    assert_eq!(grad(&[&x], |x| loss(&x[0]))?[0].to_vec2::<f64>()?, right);
    let (value, slope) = jvp(&[&x], &[&Tensor::ones([2, 3]).to_dtype(gradus::DType::F64)], |x| loss(&x[0]))?;
    assert_eq!(value[0].item::<f64>()?, 27.0 - 216.0 + 16.0 + 62.5 - 3.0 + 64.0);
    assert_eq!(slope[0].item::<f64>()?, right.iter().flatten().sum::<f64>());
    let many = Tensor::stack(&[&x, &(&x * 2.0)], 0);
    let each = vmap(&[&many], &[Some(0)], |x| grad(&[&x[0]], |x| loss(&x[0])).unwrap())?;
    assert_eq!(each[0].at(0).to_vec2::<f64>()?, right);
    assert_eq!(each[0].at(1).to_vec2::<f64>()?, right.map(|row| row.map(|g| 4.0 * g)));
    let curvature = hessian(&Tensor::from([1.0, -2.0]), |x| cube(x).sum(()))?;
    assert_eq!(curvature.to_vec2::<f64>()?, [[6.0, 0.0], [0.0, -12.0]]);

    // Traced: a graph, its gradient, and both read back from text once the names are registered.
    let graph = trace(&[&x], |x| loss(&x[0]))?;
    let both = transform::grad_with_loss(&graph, graph.outputs()[0], ["x"], transform::Unreachable::Error)?;
    let text = both.to_string();
    assert!(text.contains("user_rot90") && text.contains("quarters=-1"), "{text}");
    assert!(parse(&text).is_err(), "the names are not registered yet");
    registry::register(Cube::NAME, |attrs| Cube::from_attrs(attrs).map(Op::user));
    registry::register(Rot90::NAME, |attrs| Rot90::from_attrs(attrs).map(Op::user));
    let again = parse(&text)?;
    assert_eq!(again, both);
    assert_eq!(again.to_string(), text);
    let outs = reference::evaluate(&again, &[x.to_literal()?])?;
    assert_eq!(outs[0].f(), [-49.5]);
    assert_eq!(outs[1].f(), right.concat());

    // Invalid operands give an error with the primitive's name and this file's line.
    let wrong = rot90(&Tensor::from([1.0]), 1).check().unwrap_err().to_string();
    assert!(wrong.starts_with("user_rot90: axis 1 is out of range") && wrong.contains("main.rs"), "{wrong}");
    let wrong = cube(&Tensor::from([1i64])).check().unwrap_err().to_string();
    assert!(wrong.starts_with("user_cube: dtype i64 is not accepted; it takes floats"), "{wrong}");
    println!("two primitives from outside, in every mode:\n{text}");
    Ok(())
}
