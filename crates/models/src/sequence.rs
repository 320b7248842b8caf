//! The state of one text during generation: chooses the next token from logits and decides when the text
//! ends.
//!
//! Takes logits; returns events. The caller computes the logits, for one text or for several together.

use crate::config::Config;
use crate::constrain::Matcher;
use crate::engine::{Finish, Options, WhenFull};
use gradus_ir::{Error, Result};
use gradus_nn::{Choosing, log_probability, top_log_probabilities};
use gradus_tensor::Generator;

/// A generated token.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// The id of the token.
    pub id: i64,
    /// Log-probability under the model, before penalties, biases, temperature and limits; 0 if it was not
    /// requested.
    pub log_probability: f64,
    /// The likeliest tokens with their log-probabilities, as many as requested.
    pub top: Vec<(i64, f64)>,
}

/// An event of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A token was generated.
    Token(Token),
    /// The text has ended.
    Finished(Finish),
    /// The text cannot continue, for this reason; other texts can.
    Failed(String),
}

/// A text during generation.
pub(crate) struct Sequence {
    text: Vec<i64>,
    /// Number of generated tokens, including tokens that were dropped from the context.
    generated: usize,
    /// Number of tokens of the prompt that `text` still has, at its beginning.
    prompt: usize,
    options: Options,
    context: usize,
    end: Vec<i64>,
    generator: Generator,
    matcher: Option<Matcher>,
}

impl Sequence {
    /// Starts a text with a prompt. Fails if the prompt is empty, too long, or has tokens outside the
    /// vocabulary.
    pub(crate) fn new(config: &Config, prompt: &[i64], options: &Options) -> Result<Sequence> {
        options.sampling.check()?;
        let context = config.context;
        if prompt.is_empty() {
            return Err(Error::value(
                "a prompt without tokens",
                "cannot be continued; give at least one token",
            ));
        }
        if prompt.len() > context && options.when_full == WhenFull::Stop {
            let why = format!(
                "are more than {context}, the context of the model; shorten the prompt, or drop its start (`WhenFull::Forget`, `--forget`)"
            );
            return Err(Error::value(format!("{} tokens", prompt.len()), why));
        }
        let known = 0..config.vocabulary as i64;
        if let Some(bad) = prompt.iter().find(|t| !known.contains(*t)) {
            return Err(Error::value(format!("token {bad}"), format!("must be from 0 to {}", known.end - 1)));
        }
        Ok(Sequence {
            text: prompt.to_vec(),
            generated: 0,
            prompt: prompt.len(),
            options: options.clone(),
            context,
            end: config.end.clone(),
            generator: Generator::new(options.seed),
            matcher: options.grammar.as_ref().map(Matcher::new),
        })
    }

    /// Returns the tokens so far; the next logits must be those after them.
    pub(crate) fn text(&self) -> &[i64] {
        &self.text
    }

    /// Largest number of tokens that may still follow.
    fn left(&self) -> usize {
        let left = self.options.tokens.saturating_sub(self.generated);
        match self.options.when_full {
            WhenFull::Stop => left.min((self.context + 1).saturating_sub(self.text.len())),
            WhenFull::Forget { .. } => left,
        }
    }

    /// Makes the text fit the context, or returns the reason why it ends here.
    pub(crate) fn prepare(&mut self) -> Option<Finish> {
        if self.generated >= self.options.tokens {
            let complete = self.matcher.as_ref().is_some_and(Matcher::is_complete);
            return Some(if complete { Finish::End } else { Finish::Length });
        }
        let (count, context) = (self.text.len(), self.context);
        match self.options.when_full {
            WhenFull::Stop if count > context => {
                let complete = self.matcher.as_ref().is_some_and(Matcher::is_complete);
                return Some(if complete { Finish::End } else { Finish::Full });
            }
            WhenFull::Forget { keep } if count >= context => {
                let keep = keep.min(context / 2);
                let end = count - (context - keep) / 2;
                self.text.drain(keep..end);
                self.prompt = self.prompt.min(keep) + self.prompt.saturating_sub(end);
            }
            _ => {}
        }
        None
    }

    /// Chooses the next token from the logits after the text.
    pub(crate) fn choose(&mut self, logits: &[f32]) -> Result<Event> {
        let allowed = match &self.matcher {
            None => None,
            Some(matcher) if matcher.is_finished() => return Ok(Event::Finished(Finish::End)),
            Some(matcher) => {
                let mut allowed = matcher.allowed(self.left());
                allowed.resize(logits.len(), false);
                if matcher.is_complete() {
                    for end in &self.end {
                        if let Some(x) = usize::try_from(*end).ok().and_then(|t| allowed.get_mut(t)) {
                            *x = true;
                        }
                    }
                }
                Some(allowed)
            }
        };
        let choosing = Choosing {
            before: &self.text,
            // Tokens of the prompt are not penalised, however many tokens were dropped.
            generated: self.text.len() - self.prompt,
            bias: &self.options.bias,
            allowed: allowed.as_deref(),
        };
        let id = self.options.sampling.choose_with(logits, &choosing, &self.generator)?;
        if self.end.contains(&id) {
            return Ok(Event::Finished(Finish::End));
        }
        if let Some(matcher) = &mut self.matcher {
            matcher.push(id)?;
        }
        self.text.push(id);
        self.generated += 1;
        let (log_probability, top) = match self.options.log_probabilities {
            None => (0.0, Vec::new()),
            Some(count) => {
                let own = log_probability(logits, id).unwrap_or(f64::NEG_INFINITY);
                (own, top_log_probabilities(logits, count))
            }
        };
        Ok(Event::Token(Token { id, log_probability, top }))
    }
}
