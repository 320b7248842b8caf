//! Chat templates, which convert conversations to the token format that a model was trained on.
//!
//! A template is a program from a file. It runs in a sandbox with a bounded number of steps. If a message
//! contains the text of a special token, that text is encoded as plain text. So no message can end its turn
//! or start another one.

use crate::tokenizer::Tokenizer;
use gradus_ir::{Error, Result};
use minijinja::{Environment, ErrorKind, context};

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The author: `system`, `user` or `assistant`.
    pub role: String,
    /// The text of the message.
    pub content: String,
}

impl Message {
    /// Makes a message.
    pub fn new(role: &str, content: impl Into<String>) -> Message {
        Message { role: role.to_string(), content: content.into() }
    }
}

/// Largest number of steps that a template may execute.
const MAX_STEPS: u64 = 1_000_000;

/// Delimiters, from Unicode's private use area, of a placeholder for the text of a special token in a
/// message.
const MARK: [char; 2] = ['\u{F8FE}', '\u{F8FF}'];

/// A chat template, with the texts of the tokens that start and end a conversation.
#[derive(Clone, Debug)]
pub struct Template {
    /// The program, in the Jinja language.
    pub source: String,
    /// Text of the token that starts a text.
    pub bos_token: String,
    /// Text of the token that ends a text.
    pub eos_token: String,
}

impl Template {
    /// Renders a conversation as text, up to the start of the model's answer.
    pub fn render(&self, messages: &[Message]) -> Result<String> {
        let failed = |e: minijinja::Error| Error::value("the chat template", format!("failed: {e:#}"));
        let mut env = Environment::new();
        env.set_fuel(Some(MAX_STEPS));
        env.set_trim_blocks(true);
        env.set_lstrip_blocks(true);
        env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        let raise = |why: String| -> std::result::Result<String, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, why))
        };
        env.add_function("raise_exception", raise);
        env.add_template("chat", &self.source).map_err(failed)?;
        let each = |m: &Message| context! { role => m.role, content => m.content };
        let messages: Vec<minijinja::Value> = messages.iter().map(each).collect();
        let (bos_token, eos_token) = (&self.bos_token, &self.eos_token);
        let all = context! { messages, bos_token, eos_token, add_generation_prompt => true };
        env.get_template("chat").and_then(|t| t.render(all)).map_err(failed)
    }

    /// Encodes a conversation of at most `most` tokens. Until it is short enough, its oldest messages are
    /// removed: a message of the user with the answers to it. System messages at the beginning and the last
    /// message stay, so the result may be longer.
    pub fn encode_within(
        &self,
        messages: &mut Vec<Message>,
        tokenizer: &Tokenizer,
        most: usize,
    ) -> Result<Vec<i64>> {
        loop {
            let tokens = self.encode(messages, tokenizer)?;
            let from = system(messages);
            let rest = &messages[(from + 1).min(messages.len())..];
            // A template may require that users and assistants alternate.
            let next = rest.iter().position(|m| m.role == "user").map(|n| from + 1 + n);
            match next {
                Some(next) if tokens.len() > most => drop(messages.drain(from..next)),
                _ => return Ok(tokens),
            }
        }
    }

    /// Number of tokens of a conversation before the text of its first message other than system messages.
    pub fn instructions(&self, messages: &[Message], tokenizer: &Tokenizer) -> Result<usize> {
        let mut other = messages[..system(messages)].to_vec();
        other.push(Message::new("user", ""));
        let (all, other) = (self.encode(messages, tokenizer)?, self.encode(&other, tokenizer)?);
        Ok(all.iter().zip(&other).take_while(|(a, b)| a == b).count())
    }

    /// Encodes a conversation as tokens, up to the start of the model's answer.
    pub fn encode(&self, messages: &[Message], tokenizer: &Tokenizer) -> Result<Vec<i64>> {
        // Delimiters inside messages are replaced by placeholders too.
        let marks = MARK.map(String::from);
        let hidden: Vec<&str> = tokenizer.special().iter().chain(&marks).map(String::as_str).collect();
        let marked = |m: &Message| {
            Message::new(&insert_placeholders(&m.role, &hidden), insert_placeholders(&m.content, &hidden))
        };
        let messages: Vec<Message> = messages.iter().map(marked).collect();
        let text = self.render(&messages)?;
        let mut tokens = Vec::new();
        for (i, part) in text.split(MARK[0]).enumerate() {
            let (index, rest) = if i == 0 { (None, part) } else { after_mark(part) };
            if let Some(own) = index.and_then(|i| hidden.get(i)) {
                tokens.extend(tokenizer.encode_inside(own)?);
            }
            tokens.extend(match i {
                0 => tokenizer.encode_trusted(rest)?,
                _ => tokenizer.encode_trusted_inside(rest)?,
            });
        }
        Ok(tokens)
    }
}

/// Number of system messages at the beginning of a conversation.
fn system(messages: &[Message]) -> usize {
    messages.iter().take_while(|m| m.role == "system").count()
}

/// Parses the number of a placeholder; returns it with the text after the placeholder.
fn after_mark(part: &str) -> (Option<usize>, &str) {
    match part.split_once(MARK[1]) {
        Some((number, rest)) => (number.parse().ok(), rest),
        None => (None, part),
    }
}

/// Replaces the texts in `hidden` by placeholders with their indices. At each position the first matching
/// text is taken.
fn insert_placeholders(text: &str, hidden: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match hidden.iter().position(|h| rest.starts_with(h)) {
            Some(i) => {
                out.extend([MARK[0].to_string(), i.to_string(), MARK[1].to_string()]);
                rest = &rest[hidden[i].len()..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}
