//! `/v1/embeddings`: computes vectors of texts.

use super::error::ApiError;
use gradus::models::base64;
use gradus::models::bert::Embedder;
use serde_json::{Value as Json, json};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Largest number of texts of a request.
const MAX_TEXTS: usize = 2048;

/// A sentence encoder with its name.
pub(crate) struct Vectors {
    pub(crate) name: String,
    pub(crate) embedder: Mutex<Embedder>,
}

/// A text, or its tokens.
enum Input<'a> {
    Text(&'a str),
    Tokens(Vec<i64>),
}

impl Vectors {
    /// Answers a request. `go_on` tells whether to continue; if it returns false, the result is `None`. Also returns the number
    /// of tokens.
    pub(crate) fn answer(
        &self,
        body: &Json,
        deadline: Instant,
        go_on: impl Fn() -> bool,
    ) -> Result<Option<(Json, usize)>, ApiError> {
        let Json::Object(map) = body else {
            return Err(ApiError::new(400, "the body must be a JSON object"));
        };
        let get = |name: &str| map.get(name).filter(|v| !v.is_null());
        super::check_model(get("model"), &self.name)?;
        let base64 = match get("encoding_format").map(Json::as_str) {
            None | Some(Some("float")) => false,
            Some(Some("base64")) => true,
            _ => return Err(ApiError::field("encoding_format", "must be float or base64")),
        };
        let inputs = inputs(get("input"))?;
        let (mut data, mut tokens) = (Vec::new(), 0);
        for (i, input) in inputs.iter().enumerate() {
            if !go_on() {
                return Ok(None);
            }
            if Instant::now() > deadline {
                return Err(ApiError::new(504, "the request took too long").with_code("timeout"));
            }
            // The lock is released after each text, so that concurrent requests alternate.
            let mut embedder = self.embedder.lock().unwrap_or_else(PoisonError::into_inner);
            let ids = match input {
                Input::Text(text) => embedder.tokenizer.encode(text)?,
                Input::Tokens(ids) => ids.clone(),
            };
            tokens += ids.len().min(embedder.most);
            let vector = embedder.embed_tokens(ids)?;
            drop(embedder);
            if get("dimensions").is_some_and(|d| d.as_u64() != Some(vector.len() as u64)) {
                return Err(ApiError::field(
                    "dimensions",
                    format!("must be {}, the width of the model", vector.len()),
                ));
            }
            let vector = match base64 {
                true => {
                    json!(base64::encode(&vector.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()))
                }
                false => json!(vector),
            };
            data.push(json!({ "object": "embedding", "index": i, "embedding": vector }));
        }
        let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
        Ok(Some((json!({ "object": "list", "data": data, "model": self.name, "usage": usage }), tokens)))
    }
}

fn inputs(input: Option<&Json>) -> Result<Vec<Input<'_>>, ApiError> {
    let wrong = || {
        ApiError::field(
            "input",
            format!("must be a string, a list of tokens, or a list of up to {MAX_TEXTS} of them"),
        )
    };
    fn one(value: &Json) -> Option<Input<'_>> {
        match value {
            Json::String(text) => Some(Input::Text(text)),
            Json::Array(all) if !all.is_empty() => {
                all.iter().map(Json::as_i64).collect::<Option<Vec<i64>>>().map(Input::Tokens)
            }
            _ => None,
        }
    }
    let found = match input {
        Some(Json::Array(all)) if all.is_empty() || (all.len() > MAX_TEXTS && !all[0].is_number()) => None,
        Some(Json::Array(all)) if !all[0].is_number() => all.iter().map(one).collect(),
        Some(value) => one(value).map(|v| vec![v]),
        None => None,
    };
    found.ok_or_else(wrong)
}
