//! L-BFGS, which evaluates the loss several times per step and therefore runs eagerly.
//! Takes a [`Problem`]: parameters with a loss; writes the parameters and updates a [`Memory`] of past
//! changes.
//! `line_search` decides the length of steps; `Lbfgs` is the problem of Rust's parameters.

use super::line_search::{Point, search};
use gradus_ir::{Error, Result};
use gradus_tensor::{Backward, Tensor, autograd, no_grad};
use std::collections::VecDeque;

/// Options of [`Lbfgs`].
#[derive(Clone, Copy, Debug)]
pub struct LbfgsOptions {
    /// Length of a step along a direction.
    pub rate: f64,
    /// Iterations per step.
    pub iterations: usize,
    /// Largest number of evaluations of the loss per step.
    pub evaluations: usize,
    /// Stops if no element of the gradient exceeds this.
    pub tolerance_grad: f64,
    /// Stops if loss or parameters change by less than this.
    pub tolerance_change: f64,
    /// Number of past changes from which the curvature is estimated.
    pub history: usize,
    /// If true, searches along each direction for a point that meets the strong Wolfe conditions; the rate is
    /// the first guess.
    pub line_search: bool,
}

impl Default for LbfgsOptions {
    fn default() -> LbfgsOptions {
        LbfgsOptions {
            rate: 1.0,
            iterations: 20,
            evaluations: 25,
            tolerance_grad: 1e-7,
            tolerance_change: 1e-9,
            history: 100,
            line_search: false,
        }
    }
}

/// Parameters with a loss to be minimized.
pub trait Problem {
    /// The error of an evaluation.
    type Error: From<Error>;

    /// Returns the parameters, detached.
    fn parameters(&self) -> Result<Vec<Tensor>, Self::Error>;

    /// Replaces the parameters.
    fn set(&mut self, values: Vec<Tensor>) -> Result<(), Self::Error>;

    /// Computes the loss at the current parameters, and a gradient for each parameter.
    fn evaluate(&mut self) -> Result<(f64, Vec<Tensor>), Self::Error>;
}

/// The past iterations that a step reads.
#[derive(Clone, Default)]
pub struct Memory {
    /// Past changes, the oldest first.
    pub changes: VecDeque<Change>,
    /// The last iteration.
    pub last: Option<Last>,
}

/// A past change of the parameters, the corresponding change of the gradient, and the inverse of their dot
/// product.
#[derive(Clone)]
pub struct Change {
    /// Change of the parameters.
    pub parameters: Tensor,
    /// Change of the gradient.
    pub gradient: Tensor,
    /// 1 divided by the dot product of both.
    pub inverse: f64,
}

/// State of the last iteration.
#[derive(Clone)]
pub struct Last {
    /// The gradient before the iteration.
    pub gradient: Tensor,
    /// The direction of the iteration's step.
    pub direction: Tensor,
    /// The length of the iteration's step.
    pub length: f64,
    /// Scale of the initial estimate of the inverse curvature.
    pub scale: f64,
}

fn dot(a: &Tensor, b: &Tensor) -> Result<f64> {
    number(&(a * b).sum(()))
}

fn number(t: &Tensor) -> Result<f64> {
    t.to_dtype(gradus_ir::DType::F64).item()
}

fn largest(t: &Tensor) -> Result<f64> {
    number(&t.abs().max(()))
}

/// Joins tensors of any shapes to one vector.
fn flatten(parts: &[Tensor]) -> Result<Tensor> {
    let parts: Vec<Tensor> = parts.iter().map(|t| t.reshape([-1])).collect();
    Tensor::cat(&parts.iter().collect::<Vec<_>>(), 0).check().cloned()
}

/// Returns the parameters moved by a distance along a direction.
fn move_along(from: &[Tensor], direction: &Tensor, distance: f64) -> Vec<Tensor> {
    let mut at = 0;
    let mut moved = |from: &Tensor| {
        let own = direction.narrow(0, at, from.numel()).reshape(from.shape());
        at += from.numel();
        from + own * distance
    };
    from.iter().map(&mut moved).collect()
}

/// Evaluates loss and gradient, the latter as one vector.
fn evaluate<P: Problem>(problem: &mut P) -> Result<(f64, Tensor), P::Error> {
    let (value, gradients) = problem.evaluate()?;
    Ok((value, no_grad(|| flatten(&gradients))?))
}

impl Memory {
    /// Adds the change of the last iteration. Returns the direction of the next iteration, computed by two passes
    /// over the past changes, and the scale of the initial estimate.
    fn direction(&mut self, gradient: &Tensor, history: usize) -> Result<(Tensor, f64)> {
        let Some(last) = &self.last else { return Ok((-gradient, 1.0)) };
        let (y, s) = (gradient - &last.gradient, &last.direction * last.length);
        let (ys, mut scale) = (dot(&y, &s)?, last.scale);
        if ys > 1e-10 {
            while self.changes.len() >= history.max(1) {
                self.changes.pop_front();
            }
            scale = ys / dot(&y, &y)?;
            self.changes.push_back(Change { parameters: s, gradient: y, inverse: 1.0 / ys });
        }
        let mut q = -gradient;
        let mut alphas = Vec::with_capacity(self.changes.len());
        for c in self.changes.iter().rev() {
            let alpha = dot(&c.parameters, &q)? * c.inverse;
            q = q - &c.gradient * alpha;
            alphas.push(alpha);
        }
        let mut d = q * scale;
        for (c, alpha) in self.changes.iter().zip(alphas.into_iter().rev()) {
            let beta = dot(&c.gradient, &d)? * c.inverse;
            d = d + &c.parameters * (alpha - beta);
        }
        Ok((d, scale))
    }

