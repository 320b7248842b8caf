//! Learning rate schedules.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

/// The factor of an optimizer's rate at each step, counted from 0.
#[derive(Clone)]
pub struct Schedule(Arc<dyn Fn(u64) -> f64 + Send + Sync>);

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({}, {}, {}, …)", self.factor(0), self.factor(1), self.factor(2))
    }
}

/// Interpolates from `a` to `b` as `t` goes from 0 to 1, along half a cosine.
fn cosine_between(a: f64, b: f64, t: f64) -> f64 {
    b + (a - b) * (1.0 + (PI * t).cos()) / 2.0
}

/// Returns the fraction `step / steps`, at most 1.
fn part(step: u64, steps: u64) -> f64 {
    if step >= steps { 1.0 } else { step as f64 / steps as f64 }
}

impl Schedule {
    /// Makes a schedule from any function of the step.
    pub fn new(f: impl Fn(u64) -> f64 + Send + Sync + 'static) -> Schedule {
        Schedule(Arc::new(f))
    }

    /// Returns the factor at a step.
    pub fn factor(&self, step: u64) -> f64 {
        (self.0)(step)
    }

    /// Always 1.
    pub fn constant() -> Schedule {
        Schedule::new(|_| 1.0)
    }

    /// Multiplies by `gamma` every `every` steps.
    pub fn step(every: u64, gamma: f64) -> Schedule {
        Schedule::new(move |step| gamma.powf((step / every.max(1)) as f64))
    }

    /// Multiplies by `gamma` at each of these steps.
    pub fn multistep(at: &[u64], gamma: f64) -> Schedule {
        let at = at.to_vec();
        Schedule::new(move |step| gamma.powf(at.iter().filter(|a| **a <= step).count() as f64))
    }

    /// Linear from `from` to `to` in `steps` steps, then constant.
    pub fn linear(from: f64, to: f64, steps: u64) -> Schedule {
        Schedule::new(move |step| from + (to - from) * part(step, steps))
    }

    /// Half a cosine from 1 to `to` in `steps` steps, then constant.
    pub fn cosine(steps: u64, to: f64) -> Schedule {
        Schedule::new(move |step| cosine_between(1.0, to, part(step, steps)))
    }

    /// Linear from `from` to 1 in `steps` steps, then another schedule.
    pub fn warm_up(from: f64, steps: u64, then: Schedule) -> Schedule {
        let line = Schedule::linear(from, 1.0, steps);
        Schedule::new(move |step| if step < steps { line.factor(step) } else { then.factor(step - steps) })
    }

    /// Rises from `1 / first` to 1 in the fraction `up` of all steps, then falls to `1 / (first · last)`, along
    /// half cosines.
    pub fn one_cycle(steps: u64, up: f64, first: f64, last: f64) -> Schedule {
        let top = up * steps as f64 - 1.0;
        let end = steps.saturating_sub(1) as f64;
        Schedule::new(move |step| {
            let step = (step as f64).min(end);
            if step <= top {
                cosine_between(1.0 / first, 1.0, step / top)
            } else {
                cosine_between(1.0, 1.0 / (first * last), (step - top) / (end - top))
            }
        })
    }

    /// Linear between points (step, factor) in the order of steps; constant before the first and after the
    /// last.
    pub fn piecewise(points: &[(u64, f64)]) -> Schedule {
        let points = points.to_vec();
        Schedule::new(move |step| {
            let after = points.partition_point(|(at, _)| *at <= step);
            match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
                (Some((a, x)), Some((b, y))) => x + (y - x) * (step - a) as f64 / (b - a) as f64,
                (Some((_, x)), None) | (None, Some(&(_, x))) => x,
                (None, None) => 1.0,
            }
        })
    }
}
