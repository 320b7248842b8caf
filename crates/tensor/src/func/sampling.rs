//! Samples tokens by their logits inside of graphs, so that a loop that generates text compiles as one
//! program.
//!
//! Takes the logits of several texts and a random number for each; returns tokens. Penalties, biases and
//! grammars, which depend on earlier tokens, are applied by the caller or by `gradus_nn::Sampling`.

use super::activation::wide;
use crate::random::{Generator, default_generator};
use crate::region::{Args, arg, region1};
use crate::tensor::Tensor;
use gradus_ir::{Class, DType, Error, Result, Shape, message};

/// Options of [`sample_tokens`], in the order in which they are applied.
#[derive(Clone, Copy, Debug)]
pub struct SampleOptions {
    /// Divides the logits; 0 takes the most likely token.
    pub temperature: f64,
    /// Number of most likely tokens to choose from; all if `None`.
    pub top_k: Option<usize>,
    /// Chooses among the smallest set of most likely tokens whose probabilities add up to at least this. 1 is
    /// no limit.
    pub top_p: f64,
    /// Chooses among tokens with at least this fraction of the largest probability. 0 is no limit.
    pub min_p: f64,
}

impl Default for SampleOptions {
    fn default() -> SampleOptions {
        SampleOptions { temperature: 1.0, top_k: None, top_p: 1.0, min_p: 0.0 }
    }
}

impl SampleOptions {
    fn check(&self, logits: &Tensor) -> Result<usize> {
        let within = |name: &str, x: f64, fits: bool, range: &str| match fits {
            true => Ok(()),
            false => Err(Error::value(format!("{name} {x}"), format!("must be {range}"))),
        };
        within("temperature", self.temperature, self.temperature >= 0.0, "0 or more")?;
        within("top_p", self.top_p, self.top_p > 0.0 && self.top_p <= 1.0, "above 0 and at most 1")?;
        within("min_p", self.min_p, (0.0..=1.0).contains(&self.min_p), "from 0 to 1")?;
        if logits.dtype().class() != Class::Float {
            return Err(Error::dtype(logits.dtype(), "logits are floats"));
        }
        match logits.shape().last() {
            Some(&n) if n > 0 => Ok(self.top_k.unwrap_or(n).clamp(1, n)),
            _ => Err(Error::shape(format!("logits {}", logits.shape()), "need tokens on the last axis")),
        }
    }

    fn args(&self, k: usize) -> Args {
        vec![
            arg("temperature", self.temperature),
            arg("top_k", k),
            arg("top_p", self.top_p),
            arg("min_p", self.min_p),
        ]
    }
}

/// Draws a token for each row of logits `[..., tokens]`: `i64` of the shape without the last axis. Random
/// numbers come from `generator`, or from the default one.
#[track_caller]
pub fn sample_tokens(logits: &Tensor, options: &SampleOptions, generator: Option<&Generator>) -> Tensor {
    if logits.error().is_some() {
        return logits.clone();
    }
    let shape = logits.shape();
    let rows = Shape::from(&shape[..shape.rank().saturating_sub(1)]);
    // Drawn outside of the region, because a region must not change state.
    let draws = match options.temperature == 0.0 {
        true => Tensor::zeros(rows),
        false => generator.unwrap_or(default_generator()).rand(rows),
    };
    sample_tokens_at(logits, options, &draws)
}

/// [`sample_tokens`] with explicit random numbers from 0 to 1, one for each row. Sums the probabilities in
/// descending order, and takes the token at which the sum exceeds the number.
#[track_caller]
pub fn sample_tokens_at(logits: &Tensor, options: &SampleOptions, draws: &Tensor) -> Tensor {
    let ins = [logits, draws];
    if let Some(failed) = ins.iter().find(|t| t.error().is_some()) {
        return (*failed).clone();
    }
    let fits = options.check(logits).and_then(|k| {
        let shape = logits.shape();
        let rows = Shape::from(&shape[..shape.rank() - 1]);
        if draws.shape() != rows || draws.dtype().class() != Class::Float {
            let what = message!("random numbers ", draws.dtype(), " ", &draws.shape());
            return Err(Error::shape(what, format!("must be floats {rows}, one for each row of logits")));
        }
        Ok(k)
    });
    let k = match fits {
        Ok(k) => k,
        Err(e) => return Tensor::refuse("sample_tokens", &ins, e),
    };
    let SampleOptions { temperature, top_p, min_p, .. } = *options;
    region1("sample_tokens", options.args(k), &ins, |x| {
        let logits = wide(&x[0]);
        let (sorted, tokens) = logits.topk(k, -1, true);
        let most = sorted.narrow(-1, 0, 1);
        if temperature == 0.0 {
            return tokens.narrow(-1, 0, 1).squeeze(-1);
        }
        // A largest logit may be infinite: its difference from itself is NaN, so logits equal to it are
        // handled separately.
        let relative = ((&sorted - &most) / temperature).exp();
        let odds = sorted.eq(&most).select(1.0, &relative);
        let before = odds.cumsum(-1) - &odds;
        let mut kept = odds.ge(min_p);
        if top_p < 1.0 {
            kept = kept.and(&before.lt(&(odds.sum_keepdim(-1) * top_p)));
        }
        let odds = kept.select(&odds, 0.0);
        let sums = odds.cumsum(-1);
        let number = |t: Tensor| t.to_dtype(DType::I64).sum_keepdim(-1);
        let target = wide(&x[1]).to_dtype(odds.dtype()).unsqueeze(-1) * odds.sum_keepdim(-1);
        // Because of rounding, it can happen that no sum exceeds the number. Then the last token with a
        // nonzero probability is taken.
        let last = number(odds.gt(0.0)) - 1i64;
        let index = number(sums.le(&target)).minimum(&last).maximum(0i64);
        let at = Tensor::iota(DType::I64, [k], 0).eq(&index);
        at.select(&tokens, 0i64).sum(-1)
    })
}

pub(super) fn samples(s: &mut super::Samples) {
    let plain = SampleOptions::default;
    let ways = [
        plain(),
        SampleOptions { temperature: 0.0, ..plain() },
        SampleOptions { temperature: 0.7, top_k: Some(3), ..plain() },
        SampleOptions { top_p: 0.6, ..plain() },
        SampleOptions { temperature: 1.5, top_k: Some(4), top_p: 0.8, min_p: 0.2 },
    ];
    for options in ways {
        let ins = [s.draw.normal([2, 5]), s.draw.floats([2], &[0.13, 0.87])];
        s.case("sample_tokens", ins, move |x| sample_tokens_at(&x[0], &options, &x[1]));
    }
}
