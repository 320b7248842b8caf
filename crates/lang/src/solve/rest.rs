//! When numbers that are computed again and again are at rest.
//!
//! How little they move says nothing alone: what creeps may have a long way to go. If moves halve every `n` rounds, all
//! that are still to come add up to about `n / ln 2` times the last one, and that is what must be small. It is relative to
//! the largest that each number has been, so that small numbers are found as well as large ones, and 0 is found too.

use crate::verdict::{Judged, Verdict};
use gradus_ir::{DType, Result};
use gradus_tensor::{Device, Tensor};
use std::f64::consts::LOG2_E;

/// How many carries a watch has behind one for each name.
const OWN: usize = 7;

/// Moves of so many roundings are rounding.
const ROUNDINGS: f64 = 4.0;

/// Watches numbers from round to round.
pub(super) struct Watch {
    pub(super) float: DType,
    pub(super) tolerance: f64,
    /// Whether infinities are values: of a largest or smallest, to which nothing has contributed yet.
    pub(super) infinite: bool,
}

impl Watch {
    /// The carries before the first round, for names that begin with these values.
    pub(super) fn start(&self, begin: &[Tensor]) -> Vec<Tensor> {
        let largest = begin.iter().map(|t| self.size(&t.to_dtype(self.float)));
        // The first round moves numbers by all of their size, which is less than half of this.
        let (last, mark, since, halving, moved, left, allowed) =
            (1.0, 4.0, 0.0, 1.0, 1.0, f64::INFINITY, 0.0);
        largest.chain([last, mark, since, halving, moved, left, allowed].map(scalar)).collect()
    }

    /// The sizes of numbers; an infinity that is a value has none.
    fn size(&self, t: &Tensor) -> Tensor {
        if self.infinite { t.is_inf().select(&t.zeros_like(), &t.abs()) } else { t.abs() }
    }

    /// The carries behind a round that led from some values to others.
    pub(super) fn after(&self, carries: &[Tensor], before: &[Tensor], now: &[Tensor]) -> Vec<Tensor> {
        let (mut largest, own) = (carries[..now.len()].to_vec(), &carries[now.len()..]);
        let mut move_now = scalar(0.0);
        for ((a, b), largest) in now.iter().zip(before).zip(&mut largest) {
            // Watching is no part of what may be differentiated.
            let (a, b) = (a.to_dtype(self.float).stop_gradient(), b.to_dtype(self.float).stop_gradient());
            *largest = largest.maximum(&self.size(&a));
            let mut by = (&a - &b).abs();
            if self.infinite {
                by = a.eq(&b).select(&by.zeros_like(), &by);
            }
            let mut relative = &by / &*largest;
            if self.infinite {
                // From an infinity to a number is a move by all of its size.
                relative = by.is_inf().select(&by.ones_like(), &relative);
            }
            let relative = by.eq(0.0).select(&by, &relative);
            move_now = move_now.maximum(&relative.max(()).to_dtype(DType::F32));
        }
        let [last, mark, since, halving] = [0, 1, 2, 3].map(|i| &own[i]);
        // Of two moves the larger: what swings around its place is hardly moving when it turns.
        let moved = move_now.maximum(last);
        let since = since + 1.0;
        let halved = moved.le(&(mark * 0.5));
        let (mark, halving) = (halved.select(&moved, mark), halved.select(&since, halving));
        let since = halved.select(0.0f32, &since);
        let to_come = |size: &Tensor, rounds: &Tensor| &(size * rounds) * LOG2_E;
        // Moves that no longer halve as those before, and are what roundings add up to, hide slower ones, and so does
        // standing still behind them: then half of the digits must be right.
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

    /// Whether another round is needed: not if the last one changed nothing, whatever that means.
    pub(super) fn restless(carries: &[Tensor]) -> Tensor {
        let own = &carries[carries.len() - OWN..];
        own[5].gt(&own[6]).logical_and(&own[0].ne(0.0))
    }

    /// What a run reads to judge the last round.
    pub(super) fn verdict(carries: &[Tensor]) -> Tensor {
        let own = &carries[carries.len() - OWN..];
        Tensor::stack(&[&own[4], &own[5], &own[6]], 0)
    }
}

impl Verdict {
    /// Whether all is as it should be, as a graph says it.
    pub(crate) fn is_fine(&self) -> Tensor {
        let part = |i| self.verdict.narrow(0, i, 1).squeeze([0]);
        if self.judged == Judged::Rest { part(1).le(&part(2)) } else { part(0).eq(0.0) }
    }
}

fn scalar(x: f64) -> Tensor {
    Tensor::full([], x as f32)
}

/// Why the numbers of a fixpoint are not at rest, and what to do; nothing if they are.
pub(crate) fn unrest(verdict: &Tensor) -> Result<Option<(String, &'static str)>> {
    let read = verdict.to(Device::CPU).to_dtype(DType::F64).to_vec::<f64>()?;
    let [moved, left, allowed] = [0, 1, 2].map(|i| read.get(i).copied().unwrap_or(f64::NAN));
    if left <= allowed {
        return Ok(None);
    }
    let far = match left < 1.0 {
        true => format!(", and may have {left:.1e} of it left to go"),
        false => String::new(),
    };
    let moves = format!("in the last round it moved by {moved:.1e} relative to its size{far}");
    let more = "allow more rounds, a larger tolerance, or values that did not come to rest";
    Ok(Some(match moved.is_nan() {
        // NaN is never at rest.
        true => {
            ("its numbers grew beyond bounds".into(), "no number of rounds helps: each leads further away")
        }
        false if moved <= allowed => (
            format!("it creeps: {moves}"),
            "allow more rounds or a larger tolerance, or compute in f64 instead of f32",
        ),
        false => (moves, more),
    }))
}
