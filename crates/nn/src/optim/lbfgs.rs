//! L-BFGS, which evaluates the loss several times per step and therefore runs eagerly.

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
    /// Whether to search along each direction for a point that meets the strong Wolfe conditions; the rate is
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

/// Quasi-Newton steps with limited memory.
pub struct Lbfgs {
    parameters: Vec<Tensor>,
    options: LbfgsOptions,
    past: VecDeque<Change>,
    last: Option<Last>,
}

/// A past change of the parameters, the corresponding change of the gradient, and the inverse of their product.
struct Change {
    s: Tensor,
    y: Tensor,
    inverse: f64,
}

/// State of the last iteration.
struct Last {
    gradient: Tensor,
    direction: Tensor,
    length: f64,
    scale: f64,
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

impl Lbfgs {
    /// Makes an optimizer of these parameters, all of one dtype.
    pub fn new(parameters: &[(String, Tensor)], options: LbfgsOptions) -> Lbfgs {
        let parameters = parameters.iter().map(|(_, p)| p.clone()).collect();
        Lbfgs { parameters, options, past: VecDeque::new(), last: None }
    }

    /// Evaluates loss and gradient, the latter as one vector.
    fn evaluate(&self, loss: &impl Fn() -> Tensor) -> Result<(f64, Tensor)> {
        let value = loss();
        let wrt: Vec<&Tensor> = self.parameters.iter().collect();
        let how = Backward { allow_unused: true, ..Backward::default() };
        let grads = autograd::grad(&[&value], &[None], &wrt, how)?;
        let flat =
            |(p, g): (&Tensor, Option<Tensor>)| g.unwrap_or_else(|| p.data_().zeros_like()).reshape([-1]);
        let parts: Vec<Tensor> = self.parameters.iter().zip(grads).map(flat).collect();
        let gradient = Tensor::cat(&parts.iter().collect::<Vec<_>>(), 0);
        Ok((number(&value.detach())?, gradient.check()?.clone()))
    }

    /// Returns the current parameters.
    fn here(&self) -> Vec<Tensor> {
        self.parameters.iter().map(|p| p.data_().detach()).collect()
    }

    /// Sets the parameters to a point along a direction.
    fn go(&self, from: &[Tensor], direction: &Tensor, distance: f64) -> Result<()> {
        let mut at = 0;
        for (p, from) in self.parameters.iter().zip(from) {
            let own = direction.narrow(0, at, p.numel()).reshape(p.shape());
            at += p.numel();
            p.data_().set_(&(from + own * distance))?;
        }
        Ok(())
    }

    /// Computes the direction of the next iteration, by two passes over the past changes.
    fn direction(&mut self, gradient: &Tensor) -> Result<(Tensor, f64)> {
        let Some(last) = &self.last else { return Ok((-gradient, 1.0)) };
        let (y, s) = (gradient - &last.gradient, &last.direction * last.length);
        let (ys, mut scale) = (dot(&y, &s)?, last.scale);
        if ys > 1e-10 {
            if self.past.len() == self.options.history {
                self.past.pop_front();
            }
            scale = ys / dot(&y, &y)?;
            self.past.push_back(Change { s, y, inverse: 1.0 / ys });
        }
        let mut q = -gradient;
        let mut alphas = Vec::with_capacity(self.past.len());
        for c in self.past.iter().rev() {
            let alpha = dot(&c.s, &q)? * c.inverse;
            q = q - &c.y * alpha;
            alphas.push(alpha);
        }
        let mut d = q * scale;
        for (c, alpha) in self.past.iter().zip(alphas.into_iter().rev()) {
            let beta = dot(&c.y, &d)? * c.inverse;
            d = d + &c.s * (alpha - beta);
        }
        Ok((d, scale))
    }

    /// Takes one step; returns the loss before it.
    #[track_caller]
    pub fn step(&mut self, loss: impl Fn() -> Tensor) -> Result<f64> {
        if self.parameters.is_empty() {
            return Err(Error::value("the parameters", "are none"));
        }
        let o = self.options;
        let (first, mut gradient) = self.evaluate(&loss)?;
        let (mut value, mut evaluations) = (first, 1);
        if largest(&gradient)? <= o.tolerance_grad {
            return Ok(first);
        }
        for iteration in 1..=o.iterations {
            let begins = self.last.is_none();
            let (direction, scale) = no_grad(|| self.direction(&gradient))?;
            // The curvature is unknown at first, so the first step is short.
            let length =
                if begins { (1.0 / number(&gradient.abs().sum(()))?).min(1.0) * o.rate } else { o.rate };
            let slope = dot(&gradient, &direction)?;
            let (from, before) = (self.here(), value);
            let mut length = length;
            let begun = gradient.clone();
            let downwards = slope <= -o.tolerance_change;
            if downwards && o.line_search {
                let at = |distance: f64| {
                    self.go(&from, &direction, distance)?;
                    let (value, gradient) = self.evaluate(&loss)?;
                    let slope = dot(&gradient, &direction)?;
                    Ok(Point { at: distance, value, slope, gradient })
                };
                let here = Point { at: 0.0, value, slope, gradient: gradient.clone() };
                let size = largest(&direction)?;
                let (found, taken) = search(&here, length, size, o.tolerance_change, at)?;
                self.go(&from, &direction, found.at)?;
                (length, value, gradient) = (found.at, found.value, found.gradient);
                evaluations += taken;
            } else if downwards {
                self.go(&from, &direction, length)?;
                if iteration < o.iterations {
                    (value, gradient) = self.evaluate(&loss)?;
                    evaluations += 1;
                }
            }
            let moved = largest(&direction)? * length;
            self.last = Some(Last { gradient: begun, direction, length, scale });
            if !downwards
                || iteration == o.iterations
                || evaluations >= o.evaluations
                || largest(&gradient)? <= o.tolerance_grad
                || moved <= o.tolerance_change
                || (value - before).abs() < o.tolerance_change
            {
                break;
            }
        }
        Ok(first)
    }
}
