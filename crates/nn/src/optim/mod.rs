//! Optimizers: rules over tensors, which run eagerly or are traced into a compiled step.
//!
//! A [`Rule`] is a pure function from a parameter, its gradient and its state to the next parameter and
//! state.
//! Numbers that change from step to step (rates, bias corrections) are computed in `f64` and passed to this
//! function as tensors. A step is therefore traced once for any schedule. An [`Optimizer`] applies rules to
//! groups of parameters, and holds the cells.

mod adaptive;
mod lbfgs;
mod line_search;
mod momentum;
mod scaled;
mod schedule;

pub use adaptive::{Adam, AdamW, Adamax, NAdam, RAdam};
pub use lbfgs::{Change, Last, Lbfgs, LbfgsOptions, Memory, Problem};
pub use momentum::{Asgd, Lion, Rprop, Sgd};
pub use scaled::{Adadelta, Adafactor, Adagrad, RmsProp};
pub use schedule::{Schedule, half_cosine};

use gradus_ir::{DType, Error, Result};
use gradus_tensor::{Args, Device, Number, Tensor, arg, no_grad, region};

/// A number of a rule, by name.
pub type Named = (&'static str, f64);

/// State of a parameter: names and initial values.
pub type State = Vec<(&'static str, Initial)>;

/// The initial value of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// This number, in the shape of the parameter.
    Like(f64),
    /// Zeros in the shape of the parameter, with extent 1 along an axis.
    Along(isize),
    /// One number, in at least `f32`.
    Scalar(f64),
}

impl Initial {
    /// Returns the value for a parameter, on its device.
    pub fn of(self, p: &Tensor) -> Tensor {
        match self {
            // Contiguous, so that the layout is the same from the first step on, and one program runs all
            // steps.
            Initial::Like(x) => p.full_like(x).contiguous(),
            Initial::Along(axis) => p.zeros_like().narrow(axis, 0, 1).contiguous(),
            Initial::Scalar(x) => {
                let dtype = if p.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
                Tensor::from_literal(&Number::Float(x).literal(dtype)).to(p.device())
            }
        }
    }
}

/// An update rule of parameters.
pub trait Rule: Send + Sync {
    /// Returns the name that graphs show.
    fn name(&self) -> &'static str;

    /// Returns the rate that a schedule scales.
    fn rate(&self) -> f64;

    /// Returns the state of a parameter.
    fn state(&self, p: &Tensor) -> State;

    /// Returns everything in the rule that [`state`](Rule::state) and [`update`](Rule::update) read, such as
    /// whether there is a momentum. Rules with the same name and structure must compute the same function of
    /// their operands.
    fn structure(&self) -> Args {
        Vec::new()
    }

    /// Returns the numbers of a step, counted from 1, at a rate.
    fn numbers(&self, rate: f64, step: u64) -> Vec<Named>;

    /// Returns the numbers that are the same at every step. A compiled step of Rust contains them as
    /// constants. A compiled function of Python takes them as inputs, because Python code may change them.
    fn settings(&self) -> Vec<Named>;

    /// Computes the next parameter and state. `numbers` are those of the step, then the settings, all in the
    /// parameter's dtype.
    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], numbers: &[Tensor]) -> (Tensor, Vec<Tensor>);
}

/// Computes the next parameter and state by a rule, as one call: eagerly one compiled program, in a trace a
/// call with the rule's name.
pub fn apply(
    rule: &dyn Rule,
    p: &Tensor,
    g: &Tensor,
    state: &[Tensor],
    numbers: &[Tensor],
) -> Result<(Tensor, Vec<Tensor>)> {
    let mut ins = Vec::with_capacity(2 + state.len() + numbers.len());
    ins.extend([p, g]);
    ins.extend(state.iter().chain(numbers));
    let mut outs = region(rule.name(), rule.structure(), &ins, |x| {
        let (state, numbers) = x[2..].split_at(state.len());
        let (next, state) = rule.update(&x[0], &x[1], state, numbers);
        [next].into_iter().chain(state).collect::<Vec<_>>()
    })?
    .into_iter();
    let next = outs.next().ok_or_else(|| Error::gradient("an update rule returned nothing"))?;
    Ok((next, outs.collect()))
}

/// A rule with gradients of the opposite sign, which increases the loss.
pub struct Maximize(pub Box<dyn Rule>);

