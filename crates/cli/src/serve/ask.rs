//! Parses the bodies of `/v1/chat/completions` and `/v1/completions` into options of the engine.

use super::Language;
use super::error::ApiError;
use gradus::models::chat::Message;
use gradus::models::constrain::{Document, Grammar};
use gradus::models::engine::Options;
use gradus::nn::Sampling;
use serde_json::Value as Json;
use std::sync::Arc;

/// Largest number of texts of one request.
const MAX_CHOICES: usize = 128;

/// Largest number of stop strings, and largest length of one, in bytes.
const MAX_STOPS: usize = 16;
const MAX_STOP: usize = 1024;

/// The parsed body of a completion request.
pub(crate) struct CompletionRequest {
    pub(crate) chat: bool,
    /// Prompts as tokens; each is continued `n` times.
    pub(crate) prompts: Vec<Arc<Vec<i64>>>,
    pub(crate) n: usize,
    pub(crate) options: Options,
    pub(crate) stop: Vec<String>,
    pub(crate) stream: bool,
    /// If true, a stream ends with the numbers of prompt tokens and generated tokens.
    pub(crate) include_usage: bool,
    /// If true, log-probabilities are requested.
    pub(crate) log_probabilities: bool,
}

/// The fields of a body.
struct Body<'a>(&'a serde_json::Map<String, Json>);

type RequestResult<T> = Result<T, ApiError>;

impl<'a> Body<'a> {
    /// Returns the value of a field that is present and not null.
    fn get(&self, name: &str) -> Option<&'a Json> {
        self.0.get(name).filter(|v| !v.is_null())
    }

    fn number(&self, name: &str, range: std::ops::RangeInclusive<f64>) -> RequestResult<Option<f64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_f64().filter(|x| range.contains(x)) {
            Some(x) => Ok(Some(x)),
            None => Err(ApiError::field(
                name,
                format!("must be a number from {} to {}", range.start(), range.end()),
            )),
        }
    }

    fn count(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> RequestResult<Option<usize>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_u64().filter(|x| range.contains(x)) {
            Some(x) => Ok(Some(x as usize)),
            None => Err(ApiError::field(
                name,
                format!("must be an integer from {} to {}", range.start(), range.end()),
            )),
        }
    }

    fn flag(&self, name: &str) -> RequestResult<bool> {
        match self.get(name) {
            None => Ok(false),
            Some(Json::Bool(b)) => Ok(*b),
            Some(_) => Err(ApiError::field(name, "must be true or false")),
        }
    }

    fn stop(&self) -> RequestResult<Vec<String>> {
        let wrong = || {
            ApiError::field(
                "stop",
                format!("must be a string, or up to {MAX_STOPS} strings, of 1 to {MAX_STOP} bytes"),
            )
        };
        let all = match self.get("stop") {
            None => Vec::new(),
            Some(Json::String(one)) => vec![one.clone()],
            Some(Json::Array(all)) => {
                let texts: Option<Vec<String>> = all.iter().map(|s| s.as_str().map(str::to_string)).collect();
                texts.ok_or_else(wrong)?
            }
            Some(_) => return Err(wrong()),
        };
        let fits = all.len() <= MAX_STOPS && all.iter().all(|s| (1..=MAX_STOP).contains(&s.len()));
        if fits { Ok(all) } else { Err(wrong()) }
    }

    fn bias(&self, vocabulary: usize) -> RequestResult<Vec<(i64, f64)>> {
        let Some(value) = self.get("logit_bias") else { return Ok(Vec::new()) };
        let wrong =
            || ApiError::field("logit_bias", "must map at most 4096 token ids to numbers from -100 to 100");
        let map = value.as_object().filter(|m| m.len() <= 4096).ok_or_else(wrong)?;
        let each = |(token, bias): (&String, &Json)| {
            let token = token.parse::<i64>().ok().filter(|t| (0..vocabulary as i64).contains(t))?;
            let bias = bias.as_f64().filter(|b| b.abs() <= 100.0)?;
            // In OpenAI's API, -100 means "never", and 100 "only this token", which a bias of 100 achieves.
            Some((token, if bias == -100.0 { f64::NEG_INFINITY } else { bias }))
        };
        map.iter().map(each).collect::<Option<_>>().ok_or_else(wrong)
    }

    /// Returns an error if a field is set that would change the response but is not supported.
    fn refuse(&self, names: &[&str]) -> RequestResult<()> {
        let set = |name: &&&str| match self.get(name) {
            None | Some(Json::Bool(false)) => false,
            Some(Json::Array(a)) => !a.is_empty(),
            Some(Json::String(s)) => !s.is_empty() && s != "none",
            Some(_) => true,
        };
        match names.iter().find(set) {
            Some(name) => Err(ApiError::field(name, "is not supported").with_code("unsupported_parameter")),
            None => Ok(()),
        }
    }
}

