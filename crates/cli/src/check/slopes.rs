//! Slopes from finite differences, and a test whether a derivative exists.

/// The backward and the forward slope of the loss along a direction.
#[derive(Clone, Copy)]
pub(super) struct Slopes {
    pub(super) back: f64,
    pub(super) ahead: f64,
    /// Bound on the rounding error of the slopes.
    pub(super) rounding: f64,
}

impl Slopes {
    pub(super) fn central(self) -> f64 {
        (self.back + self.ahead) / 2.0
    }

    pub(super) fn gap(self) -> f64 {
        (self.ahead - self.back).abs()
    }

    /// Returns true if backward and forward slopes do not converge to each other with shorter steps.
    pub(super) fn splits(self, shorter: Slopes) -> bool {
        shorter.gap() > 0.5 * self.gap() && shorter.gap() > 4.0 * shorter.rounding
    }

    /// Returns true if a slope is between these two, up to rounding and a small tolerance.
    pub(super) fn contains(self, slope: f64) -> bool {
        let spare = self.rounding + 1e-3 * self.gap();
        (self.back.min(self.ahead) - spare..=self.back.max(self.ahead) + spare).contains(&slope)
    }

    /// Returns the difference of a slope from the central slope, beyond rounding.
    pub(super) fn error(self, slope: f64) -> f64 {
        let far = (self.central() - slope).abs();
        if far <= self.rounding { 0.0 } else { far - self.rounding }
    }

    /// Returns true if there is no derivative: with shorter steps the slopes stay apart, grow without bound,
    /// or are not finite. If `slope` is not between the two slopes, the gradient counts as wrong instead. The
    /// exception is a gradient on which forward and reverse mode agree: several kinks that cancel may each
    /// have a slope of their own.
    pub(super) fn kinked(self, shorter: Slopes, slope: f64, agreed: bool) -> bool {
        if !self.gap().is_finite() || !shorter.gap().is_finite() {
            return true;
        }
        let between = shorter.contains(slope);
        let apart = shorter.gap() > 0.5 * self.gap() && shorter.gap() > shorter.rounding;
        // At a jump, slopes grow as steps shrink. Two jumps may give equal slopes on both sides.
        let jumps =
            |long: f64, short: f64| short.abs() > 6.0 * long.abs() && short.abs() > 4.0 * shorter.rounding;
        if jumps(self.back, shorter.back) || jumps(self.ahead, shorter.ahead) {
            return true;
        }
        let endless = shorter.central().abs() > 1.5 * self.central().abs();
        apart && (between || agreed || !slope.is_finite()) || endless && !slope.is_finite()
    }
}

/// Extrapolates the limit of a sequence that converges geometrically, by Aitken's method. Returns NaN if it
/// does not converge.
pub(super) fn limit([a, b, c]: [f64; 3]) -> f64 {
    let shrinks = (c - b).abs() < 0.9 * (b - a).abs();
    if shrinks { c - (c - b) * (c - b) / ((c - b) - (b - a)) } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::{Slopes, limit};

    fn slopes(f: impl Fn(f64) -> f64, step: f64) -> Slopes {
        Slopes { back: (f(0.0) - f(-step)) / step, ahead: (f(step) - f(0.0)) / step, rounding: 1e-14 / step }
    }

    /// Tests that at a kink only slopes between both sides are accepted, and that a smooth curve has no kink.
    #[test]
    fn kinks_and_wrong_slopes() {
        let kinked =
            |f: fn(f64) -> f64, slope: f64| slopes(f, 1e-5).kinked(slopes(f, 1e-5 / 8.0), slope, false);
        assert!(kinked(f64::abs, 0.0) && kinked(f64::abs, 1.0) && kinked(f64::abs, -1.0));
        assert!(!kinked(f64::abs, 1.5) && !kinked(f64::abs, -2.0));
        assert!(kinked(f64::sqrt, f64::INFINITY) && kinked(f64::cbrt, f64::INFINITY));
        let stairs = |x: f64| f64::from(x > 0.0) - f64::from(x < 0.0);
        assert!(kinked(stairs, 0.0) && kinked(|x| f64::from(x == 0.0), 0.0));
        assert!(kinked(|x| x.abs().sqrt(), f64::NAN) && kinked(|x| f64::from(x > 0.0), 0.0));
        for slope in [0.0, 0.9, 1.001, 2.0, f64::NAN, f64::INFINITY] {
            assert!(!kinked(f64::exp, slope) && !kinked(|x| 1e3 * (x + x * x), slope), "{slope}");
        }
        assert!(slopes(f64::exp, 1e-5).error(1.0) < 1e-9 && slopes(f64::exp, 1e-5).error(1.1) > 0.09);
        assert!(slopes(f64::exp, 1e-5).error(f64::NAN).is_nan());
        let splits = |f: fn(f64) -> f64| slopes(f, 1e-5).splits(slopes(f, 1e-5 / 8.0));
        assert!(splits(f64::abs) && splits(|x| x.max(0.0)) && !splits(f64::exp) && !splits(|x| x * x.abs()));
        assert!(limit([1.0, 2.0, 4.0]).is_nan() && limit([1.0, 2.0, 3.0]).is_nan());
        assert_eq!([limit([5.0, 3.0, 2.0]), limit([9.0, 5.0, 3.0])], [1.0, 1.0]);
    }
}
