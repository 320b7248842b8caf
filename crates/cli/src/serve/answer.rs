//! Answers of `/v1/chat/completions` and `/v1/completions`: converts generated tokens to JSON, as one object
//! or as a stream.

use super::ask::CompletionRequest;
use super::error::ApiError;
use super::http::{Connection, EventStream, Request};
use super::schedule::Job;
use super::{Language, Server};
use gradus::models::batch::{Event, Token};
use gradus::models::engine::{Finish, Options};
use gradus::models::stop::StopStrings;
use gradus::models::tokenizer::Stream;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval at which a waiting request checks that its client is still connected.
const POLL: Duration = Duration::from_millis(50);

/// One text of an answer.
struct Choice<'a> {
    stream: Stream<'a>,
    stop: StopStrings,
    text: String,
    /// Tokens whose log-probabilities have not been sent, with their start in the text, in characters.
    tokens: Vec<(Token, usize)>,
    count: usize,
    /// Number of characters so far, including those held back because they may belong to a stop string.
    characters: usize,
    finish: Option<&'static str>,
}

impl Choice<'_> {
    /// Processes an event. Returns the text that can now be sent.
    fn take(&mut self, event: Event) -> Result<String, ApiError> {
        let failed = |e: gradus::Error| ApiError::new(500, e.message());
        let piece = match event {
            Event::Token(token) => {
                self.count += 1;
                let new = self.stream.push(token.id).map_err(failed)?;
                self.tokens.push((token, self.characters));
                self.characters += new.chars().count();
                let (piece, stopped) = self.stop.push(&new);
                if stopped {
                    self.finish = Some("stop");
                }
                piece
            }
            Event::Finished(finish) => {
                let (mut piece, stopped) = self.stop.push(&self.stream.finish().map_err(failed)?);
                if !stopped {
                    piece += &self.stop.finish();
                }
                self.finish = Some(match finish {
                    Finish::Length | Finish::Full if !stopped => "length",
                    _ => "stop",
                });
                piece
            }
            Event::Failed(why) => return Err(ApiError::new(500, why)),
        };
        self.text.push_str(&piece);
        Ok(piece)
    }
}

/// The state of a request that is being answered.
struct Answer<'a> {
    server: &'a Server,
    language: &'a Language,
    ask: &'a CompletionRequest,
    id: String,
    created: u64,
    choices: Vec<Choice<'a>>,
    cancelled: Vec<Arc<AtomicBool>>,
    events: Receiver<(usize, Event)>,
    began: Instant,
    has_first_token: bool,
}

/// Cancels the texts, however the answer ends.
impl Drop for Answer<'_> {
    fn drop(&mut self) {
        for flag in &self.cancelled {
            flag.store(true, Relaxed);
        }
        self.server.metrics.duration.add(self.began.elapsed());
    }
}

/// The outcome of a request.
pub(crate) enum Outcome {
    /// A response to write.
    Body(Json),
    /// The response was streamed completely.
    Streamed,
    /// The client has disconnected.
    Disconnected,
}

/// Generates the requested texts. Errors before the first byte of a response are returned; later ones are
/// sent in the stream.
pub(crate) fn answer(
    server: &Server,
    language: &Language,
    ask: &CompletionRequest,
    request: &Request,
    connection: &mut Connection,
) -> Result<Outcome, ApiError> {
    let (sender, events) = channel();
    let (mut jobs, mut choices, mut cancelled) = (Vec::new(), Vec::new(), Vec::new());
    for prompt in &ask.prompts {
        for i in 0..ask.n {
            let flag = Arc::new(AtomicBool::new(false));
            let seed = ask.options.seed.wrapping_add(i as u64);
            jobs.push(Job {
                prompt: prompt.clone(),
                options: Options { seed, ..ask.options.clone() },
                index: jobs.len(),
                events: sender.clone(),
                cancelled: flag.clone(),
            });
            cancelled.push(flag);
            let (stream, stop) = (language.tokenizer.stream(), StopStrings::new(&ask.stop));
            let (text, tokens) = (String::new(), Vec::new());
            choices.push(Choice { stream, stop, text, tokens, count: 0, characters: 0, finish: None });
        }
    }
    drop(sender);
    if !language.scheduler.submit(jobs) {
        return Err(
            ApiError::new(429, "too many requests are waiting; try again later").with_code("queue_full")
        );
    }
    let id = format!("{}-{:016x}", if ask.chat { "chatcmpl" } else { "cmpl" }, super::random());
    let (created, began) = (super::now(), Instant::now());
    let mut answer = Answer {
        server,
        language,
        ask,
        id,
        created,
        choices,
        cancelled,
        events,
        began,
        has_first_token: false,
    };
    match ask.stream {
        false => answer.at_once(connection),
        true => {
            let Ok(mut stream) = connection.stream(request) else { return Ok(Outcome::Disconnected) };
            let done = match answer.streamed(&mut stream) {
                Ok(Some(())) => stream.send("[DONE]"),
                Ok(None) => return Ok(Outcome::Disconnected),
                Err(e) => stream.send(&e.body().to_string()),
            };
            Ok(if done.and_then(|()| stream.end()).is_ok() {
                Outcome::Streamed
            } else {
                Outcome::Disconnected
            })
        }
    }
}

