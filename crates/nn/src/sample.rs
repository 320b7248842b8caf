//! Chooses tokens by their logits: penalties, biases, temperature, limits and log-probabilities.
//!
//! Takes the logits of one position and the tokens before it; returns a token. The caller decides which
//! tokens a grammar permits, and passes a list of booleans.

use gradus_ir::{DType, Error, Result};
use gradus_tensor::{Device, Generator, Tensor};

/// Options of the choice of a token. Penalties and biases are applied first, then the temperature, then the
/// three limits in the order of the fields.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Divides the logits: values below 1 sharpen the distribution; 0 always takes the most likely token.
    pub temperature: f64,
    /// Number of most likely tokens to choose from; all if `None`.
    pub top_k: Option<usize>,
    /// Chooses among the smallest set of most likely tokens whose probabilities add up to at least this. 1 is
    /// no limit.
    pub top_p: f64,
    /// Chooses among tokens with at least this fraction of the largest probability. 0 is no limit.
    pub min_p: f64,
    /// Makes tokens among the last [`recent`](Sampling::recent) less likely: divides positive logits,
    /// multiplies negative ones. 1 has no effect.
    pub repetition_penalty: f64,
    /// The number of last tokens to which the repetition penalty applies.
    pub recent: usize,
    /// Subtracted from the logit of a token once for each time that it was generated. 0 changes nothing.
    pub frequency_penalty: f64,
    /// Subtracted from the logit of a token that was generated at least once. 0 changes nothing.
    pub presence_penalty: f64,
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
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
        }
    }
}

/// Inputs, other than the logits, of the choice of a token.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choosing<'a> {
    /// The tokens before, those of the prompt included.
    pub before: &'a [i64],
    /// The number of tokens at the end of `before` that were generated: frequency and presence penalties
    /// count these only.
    pub generated: usize,
    /// Numbers that are added to the logits of some tokens.
    pub bias: &'a [(i64, f64)],
    /// A flag for each token that is true if the token may be chosen; `None` allows all tokens.
    pub allowed: Option<&'a [bool]>,
}

impl Sampling {
    /// Chooses a token by logits `[vocabulary]`.
    #[track_caller]
    pub fn choose(&self, logits: &Tensor, g: &Generator) -> Result<i64> {
        // Computes on the CPU, because not every device has `f64`.
        let logits = logits.check()?.detach().to(Device::CPU).to_dtype(DType::F64).reshape([-1]);
        self.choose_from(logits.to_vec()?, &Choosing::default(), g)
    }

    /// Chooses a token by its logits and the tokens before it.
    pub fn choose_after(&self, logits: &[f32], before: &[i64], g: &Generator) -> Result<i64> {
        self.choose_with(logits, &Choosing { before, ..Choosing::default() }, g)
    }

    /// Chooses a token by its logits and the other inputs of the choice.
    pub fn choose_with(&self, logits: &[f32], choosing: &Choosing<'_>, g: &Generator) -> Result<i64> {
        if self.temperature == 0.0
            && !self.adjusts(choosing)
            && let Some(best) = first_largest(logits)
        {
            self.check()?;
            return Ok(best as i64);
        }
        self.choose_from(logits.iter().map(|x| f64::from(*x)).collect(), choosing, g)
    }

    /// Checks that every number is in its range.
    pub fn check(&self) -> Result<()> {
        let within = |name: &str, x: f64, fits: bool, range: &str| match fits {
            true => Ok(()),
            false => Err(Error::value(format!("{name} {x}"), format!("must be {range}"))),
        };
        within("temperature", self.temperature, self.temperature >= 0.0, "0 or more")?;
        within("top_p", self.top_p, self.top_p > 0.0 && self.top_p <= 1.0, "above 0 and at most 1")?;
        within("min_p", self.min_p, (0.0..=1.0).contains(&self.min_p), "from 0 to 1")?;
        let penalty = self.repetition_penalty;
        within("repetition_penalty", penalty, penalty > 0.0 && penalty.is_finite(), "positive")?;
        let (frequency, presence) = (self.frequency_penalty, self.presence_penalty);
        within("frequency_penalty", frequency, frequency.is_finite(), "finite")?;
        within("presence_penalty", presence, presence.is_finite(), "finite")
    }

