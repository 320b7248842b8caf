//! Compiled training: forward pass, backward pass and update as one executable that changes cells in place.
//! Takes a loss function, an optimizer and batches; returns losses and captured values, and updates the
//! model's cells.
//! `optim` defines the updates, `gradus_tensor` traces and compiles.

use crate::caller::at_caller;
use crate::capture::record_captures;
use crate::finite;
use crate::module::{Module, Part, in_evaluation_mode};
use crate::optim::Optimizer;
use gradus_ir::{Aval, Error, Graph, Result};
use gradus_tensor::{
    Compiled, Device, Jit, Outputs, Tensor, Timeline, compile, compile_named, in_order, jit,
    value_and_grad_of,
};
use std::borrow::Borrow;
use std::ops::Deref;
use std::sync::Arc;

/// Results of a step.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The loss, before the update.
    pub loss: Tensor,
    /// The other results of the loss function.
    pub outputs: Vec<Tensor>,
    /// The requested intermediates, by name.
    pub captured: Vec<(String, Tensor)>,
}

impl Outcome {
    /// Returns a requested intermediate.
    pub fn captured(&self, name: &str) -> Option<&Tensor> {
        self.captured.iter().find(|(n, _)| n == name).map(|(_, t)| t)
    }
}

type Loss<'m> = Box<dyn Fn(&[Tensor]) -> Vec<Tensor> + 'm>;

/// A training step, compiled for every type of batch so far. Made by [`compile_training`].
pub struct Step<'m> {
    loss: Loss<'m>,
    pub(crate) parts: Vec<(String, Part)>,
    optimizer: Optimizer,
    /// Names of the requested intermediates.
    names: Vec<String>,
    /// Names of the tensors in a batch, if they were set.
    inputs: Vec<String>,
    /// Accumulation of gradients over several batches.
    batches: Batches,
    /// Number of tensors in a batch.
    fields: usize,
    /// If true, non-finite values are an error.
    finite: bool,
    executables: Vec<CompiledBatch>,
}

struct Batches {
    /// Number of batches whose gradients are averaged for an update.
    per_update: u64,
    /// Number of batches since the last update.
    seen: u64,
    /// Sums of gradients, if there is more than one batch.
    sums: Vec<Tensor>,
}

/// Largest number of executables that are kept.
const MAX_EXECUTABLES: usize = 64;

/// The properties of the inputs for which an executable was compiled.
#[derive(PartialEq)]
struct Key {
    types: Vec<Aval>,
    /// A flag for each layer with a mode and for each parameter, in the order of the model's parts: true if the layer
    /// is in training mode, or if the parameter is trained.
    settings: Vec<bool>,
    /// Device of the parameters and the batch, if not the CPU.
    device: Option<Device>,
    /// If true, this batch ends with an update.
    updates: bool,
}

struct CompiledBatch {
    key: Key,
    compiled: Compiled,
    outputs: usize,
    captured: Vec<String>,
}

/// Compiles a loss of a model and a batch, its gradients, and the optimizer's update, at the types of these
/// inputs. Batches of other types are compiled when they first occur, with layers in their mode at that time.
/// The model may be borrowed, or owned in a `Box` or `Arc`.
///
/// ```
/// use gradus_nn::{Forward, Linear, Module, Optimizer, compile_training, optim::Sgd};
/// use gradus_tensor::{Generator, Reduction, Tensor, mse_loss};
/// let model = Linear::new(1, 1, &Generator::new(0));
/// let (x, y) = (Tensor::from([[0.0f32], [1.0], [2.0]]), Tensor::from([[1.0f32], [3.0], [5.0]]));
/// let sgd = Optimizer::new(model.parameters(), Sgd { rate: 0.1, ..Sgd::default() });
/// let loss = |m: &Linear, b: &[Tensor]| mse_loss(&m.forward(&b[0]), &b[1], Reduction::Mean);
/// let mut step = compile_training(&model, loss, sgd, &[&x, &y])?;
/// for _ in 0..300 {
///     step.run(&[&x, &y])?;
/// }
/// assert!((model.weight.item::<f32>()? - 2.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn compile_training<'m, M: Module, R: Outputs>(
    model: impl Deref<Target = M> + 'm,
    loss: impl Fn(&M, &[Tensor]) -> R + 'm,
    optimizer: Optimizer,
    inputs: &[impl Borrow<Tensor>],
) -> Result<Step<'m>> {
    let location = std::panic::Location::caller();
    model.name_cells();
    let (parts, names, executables) = (model.parts(), Vec::new(), Vec::new());
    let loss: Loss<'m> = Box::new(move |batch| loss(&model, batch).outputs());
    let batches = Batches { per_update: 1, seen: 0, sums: Vec::new() };
    let (batch, fields, finite) = (refs(inputs), inputs.len(), false);
    let inputs = Vec::new();
    let mut step = Step { loss, parts, optimizer, names, inputs, batches, fields, finite, executables };
    step.executable_index(&batch).map_err(|e| at_caller(e, location))?;
    Ok(step)
}

