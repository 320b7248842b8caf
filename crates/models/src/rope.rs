//! Rotary position embeddings: the angular rate of each pair of features, from the keys of a `config.json`.
//!
//! Takes the table named `rope_scaling` in older files and `rope_parameters` in newer ones; returns the rates
//! and a factor of the rotated features. The configuration decides which layers use which rotations.

use gradus_ir::{Error, Result};
use serde_json::Value;

/// The rotation of a layer's queries and keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// The base of the rates before scaling, `rope_theta`.
    pub base: f64,
    /// Angle per position of each pair of features, in radians.
    pub rates: Vec<f64>,
    /// Factor of cosines and sines; 1 unless the scaling sets it.
    pub factor: f64,
}

impl Rope {
    /// Makes the rotations of heads of `head` features, without scaling.
    pub fn plain(base: f64, head: usize) -> Result<Rope> {
        if !(base > 0.0 && base.is_finite()) {
            return Err(Error::value(format!("`rope_theta` {base}"), "must be positive and finite"));
        }
        Ok(Rope { base, rates: plain_rates(base, head).collect(), factor: 1.0 })
    }

    /// Makes rotations with a scaling that extends the context. `context` is the largest number of positions
    /// of the model.
    pub fn scaled(base: f64, head: usize, scaling: &Value, context: usize) -> Result<Rope> {
        let plain = Rope::plain(base, head)?;
        let number = |key: &str| match scaling[key].as_f64().filter(|x| *x > 0.0 && x.is_finite()) {
            Some(x) => Ok(x),
            None => {
                let what = format!("`rope_scaling.{key}` {}", scaling[key]);
                Err(Error::value(what, "must be a positive number"))
            }
        };
        let number_or = |key: &str, other: f64| if scaling[key].is_null() { Ok(other) } else { number(key) };
        if number_or("partial_rotary_factor", 1.0)? != 1.0 {
            let what = format!("`partial_rotary_factor` {}", scaling["partial_rotary_factor"]);
            return Err(Error::value(what, "is not supported: all features of a head must rotate"));
        }
        let kind = ["rope_type", "type"].map(|key| &scaling[key]).into_iter().find(|kind| !kind.is_null());
        let kind = match kind {
            None => "default",
            Some(Value::String(kind)) => kind,
            Some(x) => return Err(Error::value(format!("`rope_scaling.rope_type` {x}"), "must be a name")),
        };
        match kind {
            "default" | "none" => Ok(plain),
            "linear" => {
                let factor = number("factor")?;
                Ok(plain.map(|_, rate| rate / factor))
            }
            "llama3" => {
                let (factor, original) = (number("factor")?, number("original_max_position_embeddings")?);
                let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
                if high <= low {
                    let what = format!("`rope_scaling.high_freq_factor` {high}");
                    return Err(Error::value(what, format!("must be greater than `low_freq_factor`, {low}")));
                }
                // High rates stay, low rates are divided by the factor, and rates between are interpolated.
                Ok(plain.map(|_, rate| {
                    let rotations = original * rate / (2.0 * std::f64::consts::PI);
                    let smooth = ((rotations - low) / (high - low)).clamp(0.0, 1.0);
                    (1.0 - smooth) * rate / factor + smooth * rate
                }))
            }
            "yarn" => yarn(plain, head, scaling, context),
            // One divisor for each pair of features; any scaling of a GGUF file is converted to this.
            "longrope" if scaling["short_factor"] == scaling["long_factor"] => {
                let factors: Option<Vec<f64>> =
                    scaling["long_factor"].as_array().and_then(|a| a.iter().map(Value::as_f64).collect());
                match factors.filter(|f| f.len() == head / 2 && f.iter().all(|x| *x > 0.0 && x.is_finite())) {
                    Some(factors) => {
                        let factor = number_or("attention_factor", 1.0)?;
                        Ok(Rope { factor, ..plain.map(|i, rate| rate / factors[i]) })
                    }
                    None => Err(Error::value(
                        "`rope_scaling.long_factor`",
                        format!("must be {} positive numbers", head / 2),
                    )),
                }
            }
            other => {
                let why = "is not supported; supported are default, linear, llama3, yarn, and longrope with equal factors";
                Err(Error::value(format!("`rope_scaling.rope_type` `{other}`"), why))
            }
        }
    }

