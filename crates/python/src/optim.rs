//! Update rules of optimizers. A rule is made from the settings of a group (`param_groups`); it reads
//! parameters, gradients and state dictionaries of Python, and writes them in place.
//! `gradus::nn::optim` computes the updates; `gradus/optim` has PyTorch's names, checks and state
//! dictionaries.

use crate::device::{moved, of};
use crate::error::{raise, to_exception, value_error};
use crate::tensor::{PyTensor, compute};
use crate::trace_deps::with_gradient;
use crate::value::T;
use gradus::nn::optim::{
    Adadelta, Adafactor, Adagrad, Adam, AdamW, Adamax, Asgd, Change, Last, LbfgsOptions, Lion, Maximize,
    Memory, NAdam, Problem, RAdam, RmsProp, Rprop, Rule, Schedule, Sgd, apply, half_cosine,
};
use gradus::{DType, Device, Number, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Settings of a group of parameters.
struct Group<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Group<'_, 'py> {
    fn item(&self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let missing = || value_error(format!("a parameter group has no setting {name:?}"));
        self.0.get_item(name)?.ok_or_else(missing)
    }

    fn number(&self, name: &str) -> PyResult<f64> {
        self.item(name)?.extract()
    }

    fn count(&self, name: &str) -> PyResult<usize> {
        self.item(name)?.extract()
    }

    fn two(&self, name: &str) -> PyResult<(f64, f64)> {
        let both = self.item(name)?;
        Ok((both.get_item(0)?.extract()?, both.get_item(1)?.extract()?))
    }

    /// Reads a flag; a missing one is false.
    fn flag(&self, name: &str) -> PyResult<bool> {
        self.0.get_item(name)?.map_or(Ok(false), |flag| flag.is_truthy())
    }
}

fn rule(kind: &str, group: &Group<'_, '_>) -> PyResult<Box<dyn Rule>> {
    let (number, two, flag) = (|n| group.number(n), |n| group.two(n), |n| group.flag(n));
    let rate = number("lr")?;
    let decay = || number("weight_decay");
    Ok(match kind {
        "SGD" => Box::new(Sgd {
            rate,
            momentum: number("momentum")?,
            dampening: number("dampening")?,
            nesterov: flag("nesterov")?,
            weight_decay: decay()?,
        }),
        "Lion" => Box::new(Lion { rate, betas: two("betas")?, weight_decay: decay()? }),
        "Rprop" => Box::new(Rprop { rate, etas: two("etas")?, steps: two("step_sizes")? }),
        "ASGD" => Box::new(Asgd {
            rate,
            lambda: number("lambd")?,
            alpha: number("alpha")?,
            start: number("t0")?,
            weight_decay: decay()?,
        }),
        "Adam" => {
            let (betas, eps, amsgrad) = (two("betas")?, number("eps")?, flag("amsgrad")?);
            let weight_decay = decay()?;
            match flag("decoupled_weight_decay")? {
                true => Box::new(AdamW { rate, betas, eps, weight_decay, amsgrad }),
                false => Box::new(Adam { rate, betas, eps, weight_decay, amsgrad }),
            }
        }
        "Adamax" => {
            Box::new(Adamax { rate, betas: two("betas")?, eps: number("eps")?, weight_decay: decay()? })
        }
        "NAdam" => Box::new(NAdam {
            rate,
            betas: two("betas")?,
            eps: number("eps")?,
            weight_decay: decay()?,
            momentum_decay: number("momentum_decay")?,
            decoupled: flag("decoupled_weight_decay")?,
        }),
        "RAdam" => Box::new(RAdam {
            rate,
            betas: two("betas")?,
            eps: number("eps")?,
            weight_decay: decay()?,
            decoupled: flag("decoupled_weight_decay")?,
        }),
        "RMSprop" => Box::new(RmsProp {
            rate,
            alpha: number("alpha")?,
            eps: number("eps")?,
            momentum: number("momentum")?,
            centered: flag("centered")?,
            weight_decay: decay()?,
        }),
        "Adagrad" => Box::new(Adagrad {
            rate,
            rate_decay: number("lr_decay")?,
            eps: number("eps")?,
            initial: number("initial_accumulator_value")?,
            weight_decay: decay()?,
        }),
        "Adadelta" => {
            Box::new(Adadelta { rate, rho: number("rho")?, eps: number("eps")?, weight_decay: decay()? })
        }
        "Adafactor" => {
            let eps = group.item("eps")?;
            Box::new(Adafactor {
                rate,
                decay: number("beta2_decay")?,
                eps: (eps.get_item(0)?.extract()?, eps.get_item(1)?.extract()?),
                clip: number("d")?,
                weight_decay: decay()?,
            })
        }
        other => return Err(value_error(format!("no update rule {other:?}"))),
    })
}

/// An update rule with the settings of a group.
#[pyclass(name = "_Rule", module = "gradus._native", frozen)]
pub(crate) struct PyRule(Box<dyn Rule>);

/// Returns the numbers of a step, then the settings.
fn numbers(rule: &dyn Rule, step: u64) -> impl Iterator<Item = (&'static str, f64)> {
    rule.numbers(rule.rate(), step).into_iter().chain(rule.settings())
}

/// Returns the number of steps that a parameter's state has taken.
fn steps(state: &Bound<'_, PyDict>) -> PyResult<u64> {
    state.get_item("step")?.map_or(Ok(0), |step| step.extract())
}

/// Returns the gradient of a parameter, if it has one.
fn gradient(p: &Bound<'_, PyTensor>, value: &Tensor) -> Option<Tensor> {
    with_gradient(p.get(), value.clone()).grad()
}

#[pymethods]
impl PyRule {
    #[new]
    fn new(kind: &str, group: &Bound<'_, PyDict>) -> PyResult<PyRule> {
        let group = Group(group);
        let rule = rule(kind, &group)?;
        Ok(PyRule(if group.flag("maximize")? { Box::new(Maximize(rule)) } else { rule }))
    }

    /// The rule's name and everything but numbers that its updates depend on.
    fn structure(&self) -> String {
        format!("{} {:?}", self.0.name(), self.0.structure())
    }

    /// The names and values of the numbers of a step.
    fn numbers(&self, step: u64) -> Vec<(&'static str, f64)> {
        numbers(&*self.0, step).collect()
    }

    /// The initial state of a parameter.
    fn state<'py>(&self, p: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(p.py());
        self.prepare(p, &state)?;
        Ok(state)
    }

    /// Adds missing entries to a parameter's state, and moves the others to its device.
    fn prepare(&self, p: &Bound<'_, PyTensor>, state: &Bound<'_, PyDict>) -> PyResult<()> {
        let value = p.get().value(p.py())?;
        for (name, initial) in self.0.state(&value) {
            let new = match state.get_item(name)? {
                None => initial.of(&value),
                Some(old) => match old.cast::<PyTensor>() {
                    Ok(old) => {
                        let old = old.get().value(p.py())?;
                        if of(&old) == of(&value) {
                            continue;
                        }
                        moved(old.detach(), of(&value))
                    }
                    Err(_) => {
                        let number = Number::Float(old.extract()?);
                        moved(Tensor::from_literal(&number.literal(initial.of(&value).dtype())), of(&value))
                    }
                },
            };
            state.set_item(name, Bound::new(p.py(), PyTensor::out(new)?)?)?;
        }
        Ok(())
    }

    /// In place: updates a parameter and its state, which must have all entries.
    fn update(
        &self,
        p: &Bound<'_, PyTensor>,
        grad: T,
        state: &Bound<'_, PyDict>,
        numbers: Vec<T>,
    ) -> PyResult<()> {
        let value = p.get().value(p.py())?;
        let numbers: Vec<Tensor> = numbers.iter().map(|n| n.0.to_dtype(value.dtype())).collect();
        self.write(p, value, &grad.0, state, &numbers)
    }

    /// In place: updates all parameters that have gradients. `states` has the state of each.
    fn step(&self, params: &Bound<'_, PyList>, states: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = params.py();
        // Parameters of one dtype and device that have taken the same number of steps have the same numbers.
        let mut known: Option<((u64, DType, Device), Vec<Tensor>)> = None;
        for p in params.iter() {
            let p = p.cast::<PyTensor>()?;
            let value = p.get().value(py)?;
            let Some(grad) = gradient(p, &value) else { continue };
            let state = states.get_item(p)?;
            let state = state.cast::<PyDict>()?;
            self.prepare(p, state)?;
            let step = steps(state)? + 1;
            let key = (step, value.dtype(), of(&value));
            let numbers = match known.take() {
                Some((last, numbers)) if last == key => numbers,
                _ => {
                    let literal = |(_, x)| Tensor::from_literal(&Number::Float(x).literal(value.dtype()));
                    numbers(&*self.0, step).map(|number| moved(literal(number), of(&value))).collect()
                }
            };
            self.write(p, value, &grad, state, &numbers)?;
            known = Some((key, numbers));
            state.set_item("step", step)?;
        }
        Ok(())
    }

    /// Writes the numbers of a step to cells.
    fn refresh(&self, step: u64, cells: Vec<T>) -> PyResult<()> {
        for (cell, (_, x)) in cells.iter().zip(numbers(&*self.0, step)) {
            raise(cell.0.data_().set_(&Tensor::from_literal(&Number::Float(x).literal(cell.0.dtype()))))?;
        }
        Ok(())
    }
}

