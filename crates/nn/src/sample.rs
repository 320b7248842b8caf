//! Samples tokens from logits.

use gradus_ir::{DType, Error, Result};
use gradus_tensor::{Device, Generator, Tensor};

/// Sampling options: penalties are applied first, then temperature, then the three limits in the order of the
/// fields.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Divides the logits: values below 1 sharpen the distribution; 0 always takes the most likely token.
    pub temperature: f64,
    /// Number of most likely tokens to choose from; all if `None`.
    pub top_k: Option<usize>,
    /// Chooses among the fewest most likely tokens whose probabilities add up to this. 1 is no limit.
    pub top_p: f64,
    /// Chooses among tokens with at least this fraction of the largest probability. 0 is no limit.
    pub min_p: f64,
    /// Makes tokens among the last [`recent`](Sampling::recent) less likely: divides positive logits,
    /// multiplies negative ones. 1 has no effect.
    pub repetition_penalty: f64,
    /// Number of last tokens that the penalty considers.
    pub recent: usize,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            temperature: 1.0,
            top_k: None,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            recent: 64,
        }
    }
}

impl Sampling {
    /// Chooses a token by logits `[vocabulary]`.
    #[track_caller]
    pub fn choose(&self, logits: &Tensor, g: &Generator) -> Result<i64> {
        // On the CPU in `f64`, which not every device has.
        let logits = logits.check()?.detach().to(Device::CPU).to_dtype(DType::F64).reshape([-1]);
        self.choose_from(logits.to_vec()?, &[], g)
    }

    /// Chooses a token by its logits and the tokens before it.
    pub fn choose_after(&self, logits: &[f32], before: &[i64], g: &Generator) -> Result<i64> {
        self.choose_from(logits.iter().map(|x| f64::from(*x)).collect(), before, g)
    }

    fn check(&self) -> Result<()> {
        let within = |name: &str, x: f64, fits: bool, range: &str| match fits {
            true => Ok(()),
            false => Err(Error::value(format!("{name} {x}"), format!("must be {range}"))),
        };
        within("temperature", self.temperature, self.temperature >= 0.0, "0 or more")?;
        within("top_p", self.top_p, self.top_p > 0.0 && self.top_p <= 1.0, "above 0 and at most 1")?;
        within("min_p", self.min_p, (0.0..=1.0).contains(&self.min_p), "from 0 to 1")?;
        let penalty = self.repetition_penalty;
        within("repetition_penalty", penalty, penalty > 0.0 && penalty.is_finite(), "positive")
    }

    fn choose_from(&self, mut logits: Vec<f64>, before: &[i64], g: &Generator) -> Result<i64> {
        self.check()?;
        if self.repetition_penalty != 1.0 {
            let mut recent = before[before.len().saturating_sub(self.recent)..].to_vec();
            recent.sort_unstable();
            recent.dedup(); // each is penalized once
            for token in recent {
                if let Some(x) = usize::try_from(token).ok().and_then(|t| logits.get_mut(t)) {
                    *x = if *x > 0.0 { *x / self.repetition_penalty } else { *x * self.repetition_penalty };
                }
            }
        }
        if let Some(at) = logits.iter().position(|x| x.is_nan()) {
            return Err(Error::value(format!("the logit of token {at}"), "is not a number"));
        }
        let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]).then(b.cmp(a)));
        let Some(best) = best else { return Err(Error::value("the logits", "must not be empty")) };
        if self.temperature == 0.0 {
            return Ok(best as i64);
        }
        let odds = self.odds(&logits, logits[best]);
        let draw: f64 = g.rand([1]).to_dtype(DType::F64).reshape([0usize; 0]).item()?;
        let mut left = draw * odds.iter().map(|(_, p)| p).sum::<f64>();
        for (token, p) in &odds {
            left -= p;
            if left < 0.0 {
                return Ok(*token as i64);
            }
        }
        Ok(odds.last().map_or(best, |(token, _)| *token) as i64)
    }

    /// Returns the tokens to choose from, the most likely first, each with its probability relative to the
    /// largest.
    fn odds(&self, logits: &[f64], most: f64) -> Vec<(usize, f64)> {
        let relative = |x: f64| {
            if most.is_infinite() { f64::from(x == most) } else { ((x - most) / self.temperature).exp() }
        };
        let mut odds: Vec<(usize, f64)> = logits.iter().map(|x| relative(*x)).enumerate().collect();
        let order = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let k = self.top_k.unwrap_or(usize::MAX).clamp(1, odds.len());
        if k < odds.len() {
            odds.select_nth_unstable_by(k - 1, order);
            odds.truncate(k);
        }
        odds.sort_unstable_by(order);
        if self.top_p < 1.0 {
            let enough = self.top_p * odds.iter().map(|(_, p)| p).sum::<f64>();
            let mut sum = 0.0;
            // Includes the token that reaches the limit.
            let reached = |(_, p): &&(usize, f64)| {
                let before = sum;
                sum += p;
                before < enough
            };
            let few = odds.iter().take_while(reached).count();
            odds.truncate(few.max(1));
        }
        let few = odds.iter().take_while(|(_, p)| *p >= self.min_p).count();
        odds.truncate(few.max(1));
        odds
    }

    /// Generates tokens: `next` returns the logits after a token; `each` receives every chosen token and
    /// returns whether to continue.
    #[track_caller]
    pub fn generate(
        &self,
        first: i64,
        g: &Generator,
        mut next: impl FnMut(i64) -> Result<Tensor>,
        mut each: impl FnMut(i64) -> bool,
    ) -> Result<()> {
        let mut token = first;
        loop {
            token = self.choose(&next(token)?, g)?;
            if !each(token) {
                return Ok(());
            }
        }
    }
}