    fn map(self, f: impl Fn(usize, f64) -> f64) -> Rope {
        let rates = self.rates.iter().enumerate().map(|(i, rate)| f(i, *rate)).collect();
        Rope { rates, ..self }
    }

    /// Returns the divisors of the rates that have the effect of the scaling; `None` if the scaling changes
    /// no rate.
    pub fn divisors(&self) -> Option<Vec<f32>> {
        let plain = plain_rates(self.base, 2 * self.rates.len());
        let divisors: Vec<f32> = plain.zip(&self.rates).map(|(plain, rate)| (plain / rate) as f32).collect();
        divisors.iter().any(|f| *f != 1.0).then_some(divisors)
    }
}

/// Returns the rates without scaling: `base^(-2i/head)` for each pair `i`.
fn plain_rates(base: f64, head: usize) -> impl Iterator<Item = f64> {
    (0..head / 2).map(move |i| base.powf(-2.0 * i as f64 / head as f64))
}

/// YaRN scaling. Pairs that rotate more than `beta_fast` times over the original context keep their rate. The
/// rate of pairs that rotate less than `beta_slow` times is divided by the factor. Between these pairs the
/// change is linear in the index.
fn yarn(plain: Rope, head: usize, scaling: &Value, context: usize) -> Result<Rope> {
    let bad = |key: &str| {
        Error::value(format!("`rope_scaling.{key}` {}", scaling[key]), "must be a positive number")
    };
    let optional = |key: &str| match &scaling[key] {
        Value::Null => Ok(None),
        x => x.as_f64().filter(|x| *x > 0.0 && x.is_finite()).map(Some).ok_or_else(|| bad(key)),
    };
    let original = optional("original_max_position_embeddings")?
        .ok_or_else(|| bad("original_max_position_embeddings"))?;
    let factor = optional("factor")?.unwrap_or(context as f64 / original);
    let (fast, slow) = (optional("beta_fast")?.unwrap_or(32.0), optional("beta_slow")?.unwrap_or(1.0));
    let stretch = |weight: f64| if factor <= 1.0 { 1.0 } else { 0.1 * weight * factor.ln() + 1.0 };
    let attention = match (optional("attention_factor")?, optional("mscale")?, optional("mscale_all_dim")?) {
        (Some(own), _, _) => own,
        (None, Some(one), Some(all)) => stretch(one) / stretch(all),
        _ => stretch(1.0),
    };
    // The index, possibly fractional, of the pair that rotates `rotations` times over the original context.
    let pair = |rotations: f64| {
        let turns = original / (rotations * 2.0 * std::f64::consts::PI);
        head as f64 * turns.ln() / (2.0 * plain.base.ln())
    };
    let (mut first, mut last) = (pair(fast), pair(slow));
    let truncate = match &scaling["truncate"] {
        Value::Null => true,
        Value::Bool(on) => *on,
        x => return Err(Error::value(format!("`rope_scaling.truncate` {x}"), "must be true or false")),
    };
    if truncate {
        (first, last) = (first.floor(), last.ceil());
    }
    let (first, mut last) = (first.max(0.0), last.min((head - 1) as f64));
    if first == last {
        last += 0.001;
    }
    let slowed = plain.map(|i, rate| {
        let share = ((i as f64 - first) / (last - first)).clamp(0.0, 1.0);
        rate / factor * share + rate * (1.0 - share)
    });
    Ok(Rope { factor: attention, ..slowed })
}