    /// Applies penalties and biases to the logits. Sets the logits of tokens that are not allowed to negative
    /// infinity.
    pub fn adjust(&self, logits: &mut [f64], choosing: &Choosing<'_>) {
        let before = choosing.before;
        if self.repetition_penalty != 1.0 {
            for (x, _) in count_tokens(logits, &before[before.len().saturating_sub(self.recent)..]) {
                *x = if *x > 0.0 { *x / self.repetition_penalty } else { *x * self.repetition_penalty };
            }
        }
        if self.frequency_penalty != 0.0 || self.presence_penalty != 0.0 {
            for (x, count) in count_tokens(logits, &before[before.len().saturating_sub(choosing.generated)..])
            {
                *x -= self.presence_penalty + count as f64 * self.frequency_penalty;
            }
        }
        for (token, bias) in choosing.bias {
            if let Some(x) = usize::try_from(*token).ok().and_then(|t| logits.get_mut(t)) {
                *x += bias;
            }
        }
        if let Some(allowed) = choosing.allowed {
            let unlisted = std::iter::repeat(&false);
            for (x, allowed) in logits.iter_mut().zip(allowed.iter().chain(unlisted)) {
                if !allowed {
                    *x = f64::NEG_INFINITY;
                }
            }
        }
    }

    /// Returns true if penalties, biases or a grammar may change the choice.
    fn adjusts(&self, choosing: &Choosing<'_>) -> bool {
        let penalties = [self.repetition_penalty - 1.0, self.frequency_penalty, self.presence_penalty];
        penalties.iter().any(|p| *p != 0.0) || !choosing.bias.is_empty() || choosing.allowed.is_some()
    }