impl PyRule {
    fn write(
        &self,
        p: &Bound<'_, PyTensor>,
        value: Tensor,
        grad: &Tensor,
        state: &Bound<'_, PyDict>,
        numbers: &[Tensor],
    ) -> PyResult<()> {
        let py = p.py();
        let mut old = Vec::new();
        for (name, _) in self.0.state(&value) {
            let missing = || value_error(format!("the state of a parameter has no {name:?}"));
            old.push(state.get_item(name)?.ok_or_else(missing)?.cast_into::<PyTensor>()?);
        }
        let values = old.iter().map(|t| t.get().value(py)).collect::<PyResult<Vec<Tensor>>>()?;
        let rule = &*self.0;
        let (next, new) = raise(compute(py, &value, |p| apply(rule, p, grad, &values, numbers)))?;
        drop((values, value)); // as owners of the memory, they would prevent writes in place
        p.get().write(py, PyTensor::out(next)?.stored_value())?;
        for (old, new) in old.iter().zip(new) {
            old.get().write(py, PyTensor::out(new)?.stored_value())?;
        }
        Ok(())
    }
}

/// Falls from 1 to 0 along half a cosine as `part` goes from 0 to 1.
#[pyfunction]
pub(crate) fn _half_cosine(part: f64) -> f64 {
    half_cosine(part)
}

