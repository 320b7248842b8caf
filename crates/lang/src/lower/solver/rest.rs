//! Convergence of fixpoints.
//!
//! A small change alone does not show convergence: slow iterations may have far to go. If changes halve every `n`
//! rounds, all future ones add up to about `n / ln 2` times the last one, and this sum must be small. It is relative
//! to the largest magnitude that each number has had, so small numbers converge as precisely as large ones, and 0 is
//! found too.

use crate::builtin::{RuntimeCheck, Verdict};
use gradus_ir::{DType, Result};
use gradus_tensor::{Device, Tensor};
use std::f64::consts::LOG2_E;

/// The number of carries of a watch, in addition to one for each name.
const OWN: usize = 7;

/// Changes of up to this many rounding errors count as rounding.
const ROUNDINGS: f64 = 4.0;

/// Settings of the convergence check, which watches the changes of numbers from round to round.
pub(super) struct Watch {
    pub(super) float: DType,
    pub(super) tolerance: f64,
    /// If true, infinities are valid values: a maximum or minimum without contributions so far.
    pub(super) infinite: bool,
}

impl Watch {
    /// Returns the carries before the first round, for names that start with these values.
    pub(super) fn start(&self, begin: &[Tensor]) -> Vec<Tensor> {
        let largest = begin.iter().map(|t| self.size(&t.to_dtype(self.float)));
        // The first round changes numbers by up to their full size, which is less than half of this mark.
        let (last, mark, since, halving, moved, left, allowed) =
            (1.0, 4.0, 0.0, 1.0, 1.0, f64::INFINITY, 0.0);
        largest.chain([last, mark, since, halving, moved, left, allowed].map(scalar)).collect()
    }

    /// Returns the magnitudes of numbers; 0 for an infinity that is a valid value.
    fn size(&self, t: &Tensor) -> Tensor {
        if self.infinite { t.is_inf().select(&t.zeros_like(), &t.abs()) } else { t.abs() }
    }

    /// Returns the carries after a round from `before` to `now`.
    pub(super) fn after(&self, carries: &[Tensor], before: &[Tensor], now: &[Tensor]) -> Vec<Tensor> {
        let (mut largest, own) = (carries[..now.len()].to_vec(), &carries[now.len()..]);
        let mut move_now = scalar(0.0);
        for ((a, b), largest) in now.iter().zip(before).zip(&mut largest) {
            // The convergence check is not differentiated.
            let (a, b) = (a.to_dtype(self.float).stop_gradient(), b.to_dtype(self.float).stop_gradient());
            *largest = largest.maximum(&self.size(&a));
            let mut by = (&a - &b).abs();
            if self.infinite {
                by = a.eq(&b).select(&by.zeros_like(), &by);
            }
            let mut relative = &by / &*largest;
            if self.infinite {
                // A change from an infinity to a number counts as its full size.
                relative = by.is_inf().select(&by.ones_like(), &relative);
            }
            let relative = by.eq(0.0).select(&by, &relative);
            move_now = move_now.maximum(&relative.max(()).to_dtype(DType::F32));
        }
        let [last, mark, since, halving] = [0, 1, 2, 3].map(|i| &own[i]);
        // The larger of two changes: an oscillating number hardly changes at its turning points.
        let moved = move_now.maximum(last);
        let since = since + 1.0;
        let halved = moved.le(&(mark * 0.5));
        let (mark, halving) = (halved.select(&moved, mark), halved.select(&since, halving));
        let since = halved.select(0.0f32, &since);
        let to_come = |size: &Tensor, rounds: &Tensor| &(size * rounds) * LOG2_E;
        // Changes that no longer halve as before and are as small as accumulated rounding may hide slower
        // ones; so may a round without any change after them. Then only half of the digits are required to be
        // right.
        let epsilon = self.float.epsilon();
        let hidden = to_come(&scalar(epsilon), &halving);
        let (still, tiny) = (move_now.eq(0.0), scalar(ROUNDINGS * epsilon));
        let lost = moved.le(&tiny.maximum(&(&hidden * 2.0))).logical_and(&since.gt(&(&halving * 2.0)));
        let blind = lost.logical_or(&still.logical_and(&moved.le(&tiny)));
        let left = to_come(&moved, &halving.maximum(&since));
        let left = blind.select(&hidden, &still.select(&move_now, &left));
        let allowed = blind.select(self.tolerance.max(epsilon.sqrt()) as f32, self.tolerance as f32);
        largest.extend([move_now, mark, since, halving, moved, left, allowed]);
        largest
    }

    /// Returns true if another round is needed. A round that changed nothing is the last.
    pub(super) fn needs_round(carries: &[Tensor]) -> Tensor {
        let own = &carries[carries.len() - OWN..];
        own[5].gt(&own[6]).logical_and(&own[0].ne(0.0))
    }

    /// Returns the result of the convergence check after the last round.
    pub(super) fn verdict(carries: &[Tensor]) -> Tensor {
        let own = &carries[carries.len() - OWN..];
        Tensor::stack(&[&own[4], &own[5], &own[6]], 0)
    }
}

impl Verdict {
    /// Returns a boolean of the graph that is true if the check succeeded.
    pub(crate) fn is_fine(&self) -> Tensor {
        let part = |i| self.verdict.narrow(0, i, 1).squeeze([0]);
        if self.judged == RuntimeCheck::Converged { part(1).le(&part(2)) } else { part(0).eq(0.0) }
    }
}

fn scalar(x: f64) -> Tensor {
    Tensor::full([], x as f32)
}

/// Explains why a fixpoint has not converged and suggests a change; `None` if it has.
pub(crate) fn explain_nonconvergence(verdict: &Tensor) -> Result<Option<(String, &'static str)>> {
    let read = verdict.to(Device::CPU).to_dtype(DType::F64).to_vec::<f64>()?;
    let [moved, left, allowed] = [0, 1, 2].map(|i| read.get(i).copied().unwrap_or(f64::NAN));
    if left <= allowed {
        return Ok(None);
    }
    let far = match left < 1.0 {
        true => format!(", and the remaining distance may be {left:.1e} of it"),
        false => String::new(),
    };
    let moves = format!("in the last round it changed by {moved:.1e} relative to its magnitude{far}");
    let more = "allow more rounds, a larger tolerance, or values that have not converged";
    Ok(Some(match moved.is_nan() {
        // NaN never converges.
        true => (
            "its values diverged to infinity or NaN".into(),
            "more rounds do not help: the iteration diverges",
        ),
        false if moved <= allowed => (
            format!("it converges too slowly: {moves}"),
            "allow more rounds or a larger tolerance, or compute in f64 instead of f32",
        ),
        false => (moves, more),
    }))
}
