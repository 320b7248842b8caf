//! The optimiser and the schedule that a configuration asks for. What it does not say is as in `gradus::nn::optim`.

use super::keys::Keys;
use crate::Done;
use gradus::Tensor;
use gradus::nn::optim::{Adafactor, Adagrad, Adam, AdamW, Lion, RmsProp, Sgd};
use gradus::nn::{Clip, Optimizer, Schedule};

type Parameters = Vec<(String, Tensor)>;

/// The optimiser of these parameters, from the tables `optimizer` and `schedule`, for so many steps.
pub(crate) fn optimizer(keys: &mut Keys, parameters: Parameters, steps: u64) -> Done<Optimizer> {
    let mut own = keys.table("optimizer")?;
    let mut optimizer = rule(&mut own, parameters)?;
    match (own.maybe_number("clip_norm")?, own.maybe_number("clip_value")?) {
        (Some(_), Some(_)) => {
            return Err(own.fault("clip_value", "does not go with `clip_norm`: leave one of them out"));
        }
        (Some(most), None) => optimizer = optimizer.clip(Clip::Norm(most)),
        (None, Some(most)) => optimizer = optimizer.clip(Clip::Value(most)),
        (None, None) => {}
    }
    own.finish()?;
    Ok(optimizer.schedule(schedule(keys.table("schedule")?, steps)?))
}

fn rule(own: &mut Keys, parameters: Parameters) -> Done<Optimizer> {
    let names = ["adamw", "adam", "sgd", "rmsprop", "adagrad", "lion", "adafactor"];
    Ok(match own.word("name", &names)? {
        "sgd" => {
            let d = Sgd::default();
            let rule = Sgd {
                rate: own.number("rate", d.rate)?,
                momentum: own.number("momentum", d.momentum)?,
                dampening: own.number("dampening", d.dampening)?,
                nesterov: own.flag("nesterov", d.nesterov)?,
                weight_decay: own.number("weight_decay", d.weight_decay)?,
            };
            Optimizer::new(parameters, rule)
        }
        "adam" => {
            let d = Adam::default();
            let rule = Adam {
                rate: own.number("rate", d.rate)?,
                betas: own.two("betas", d.betas)?,
                eps: own.number("eps", d.eps)?,
                weight_decay: own.number("weight_decay", d.weight_decay)?,
                amsgrad: own.flag("amsgrad", d.amsgrad)?,
            };
            Optimizer::new(parameters, rule)
        }
        "rmsprop" => {
            let d = RmsProp::default();
            let rule = RmsProp {
                rate: own.number("rate", d.rate)?,
                alpha: own.number("alpha", d.alpha)?,
                eps: own.number("eps", d.eps)?,
                momentum: own.number("momentum", d.momentum)?,
                centered: own.flag("centered", d.centered)?,
                weight_decay: own.number("weight_decay", d.weight_decay)?,
            };
            Optimizer::new(parameters, rule)
        }
        "adagrad" => {
            let d = Adagrad::default();
            let rule = Adagrad {
                rate: own.number("rate", d.rate)?,
                rate_decay: own.number("rate_decay", d.rate_decay)?,
                eps: own.number("eps", d.eps)?,
                initial: own.number("initial", d.initial)?,
                weight_decay: own.number("weight_decay", d.weight_decay)?,
            };
            Optimizer::new(parameters, rule)
        }
        "lion" => {
            let d = Lion::default();
            let rule = Lion {
                rate: own.number("rate", d.rate)?,
                betas: own.two("betas", d.betas)?,
                weight_decay: own.number("weight_decay", d.weight_decay)?,
            };
            Optimizer::new(parameters, rule)
        }
        "adafactor" => {
            let d = Adafactor::default();
            let rule = Adafactor {
                rate: own.number("rate", d.rate)?,
                decay: own.number("decay", d.decay)?,
                clip: own.number("clip", d.clip)?,
                weight_decay: own.number("weight_decay", d.weight_decay)?,
                ..d
            };
            Optimizer::new(parameters, rule)
        }
        _ => {
            let d = AdamW::default();
            let rule = AdamW {
                rate: own.number("rate", d.rate)?,
                betas: own.two("betas", d.betas)?,
                eps: own.number("eps", d.eps)?,
                weight_decay: own.number("weight_decay", d.weight_decay)?,
                amsgrad: own.flag("amsgrad", d.amsgrad)?,
            };
            Optimizer::new(parameters, rule)
        }
    })
}

/// A schedule over so many steps, of which the first may warm up.
fn schedule(mut own: Keys, steps: u64) -> Done<Schedule> {
    let warm_up = own.count("warm_up", 0)?.unwrap_or(0);
    let left = steps.saturating_sub(warm_up);
    let then = match own.word("name", &["constant", "step", "multistep", "linear", "cosine", "one_cycle"])? {
        "step" => {
            let every = own.count("every", 1)?;
            let every = own.need("every", "the steps after which the rate changes", every)?;
            Schedule::step(every, own.number("gamma", 0.1)?)
        }
        "multistep" => {
            let at = own.counts("at")?;
            let at = own.need("at", "a list of the steps at which the rate changes", at)?;
            Schedule::multistep(&at, own.number("gamma", 0.1)?)
        }
        "linear" => Schedule::linear(1.0, own.number("to", 0.0)?, left),
        "cosine" => Schedule::cosine(left, own.number("to", 0.0)?),
        "one_cycle" => {
            let (up, first, last) =
                (own.number("up", 0.3)?, own.number("first", 25.0)?, own.number("last", 1e4)?);
            Schedule::one_cycle(left, up, first, last)
        }
        _ => Schedule::constant(),
    };
    own.finish()?;
    // The first step is not one of rate 0.
    Ok(if warm_up > 0 { Schedule::warm_up(1.0 / warm_up as f64, warm_up, then) } else { then })
}
