//! Chat templates: messages to the tokens that a model was trained on.
//!
//! A template is a program from a file, run without access to anything and for a bounded number of steps. Where a message contains
//! the text of a special token, that text is encoded as text, so that no message can end its turn or begin another.

use crate::tokenizer::Tokenizer;
use gradus_ir::{Error, Result};
use minijinja::{Environment, ErrorKind, context};

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks: `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}

impl Message {
    /// A message of this role.
    pub fn new(role: &str, content: impl Into<String>) -> Message {
        Message { role: role.to_string(), content: content.into() }
    }
}

/// Steps that a template may take.
const MOST_STEPS: u64 = 1_000_000;

/// Begins and ends a mark, which stands for the text of a special token in a message. From Unicode's private area.
const MARK: [char; 2] = ['\u{F8FE}', '\u{F8FF}'];

/// A chat template, with the texts of the tokens that begin and end a conversation.
#[derive(Clone, Debug)]
pub struct Template {
    /// The program, in Jinja's language.
    pub source: String,
    /// Begins a text.
    pub bos_token: String,
    /// Ends one.
    pub eos_token: String,
}

impl Template {
    /// The text of a conversation, up to where the model speaks next.
    pub fn render(&self, messages: &[Message]) -> Result<String> {
        let failed = |e: minijinja::Error| Error::value("the chat template", format!("failed: {e:#}"));
        let mut env = Environment::new();
        env.set_fuel(Some(MOST_STEPS));
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

    /// The tokens of a conversation, up to where the model speaks next.
    pub fn encode(&self, messages: &[Message], tokenizer: &Tokenizer) -> Result<Vec<i64>> {
        // Marks that a message brings along are marked too.
        let marks = MARK.map(String::from);
        let hidden: Vec<&str> = tokenizer.special().iter().chain(&marks).map(String::as_str).collect();
        let marked = |m: &Message| Message::new(&hide(&m.role, &hidden), hide(&m.content, &hidden));
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

/// The number in a mark, and what follows it.
fn after_mark(part: &str) -> (Option<usize>, &str) {
    match part.split_once(MARK[1]) {
        Some((number, rest)) => (number.parse().ok(), rest),
        None => (None, part),
    }
}

/// Replaces texts by marks with their numbers, from left to right, the first that fits at each place.
fn hide(text: &str, hidden: &[&str]) -> String {
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
