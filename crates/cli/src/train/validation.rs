//! Computes the loss on examples that are held out of training.

use super::keys::Keys;
use crate::Done;
use gradus::lang::Lowered;
use gradus::nn::data::{Dataset, Loader};
use gradus::nn::{Evaluate, Optimizer};
use gradus::{DType, Device};

/// The options of the table `validation`.
pub(crate) struct HeldOut {
    /// Number of batches between validations.
    every: u64,
    /// Fraction of the data that is held out.
    part: f64,
}

impl HeldOut {
    /// Reads the table, if it is present. If `fixed` is true, the fraction is not configurable.
    pub(crate) fn read(keys: &mut Keys, fixed: bool) -> Done<Option<HeldOut>> {
        let there = keys.has("validation");
        let mut own = keys.table("validation")?;
        if !there {
            return Ok(None);
        }
        let every = own.count("every", 1)?;
        let every = own.need("every", "the number of batches between validations", every)?;
        let part = if fixed { 0.0 } else { own.number("part", 0.1)? };
        if !(fixed || part > 0.0 && part < 1.0) {
            return Err(own.fault("part", &format!("is {part}, not a number between 0 and 1")));
        }
        own.finish()?;
        Ok(Some(HeldOut { every, part }))
    }

    /// Number of examples that remain for training; they are the first ones.
    pub(crate) fn rest(&self, examples: usize) -> usize {
        examples - ((examples as f64 * self.part).ceil() as usize).min(examples)
    }

    /// Makes the validation of a compiled loss on held-out examples. Fails if these do not fill a batch.
    pub(crate) fn with(
        self,
        keys: &Keys,
        data: impl Dataset + 'static,
        batch: usize,
        loss: Evaluate<'static>,
        device: Device,
    ) -> Done<Validation> {
        let examples = data.len();
        if examples < batch {
            let why = format!("holds out {examples} examples, but a batch needs {batch}");
            return Err(keys.fault("validation", &why));
        }
        Ok(Validation { every: self.every, loss, batches: Loader::new(data, batch)?.to(device) })
    }
}

/// Held-out examples and the loss on them.
pub(crate) struct Validation {
    every: u64,
    loss: Evaluate<'static>,
    batches: Loader,
}

impl Validation {
    /// Returns true if validation is due after this batch.
    pub(crate) fn due(&self, batch: u64, batches: u64) -> bool {
        batch.is_multiple_of(self.every) || batch == batches
    }

    /// Computes the mean loss over all held-out batches, with averaged parameters if the optimiser has them.
    pub(crate) fn run(&mut self, optimizer: &Optimizer, program: Option<&Lowered>) -> Done<f64> {
        if !optimizer.averages() {
            return self.mean(program);
        }
        optimizer.swap_average()?;
        let mean = self.mean(program);
        optimizer.swap_average()?;
        mean
    }

    fn mean(&mut self, program: Option<&Lowered>) -> Done<f64> {
        let (mut sum, n) = (0.0, self.batches.batches());
        for batch in self.batches.pass() {
            let mut outs = self.loss.run(&batch?)?.into_iter();
            sum += outs
                .next()
                .map_or(Ok(f64::NAN), |loss| loss.to(Device::CPU).to_dtype(DType::F64).item::<f64>())?;
            if let Some(program) = program {
                program.check(&outs.collect::<Vec<_>>())?;
            }
        }
        Ok(sum / n as f64)
    }
}
