//! Training items as tokens: texts, pairs of answers, prompts.

use crate::chat::Message;
use crate::language::LanguageModel;
use gradus_ir::{Error, Result};

/// A text to train on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The tokens of the text.
    pub tokens: Vec<i64>,
    /// Number of tokens at the beginning that are context and have no loss; at least 1.
    pub given: usize,
}

/// A prompt with a better and a worse answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The prompt with the better answer.
    pub chosen: Example,
    /// The prompt with the worse answer.
    pub rejected: Example,
}

/// A text for the model to continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The text; for a conversation, its last message.
    pub text: String,
    /// The tokens of the prompt.
    pub tokens: Vec<i64>,
}

impl Example {
    /// Number of tokens that have a loss.
    pub fn learned(&self) -> usize {
        self.tokens.len().saturating_sub(self.given)
    }

    /// Returns an error if no token has a loss, or a token is not in the vocabulary. `number` is the
    /// example's index, for messages.
    pub(crate) fn check(&self, number: usize, vocabulary: usize) -> Result<()> {
        let what = || format!("example {}", number + 1);
        if self.given == 0 || self.learned() == 0 {
            let why = format!("has {} tokens, of which {} are context", self.tokens.len(), self.given);
            return Err(Error::value(
                what(),
                format!("{why}; it needs at least one token of context and one to learn"),
            ));
        }
        match self.tokens.iter().find(|t| !(0..vocabulary as i64).contains(*t)) {
            Some(t) => {
                Err(Error::value(what(), format!("has token {t}; tokens are from 0 to {}", vocabulary - 1)))
            }
            None => Ok(()),
        }
    }
}

impl LanguageModel {
    /// Returns the first end token of the configuration.
    fn end_token(&self) -> Option<i64> {
        self.engine.model().config.end.first().copied()
    }

    /// Makes an example of a text, followed by the end token. All tokens but the first have a loss.
    pub fn text_example(&self, text: &str) -> Result<Example> {
        let mut tokens = self.tokenizer.encode(text)?;
        tokens.extend(self.end_token());
        Ok(Example { tokens, given: 1 })
    }

    /// Makes an example of a prompt and its completion, followed by the end token. The prompt has no loss.
    pub fn pair_example(&self, prompt: &str, completion: &str) -> Result<Example> {
        self.completed(self.tokenizer.encode(prompt)?, completion)
    }

    fn completed(&self, mut tokens: Vec<i64>, completion: &str) -> Result<Example> {
        let given = tokens.len();
        tokens.extend(self.tokenizer.encode_text(completion)?);
        tokens.extend(self.end_token());
        Ok(Example { tokens, given })
    }

    /// Makes an example of a conversation. Its last message must be the assistant's; only this message has a
    /// loss.
    pub fn chat_example(&self, messages: &[Message]) -> Result<Example> {
        let Some((last, before)) = messages.split_last().filter(|(last, _)| last.role == "assistant") else {
            return Err(Error::value("the conversation", "must end with a message of the role `assistant`"));
        };
        let given = self.chat_prompt(before)?.tokens;
        // The template decides how a message ends. The example ends with the last end token after the answer.
        let all = self.chat_prompt(messages)?.tokens;
        let end = &self.engine.model().config.end;
        let until = all.iter().rposition(|t| end.contains(t)).map(|i| i + 1);
        match until {
            Some(until) if until > given.len() && all.starts_with(&given) => {
                Ok(Example { tokens: all[..until].to_vec(), given: given.len() })
            }
            _ => self.completed(given, &last.content),
        }
    }

    /// Makes a prompt of a text.
    pub fn prompt(&self, text: &str) -> Result<Prompt> {
        Ok(Prompt { text: text.to_string(), tokens: self.tokenizer.encode(text)? })
    }

    /// Makes a prompt of a conversation, to be continued by the assistant. Its text is the last message.
    pub fn chat_prompt(&self, messages: &[Message]) -> Result<Prompt> {
        let Some(template) = &self.template else {
            return Err(Error::value("the model", "has no chat template; give plain prompts instead"));
        };
        let text = messages.last().map(|m| m.content.clone()).unwrap_or_default();
        Ok(Prompt { text, tokens: template.encode(messages, &self.tokenizer)? })
    }

    /// Makes a pair of a better and a worse answer to a prompt.
    pub fn pair(&self, prompt: &str, chosen: &str, rejected: &str) -> Result<Pair> {
        Ok(Pair {
            chosen: self.pair_example(prompt, chosen)?,
            rejected: self.pair_example(prompt, rejected)?,
        })
    }
}
