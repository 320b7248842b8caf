//! Compiled functions and training steps of the page.

use crate::request::{Fault, Request, number, wrong};
use crate::session::{function, keep, keep_all, tensor};
use gradus_ir::{Error, Result};
use gradus_nn::optim::{Adam, AdamW, Clip, Lion, RmsProp, Schedule, Sgd};
use gradus_nn::{NamedParams, Optimizer, Step, capture, compile_training};
use gradus_tensor::{Code, CodeBody, Device, Jit, Tensor, jit};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

type Function = Box<dyn Fn(&[Tensor]) -> Vec<Tensor>>;

/// A training step of the page.
struct Training {
    step: Step<'static>,
    rate: Arc<Rate>,
}

#[derive(Default)]
struct Compiled {
    steps: HashMap<u32, Rc<RefCell<Training>>>,
    functions: HashMap<u32, Rc<Jit<Function>>>,
    last: u32,
}

thread_local! {
    static COMPILED: RefCell<Compiled> = RefCell::default();
}

/// The learning rate: a schedule and the step at which it began. The page can replace it.
struct Rate(Mutex<(Schedule, u64)>);

impl Rate {
    fn set(&self, schedule: Schedule, from: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (schedule, from);
    }

    fn at(&self, step: u64) -> f64 {
        let (schedule, from) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner);
        schedule.factor(step.saturating_sub(*from))
    }
}

/// Answers the requests that concern compiled functions.
pub(crate) fn answer(verb: &str, request: &Request) -> Result<Value, Fault> {
    Ok(match verb {
        "train" => json!({"step": train(request)?}),
        "step" => step(request)?,
        "rate" => {
            let (schedule, training) = (schedule(request.field("rate"))?, training(request)?);
            let training = training.borrow();
            training.rate.set(schedule, training.step.optimizer().steps());
            Value::Null
        }
        "restart" => {
            training(request)?.borrow_mut().step.restart()?;
            Value::Null
        }
        "capture" => {
            capture(&request.text("name")?, &request.tensor("id")?);
            Value::Null
        }
        "compile" => {
            let f: Function = Box::new(function(request.number("function")?));
            json!({"compiled": COMPILED.with_borrow_mut(|c| {
                c.last += 1;
                c.functions.insert(c.last, Rc::new(jit(f)));
                c.last
            })})
        }
        "run" => {
            let ins = request.tensors("ins")?;
            let compiled = compiled(request)?;
            keep_all(device_of(&ins).with(|| compiled.call(&ins.iter().collect::<Vec<_>>()))?)?
        }
        "explain" => explain(request)?,
        _ => {
            let gone = COMPILED.with_borrow_mut(|c| {
                let step = request.number("step").ok().and_then(|id| c.steps.remove(&id));
                (step, request.number("compiled").ok().and_then(|id| c.functions.remove(&id)))
            });
            drop(gone);
            Value::Null
        }
    })
}

/// Returns the device of the first tensor that is not on the CPU.
fn device_of(all: &[Tensor]) -> Device {
    all.iter().map(Tensor::device).find(|d| !d.is_cpu()).unwrap_or(Device::CPU)
}

fn training(request: &Request) -> Result<Rc<RefCell<Training>>> {
    let id = request.number("step")?;
    let found = COMPILED.with_borrow(|c| c.steps.get(&id).cloned());
    found.ok_or_else(|| Error::value(format!("step {id}"), "does not exist, or was dropped"))
}

fn compiled(request: &Request) -> Result<Rc<Jit<Function>>> {
    let id = request.number("compiled")?;
    let found = COMPILED.with_borrow(|c| c.functions.get(&id).cloned());
    found.ok_or_else(|| Error::value(format!("function {id}"), "does not exist, or was dropped"))
}

fn train(request: &Request) -> Result<u32> {
    let mut parameters = Vec::new();
    for row in request.list("parameters")? {
        let name = row["name"].as_str().ok_or_else(|| wrong("name", row, "a string"))?;
        parameters.push((name.to_string(), tensor(number(&row["id"], "id")?)?));
    }
    let device = parameters.first().map(|(_, p)| p.device()).unwrap_or_default();
    let mut inputs = Vec::new();
    for row in request.list("inputs")? {
        let row = Request::new(row.clone());
        let aval = gradus_ir::Aval::new(row.dtype("dtype")?, row.shape("shape")?);
        inputs.push(Tensor::zeros_of(&aval).to(device));
    }
    let options = request.field("optimizer");
    let rate = Arc::new(Rate(Mutex::new((schedule(&options["rate"])?, 0))));
    // The page notices a loss that is not finite only when it reads the loss. Updates with such a loss are
    // skipped, so that the parameters stay valid until then.
    let optimizer = optimizer(options, parameters.clone(), &rate)?.skip_not_finite();
    let loss = function(request.number("function")?);
    let call = move |_: &NamedParams, batch: &[Tensor]| loss(batch);
    let names = request.list("captures")?;
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    // The loss draws its random numbers on the device of the parameters.
    let step =
        device.with(|| compile_training(Box::new(NamedParams(parameters)), call, optimizer, &inputs))?;
    let step = if names.is_empty() { step } else { step.captures(&names) };
    Ok(COMPILED.with_borrow_mut(|c| {
        c.last += 1;
        c.steps.insert(c.last, Rc::new(RefCell::new(Training { step, rate })));
        c.last
    }))
}

