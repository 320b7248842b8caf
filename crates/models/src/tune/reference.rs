//! The reference policy of a run: the parameters at its start, and log-probabilities under them.

use super::objective::token_log_probabilities;
use crate::decoder::{Decoder, Packed};
use gradus_ir::{Error, Result};
use gradus_nn::{Evaluate, compile_forward};
use gradus_tensor::{Device, Tensor};
use std::sync::Arc;

/// A copy of parameter values. If only adapters are trained, the copy is small.
pub(crate) struct Snapshot(Vec<(Tensor, Tensor)>);

impl Snapshot {
    pub(crate) fn new(parameters: &[(String, Tensor)]) -> Snapshot {
        Snapshot(parameters.iter().map(|(_, p)| (p.data_(), p.data_().detach())).collect())
    }

    /// Calls `f` while the parameters have the values of the snapshot, then restores their current values.
    pub(crate) fn with<T>(&self, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let now: Vec<Tensor> = self.0.iter().map(|(cell, _)| cell.detach()).collect();
        self.0.iter().try_for_each(|(cell, value)| cell.set_(value))?;
        let done = f();
        self.0.iter().zip(&now).try_for_each(|((cell, _), value)| cell.set_(value))?;
        done
    }
}

/// A compiled function that computes the log-probabilities of the targets of rows.
pub(crate) struct Scorer(Evaluate<'static>);

impl Scorer {
    pub(crate) fn new(model: Arc<Decoder>) -> Scorer {
        Scorer(compile_forward(model, |model: &Decoder, x: &[Tensor]| log_probabilities(model, x)))
    }

    /// Computes the log-probability of each target, row by row. Takes `ids`, `targets`, `segments` and
    /// `positions`.
    pub(crate) fn rows(&self, batch: &[Tensor]) -> Result<Vec<Vec<f64>>> {
        let out = self.0.run(&batch[..4])?.swap_remove(0).to(Device::CPU);
        Ok(out.to_vec2::<f32>()?.into_iter().map(|row| row.into_iter().map(f64::from).collect()).collect())
    }
}

/// Computes the log-probability of each target. Takes `ids`, `targets`, `segments` and `positions`, all
/// `[batch, time]`.
pub(crate) fn log_probabilities(model: &Decoder, x: &[Tensor]) -> Tensor {
    let [ids, targets, segments, positions, ..] = x else {
        return Tensor::failed(Error::value(format!("{} tensors", x.len()), "must be 4 or more"));
    };
    let packed = Packed { segments: segments.clone(), positions: positions.clone() };
    token_log_probabilities(&model.head(&model.states(ids, Some(&packed))), targets)
}