fn refs<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<&Tensor> {
    tensors.iter().map(Borrow::borrow).collect()
}

impl Step<'_> {
    /// Runs one step on a batch.
    #[track_caller]
    pub fn run(&mut self, batch: &[impl Borrow<Tensor>]) -> Result<Outcome> {
        let location = std::panic::Location::caller();
        self.run_on(&refs(batch)).map_err(|e| at_caller(e, location))
    }

    /// Runs one step on a batch whose tensors are given by name, in any order. The names are those of
    /// [`inputs`](Step::inputs), or `x`, `y` and so on.
    #[track_caller]
    pub fn run_named(&mut self, batch: &[(&str, impl Borrow<Tensor>)]) -> Result<Outcome> {
        let location = std::panic::Location::caller();
        let named: Vec<(&str, &Tensor)> = batch.iter().map(|(name, t)| (*name, t.borrow())).collect();
        let names = self.input_names();
        let batch = in_order(&names.iter().map(String::as_str).collect::<Vec<_>>(), &named);
        batch.and_then(|batch| self.run_on(&batch)).map_err(|e| at_caller(e, location))
    }

    fn run_on(&mut self, batch: &[&Tensor]) -> Result<Outcome> {
        let (at, mut outs) = self.run_step(batch, |step, compiled| match step.finite {
            true => step.run_finite(compiled, batch),
            false => compiled.run(batch),
        })?;
        let known = &self.executables[at];
        let captured = outs.split_off(known.outputs);
        let captured = known.captured.iter().cloned().zip(captured).collect();
        let outputs = outs.split_off(1);
        let loss = outs.pop().ok_or_else(|| Error::gradient("the loss function returned nothing"))?;
        Ok(Outcome { loss, outputs, captured })
    }

    /// Runs a step's executable; a failure leaves the step counts unchanged. Also returns the index of the
    /// executable.
    fn run_step<T>(
        &mut self,
        batch: &[&Tensor],
        run: impl FnOnce(&Self, &Compiled) -> Result<T>,
    ) -> Result<(usize, T)> {
        let at = self.executable_index(batch)?;
        let before = self.optimizer.steps();
        if self.executables[at].key.updates {
            self.optimizer.advance()?;
        }
        match run(self, &self.executables[at].compiled) {
            Ok(result) => {
                self.batches.seen = (self.batches.seen + 1) % self.batches.per_update;
                Ok((at, result))
            }
            Err(e) => {
                self.optimizer.resume(before);
                Err(e)
            }
        }
    }

    /// Requests intermediates that the loss function captures with [`capture`](crate::capture()). A name that
    /// it does not capture is an error at the next run.
    pub fn captures(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(|n| n.to_string()).collect();
        self.executables.clear();
        self
    }

    /// Names the tensors of a batch, for graphs, errors and [`run_named`](Step::run_named).
    ///
    /// ```
    /// use gradus_nn::{Forward, Linear, Module, Optimizer, compile_training, optim::Sgd};
    /// use gradus_tensor::{Generator, Reduction, Tensor, mse_loss};
    /// let model = Linear::new(1, 1, &Generator::new(0));
    /// let (x, y) = (Tensor::from([[0.0f32], [1.0]]), Tensor::from([[1.0f32], [3.0]]));
    /// let sgd = Optimizer::new(model.parameters(), Sgd { rate: 0.1, ..Sgd::default() });
    /// let loss = |m: &Linear, b: &[Tensor]| mse_loss(&m.forward(&b[0]), &b[1], Reduction::Mean);
    /// let step = compile_training(&model, loss, sgd, &[&x, &y])?;
    /// let mut step = step.inputs(&["x", "target"]);
    /// step.run_named(&[("target", &y), ("x", &x)])?;
    /// assert!(step.graph(&[&x, &y])?.to_string().contains("target: f32[2,1], weight: f32[1,1]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inputs(mut self, names: &[&str]) -> Self {
        self.inputs = names.iter().map(|n| n.to_string()).collect();
        self.executables.clear();
        self
    }

    /// Returns the names of the tensors of a batch.
    fn input_names(&self) -> Vec<String> {
        match self.executables.last() {
            Some(known) => known.compiled.names().into_iter().map(str::to_string).collect(),
            None => self.inputs.clone(),
        }
    }

    /// Updates after this many batches, with the average of their gradients.
    pub fn accumulate(mut self, batches: u64) -> Self {
        let most = if batches > 1 { usize::MAX } else { 0 };
        let sum = |(name, p): &(String, Tensor)| p.zeros_like().cell().named(&format!("{name}.sum"));
        let sums = self.optimizer.parameters().take(most).map(sum).collect();
        self.batches = Batches { per_update: batches.max(1), seen: 0, sums };
        self.executables.clear();
        self
    }

    /// Makes a step fail if a result, a parameter or any state is not finite afterwards. The error names the
    /// op that caused it, and nothing changes. The check takes time and memory: it reads all values after
    /// each step and keeps the previous ones.
    pub fn check_finite(mut self) -> Self {
        self.finite = true;
        self
    }

    /// Returns the optimizer.
    pub fn optimizer(&self) -> &Optimizer {
        &self.optimizer
    }

    /// Resets the optimizer and the average over batches. Parameters stay unchanged.
    pub fn restart(&mut self) -> Result<()> {
        self.batches.seen = 0;
        self.batches.sums.iter().try_for_each(|sum| sum.set_(&sum.zeros_like()))?;
        self.optimizer.restart()
    }

    /// Returns the number of executables: one per type of batch, and per setting of layers and parameters.
    pub fn compilations(&self) -> usize {
        self.executables.len()
    }

    /// Describes the plan for a batch as text.
    pub fn explain(&mut self, batch: &[impl Borrow<Tensor>]) -> Result<String> {
        self.executable(batch).map(Compiled::explain)
    }

    /// Returns the graph of a step on a batch like this one: forward pass, backward pass and update. Its
    /// inputs are the tensors of the batch, then the cells. Parameters have their paths as names; state of
    /// the optimizer is named after its parameter (`out.weight.exp_avg`). Its outputs are the results of the
    /// loss function, the requested intermediates, then the new values of the cells that the step changes.
    pub fn graph(&mut self, batch: &[impl Borrow<Tensor>]) -> Result<Arc<Graph>> {
        Ok(self.executable(batch)?.graph().clone())
    }

    /// Returns the compiled function that runs a batch like this one.
    pub fn executable(&mut self, batch: &[impl Borrow<Tensor>]) -> Result<&Compiled> {
        let at = self.executable_index(&refs(batch))?;
        Ok(&self.executables[at].compiled)
    }

    /// Runs a step and reports the time of each part, longest first.
    pub fn profile(&mut self, batch: &[impl Borrow<Tensor>]) -> Result<String> {
        let batch = refs(batch);
        self.run_step(&batch, |_, compiled| compiled.profile(&batch)).map(|(_, text)| text)
    }

    /// Runs a step and returns the time and cost of each part, in order. [`Timeline::trace`] writes them as a
    /// trace file.
    pub fn timeline(&mut self, batch: &[impl Borrow<Tensor>]) -> Result<Timeline> {
        let batch = refs(batch);
        self.run_step(&batch, |_, compiled| compiled.timeline(&batch)).map(|(_, timeline)| timeline)
    }

    /// Returns sums of gradients that are not yet applied.
    pub(crate) fn sums(&self) -> &[Tensor] {
        &self.batches.sums
    }

    /// Returns the number of steps taken, and the number of batches since the last step.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.optimizer.steps(), self.batches.seen)
    }

    /// Continues from these counts.
    pub(crate) fn set_counts(&mut self, steps: u64, seen: u64) {
        self.optimizer.resume(steps);
        self.batches.seen = seen % self.batches.per_update;
    }

    fn settings(&self) -> Vec<bool> {
        let setting = |(_, part): &(String, Part)| match part {
            Part::Param(p) => Some(p.requires_grad()),
            Part::Mode(m) => Some(m.is_training()),
            Part::Buffer(_) | Part::Generator(_) | Part::LoraSlot(_) => None,
        };
        self.parts.iter().filter_map(setting).collect()
    }

    /// Returns the index of the executable for a batch. Compiles it on first use.
    fn executable_index(&mut self, batch: &[&Tensor]) -> Result<usize> {
        if batch.len() != self.fields {
            let why = format!("do not fit; the step was compiled for batches of {} tensors", self.fields);
            return Err(Error::value(format!("{} tensors", batch.len()), why));
        }
        let mut types = Vec::with_capacity(batch.len());
        for t in batch {
            types.extend(t.check()?.aval());
        }
        let updates = self.batches.seen + 1 == self.batches.per_update;
        let parameters = self.optimizer.parameters().map(|(_, p)| p.device());
        let device = batch.iter().map(|t| t.device()).chain(parameters).find(|d| !d.is_cpu());
        let key = Key { types, settings: self.settings(), device, updates };
        if let Some(at) = self.executables.iter().position(|k| k.key == key) {
            return Ok(at);
        }
        if self.optimizer.parameters().next().is_some() && self.optimizer.trained().is_empty() {
            return Err(Error::gradient(
                "a step needs a parameter to train; all parameters of the optimizer are frozen",
            ));
        }
        let (mut outputs, mut captured) = (0, Vec::new());
        let mut training_step = |batch: &[Tensor]| {
            let trained = self.optimizer.trained();
            let (outs, grads) = value_and_grad_of(&trained.iter().collect::<Vec<_>>(), || {
                let (mut outs, named) = record_captures(|| (self.loss)(batch));
                outputs = outs.len();
                captured = named.iter().map(|(n, _)| n.clone()).collect();
                outs.extend(self.requested_captures(named));
                outs
            })?;
            self.apply_gradients(&grads, outs.first(), updates)?;
            Ok(outs)
        };
        let failing =
            |batch: &[Tensor]| training_step(batch).unwrap_or_else(|e: Error| vec![Tensor::failed(e)]);
        let compiled = match self.inputs.len() {
            0 => compile(batch, failing)?,
            n if n == batch.len() => {
                let named: Vec<_> =
                    self.inputs.iter().map(String::as_str).zip(batch.iter().copied()).collect();
                compile_named(&named, failing)?
            }
            n => {
                let why = format!("do not fit a batch of {} tensors", batch.len());
                return Err(Error::value(format!("{n} names of inputs"), why));
            }
        };
        captured.retain(|n| self.names.contains(n));
        if self.executables.len() >= MAX_EXECUTABLES {
            self.executables.remove(0);
        }
        self.executables.push(CompiledBatch { key, compiled, outputs, captured });
        Ok(self.executables.len() - 1)
    }

    /// Returns the requested intermediates, in order of capture.
    fn requested_captures(&self, named: Vec<(String, Tensor)>) -> Vec<Tensor> {
        if let Some(missing) = self.names.iter().find(|n| named.iter().all(|(m, _)| m != *n)) {
            let names: Vec<&str> = named.iter().map(|(n, _)| n.as_str()).collect();
            let why = format!("is not captured by the loss function; it captures {names:?}");
            return vec![Tensor::failed(Error::value(format!("`{missing}`"), why))];
        }
        named.into_iter().filter(|(n, _)| self.names.contains(n)).map(|(_, t)| t).collect()
    }

    /// Applies the gradients of a batch, or adds them to the sums.
    fn apply_gradients(&self, grads: &[Tensor], loss: Option<&Tensor>, updates: bool) -> Result<()> {
        let n = self.batches.per_update as f64;
        if self.batches.sums.is_empty() {
            return self.optimizer.update(grads, loss);
        }
        let trained = self.optimizer.parameters().zip(&self.batches.sums);
        let sums: Vec<&Tensor> =
            trained.filter(|((_, p), _)| p.requires_grad()).map(|(_, sum)| sum).collect();
        if !updates {
            return sums.iter().zip(grads).try_for_each(|(sum, g)| sum.set_(&(*sum + g)));
        }
        let means: Vec<Tensor> = sums.iter().zip(grads).map(|(sum, g)| (*sum + g) / n).collect();
        self.optimizer.update(&means, loss)?;
        sums.iter().try_for_each(|sum| sum.set_(&sum.zeros_like()))
    }
}