impl Answer<'_> {
    /// Waits for the next event; `None` if the client has disconnected.
    fn next(&mut self, is_open: impl Fn() -> bool) -> Result<Option<(usize, Event)>, ApiError> {
        loop {
            let left = self.server.limits.time.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                let why =
                    format!("the request took longer than {} seconds", self.server.limits.time.as_secs());
                return Err(ApiError::new(504, why).with_code("timeout"));
            }
            if self.server.cancel.load(Relaxed) {
                return Err(ApiError::new(503, "the server is stopping"));
            }
            match self.events.recv_timeout(POLL.min(left)) {
                Ok(event) => {
                    if !self.has_first_token {
                        self.has_first_token = true;
                        self.server.metrics.first_token.add(self.began.elapsed());
                    }
                    return Ok(Some(event));
                }
                Err(RecvTimeoutError::Timeout) if is_open() => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ApiError::new(500, "generation failed; send the request again"));
                }
            }
        }
    }

    /// Processes an event of an unfinished text. Returns the new piece of text; `None` if the text was
    /// already finished.
    fn take(&mut self, index: usize, event: Event) -> Result<Option<String>, ApiError> {
        let choice = &mut self.choices[index];
        if choice.finish.is_some() {
            return Ok(None); // the event came after a stop string
        }
        let piece = choice.take(event)?;
        if choice.finish.is_some() {
            self.cancelled[index].store(true, Relaxed);
        }
        Ok(Some(piece))
    }

    fn is_done(&self) -> bool {
        self.choices.iter().all(|c| c.finish.is_some())
    }

    /// Answers with one object.
    fn at_once(&mut self, connection: &Connection) -> Result<Outcome, ApiError> {
        let mut last_check = Instant::now();
        while !self.is_done() {
            let Some((index, event)) = self.next(|| connection.is_open())? else {
                return Ok(Outcome::Disconnected);
            };
            self.take(index, event)?;
            if last_check.elapsed() > POLL {
                if !connection.is_open() {
                    return Ok(Outcome::Disconnected);
                }
                last_check = Instant::now();
            }
        }
        let choices: Vec<Json> = (0..self.choices.len())
            .map(|i| {
                let log_probabilities = self.log_probabilities(i);
                let c = &self.choices[i];
                let mut out = json!({ "index": i, "finish_reason": c.finish, "logprobs": log_probabilities });
                match self.ask.chat {
                    true => {
                        out["message"] = json!({ "role": "assistant", "content": c.text, "refusal": null });
                    }
                    false => out["text"] = json!(c.text),
                }
                out
            })
            .collect();
        let mut body = self.envelope(choices, false);
        body["usage"] = self.usage();
        Ok(Outcome::Body(body))
    }

    /// Answers with a stream of events; `None` if the client has disconnected.
    fn streamed(&mut self, stream: &mut EventStream<'_>) -> Result<Option<()>, ApiError> {
        let include_usage = self.ask.include_usage;
        let envelope = |answer: &Self, choices: Vec<Json>| {
            let mut chunk = answer.envelope(choices, true);
            if include_usage {
                chunk["usage"] = Json::Null;
            }
            chunk.to_string()
        };
        if self.ask.chat {
            for i in 0..self.choices.len() {
                let delta = json!({ "role": "assistant", "content": "" });
                let first = json!({ "index": i, "delta": delta, "finish_reason": null, "logprobs": null });
                if stream.send(&envelope(self, vec![first])).is_err() {
                    return Ok(None);
                }
            }
        }
        while !self.is_done() {
            let Some((index, event)) = self.next(|| stream.is_open())? else { return Ok(None) };
            let Some(piece) = self.take(index, event)? else { continue };
            let finish = self.choices[index].finish;
            if piece.is_empty() && finish.is_none() {
                continue; // a part of a character or of a stop string
            }
            let log_probabilities = self.log_probabilities(index);
            let with = |piece: &str, log_probabilities: Json, finish: Option<&str>| {
                let mut out =
                    json!({ "index": index, "finish_reason": finish, "logprobs": log_probabilities });
                match self.ask.chat {
                    true => {
                        out["delta"] = if piece.is_empty() { json!({}) } else { json!({ "content": piece }) }
                    }
                    false => out["text"] = json!(piece),
                }
                envelope(self, vec![out])
            };
            let unsent = !piece.is_empty() || !log_probabilities.is_null();
            let mut sent = if unsent { stream.send(&with(&piece, log_probabilities, None)) } else { Ok(()) };
            if finish.is_some() {
                sent = sent.and_then(|()| stream.send(&with("", Json::Null, finish)));
            }
            if sent.is_err() {
                return Ok(None);
            }
        }
        if include_usage {
            let mut last = self.envelope(Vec::new(), true);
            last["usage"] = self.usage();
            if stream.send(&last.to_string()).is_err() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    fn envelope(&self, choices: Vec<Json>, chunk: bool) -> Json {
        let object = match (self.ask.chat, chunk) {
            (true, false) => "chat.completion",
            (true, true) => "chat.completion.chunk",
            (false, _) => "text_completion",
        };
        json!({ "id": self.id, "object": object, "created": self.created, "model": self.language.name, "choices": choices })
    }

    fn usage(&self) -> Json {
        let prompt: usize = self.ask.prompts.iter().map(|p| p.len()).sum();
        let completion: usize = self.choices.iter().map(|c| c.count).sum();
        json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion })
    }

    /// Log-probabilities of the tokens since the last call, in the format of the endpoint.
    fn log_probabilities(&mut self, index: usize) -> Json {
        let tokens = std::mem::take(&mut self.choices[index].tokens);
        if !self.ask.log_probabilities || tokens.is_empty() {
            return Json::Null;
        }
        let text = |id: i64| match self.language.tokenizer.bytes(id) {
            Some(bytes) => (String::from_utf8_lossy(&bytes).into_owned(), json!(bytes)),
            None => (self.language.tokenizer.token(id).unwrap_or_default(), Json::Null),
        };
        if self.ask.chat {
            let one = |id: i64, p: f64| {
                let (token, bytes) = text(id);
                json!({ "token": token, "logprob": clamped(p), "bytes": bytes })
            };
            let each = |(token, _): &(Token, usize)| {
                let mut out = one(token.id, token.log_probability);
                out["top_logprobs"] = token.top.iter().map(|(id, p)| one(*id, *p)).collect();
                out
            };
            return json!({ "content": tokens.iter().map(each).collect::<Vec<_>>(), "refusal": null });
        }
        // A token that is a part of a character is written as its bytes; as text it would be the replacement
        // character.
        let text = |id: i64| match self.language.tokenizer.bytes(id).map(String::from_utf8) {
            Some(Ok(text)) => text,
            Some(Err(e)) => {
                e.into_bytes().iter().fold("bytes:".into(), |out: String, b| out + &format!("\\x{b:02x}"))
            }
            None => self.language.tokenizer.token(id).unwrap_or_default(),
        };
        let top = |(token, _): &(Token, usize)| -> Json {
            let mut map = serde_json::Map::new();
            for (id, p) in token.top.iter().chain([&(token.id, token.log_probability)]) {
                map.entry(text(*id)).or_insert(json!(clamped(*p)));
            }
            Json::Object(map)
        };
        json!({
            "tokens": tokens.iter().map(|(t, _)| text(t.id)).collect::<Vec<_>>(),
            "token_logprobs": tokens.iter().map(|(t, _)| clamped(t.log_probability)).collect::<Vec<_>>(),
            "top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
            "text_offset": tokens.iter().map(|(_, at)| *at).collect::<Vec<_>>(),
        })
    }
}

/// Clamps a log-probability, because JSON has no infinity. OpenAI's API uses -9999 for very unlikely tokens.
fn clamped(p: f64) -> f64 {
    p.max(-9999.0)
}
