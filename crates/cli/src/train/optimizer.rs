//! Builds the optimiser and the schedule of a configuration. Defaults are those of `gradus::nn::optim`.

use super::keys::Keys;
use crate::Done;
use gradus::Tensor;
use gradus::nn::optim::{Adafactor, Adagrad, Adam, AdamW, Lion, RmsProp, Sgd};
use gradus::nn::{Clip, Optimizer, Schedule};

type Parameters = Vec<(String, Tensor)>;

/// Makes the optimiser of these parameters, from the tables `optimizer` and `schedule`, for `steps` updates.
pub(crate) fn optimizer(keys: &mut Keys, parameters: Parameters, steps: u64) -> Done<Optimizer> {
    let mut own = keys.table("optimizer")?;
    let mut optimizer = rule(&mut own, parameters)?;
    match (own.maybe_number("clip_norm")?, own.maybe_number("clip_value")?) {
        (Some(_), Some(_)) => {
            return Err(own.fault("clip_value", "cannot be combined with `clip_norm`; remove one of them"));
        }
        (Some(most), None) => optimizer = optimizer.clip(Clip::Norm(most)),
        (None, Some(most)) => optimizer = optimizer.clip(Clip::Value(most)),
        (None, None) => {}
    }
    if let Some(decay) = own.maybe_number("average")? {
        if !(0.0..1.0).contains(&decay) {
            return Err(own.fault("average", &format!("is {decay}; must be at least 0 and below 1")));
        }
        optimizer = optimizer.average(decay);
    }
    own.finish()?;
    Ok(optimizer.schedule(schedule(keys.table("schedule")?, steps)?))
}

/// Returns the kind of state that the optimiser has. A resumed run must have the same kind as the run that it
/// continues.
pub(crate) fn kind(keys: &mut Keys) -> Done<String> {
    let mut own = keys.table("optimizer")?;
    let averages = if own.has("average") { " with averages" } else { "" };
    Ok(format!("{}{averages}", own.word("name", NAMES)?))
}

/// Update rules by name, with the keys that set their fields and the method of `Keys` that reads each key.
/// The first rule is the default.
macro_rules! rules {
    ($($name:literal => $rule:ident { $($field:ident: $kind:ident),+ })+) => {
        const NAMES: &[&str] = &[$($name),+];

        #[allow(clippy::needless_update, reason = "some rules have fields that are not for a configuration")]
        fn rule(own: &mut Keys, parameters: Parameters) -> Done<Optimizer> {
            let name = own.word("name", NAMES)?;
            $(if name == $name {
                let d = $rule::default();
                let rule = $rule { $($field: own.$kind(stringify!($field), d.$field)?,)+ ..d };
                return Ok(Optimizer::new(parameters, rule));
            })+
            Err(own.fault("name", "has no rule"))
        }
    };
}

rules! {
    "adamw" => AdamW { rate: number, betas: two, eps: number, weight_decay: number, amsgrad: flag }
    "adam" => Adam { rate: number, betas: two, eps: number, weight_decay: number, amsgrad: flag }
    "sgd" => Sgd { rate: number, momentum: number, dampening: number, nesterov: flag, weight_decay: number }
    "rmsprop" => RmsProp { rate: number, alpha: number, eps: number, momentum: number, centered: flag, weight_decay: number }
    "adagrad" => Adagrad { rate: number, rate_decay: number, eps: number, initial: number, weight_decay: number }
    "lion" => Lion { rate: number, betas: two, weight_decay: number }
    "adafactor" => Adafactor { rate: number, decay: number, clip: number, weight_decay: number }
}

/// Returns the schedule over `steps` updates, after an optional warm-up.
fn schedule(mut own: Keys, steps: u64) -> Done<Schedule> {
    let warm_up = own.count_or("warm_up", 0, 0)?;
    let left = steps.saturating_sub(warm_up);
    let names = ["constant", "step", "multistep", "linear", "cosine", "one_cycle", "piecewise"];
    let then = match own.word("name", &names)? {
        "step" => {
            let every = own.count("every", 1)?;
            let every = own.need("every", "the number of steps between changes of the rate", every)?;
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
        "piecewise" => {
            let points = own.points("points")?;
            let points = own.need("points", "a list of steps and factors, [[0, 1.0], [100, 0.1]]", points)?;
            if points.is_empty() || points.windows(2).any(|two| two[0].0 >= two[1].0) {
                return Err(own.fault("points", "must have increasing steps"));
            }
            Schedule::piecewise(&points)
        }
        _ => Schedule::constant(),
    };
    own.finish()?;
    // Warm-up starts at `1 / warm_up`, because a rate of 0 would waste the first update.
    Ok(if warm_up > 0 { Schedule::warm_up(1.0 / warm_up as f64, warm_up, then) } else { then })
}