impl Rule for Maximize {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn rate(&self) -> f64 {
        self.0.rate()
    }

    fn state(&self, p: &Tensor) -> State {
        self.0.state(p)
    }

    fn structure(&self) -> Args {
        self.0.structure().into_iter().chain([arg("maximize", true)]).collect()
    }

    fn numbers(&self, rate: f64, step: u64) -> Vec<Named> {
        self.0.numbers(rate, step)
    }

    fn settings(&self) -> Vec<Named> {
        self.0.settings()
    }

    fn update(&self, p: &Tensor, g: &Tensor, state: &[Tensor], numbers: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        self.0.update(p, &-g, state, numbers)
    }
}

/// Gradient clipping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    /// Scales all gradients together to at most this norm.
    Norm(f64),
    /// Limits each element.
    Value(f64),
}

/// Parameters with one rule.
struct Group {
    parameters: Vec<(String, Tensor)>,
    rule: Box<dyn Rule>,
    /// State cells of each parameter.
    state: Vec<Vec<(&'static str, Tensor)>>,
    /// Cells of the step's numbers.
    numbers: Vec<Tensor>,
}

impl Group {
    fn new(parameters: Vec<(String, Tensor)>, rule: Box<dyn Rule>) -> Group {
        let cells = |(of, p): &(String, Tensor)| {
            let named = rule.state(p).into_iter();
            let cell = |first: Initial, name| first.of(&p.data_()).cell().named(&format!("{of}.{name}"));
            named.map(|(name, first)| (name, cell(first, name))).collect()
        };
        let state = parameters.iter().map(cells).collect();
        let wide = parameters.iter().any(|(_, p)| p.dtype() == DType::F64);
        let cell = |x: f64| if wide { Tensor::from(x).cell() } else { Tensor::from(x as f32).cell() };
        let number = |(name, x): Named| cell(x).named(&format!("optimizer.{name}"));
        let numbers = rule.numbers(rule.rate(), 1).into_iter().map(number).collect();
        Group { parameters, rule, state, numbers }
    }
}

/// Rules, with the parameters and state that they change.
///
/// ```
/// use gradus_nn::{Forward, Linear, Module, Optimizer, optim::Adam};
/// use gradus_tensor::{All, Generator, Tensor};
/// let model = Linear::new(2, 1, &Generator::new(0));
/// let mut adam = Optimizer::new(model.parameters(), Adam { rate: 0.1, ..Adam::default() });
/// for _ in 0..3 {
///     model.forward(&Tensor::ones([4, 2])).square().mean(All).backward()?;
///     adam.step()?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Optimizer {
    groups: Vec<Group>,
    schedule: Schedule,
    clip: Option<Clip>,
    average: Option<Average>,
    /// If true, a step with a non-finite loss changes nothing.
    skips: bool,
    /// Number of steps taken.
    steps: u64,
    /// An error in the groups, returned at the first step.
    group_error: Option<Error>,
}

/// A running average of the weights.
struct Average {
    decay: f64,
    cells: Vec<Tensor>,
}

/// Makes the cell of a parameter's running average.
fn average_cell((name, p): &(String, Tensor)) -> Tensor {
    p.data_().detach().cell().named(&format!("{name}.average"))
}

impl Optimizer {
    /// Makes an optimizer of parameters with a rule.
    pub fn new(parameters: Vec<(String, Tensor)>, rule: impl Rule + 'static) -> Optimizer {
        let groups = vec![Group::new(parameters, Box::new(rule))];
        Optimizer {
            groups,
            schedule: Schedule::constant(),
            clip: None,
            average: None,
            skips: false,
            steps: 0,
            group_error: None,
        }
    }

    /// Adds parameters with another rule.
    pub fn group(mut self, parameters: Vec<(String, Tensor)>, rule: impl Rule + 'static) -> Optimizer {
        let old: Vec<Tensor> = self.parameters().map(|(_, p)| p.clone()).collect();
        if let Some((name, _)) = parameters.iter().find(|(_, p)| old.iter().any(|o| o.is_same(p))) {
            self.group_error.get_or_insert(Error::value(name.clone(), "is in two groups of parameters"));
        }
        if let Some(average) = &mut self.average {
            average.cells.extend(parameters.iter().map(average_cell));
        }
        self.groups.push(Group::new(parameters, Box::new(rule)));
        self
    }