impl Step<'_> {
    /// Runs a step. If a result or a cell is not finite afterwards, restores the cells and returns an error that
    /// names the origin.
    fn run_finite(&self, compiled: &Compiled, batch: &[&Tensor]) -> Result<Vec<Tensor>> {
        let cells = compiled.cells();
        let before: Vec<Tensor> = cells.iter().map(|c| c.data_().detach()).collect();
        let outs = compiled.run(batch)?;
        let mut all = outs.iter().chain(cells);
        if all.try_fold(true, |so_far, t| Ok::<_, Error>(so_far && finite::is_finite(t)?))? {
            return Ok(outs);
        }
        cells.iter().zip(&before).try_for_each(|(cell, value)| cell.data_().set_(value))?;
        let known = self.cells();
        let name = |cell: &Tensor| {
            let own = known.iter().find(|(_, c)| c.is_same(cell));
            own.map_or_else(|| "a cell".to_string(), |(name, _)| format!("`{name}`"))
        };
        let field = |(i, name): (usize, &str)| match self.inputs.is_empty() {
            true => format!("field {i} of the batch"),
            false => format!("`{name}` of the batch"),
        };
        let fields = compiled.names().into_iter().enumerate().map(field);
        let names: Vec<String> = fields.chain(cells.iter().map(name)).collect();
        let ins: Vec<Tensor> = batch.iter().map(|t| t.detach()).chain(before).collect();
        let why = finite::explain(compiled.graph(), &ins, &names)?;
        let why = why.unwrap_or_else(|| "run op by op, the step has finite results".to_string());
        Err(Error::value("a step", format!("gives numbers that are not finite: {why}")))
    }
}