/// Parses a body. `text` is the same body as JSON text, which keeps the order of keys of a schema.
pub(crate) fn read(
    chat: bool,
    json: &Json,
    text: &[u8],
    language: &Language,
) -> RequestResult<CompletionRequest> {
    let Json::Object(map) = json else { return Err(ApiError::new(400, "the body must be a JSON object")) };
    let body = Body(map);
    super::check_model(body.get("model"), &language.name)?;
    let (prompts, choices, tokens, top) = match chat {
        true => {
            body.refuse(&["tools", "functions", "tool_choice", "function_call", "audio", "modalities"])?;
            let prompt = messages(&body, language)?;
            let tokens = body.count("max_completion_tokens", 1..=1 << 32)?;
            let tokens = tokens.or(body.count("max_tokens", 1..=1 << 32)?).unwrap_or(usize::MAX);
            let wanted = body.flag("logprobs")?;
            let top = body.count("top_logprobs", 0..=20)?;
            if top.is_some() && !wanted {
                return Err(ApiError::field("top_logprobs", "needs `logprobs` to be true"));
            }
            (vec![prompt], body.count("n", 1..=MAX_CHOICES as u64)?, tokens, wanted.then(|| top.unwrap_or(0)))
        }
        false => {
            body.refuse(&["suffix", "echo"])?;
            let n = body.count("n", 1..=MAX_CHOICES as u64)?;
            if body.count("best_of", 1..=MAX_CHOICES as u64)?.is_some_and(|b| Some(b) != n.or(Some(1))) {
                return Err(ApiError::field("best_of", "must be equal to `n`"));
            }
            let tokens = body.count("max_tokens", 1..=1 << 32)?.unwrap_or(16);
            (prompts(&body, language)?, n, tokens, body.count("logprobs", 0..=20)?)
        }
    };
    let n = choices.unwrap_or(1);
    let most = language.scheduler.most().min(MAX_CHOICES);
    if prompts.len() * n > most {
        return Err(ApiError::field("n", format!("asks for more than {most} texts in one request")));
    }
    for prompt in &prompts {
        if prompt.is_empty() {
            return Err(ApiError::field("prompt", "has no tokens"));
        }
        if prompt.len() > language.context {
            let why = format!(
                "the prompt has {} tokens; the context of the model is {}",
                prompt.len(),
                language.context
            );
            let e = ApiError::new(400, why).with_code("context_length_exceeded");
            return Err(ApiError { param: Some(if chat { "messages" } else { "prompt" }.into()), ..e });
        }
    }
    let sampling = Sampling {
        temperature: body.number("temperature", 0.0..=2.0)?.unwrap_or(1.0),
        top_k: body.count("top_k", 0..=1 << 32)?.filter(|k| *k > 0),
        top_p: body.number("top_p", f64::MIN_POSITIVE..=1.0)?.unwrap_or(1.0),
        min_p: body.number("min_p", 0.0..=1.0)?.unwrap_or(0.0),
        repetition_penalty: body.number("repetition_penalty", 0.01..=100.0)?.unwrap_or(1.0),
        frequency_penalty: body.number("frequency_penalty", -2.0..=2.0)?.unwrap_or(0.0),
        presence_penalty: body.number("presence_penalty", -2.0..=2.0)?.unwrap_or(0.0),
        ..Sampling::default()
    };
    let seed = match body.get("seed") {
        None => super::random(),
        Some(seed) => match seed.as_i64() {
            Some(n) => n as u64,
            None => seed.as_u64().ok_or_else(|| ApiError::field("seed", "must be an integer"))?,
        },
    };
    let stream = body.flag("stream")?;
    let include_usage = match body.get("stream_options") {
        None => false,
        Some(_) if !stream => return Err(ApiError::field("stream_options", "needs `stream` to be true")),
        Some(Json::Object(options)) => Body(options).flag("include_usage")?,
        Some(_) => return Err(ApiError::field("stream_options", "must be an object")),
    };
    let options = Options {
        tokens: tokens.min(language.most_tokens),
        sampling,
        seed,
        bias: body.bias(language.vocabulary_size)?,
        log_probabilities: top,
        grammar: grammar(&body, text, language)?,
        ..Options::default()
    };
    let (stop, log_probabilities) = (body.stop()?, top.is_some());
    Ok(CompletionRequest { chat, prompts, n, options, stop, stream, include_usage, log_probabilities })
}