fn step(request: &Request) -> Result<Value> {
    let batch = request.tensors("batch")?;
    let training = training(request)?;
    let outcome = device_of(&batch).with(|| training.borrow_mut().step.run(&batch))?;
    let mut captured = Vec::new();
    for (name, t) in outcome.captured {
        captured.push(json!([name, keep(t)?]));
    }
    let outputs = keep_all(outcome.outputs)?;
    Ok(json!({"loss": keep(outcome.loss)?, "outputs": outputs, "captured": captured}))
}

fn explain(request: &Request) -> Result<Value> {
    let ins = request.tensors("ins")?;
    let (text, arena, code) = if request.field("step").is_null() {
        let compiled = compiled(request)?.compiled(&ins.iter().collect::<Vec<_>>())?;
        (compiled.explain(), compiled.arena(), compiled.code())
    } else {
        let training = training(request)?;
        let mut training = training.borrow_mut();
        let compiled = training.step.executable(&ins)?;
        (compiled.explain(), compiled.arena(), compiled.code())
    };
    let text_of = |c: Code| match c.body {
        CodeBody::Text(text) => Some(text),
        CodeBody::Instructions(_) => None,
    };
    let dispatches = code.len();
    let mut code: Vec<String> = code.into_iter().filter_map(text_of).collect();
    code.sort();
    code.dedup();
    Ok(json!({"text": text, "dispatches": dispatches, "arena": arena, "code": code}))
}

/// Returns a number of the options, or its default.
fn option(options: &Value, name: &str, default: f64) -> f64 {
    options[name].as_f64().unwrap_or(default)
}

/// Makes an optimiser. Its rule has the rate 1, so that the factors of the schedule are the rates.
fn optimizer(options: &Value, parameters: Vec<(String, Tensor)>, rate: &Arc<Rate>) -> Result<Optimizer> {
    let decay = |default| option(options, "weightDecay", default);
    let betas = |a, b| (option(options, "beta1", a), option(options, "beta2", b));
    let new = match options["kind"].as_str() {
        Some("sgd") => {
            let momentum = option(options, "momentum", 0.0);
            let nesterov = options["nesterov"].as_bool() == Some(true);
            let rule = Sgd { rate: 1.0, momentum, nesterov, weight_decay: decay(0.0), ..Sgd::default() };
            Optimizer::new(parameters, rule)
        }
        Some("adam") => {
            let eps = option(options, "eps", 1e-8);
            let rule =
                Adam { rate: 1.0, betas: betas(0.9, 0.999), eps, weight_decay: decay(0.0), amsgrad: false };
            Optimizer::new(parameters, rule)
        }
        Some("adamw") => {
            let eps = option(options, "eps", 1e-8);
            let rule =
                AdamW { rate: 1.0, betas: betas(0.9, 0.999), eps, weight_decay: decay(0.01), amsgrad: false };
            // The names of the parameters without weight decay.
            let kept: Vec<&str> =
                options["noDecay"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let (kept, decayed): (Vec<_>, Vec<_>) =
                parameters.into_iter().partition(|(name, _)| kept.contains(&name.as_str()));
            Optimizer::new(decayed, rule).group(kept, AdamW { weight_decay: 0.0, ..rule })
        }
        Some("rmsprop") => Optimizer::new(parameters, RmsProp { rate: 1.0, ..RmsProp::default() }),
        Some("lion") => {
            let rule = Lion { rate: 1.0, betas: betas(0.9, 0.99), weight_decay: decay(0.0) };
            Optimizer::new(parameters, rule)
        }
        _ => return Err(wrong("optimizer.kind", &options["kind"], "sgd, adam, adamw, rmsprop or lion")),
    };
    let rate = rate.clone();
    let new = new.schedule(Schedule::new(move |step| rate.at(step)));
    Ok(match options["clip"].as_f64() {
        Some(most) => new.clip(Clip::Norm(most)),
        None => new,
    })
}

/// Makes a schedule whose factors are rates.
fn schedule(value: &Value) -> Result<Schedule> {
    if let Some(rate) = value.as_f64() {
        return Ok(Schedule::new(move |_| rate));
    }
    let steps = value["steps"].as_u64().unwrap_or(1);
    let rate = option(value, "rate", 1e-3);
    Ok(match value["kind"].as_str() {
        Some("constant") => Schedule::new(move |_| rate),
        Some("linear") => Schedule::linear(option(value, "from", rate), option(value, "to", 0.0), steps),
        Some("cosine") => {
            let least = option(value, "least", 0.0);
            let curve = Schedule::cosine(steps, 0.0);
            Schedule::new(move |step| least + (rate - least) * curve.factor(step))
        }
        Some("warmup") => {
            let after = schedule(&value["after"])?;
            let first = after.factor(0);
            // The full rate is reached in the first step after the warm-up.
            let climb = move |step: u64| first * (step + 1) as f64 / (steps + 1) as f64;
            Schedule::new(move |step| if step < steps { climb(step) } else { after.factor(step - steps) })
        }
        Some("stairs") => {
            let every = value["every"].as_u64().unwrap_or(1);
            let curve = Schedule::step(every, option(value, "factor", 0.1));
            Schedule::new(move |step| rate * curve.factor(step))
        }
        _ => return Err(wrong("optimizer.rate", value, "a number or a schedule")),
    })
}