/// The factor of a learning rate at each step.
#[pyclass(name = "_Schedule", module = "gradus._native", frozen)]
pub(crate) struct PySchedule(Schedule);

#[pymethods]
impl PySchedule {
    #[staticmethod]
    fn step(every: u64, gamma: f64) -> PySchedule {
        PySchedule(Schedule::step(every, gamma))
    }

    #[staticmethod]
    fn multistep(at: Vec<u64>, gamma: f64) -> PySchedule {
        PySchedule(Schedule::multistep(&at, gamma))
    }

    #[staticmethod]
    fn exponential(gamma: f64) -> PySchedule {
        PySchedule(Schedule::exponential(gamma))
    }

    #[staticmethod]
    fn initial_factor(factor: f64, steps: u64) -> PySchedule {
        PySchedule(Schedule::initial_factor(factor, steps))
    }

    #[staticmethod]
    fn linear(start: f64, end: f64, steps: u64) -> PySchedule {
        PySchedule(Schedule::linear(start, end, steps))
    }

    #[staticmethod]
    fn polynomial(steps: u64, power: f64) -> PySchedule {
        PySchedule(Schedule::polynomial(steps, power))
    }

    #[staticmethod]
    fn wave(steps: u64) -> PySchedule {
        PySchedule(Schedule::wave(steps))
    }

    #[staticmethod]
    fn triangle(steps: f64, rise: f64) -> PySchedule {
        PySchedule(Schedule::triangle(steps, rise))
    }

    #[staticmethod]
    fn phases(phases: Vec<(f64, f64, f64)>, cosine: bool) -> PySchedule {
        PySchedule(Schedule::phases(&phases, cosine))
    }

    /// The factor at a step.
    fn factor(&self, step: u64) -> f64 {
        self.0.factor(step)
    }

    /// The rate at a step, from that of the last step, the first rate and the smallest.
    fn next(&self, step: u64, rate: f64, first: f64, floor: f64) -> f64 {
        self.0.next(step, rate, first, floor)
    }
}

/// An error of Python, or of the core.
struct Raised(PyErr);

impl From<gradus::Error> for Raised {
    fn from(e: gradus::Error) -> Raised {
        Raised(to_exception(&e))
    }
}

/// Parameters of Python, with a function that computes their loss and their gradients.
struct Closure<'a, 'py> {
    params: &'a [Bound<'py, PyTensor>],
    loss: &'a Bound<'py, PyAny>,
    sign: f64,
}

