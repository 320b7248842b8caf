//! Schedules: how the rate changes from step to step.

use std::fmt;
use std::sync::Arc;

/// The factor on an optimiser's rate at each step, counted from 0.
#[derive(Clone)]
pub struct Schedule(Arc<dyn Fn(u64) -> f64 + Send + Sync>);

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({}, {}, {}, …)", self.factor(0), self.factor(1), self.factor(2))
    }
}

impl Schedule {
    /// Any function of the step.
    pub fn new(f: impl Fn(u64) -> f64 + Send + Sync + 'static) -> Schedule {
        Schedule(Arc::new(f))
    }

    /// The factor at a step.
    pub fn factor(&self, step: u64) -> f64 {
        (self.0)(step)
    }

    /// Always 1.
    pub fn constant() -> Schedule {
        Schedule::new(|_| 1.0)
    }
}