    /// Sets a schedule for the rates.
    pub fn schedule(mut self, schedule: Schedule) -> Optimizer {
        self.schedule = schedule;
        self
    }

    /// Sets gradient clipping.
    pub fn clip(mut self, clip: Clip) -> Optimizer {
        self.clip = Some(clip);
        self
    }

    /// Makes a compiled step with a non-finite loss leave parameters and state unchanged. The step decides
    /// this itself, so that no caller waits for the loss.
    pub fn skip_not_finite(mut self) -> Optimizer {
        self.skips = true;
        self
    }

    /// Keeps an average of every parameter: after each step `average · decay + parameter · (1 - decay)`.
    pub fn average(mut self, decay: f64) -> Optimizer {
        let cells = self.parameters().map(average_cell).collect();
        self.average = Some(Average { decay, cells });
        self
    }

    pub(crate) fn parameters(&self) -> impl Iterator<Item = &(String, Tensor)> {
        self.groups.iter().flat_map(|g| &g.parameters)
    }

    /// Returns the parameters that are not frozen.
    pub fn trained(&self) -> Vec<Tensor> {
        self.parameters().filter(|(_, p)| p.requires_grad()).map(|(_, p)| p.clone()).collect()
    }

    /// Returns the number of steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the rate of the first group at the next step.
    pub fn rate(&self) -> f64 {
        self.groups.first().map_or(0.0, |g| g.rule.rate()) * self.schedule.factor(self.steps)
    }

    /// Returns every state cell by name: state of the rules under `optimizer.`, averages under `average.`.
    pub fn state(&self) -> Vec<(String, Tensor)> {
        let mut all = Vec::new();
        for group in &self.groups {
            for ((name, _), cells) in group.parameters.iter().zip(&group.state) {
                all.extend(cells.iter().map(|(kind, c)| (format!("optimizer.{name}.{kind}"), c.clone())));
            }
        }
        let averages = self.average.iter().flat_map(|a| &a.cells);
        all.extend(
            self.parameters().zip(averages).map(|((name, _), c)| (format!("average.{name}"), c.clone())),
        );
        all
    }

    /// Returns the cells of numbers that change from step to step, such as rates, each with its values for
    /// the next steps.
    pub fn numbers(&self, steps: u64) -> Vec<(Tensor, Tensor)> {
        let mut all = Vec::new();
        for group in &self.groups {
            let mut columns = vec![Vec::new(); group.numbers.len()];
            for step in self.steps..self.steps + steps {
                let rate = group.rule.rate() * self.schedule.factor(step);
                let numbers = group.rule.numbers(rate, step + 1);
                columns.iter_mut().zip(numbers).for_each(|(column, (_, x))| column.push(x));
            }
            for (cell, column) in group.numbers.iter().zip(columns) {
                let rows = Tensor::from_slice(&column, [column.len()]).to_dtype(cell.dtype());
                all.push((cell.clone(), rows));
            }
        }
        all
    }

    /// Moves the state to a device, where the parameters must be too. The numbers of a step stay on the CPU,
    /// which changes them at every step.
    pub fn to(&self, device: Device) -> Result<()> {
        self.state().iter().try_for_each(|(_, cell)| cell.move_(device))
    }

