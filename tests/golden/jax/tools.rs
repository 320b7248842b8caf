//! Wraps the transforms for the cases: they take and return single tensors, and panic at once if they fail.

use gradus::{DType, Tensor};

/// The function of a case.
pub(crate) type Function = fn(&[Tensor]) -> Vec<Tensor>;

pub(crate) fn refs(xs: &[Tensor]) -> Vec<&Tensor> {
    xs.iter().collect()
}

/// Computes the gradient of a function of one tensor.
#[track_caller]
pub(crate) fn d(x: &Tensor, f: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    gradus::grad(&[x], |x| f(&x[0])).unwrap().remove(0)
}

/// Computes the gradients of a function of several tensors.
#[track_caller]
pub(crate) fn ds(xs: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Tensor) -> Vec<Tensor> {
    gradus::grad(xs, f).unwrap()
}

/// Computes the derivative of order `n`.
pub(crate) fn nth(n: usize, x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor) -> Tensor {
    if n == 0 { f(x) } else { d(x, |x| nth(n - 1, x, f)) }
}

/// Computes the tangent of the result along `v`.
#[track_caller]
pub(crate) fn push(x: &Tensor, v: &Tensor, f: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    gradus::jvp(&[x], &[v], |x| f(&x[0])).unwrap().1.remove(0)
}

/// Computes the results, followed by their tangents.
#[track_caller]
pub(crate) fn jvp(xs: &[&Tensor], vs: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Vec<Tensor>) -> Vec<Tensor> {
    let (outs, tangents) = gradus::jvp(xs, vs, f).unwrap();
    [outs, tangents].concat()
}

/// Computes the cotangent of the operand for the cotangent `c` of the result.
#[track_caller]
pub(crate) fn pull(x: &Tensor, c: &Tensor, f: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    gradus::vjp(&[x], |x| f(&x[0])).unwrap().1(&[c]).unwrap().remove(0)
}

/// Multiplies the Hessian of a scalar function by vectors.
#[track_caller]
pub(crate) fn hvp(xs: &[&Tensor], vs: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Tensor) -> Vec<Tensor> {
    gradus::hvp(xs, vs, f).unwrap()
}

fn basis(x: &Tensor) -> Tensor {
    let n = x.numel();
    let identity = Tensor::iota(DType::I64, [n, n], 0).eq(&Tensor::iota(DType::I64, [n, n], 1));
    identity.to_dtype(x.dtype()).reshape([&[n], &x.shape()[..]].concat())
}

/// Computes the Jacobian as a batch of tangents.
#[track_caller]
pub(crate) fn jacfwd(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let all = batch(&[&basis(x)], |e| push(x, &e[0], &f)).movedim(0, -1);
    let outer = all.shape()[..all.rank() - 1].to_vec();
    all.reshape([&outer[..], &x.shape()[..]].concat())
}

/// Computes the Jacobian as a batch of cotangents.
#[track_caller]
pub(crate) fn jacrev(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let y = f(x);
    let all = batch(&[&basis(&y)], |e| pull(x, &e[0], &f));
    all.reshape([&y.shape()[..], &x.shape()[..]].concat())
}

/// Computes the Hessian, in the modes that the crate chooses.
#[track_caller]
pub(crate) fn hessian(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    gradus::hessian(x, f).unwrap()
}

/// Computes the blocks of the Hessian with respect to several tensors, row by row.
#[track_caller]
pub(crate) fn hessians(xs: &[&Tensor], f: impl Fn(&[Tensor]) -> Tensor) -> Vec<Tensor> {
    let mut blocks = Vec::new();
    for i in 0..xs.len() {
        for j in 0..xs.len() {
            blocks.push(jacfwd(xs[j], |x| {
                let all: Vec<&Tensor> = (0..xs.len()).map(|k| if k == j { x } else { xs[k] }).collect();
                ds(&all, &f).swap_remove(i)
            }));
        }
    }
    blocks
}

/// Maps a function over the first axes.
#[track_caller]
pub(crate) fn batch(xs: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Tensor) -> Tensor {
    gradus::vmap(xs, &vec![Some(0); xs.len()], f).unwrap().remove(0)
}

/// Maps a function over any axes.
#[track_caller]
pub(crate) fn vmap(
    xs: &[&Tensor],
    axes: &[Option<isize>],
    f: impl FnOnce(&[Tensor]) -> Vec<Tensor>,
) -> Vec<Tensor> {
    gradus::vmap(xs, axes, f).unwrap()
}

/// Reduces a tensor to a nonlinear real number in which every element has its own weight.
fn nonlinear_sum(y: &Tensor) -> Tensor {
    let y = y.reshape([y.numel()]);
    let k = Tensor::iota(DType::F64, [y.numel()], 0);
    let (re, im) = (y.real(), y.imag());
    (&re * k.cos() + &im * (k + 1.0).sin() + (re.square() + im.square()) / 2.0).sum(())
}

/// Returns the results of a function, the gradient of the [`nonlinear_sum`] of them, and the derivative of that
/// gradient along the sines of the arguments.
#[track_caller]
pub(crate) fn orders(xs: &[&Tensor], f: impl Fn(&[Tensor]) -> Vec<Tensor>) -> Vec<Tensor> {
    let loss = |x: &[Tensor]| f(x).iter().map(nonlinear_sum).reduce(|a, b| a + b).unwrap();
    let along: Vec<Tensor> = xs.iter().map(|x| x.sin()).collect();
    let slopes = jvp(xs, &refs(&along), |x| ds(&refs(x), loss));
    [f(&xs.iter().map(|x| (*x).clone()).collect::<Vec<_>>()), slopes].concat()
}

/// Applies [`orders`] to each argument separately.
#[track_caller]
pub(crate) fn orders_of_each(xs: &[Tensor], f: impl Fn(&Tensor) -> Vec<Tensor>) -> Vec<Tensor> {
    xs.iter().flat_map(|x| orders(&[x], |x| f(&x[0]))).collect()
}