/// A function of a model, compiled for every type of argument so far. It reads the current cells of the model
/// at each run.
pub struct Evaluate<'m> {
    f: Jit<Loss<'m>>,
}

/// Compiles a function of a model for inference: layers are traced in evaluation mode, and no gradients are
/// computed. The model's parameters are shared with training.
pub fn compile_forward<'m, M: Module, R: Outputs>(
    model: impl Deref<Target = M> + 'm,
    f: impl Fn(&M, &[Tensor]) -> R + 'm,
) -> Evaluate<'m> {
    model.name_cells();
    let modes = model.modes();
    let f: Loss<'m> = Box::new(move |x| in_evaluation_mode(&modes, || f(&model, x).outputs()));
    Evaluate { f: jit(f) }
}

impl Evaluate<'_> {
    /// Names the inputs, for graphs and errors.
    pub fn inputs(mut self, names: &[&str]) -> Self {
        self.f = self.f.names(names);
        self
    }

    /// Returns the graph for inputs of these types. Parameters have their paths as names.
    pub fn graph(&self, ins: &[impl Borrow<Tensor>]) -> Result<Arc<Graph>> {
        Ok(self.f.compiled(&refs(ins))?.graph().clone())
    }

    /// Runs the function.
    #[track_caller]
    pub fn run(&self, ins: &[impl Borrow<Tensor>]) -> Result<Vec<Tensor>> {
        let location = std::panic::Location::caller();
        self.f.call(&refs(ins)).map_err(|e| at_caller(e, location))
    }
}