/// Encodes the conversation in `messages`.
fn messages(body: &Body<'_>, language: &Language) -> RequestResult<Arc<Vec<i64>>> {
    let wrong = |why: &str| ApiError::field("messages", why);
    let all = body.get("messages").and_then(Json::as_array).filter(|m| !m.is_empty());
    let all = all.ok_or_else(|| wrong("must be a non-empty list of messages"))?;
    let mut messages = Vec::new();
    for m in all {
        let role = match m["role"].as_str() {
            Some(role @ ("system" | "user" | "assistant")) => role,
            Some("developer") => "system",
            _ => return Err(wrong("must contain only the roles system, developer, user and assistant")),
        };
        let content = match &m["content"] {
            Json::String(text) => text.clone(),
            Json::Array(parts) => {
                let text = |p: &Json| {
                    (p["type"] == "text").then(|| p["text"].as_str()).flatten().map(str::to_string)
                };
                let parts: Option<Vec<String>> = parts.iter().map(text).collect();
                parts.ok_or_else(|| wrong("must contain only text content"))?.concat()
            }
            _ => return Err(wrong("must contain only text content")),
        };
        messages.push(Message::new(role, content));
    }
    let Some(template) = &language.template else {
        return Err(ApiError::new(400, "the model has no chat template; use /v1/completions"));
    };
    let tokens = template.encode(&messages, &language.tokenizer);
    Ok(Arc::new(tokens.map_err(|e| ApiError { param: Some("messages".into()), ..e.into() })?))
}

/// Encodes the prompts: a text or a list of texts, tokens or a list of lists of tokens.
fn prompts(body: &Body<'_>, language: &Language) -> RequestResult<Vec<Arc<Vec<i64>>>> {
    let wrong = || {
        let why = "must be a string, a list of strings, a list of tokens of the vocabulary, or a list of such lists";
        ApiError::field("prompt", why)
    };
    let tokens = |all: &[Json]| -> Option<Vec<i64>> {
        let known = 0..language.vocabulary_size as i64;
        all.iter().map(|t| t.as_i64().filter(|t| known.contains(t))).collect()
    };
    let one = |value: &Json| -> RequestResult<Arc<Vec<i64>>> {
        match value {
            Json::String(text) => Ok(Arc::new(language.tokenizer.encode(text)?)),
            Json::Array(all) => tokens(all).map(Arc::new).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    };
    match body.get("prompt") {
        Some(Json::Array(all)) if all.len() > MAX_CHOICES && !all[0].is_number() => Err(wrong()),
        Some(Json::Array(all)) if all.first().is_some_and(|a| !a.is_number()) => {
            all.iter().map(one).collect()
        }
        Some(value) => Ok(vec![one(value)?]),
        None => Err(wrong()),
    }
}

/// Returns the grammar that `response_format` requires.
fn grammar(body: &Body<'_>, text: &[u8], language: &Language) -> RequestResult<Option<Arc<Grammar>>> {
    let Some(format) = body.get("response_format") else { return Ok(None) };
    let wrong = |why: String| ApiError::field("response_format", why);
    match format["type"].as_str() {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(language.objects()?)),
        Some("json_schema") => {
            // The body is parsed again, because `Json` does not keep the order of keys.
            let document: Document =
                serde_json::from_slice(text).map_err(|e| wrong(format!("cannot be read: {e}")))?;
            let schema = ["response_format", "json_schema", "schema"];
            let schema = schema.iter().try_fold(&document, |part, key| part.get(key));
            let schema = schema.ok_or_else(|| wrong("needs `json_schema.schema`".into()))?;
            let grammar = Grammar::json_schema(schema, language.vocabulary());
            grammar.map(|g| Some(Arc::new(g))).map_err(|e| wrong(format!("cannot be used: {}", e.message())))
        }
        _ => Err(wrong("must have the type text, json_object or json_schema".into())),
    }
}
