//! Reads training data from JSON lines: texts, prompts with completions, conversations, or pairs of answers.

use super::example::{Example, Pair};
use crate::chat::Message;
use crate::language::LanguageModel;
use gradus_ir::{Error, Result};
use gradus_nn::file::{atomic, bytes_up_to};
use serde_json::Value as Json;
use std::path::Path;

/// Largest file of training data, in bytes.
pub const MAX_DATA: u64 = 1 << 30;

/// The items of a file of training data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Texts to train on.
    Examples(Vec<Example>),
    /// Prompts with a better and a worse answer.
    Pairs(Vec<Pair>),
}

/// Reads a file with a JSON object in each line, all of the same kind: `{"text"}`,
/// `{"prompt", "completion"}`, `{"messages"}`, or `{"prompt", "chosen", "rejected"}`.
pub fn read_data(path: &Path, model: &LanguageModel) -> Result<Data> {
    let bytes = bytes_up_to(path, MAX_DATA)?;
    let text = String::from_utf8(bytes).map_err(|_| atomic::failed(path, "is not UTF-8"))?;
    parse_data(&text, model).map_err(|e| atomic::failed(path, e.message()))
}

/// Parses training data from lines of JSON, as [`read_data`] does from a file.
pub fn parse_data(text: &str, model: &LanguageModel) -> Result<Data> {
    let (mut examples, mut pairs) = (Vec::new(), Vec::new());
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let failed = |why: String| Error::value(format!("line {}:", i + 1), why);
        let json: Json = serde_json::from_str(line).map_err(|e| failed(format!("is not JSON: {e}")))?;
        let item = model.item(&json).map_err(|e| failed(e.message()))?;
        match item {
            Item::Example(example) => examples.push(example),
            Item::Pair(pair) => pairs.push(pair),
        }
        if !examples.is_empty() && !pairs.is_empty() {
            return Err(failed(
                "is of another kind than the lines before: texts and pairs cannot be mixed".into(),
            ));
        }
    }
    match (examples.is_empty(), pairs.is_empty()) {
        (true, true) => Err(Error::value("the data", "has no lines")),
        (false, _) => Ok(Data::Examples(examples)),
        _ => Ok(Data::Pairs(pairs)),
    }
}

enum Item {
    Example(Example),
    Pair(Pair),
}

impl LanguageModel {
    fn item(&self, json: &Json) -> Result<Item> {
        let Some(object) = json.as_object() else {
            return Err(Error::value("the line", "is not an object"));
        };
        let text = |key: &str| match object.get(key) {
            Some(Json::String(text)) => Ok(text.as_str()),
            Some(_) => Err(Error::value(format!("`{key}`"), "is not a text")),
            None => Err(Error::value(format!("`{key}`"), "is missing")),
        };
        let has = |key: &str| object.contains_key(key);
        if has("chosen") || has("rejected") {
            let (prompt, chosen, rejected) = (text("prompt")?, text("chosen")?, text("rejected")?);
            return Ok(Item::Pair(self.pair(prompt, chosen, rejected)?));
        }
        if has("messages") {
            return Ok(Item::Example(self.chat_example(&messages(&object["messages"])?)?));
        }
        if has("prompt") || has("completion") {
            return Ok(Item::Example(self.pair_example(text("prompt")?, text("completion")?)?));
        }
        if has("text") {
            return Ok(Item::Example(self.text_example(text("text")?)?));
        }
        let why = "must have `text`, or `messages`, or `prompt` and `completion`, or `prompt`, `chosen` and `rejected`";
        Err(Error::value("the line", why))
    }
}

fn messages(json: &Json) -> Result<Vec<Message>> {
    let all = json.as_array().map(Vec::as_slice).unwrap_or_default();
    let message = |m: &Json| Some(Message::new(m["role"].as_str()?, m["content"].as_str()?));
    let all: Option<Vec<Message>> = all.iter().map(message).collect();
    all.filter(|all| !all.is_empty())
        .ok_or_else(|| Error::value("`messages`", "must be a list of objects with `role` and `content`"))
}