impl Problem for Closure<'_, '_> {
    type Error = Raised;

    fn parameters(&self) -> Result<Vec<Tensor>, Raised> {
        let one = |p: &Bound<'_, PyTensor>| p.get().value(p.py()).map(|v| v.detach()).map_err(Raised);
        self.params.iter().map(one).collect()
    }

    fn set(&mut self, values: Vec<Tensor>) -> Result<(), Raised> {
        let one = |(p, v): (&Bound<'_, PyTensor>, Tensor)| p.get().write(p.py(), v).map_err(Raised);
        self.params.iter().zip(values).try_for_each(one)
    }

    fn evaluate(&mut self) -> Result<(f64, Vec<Tensor>), Raised> {
        let loss: f64 = self.loss.call0().and_then(|x| x.extract()).map_err(Raised)?;
        let one = |p: &Bound<'_, PyTensor>| {
            let value = p.get().value(p.py()).map_err(Raised)?;
            let grad = gradient(p, &value).unwrap_or_else(|| value.detach().zeros_like());
            Ok(if self.sign < 0.0 { -grad } else { grad })
        };
        Ok((self.sign * loss, self.params.iter().map(one).collect::<Result<_, Raised>>()?))
    }
}

/// Takes a step of L-BFGS: `loss` computes the loss of the parameters and their gradients; `state` is updated
/// in place.
#[pyfunction]
pub(crate) fn _lbfgs_step<'py>(
    params: Vec<Bound<'py, PyTensor>>,
    state: &Bound<'py, PyDict>,
    group: &Bound<'py, PyDict>,
    loss: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let group = Group(group);
    let options = LbfgsOptions {
        rate: group.number("lr")?,
        iterations: group.count("max_iter")?,
        evaluations: group.count("max_eval")?,
        tolerance_grad: group.number("tolerance_grad")?,
        tolerance_change: group.number("tolerance_change")?,
        history: group.count("history_size")?,
        line_search: group.flag("line_search_fn")?,
    };
    let sign = if group.flag("maximize")? { -1.0 } else { 1.0 };
    let mut memory = read_memory(state)?;
    let done = memory.step(&mut Closure { params: &params, loss, sign }, options);
    write_memory(state, memory)?;
    done.map(drop).map_err(|e| e.0)
}

/// Reads PyTorch's state dictionary of L-BFGS.
fn read_memory(state: &Bound<'_, PyDict>) -> PyResult<Memory> {
    let group = Group(state);
    let tensor = |name| Ok::<_, PyErr>(group.item(name)?.extract::<T>()?.0);
    let Some(direction) = state.get_item("d")?.filter(|d| !d.is_none()) else { return Ok(Memory::default()) };
    let last = Last {
        gradient: tensor("prev_flat_grad")?,
        direction: direction.extract::<T>()?.0,
        length: group.number("t")?,
        scale: group.number("H_diag")?,
    };
    let list = |name| group.item(name)?.extract::<Vec<T>>();
    let inverses: Vec<f64> = group.item("ro")?.try_iter()?.map(|x| x?.extract()).collect::<PyResult<_>>()?;
    let both = list("old_dirs")?.into_iter().zip(list("old_stps")?).zip(inverses);
    let changes = both.map(|((y, s), inverse)| Change { parameters: s.0, gradient: y.0, inverse });
    Ok(Memory { changes: changes.collect(), last: Some(last) })
}

/// Writes PyTorch's state dictionary of L-BFGS.
fn write_memory(state: &Bound<'_, PyDict>, memory: Memory) -> PyResult<()> {
    let Some(last) = memory.last else { return Ok(()) };
    let tensor = |t: &Tensor| Bound::new(state.py(), PyTensor::out(t.clone())?);
    let list = |of: fn(&Change) -> &Tensor| {
        memory.changes.iter().map(|c| tensor(of(c))).collect::<PyResult<Vec<_>>>()
    };
    state.set_item("d", tensor(&last.direction)?)?;
    state.set_item("t", last.length)?;
    state.set_item("old_dirs", list(|c| &c.gradient)?)?;
    state.set_item("old_stps", list(|c| &c.parameters)?)?;
    state.set_item("ro", memory.changes.iter().map(|c| c.inverse).collect::<Vec<f64>>())?;
    state.set_item("H_diag", last.scale)?;
    state.set_item("prev_flat_grad", tensor(&last.gradient)?)
}
