//! What a model learns from, as tokens: texts, pairs of answers, prompts.

use crate::chat::Message;
use crate::language::LanguageModel;
use gradus_ir::{Error, Result};

/// A text to learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The tokens of the text.
    pub tokens: Vec<i64>,
    /// Tokens at the beginning that are given and not learned; at least 1.
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

/// The beginning of a text that the model continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// As text.
    pub text: String,
    /// Its tokens.
    pub tokens: Vec<i64>,
}

impl Example {
    /// Number of tokens that are learned.
    pub fn learned(&self) -> usize {
        self.tokens.len().saturating_sub(self.given)
    }

    /// Refuses an example without tokens to learn, or with tokens that the vocabulary lacks.
    pub(crate) fn check(&self, number: usize, vocabulary: usize) -> Result<()> {
        let what = || format!("example {}", number + 1);
        if self.given == 0 || self.learned() == 0 {
            let why = format!("has {} tokens, {} of them given", self.tokens.len(), self.given);
            return Err(Error::value(what(), format!("{why}; it needs a given one and one to learn")));
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
    /// The token that ends a text.
    fn end_token(&self) -> Option<i64> {
        self.engine.model().config.end.first().copied()
    }

    /// Makes an example of a whole text, which the end token follows.
    pub fn text_example(&self, text: &str) -> Result<Example> {
        let mut tokens = self.tokenizer.encode(text)?;
        tokens.extend(self.end_token());
        Ok(Example { tokens, given: 1 })
    }

    /// Makes an example of a prompt and the text that shall follow it, up to the end token.
    pub fn pair_example(&self, prompt: &str, completion: &str) -> Result<Example> {
        self.completed(self.tokenizer.encode(prompt)?, completion)
    }

    fn completed(&self, mut tokens: Vec<i64>, completion: &str) -> Result<Example> {
        let given = tokens.len();
        tokens.extend(self.tokenizer.encode_text(completion)?);
        tokens.extend(self.end_token());
        Ok(Example { tokens, given })
    }

    /// Makes an example of a conversation whose last message, the assistant's, is learned.
    pub fn chat_example(&self, messages: &[Message]) -> Result<Example> {
        let Some((last, before)) = messages.split_last().filter(|(last, _)| last.role == "assistant") else {
            return Err(Error::value("the conversation", "must end with a message of the role `assistant`"));
        };
        let given = self.chat_prompt(before)?.tokens;
        // The template decides what ends a message: the last end token after the answer.
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

    /// Makes a prompt of a conversation, which the assistant continues. Its text is the last message.
    pub fn chat_prompt(&self, messages: &[Message]) -> Result<Prompt> {
        let Some(template) = &self.template else {
            return Err(Error::value("the model", "has no chat template; give plain prompts instead"));
        };
        let text = messages.last().map(|m| m.content.clone()).unwrap_or_default();
        Ok(Prompt { text, tokens: template.encode(messages, &self.tokenizer)? })
    }

    /// Makes a pair of answers to a prompt.
    pub fn pair(&self, prompt: &str, chosen: &str, rejected: &str) -> Result<Pair> {
        Ok(Pair {
            chosen: self.pair_example(prompt, chosen)?,
            rejected: self.pair_example(prompt, rejected)?,
        })
    }
}
