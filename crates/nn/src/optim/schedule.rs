//! Learning rate schedules.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

/// The factor of an optimizer's rate at each step, counted from 0.
#[derive(Clone)]
pub struct Schedule(Kind);

#[derive(Clone)]
enum Kind {
    Function(Arc<dyn Fn(u64) -> f64 + Send + Sync>),
    /// A base, and a function that returns the exponent of the base at a step.
    Power(f64, Arc<dyn Fn(u64) -> u64 + Send + Sync>),
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({}, {}, {}, …)", self.factor(0), self.factor(1), self.factor(2))
    }
}

/// Interpolates from `a` to `b` as `t` goes from 0 to 1, along half a cosine.
fn cosine_between(a: f64, b: f64, t: f64) -> f64 {
    b + (a - b) * (1.0 + (PI * t).cos()) / 2.0
}

/// Falls from 1 to 0 along half a cosine as `part` goes from 0 to 1.
pub fn half_cosine(part: f64) -> f64 {
    cosine_between(1.0, 0.0, part)
}

/// Returns the fraction `step / steps`, at most 1.
fn part(step: u64, steps: u64) -> f64 {
    if step >= steps { 1.0 } else { step as f64 / steps as f64 }
}

impl Schedule {
    /// Makes a schedule from any function of the step.
    pub fn new(f: impl Fn(u64) -> f64 + Send + Sync + 'static) -> Schedule {
        Schedule(Kind::Function(Arc::new(f)))
    }

    fn power(gamma: f64, count: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Schedule {
        Schedule(Kind::Power(gamma, Arc::new(count)))
    }

    /// Returns the factor at a step.
    pub fn factor(&self, step: u64) -> f64 {
        match &self.0 {
            Kind::Function(f) => f(step),
            Kind::Power(gamma, count) => gamma.powf(count(step) as f64),
        }
    }

    /// Returns the rate at `step`, computed from `rate`, the rate at the step before. Changes that other code
    /// has made to `rate` are kept. Factor 0 stands for the rate `floor`, factor 1 for the rate `first`.
    pub fn next(&self, step: u64, rate: f64, first: f64, floor: f64) -> f64 {
        let (before, now) = match step.checked_sub(1) {
            None => (1.0, self.factor(0)),
            Some(last) => match &self.0 {
                Kind::Power(gamma, count) => {
                    (1.0, gamma.powf(count(step).saturating_sub(count(last)) as f64))
                }
                Kind::Function(f) => (f(last), f(step)),
            },
        };
        match before {
            _ if now == before => rate,
            // At factor 0 the rate is the floor, which no ratio of factors changes.
            0.0 => rate + (first - floor) * now,
            _ => floor + (rate - floor) * (now / before),
        }
    }

    /// Always 1.
    pub fn constant() -> Schedule {
        Schedule::new(|_| 1.0)
    }

    /// Multiplies by `gamma` every `every` steps.
    pub fn step(every: u64, gamma: f64) -> Schedule {
        Schedule::power(gamma, move |step| step / every.max(1))
    }

    /// Multiplies by `gamma` at each of these steps.
    pub fn multistep(at: &[u64], gamma: f64) -> Schedule {
        let at = at.to_vec();
        Schedule::power(gamma, move |step| at.iter().filter(|a| **a <= step).count() as u64)
    }

    /// Multiplies by `gamma` at every step.
    pub fn exponential(gamma: f64) -> Schedule {
        Schedule::power(gamma, |step| step)
    }

    /// `factor` for the first `steps` steps, then 1.
    pub fn initial_factor(factor: f64, steps: u64) -> Schedule {
        Schedule::new(move |step| if step < steps { factor } else { 1.0 })
    }

    /// The fraction of `steps` that is left, raised to `power`.
    pub fn polynomial(steps: u64, power: f64) -> Schedule {
        Schedule::new(move |step| (1.0 - part(step, steps)).powf(power))
    }

    /// Linear from `from` to `to` in `steps` steps, then constant.
    pub fn linear(from: f64, to: f64, steps: u64) -> Schedule {
        Schedule::new(move |step| from + (to - from) * part(step, steps))
    }

    /// Half a cosine from 1 to `to` in `steps` steps, then constant.
    pub fn cosine(steps: u64, to: f64) -> Schedule {
        Schedule::new(move |step| cosine_between(1.0, to, part(step, steps)))
    }

    /// A cosine from 1 to 0 in `steps` steps, then back to 1 in as many, and so on.
    pub fn wave(steps: u64) -> Schedule {
        Schedule::new(move |step| half_cosine(step as f64 / steps.max(1) as f64))
    }

    /// Half a cosine from 1 to 0 in `steps` steps, then again from 1 in `growth` times as many, and so on.
    pub fn restarts(steps: u64, growth: u64) -> Schedule {
        Schedule::new(move |step| {
            let (mut at, mut period) = (step, steps.max(1));
            while at >= period {
                at -= period;
                period = period.saturating_mul(growth.max(1));
            }
            half_cosine(at as f64 / period as f64)
        })
    }

    /// Rises linearly from 0 to 1 in the fraction `rise` of a period of `steps` steps, falls back to 0 in the
    /// rest of the period, and repeats.
    pub fn triangle(steps: f64, rise: f64) -> Schedule {
        Schedule::new(move |step| {
            let periods = step as f64 / steps;
            let part = 1.0 + periods - (1.0 + periods).floor();
            if part <= rise { part / rise } else { (part - 1.0) / (rise - 1.0) }
        })
    }

    /// Linear from `from` to 1 in `steps` steps, then another schedule.
    pub fn warm_up(from: f64, steps: u64, then: Schedule) -> Schedule {
        let line = Schedule::linear(from, 1.0, steps);
        Schedule::new(move |step| if step < steps { line.factor(step) } else { then.factor(step - steps) })
    }

    /// Rises from `1 / first` to 1 in the fraction `up` of all steps, then falls to `1 / (first · last)`,
    /// along half cosines.
    pub fn one_cycle(steps: u64, up: f64, first: f64, last: f64) -> Schedule {
        let (top, end) = (up * steps as f64 - 1.0, steps.saturating_sub(1) as f64);
        let both = Schedule::phases(&[(top, 1.0 / first, 1.0), (end, 1.0, 1.0 / (first * last))], true);
        Schedule::new(move |step| both.factor(step.min(steps.saturating_sub(1))))
    }

    /// Consecutive phases, each given by its last step, its first factor and its last factor. In between,
    /// factors follow half a cosine if `cosine` is set, else a line. The curve of the last phase continues
    /// after its last step.
    pub fn phases(phases: &[(f64, f64, f64)], cosine: bool) -> Schedule {
        let phases = phases.to_vec();
        Schedule::new(move |step| {
            let at = phases.partition_point(|(end, ..)| *end < step as f64).min(phases.len().max(1) - 1);
            let Some(&(end, from, to)) = phases.get(at) else { return 1.0 };
            let begin = at.checked_sub(1).map_or(0.0, |last| phases[last].0);
            let part = if end > begin { (step as f64 - begin) / (end - begin) } else { 1.0 };
            if cosine { cosine_between(from, to, part) } else { from + (to - from) * part }
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