    /// Takes one step; returns the loss before it.
    pub fn step<P: Problem>(&mut self, problem: &mut P, o: LbfgsOptions) -> Result<f64, P::Error> {
        let (first, mut gradient) = evaluate(problem)?;
        let (mut value, mut evaluations) = (first, 1);
        if largest(&gradient)? <= o.tolerance_grad {
            return Ok(first);
        }
        for iteration in 1..=o.iterations {
            let begins = self.last.is_none();
            let (direction, scale) = no_grad(|| self.direction(&gradient, o.history))?;
            // The curvature is unknown at first, so the first step is short.
            let short = if begins { (1.0 / number(&gradient.abs().sum(()))?).min(1.0) } else { 1.0 };
            let mut length = short * o.rate;
            let (slope, before) = (dot(&gradient, &direction)?, value);
            let last = Last { gradient: gradient.clone(), direction: direction.clone(), length, scale };
            self.last = Some(last);
            if slope > -o.tolerance_change {
                break;
            }
            let from = problem.parameters()?;
            if o.line_search {
                let here = Point { at: 0.0, value, slope, gradient };
                let size = largest(&direction)?;
                let left = o.evaluations.saturating_sub(evaluations);
                let (found, taken) = search(&here, length, size, o.tolerance_change, left, |distance| {
                    problem.set(no_grad(|| move_along(&from, &direction, distance)))?;
                    let (value, gradient) = evaluate(problem)?;
                    let slope = dot(&gradient, &direction)?;
                    Ok::<_, P::Error>(Point { at: distance, value, slope, gradient })
                })?;
                problem.set(no_grad(|| move_along(&from, &direction, found.at)))?;
                (length, value, gradient) = (found.at, found.value, found.gradient);
                evaluations += taken;
                if let Some(last) = &mut self.last {
                    last.length = length;
                }
            } else {
                problem.set(no_grad(|| move_along(&from, &direction, length)))?;
                if iteration < o.iterations {
                    (value, gradient) = evaluate(problem)?;
                    evaluations += 1;
                }
            }
            if iteration == o.iterations
                || evaluations >= o.evaluations
                || largest(&gradient)? <= o.tolerance_grad
                || largest(&direction)? * length <= o.tolerance_change
                || (value - before).abs() < o.tolerance_change
            {
                break;
            }
        }
        Ok(first)
    }
}

/// Quasi-Newton steps with limited memory.
pub struct Lbfgs {
    parameters: Vec<Tensor>,
    options: LbfgsOptions,
    memory: Memory,
}

impl Lbfgs {
    /// Makes an optimizer of these parameters, all of one dtype.
    pub fn new(parameters: &[(String, Tensor)], options: LbfgsOptions) -> Lbfgs {
        let parameters = parameters.iter().map(|(_, p)| p.clone()).collect();
        Lbfgs { parameters, options, memory: Memory::default() }
    }

    /// Takes one step; returns the loss before it.
    #[track_caller]
    pub fn step(&mut self, loss: impl Fn() -> Tensor) -> Result<f64> {
        if self.parameters.is_empty() {
            return Err(Error::value("the list of parameters", "must not be empty"));
        }
        let Lbfgs { parameters, options, memory } = self;
        memory.step(&mut Cells { parameters, loss }, *options)
    }
}

/// Cells with a function that computes their loss.
struct Cells<'a, F> {
    parameters: &'a [Tensor],
    loss: F,
}

impl<F: Fn() -> Tensor> Problem for Cells<'_, F> {
    type Error = Error;

    fn parameters(&self) -> Result<Vec<Tensor>> {
        Ok(self.parameters.iter().map(|p| p.data_().detach()).collect())
    }

    fn set(&mut self, values: Vec<Tensor>) -> Result<()> {
        self.parameters.iter().zip(&values).try_for_each(|(p, value)| p.data_().set_(value))
    }

    fn evaluate(&mut self) -> Result<(f64, Vec<Tensor>)> {
        let value = (self.loss)();
        let wrt: Vec<&Tensor> = self.parameters.iter().collect();
        let how = Backward { allow_unused: true, ..Backward::default() };
        let grads = autograd::grad(&[&value], &[None], &wrt, how)?.into_iter();
        let or_zeros = |(p, g): (&Tensor, Option<Tensor>)| g.unwrap_or_else(|| p.data_().zeros_like());
        let grads = self.parameters.iter().zip(grads).map(or_zeros).collect();
        Ok((number(&value.detach())?, grads))
    }
}