    /// Returns the logits after penalties and biases, and the token with the largest one.
    fn adjusted(&self, mut logits: Vec<f64>, choosing: &Choosing<'_>) -> Result<(Vec<f64>, usize)> {
        self.check()?;
        if let Some(at) = logits.iter().position(|x| x.is_nan()) {
            return Err(Error::value(format!("the logit of token {at}"), "is not a number"));
        }
        self.adjust(&mut logits, choosing);
        let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]).then(b.cmp(a)));
        let Some(best) = best else {
            return Err(Error::value("a token", "cannot be chosen: there are no logits"));
        };
        if choosing.allowed.is_some_and(|allowed| !allowed.get(best).copied().unwrap_or(false)) {
            return Err(Error::value("a token", "cannot be chosen: none is allowed here"));
        }
        Ok((logits, best))
    }

    fn choose_from(&self, logits: Vec<f64>, choosing: &Choosing<'_>, g: &Generator) -> Result<i64> {
        let (logits, best) = self.adjusted(logits, choosing)?;
        if self.temperature == 0.0 {
            return Ok(best as i64);
        }
        let odds = self.odds(&logits, best);
        let draw: f64 = g.rand([1]).to_dtype(DType::F64).reshape([0usize; 0]).item()?;
        let mut left = draw * odds.iter().map(|(_, p)| p).sum::<f64>();
        for (token, p) in &odds {
            left -= p;
            if left < 0.0 {
                return Ok(*token as i64);
            }
        }
        // Because of rounding, the subtracted probabilities may not reach the drawn number. Then the last
        // token with a nonzero probability is taken.
        let last = odds.iter().rev().find(|(_, p)| *p > 0.0);
        Ok(last.map_or(best, |(token, _)| *token) as i64)
    }

    /// Returns the probability of each token to be chosen.
    pub fn probabilities(&self, logits: &[f32], choosing: &Choosing<'_>) -> Result<Vec<f64>> {
        let (logits, best) = self.adjusted(logits.iter().map(|x| f64::from(*x)).collect(), choosing)?;
        let mut all = vec![0.0; logits.len()];
        let odds = self.odds(&logits, best);
        let total: f64 = odds.iter().map(|(_, p)| p).sum();
        for (token, p) in odds {
            all[token] = p / total;
        }
        Ok(all)
    }

    /// Returns the tokens to choose from, the likeliest first, each with its probability divided by that of
    /// the likeliest.
    fn odds(&self, logits: &[f64], best: usize) -> Vec<(usize, f64)> {
        if self.temperature == 0.0 {
            return vec![(best, 1.0)];
        }
        let most = logits[best];
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

    /// Generates tokens, starting after `first`. `next` returns the logits after a token. `each` receives
    /// every chosen token; generation ends when `each` returns false.
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

/// Returns the index of the first of the largest numbers. Returns `None` if there are no numbers, if one is
/// NaN, or if the largest is 0. The caller then compares with `total_cmp`, which orders -0.0 below 0.0.
fn first_largest(numbers: &[f32]) -> Option<usize> {
    // Number of maxima that the compiler keeps in vector registers.
    const LANES: usize = 32;
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let (mut most, mut is_nan) = ([f32::NEG_INFINITY; LANES], [false; LANES]);
    for chunk in chunks {
        for ((most, is_nan), x) in most.iter_mut().zip(&mut is_nan).zip(chunk) {
            *most = if *x > *most { *x } else { *most };
            *is_nan |= x.is_nan();
        }
    }
    if is_nan.contains(&true) || rest.iter().any(|x| x.is_nan()) {
        return None;
    }
    let most = most.iter().chain(rest).fold(f32::NEG_INFINITY, |a, b| a.max(*b));
    numbers.iter().position(|x| *x == most).filter(|_| most != 0.0)
}

/// Iterates over the distinct tokens in `tokens`: the logit of each, and how often it occurs. Skips tokens
/// outside the vocabulary.
fn count_tokens<'a>(logits: &'a mut [f64], tokens: &[i64]) -> impl Iterator<Item = (&'a mut f64, usize)> {
    let mut counts = std::collections::BTreeMap::<usize, usize>::new();
    for token in tokens {
        if let Ok(token) = usize::try_from(*token) {
            *counts.entry(token).or_default() += 1;
        }
    }
    let mut counts = counts.into_iter().peekable();
    logits.iter_mut().enumerate().filter_map(move |(at, x)| {
        let (_, count) = counts.next_if(|(token, _)| *token == at)?;
        Some((x, count))
    })
}

/// Returns the log-probability of a token by the softmax of logits, before penalties, biases, temperature and
/// limits.
pub fn log_probability(logits: &[f32], token: i64) -> Option<f64> {
    let x = *logits.get(usize::try_from(token).ok()?)?;
    Some(f64::from(x) - log_sum(logits))
}

/// Returns the `count` likeliest tokens with their log-probabilities, the likeliest first.
pub fn top_log_probabilities(logits: &[f32], count: usize) -> Vec<(i64, f64)> {
    let total = log_sum(logits);
    let mut order: Vec<usize> = (0..logits.len()).collect();
    let likelier = |a: &usize, b: &usize| logits[*b].total_cmp(&logits[*a]).then(a.cmp(b));
    if count == 0 {
        return Vec::new();
    }
    if count < order.len() {
        order.select_nth_unstable_by(count - 1, likelier);
        order.truncate(count);
    }
    order.sort_unstable_by(likelier);
    order.into_iter().map(|t| (t as i64, f64::from(logits[t]) - total)).collect()
}

/// Computes the logarithm of the sum of exponentials.
fn log_sum(logits: &[f32]) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let most = if most.is_finite() { f64::from(most) } else { 0.0 };
    most + logits.iter().map(|x| (f64::from(*x) - most).exp()).sum::<f64>().ln()
}