    /// Continues as if this many steps had been taken.
    pub(crate) fn resume(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// Writes the next step's numbers to their cells.
    pub(crate) fn advance(&mut self) -> Result<()> {
        let factor = self.schedule.factor(self.steps);
        for group in &self.groups {
            let numbers = group.rule.numbers(group.rule.rate() * factor, self.steps + 1);
            for (cell, (_, x)) in group.numbers.iter().zip(numbers) {
                cell.set_(&Tensor::from(x).to_dtype(cell.dtype()))?;
            }
        }
        self.steps += 1;
        Ok(())
    }

    /// Updates parameters and state from the gradients of [`trained`](Optimizer::trained) parameters. If a new
    /// value is an error, nothing is written. With `skip_not_finite`, a non-finite loss changes nothing.
    pub(crate) fn update(&self, grads: &[Tensor], loss: Option<&Tensor>) -> Result<()> {
        if let Some(group_error) = &self.group_error {
            return Err(group_error.clone());
        }
        let mut writes: Vec<(Tensor, Tensor)> = Vec::new();
        let grads = self.clipped(grads)?;
        let mut grads = grads.iter();
        let mut averages = self.average.iter().flat_map(|a| a.cells.iter().map(|c| (a.decay, c)));
        for group in &self.groups {
            for ((name, p), state) in group.parameters.iter().zip(&group.state) {
                let average = averages.next();
                if !p.requires_grad() {
                    continue;
                }
                let Some(g) = grads.next() else {
                    return Err(Error::value(format!("the gradient of {name}"), "is missing"));
                };
                let (p, dtype) = (p.data_(), p.dtype());
                let old: Vec<Tensor> = state.iter().map(|(_, c)| c.clone()).collect();
                let settings =
                    group.rule.settings().into_iter().map(|(_, x)| Tensor::from(x).to_dtype(dtype));
                let numbers: Vec<Tensor> =
                    group.numbers.iter().map(|n| n.to_dtype(dtype)).chain(settings).collect();
                let (next, new) = apply(&*group.rule, &p, g, &old, &numbers)?;
                if let Some((decay, cell)) = average {
                    writes.push((cell.clone(), cell * decay + &next * (1.0 - decay)));
                }
                writes.push((p, next));
                writes.extend(old.into_iter().zip(new));
            }
        }
        if let Some(loss) = loss.filter(|_| self.skips) {
            let finite = loss.all_finite();
            writes.iter_mut().for_each(|(cell, value)| *value = finite.select(&*value, &*cell));
        }
        writes.iter().try_for_each(|(_, value)| value.check().map(drop))?;
        writes.iter().try_for_each(|(cell, value)| cell.set_(value))
    }

    fn clipped(&self, grads: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(match self.clip {
            None => grads.to_vec(),
            Some(Clip::Value(most)) => grads.iter().map(|g| g.clamp(-most, most)).collect(),
            Some(Clip::Norm(most)) => {
                let squares = grads.iter().map(|g| g.square().sum(()));
                let Some(total) = squares.reduce(|a, b| a + b) else { return Ok(Vec::new()) };
                let factor = (most / (total.sqrt() + 1e-6)).clamp_max(1.0);
                grads.iter().map(|g| g * &factor.to_dtype(g.dtype())).collect()
            }
        })
    }

    /// Takes one step with the accumulated gradients, and clears them. Parameters without a gradient are
    /// updated with zeros, as in a compiled step.
    #[track_caller]
    pub fn step(&mut self) -> Result<()> {
        let trained = self.trained();
        if !trained.is_empty() && trained.iter().all(|p| p.grad().is_none()) {
            return Err(Error::gradient("no parameter has a gradient; call `backward` before `step`"));
        }
        let grads: Vec<Tensor> =
            trained.iter().map(|p| p.grad().unwrap_or_else(|| p.data_().zeros_like())).collect();
        self.advance()?;
        if let Err(e) = no_grad(|| self.update(&grads, None)) {
            self.steps -= 1;
            return Err(e);
        }
        self.zero_grad();
        Ok(())
    }

    /// Resets step count, state and averages. Parameters stay unchanged.
    pub fn restart(&mut self) -> Result<()> {
        for group in &self.groups {
            for ((_, p), cells) in group.parameters.iter().zip(&group.state) {
                let first = group.rule.state(p);
                let mut both = cells.iter().zip(&first);
                both.try_for_each(|((_, cell), (_, value))| cell.set_(&value.of(&p.data_())))?;
            }
        }
        let averages = self.average.iter().flat_map(|a| &a.cells);
        self.parameters().zip(averages).try_for_each(|((_, p), cell)| cell.set_(&p.data_().detach()))?;
        self.steps = 0;
        Ok(())
    }

    /// Clears all gradients.
    pub fn zero_grad(&self) {
        self.parameters().for_each(|(_, p)| p.zero_grad());
    }

    /// Returns true if averages are kept.
    pub fn averages(&self) -> bool {
        self.average.is_some()
    }

    /// Exchanges parameters and their averages: once to use the averages, again to continue training.
    pub fn swap_average(&self) -> Result<()> {
        let Some(average) = &self.average else {
            return Err(Error::value("averages", "are not kept; enable them with `average`"));
        };
        for ((_, p), cell) in self.parameters().zip(&average.cells) {
            let (a, b) = (p.data_().detach(), cell.detach());
            p.data_().set_(&b)?;
            cell.set_(&a)?;
        }
        Ok(())
    }
}
