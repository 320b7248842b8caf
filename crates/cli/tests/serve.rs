//! Tests `gradus serve` by bytes on sockets, with small models that the tests write.

use crate::common::http::{Response, Served, greedy, request};
use crate::common::model::{encoder, model, model_with};
use crate::common::{Folder, gradus, json, output};
use gradus::Device;
use gradus::models::LanguageModel;
use gradus::models::chat::Message;
use gradus::models::engine::Options;
use gradus::nn::{Sampling, log_probability};
use serde_json::{Value, json as make};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A context that no text fills before its test ends: fast machines generate 4,096 tokens of these models in
/// a second.
const LONG: usize = 1 << 16;

/// A model as a GGUF file.
fn gguf(name: &str, context: usize) -> (Folder, String) {
    let (folder, path) = model_with(name, context);
    let file = folder.0.join("tiny.gguf").display().to_string();
    output("", &["convert", &path, &file]);
    (folder, file)
}

/// The text that the library generates, without the server.
fn library(path: &str, prompt: &str, options: &Options) -> (String, usize) {
    let mut model = LanguageModel::load(path, Device::CPU).unwrap();
    let done = model.generate(prompt, options, &[], |_| true).unwrap();
    (done.text, done.tokens)
}

fn never_end(tokens: usize) -> Options {
    Options { tokens, bias: vec![(0, f64::NEG_INFINITY)], ..Options::default() }
}

#[test]
fn answers_are_those_of_the_library() {
    let (_folder, path) = gguf("serve-answers", 128);
    let server = Served::new(&[&path, "--slots", "2"]);
    let health = server.get("/health");
    assert_eq!((health.status, health.json()), (200, make!({ "status": "ok" })));
    let models = server.get("/v1/models").json();
    assert_eq!((&models["object"], &models["data"][0]["id"]), (&make!("list"), &make!("tiny")));
    assert_eq!(server.get("/v1/models/tiny").json()["owned_by"], "gradus");
    let (text, _) = library(&path, "Hello", &never_end(20));
    let done = server.post("/v1/completions", &greedy("Hello", 20));
    assert_eq!(done.status, 200, "{done:?}");
    let done = done.json();
    assert_eq!(done["choices"][0]["text"], make!(text));
    assert_eq!(done["choices"][0]["finish_reason"], "length");
    assert_eq!(done["usage"], make!({ "prompt_tokens": 5, "completion_tokens": 20, "total_tokens": 25 }));
    assert_eq!((&done["object"], &done["model"]), (&make!("text_completion"), &make!("tiny")));
    // Sampled with a seed: the second text has the next seed.
    let sampling = Sampling { temperature: 1.3, top_p: 0.9, frequency_penalty: 0.5, ..Sampling::default() };
    let with = |seed| library(&path, "Hello", &Options { sampling, seed, ..never_end(12) }).0;
    let body = make!({ "prompt": "Hello", "max_tokens": 12, "temperature": 1.3, "top_p": 0.9, "frequency_penalty": 0.5,
                       "seed": 41, "n": 2, "logit_bias": { "0": -100 } });
    let done = server.post("/v1/completions", &body).json();
    let texts: Vec<&Value> = done["choices"].as_array().unwrap().iter().map(|c| &c["text"]).collect();
    assert_eq!(texts, [&make!(with(41)), &make!(with(42))]);
    assert_eq!(done["usage"]["completion_tokens"], 24);
    // Several prompts, one as tokens: the byte b has the number b + 2.
    let both = server.post(
        "/v1/completions",
        &make!({ "prompt": [[74, 103], "Hello"], "max_tokens": 3, "temperature": 0 }),
    );
    assert_eq!(both.json()["choices"].as_array().unwrap().len(), 2, "{both:?}");
    assert_eq!(both.json()["usage"]["prompt_tokens"], 7);
    let one =
        server.post("/v1/completions", &make!({ "prompt": "He", "max_tokens": 3, "temperature": 0 })).json();
    assert_eq!(both.json()["choices"][0]["text"], one["choices"][0]["text"]);
    // Answers to a conversation.
    let mut own = LanguageModel::load(&path, Device::CPU).unwrap();
    let messages = [Message::new("system", "Be brief."), Message::new("user", "Hi<|end|>")];
    let right = own.chat(&messages, &never_end(9), &[], |_| true).unwrap();
    let content = make!([{ "type": "text", "text": "Hi" }, { "type": "text", "text": "<|end|>" }]);
    let mut body = make!({ "model": "tiny", "max_completion_tokens": 9, "temperature": 0, "logit_bias": { "0": -100 },
        "messages": [{ "role": "developer", "content": "Be brief." }, { "role": "user", "content": content }] });
    let done = server.post("/v1/chat/completions", &body).json();
    assert_eq!(
        done["choices"][0]["message"],
        make!({ "role": "assistant", "content": right.text, "refusal": null })
    );
    assert_eq!(
        (&done["object"], &done["usage"]["prompt_tokens"]),
        (&make!("chat.completion"), &make!(right.prompt))
    );
    // The same request, answered as a stream.
    body["stream"] = make!(true);
    body["stream_options"] = make!({ "include_usage": true });
    let streamed = server.post("/v1/chat/completions", &body);
    assert!(streamed.head.contains("text/event-stream"), "{streamed:?}");
    let events = streamed.events();
    let text: String = events.iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, right.text);
    assert_eq!(events[0]["choices"][0]["delta"], make!({ "role": "assistant", "content": "" }));
    let [.., last, usage] = &events[..] else { panic!() };
    assert_eq!((&last["choices"][0]["finish_reason"], &last["usage"]), (&make!("length"), &Value::Null));
    assert_eq!((&usage["choices"], &usage["usage"]), (&make!([]), &done["usage"]));
    assert!(events.iter().all(|e| e["id"] == events[0]["id"] && e["object"] == "chat.completion.chunk"));
    server.until("gradus_running", |n| n == 0.0);
    assert!(server.metric("gradus_generated_tokens_total") >= 20.0 + 24.0 + 9.0 + 9.0);
}

#[test]
fn texts_end_before_stop_strings() {
    let (_folder, path) = gguf("serve-stop", 128);
    let server = Served::new(&[&path]);
    let (text, _) = library(&path, "Hello", &never_end(30));
    let stop: String = text.chars().skip(4).take(2).collect();
    let right = &text[..text.find(&stop).unwrap()];
    let mut body = greedy("Hello", 30);
    body["stop"] = make!([stop, "never there"]);
    let done = server.post("/v1/completions", &body).json();
    assert_eq!(
        (&done["choices"][0]["text"], &done["choices"][0]["finish_reason"]),
        (&make!(right), &make!("stop"))
    );
    body["stream"] = make!(true);
    let events = server.post("/v1/completions", &body).events();
    let streamed: String = events.iter().map(|e| e["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(streamed, right);
    assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], "stop");
    // The end token: if every other token is forbidden, it is generated first.
    let forbid: serde_json::Map<String, Value> = (1..258).map(|t| (t.to_string(), make!(-100))).collect();
    let done = server.post("/v1/completions", &make!({ "prompt": "Hello", "logit_bias": forbid })).json();
    assert_eq!(
        (&done["choices"][0]["text"], &done["choices"][0]["finish_reason"]),
        (&make!(""), &make!("stop"))
    );
    assert_eq!(done["usage"]["completion_tokens"], 0);
}

#[test]
fn log_probabilities_are_those_of_the_model() {
    let (_folder, path) = gguf("serve-logprobs", 64);
    let server = Served::new(&[&path]);
    let mut own = LanguageModel::load(&path, Device::CPU).unwrap();
    let mut body = greedy("Hello", 4);
    body["logprobs"] = make!(3);
    let choice = server.post("/v1/completions", &body).json()["choices"][0].clone();
    let found = &choice["logprobs"];
    let mut text = own.tokenizer.encode("Hello").unwrap();
    for i in 0..4 {
        let logits = own.engine.logits_after(&text).unwrap();
        let mut order: Vec<usize> = (1..logits.len()).collect();
        order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
        let right = log_probability(&logits, order[0] as i64).unwrap();
        assert!((found["token_logprobs"][i].as_f64().unwrap() - right).abs() < 1e-6, "{found}");
        assert!((3..=4).contains(&found["top_logprobs"][i].as_object().unwrap().len()), "{found}");
        text.push(order[0] as i64);
    }
    assert_eq!(found["tokens"].as_array().unwrap().len(), 4);
    assert_eq!(found["text_offset"][0], 0);
    let body = make!({ "messages": [{ "role": "user", "content": "Hi" }], "logprobs": true, "top_logprobs": 2, "temperature": 0,
                       "max_tokens": 5, "logit_bias": { "0": -100 } });
    let content =
        server.post("/v1/chat/completions", &body).json()["choices"][0]["logprobs"]["content"].clone();
    let content = content.as_array().unwrap();
    assert_eq!(content.len(), 5);
    for token in content {
        let top = token["top_logprobs"].as_array().unwrap();
        assert_eq!(top.len(), 2);
        assert!(top[0]["logprob"].as_f64() >= top[1]["logprob"].as_f64());
        assert!(token["logprob"].as_f64() <= top[0]["logprob"].as_f64());
        assert!(token["bytes"].is_null() || token["bytes"].as_array().unwrap().len() == 1, "{token}");
    }
}

#[test]
fn json_is_generated_by_its_schema() {
    let (folder, path) = gguf("serve-schema", 256);
    let server = Served::new(&[&path]);
    let schema = r#"{"type": "object", "properties": {"zeta": {"type": "string", "maxLength": 6}, "alpha": {"type": "integer",
        "minimum": 0, "maximum": 99}, "list": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}},
        "required": ["zeta", "alpha", "list"], "additionalProperties": false}"#;
    let check = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text:?}"));
        let map = value.as_object().unwrap();
        assert_eq!(map.len(), 3, "{text}");
        assert!(map["zeta"].as_str().unwrap().chars().count() <= 6, "{text}");
        assert!(map["alpha"].as_u64().unwrap() <= 99, "{text}");
        let list = map["list"].as_array().unwrap();
        assert!(list.len() <= 3 && list.iter().all(|v| v == "a" || v == "b"), "{text}");
        assert!(text.find("zeta").unwrap() < text.find("alpha").unwrap(), "{text}");
    };
    for seed in 0..6 {
        let body = format!(
            r#"{{"messages": [{{"role": "user", "content": "Hi"}}], "seed": {seed}, "temperature": 2, "max_tokens": 120,
                "response_format": {{"type": "json_schema", "json_schema": {{"name": "x", "schema": {schema}}}}}}}"#
        );
        let done = server.raw(&request("/v1/chat/completions", &body, "Connection: close\r\n"));
        assert_eq!(done.status, 200, "{done:?}");
        assert_eq!(done.json()["choices"][0]["finish_reason"], "stop");
        check(done.json()["choices"][0]["message"]["content"].as_str().unwrap());
        let body = make!({ "prompt": "Hi", "seed": seed, "temperature": 2, "max_tokens": 60, "response_format": { "type": "json_object" } });
        let done = server.post("/v1/completions", &body).json();
        let text = done["choices"][0]["text"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(text).is_ok_and(|v| v.is_object()), "{text:?}");
    }
    // `gradus generate` accepts the same schema.
    let file = folder.file("schema.json", schema);
    check(
        output("", &["generate", &path, "Hi", "--json-schema", &file, "--temperature", "1.5", "--seed", "3"])
            .trim_end(),
    );
    let file = folder.file("schema.json", r#"{"type": "string", "pattern": "x"}"#);
    let outcome = gradus(&["generate", &path, "Hi", "--json-schema", &file]);
    assert!(outcome.code == 1 && outcome.err.contains("`pattern` is not supported"), "{}", outcome.err);
}

#[test]
fn wrong_requests_get_an_error_object() {
    let (_folder, path) = gguf("serve-wrong", 64);
    let server = Served::new(&[&path, "--max-body", "2000"]);
    let chat = make!([{ "role": "user", "content": "Hi" }]);
    let bodies = [
        ("/v1/completions", make!([]), 400, "must be a JSON object"),
        ("/v1/completions", make!({}), 400, "`prompt`"),
        ("/v1/completions", make!({ "prompt": "" }), 400, "no tokens"),
        ("/v1/completions", make!({ "prompt": [1, 999] }), 400, "`prompt`"),
        ("/v1/completions", make!({ "prompt": "x".repeat(65) }), 400, "context of the model is 64"),
        (
            "/v1/completions",
            make!({ "prompt": "x", "model": "other" }),
            404,
            "the model `other` is not available",
        ),
        ("/v1/completions", make!({ "prompt": "x", "temperature": 3 }), 400, "`temperature`"),
        ("/v1/completions", make!({ "prompt": "x", "top_p": 0 }), 400, "`top_p`"),
        ("/v1/completions", make!({ "prompt": "x", "n": 0 }), 400, "`n`"),
        ("/v1/completions", make!({ "prompt": "x", "n": 100 }), 400, "`n` asks for more than 64"),
        ("/v1/completions", make!({ "prompt": "x", "max_tokens": -1 }), 400, "`max_tokens`"),
        ("/v1/completions", make!({ "prompt": "x", "seed": "a" }), 400, "`seed`"),
        ("/v1/completions", make!({ "prompt": "x", "stop": [1] }), 400, "`stop`"),
        ("/v1/completions", make!({ "prompt": "x", "stream": 1 }), 400, "`stream`"),
        ("/v1/completions", make!({ "prompt": "x", "stream_options": {} }), 400, "`stream_options`"),
        ("/v1/completions", make!({ "prompt": "x", "logit_bias": { "9999": 1 } }), 400, "`logit_bias`"),
        ("/v1/completions", make!({ "prompt": "x", "echo": true }), 400, "`echo` is not supported"),
        (
            "/v1/completions",
            make!({ "prompt": "x", "response_format": { "type": "xml" } }),
            400,
            "`response_format`",
        ),
        (
            "/v1/completions",
            make!({ "prompt": "x", "response_format": { "type": "json_schema", "json_schema": { "schema": { "not": {} } } } }),
            400,
            "`not` is not supported",
        ),
        ("/v1/chat/completions", make!({ "messages": [] }), 400, "`messages`"),
        (
            "/v1/chat/completions",
            make!({ "messages": [{ "role": "wizard", "content": "x" }] }),
            400,
            "`messages`",
        ),
        (
            "/v1/chat/completions",
            make!({ "messages": [{ "role": "user", "content": 3 }] }),
            400,
            "`messages`",
        ),
        ("/v1/chat/completions", make!({ "messages": chat, "tools": [{}] }), 400, "`tools`"),
        ("/v1/chat/completions", make!({ "messages": chat, "top_logprobs": 2 }), 400, "`top_logprobs`"),
        ("/v1/embeddings", make!({ "input": "x" }), 404, "does not compute embeddings"),
        ("/v1/nothing", make!({}), 404, "/v1/nothing"),
        ("/v1/models", make!({}), 405, "accepts only GET"),
    ];
    for (path, body, status, why) in bodies {
        let found = server.post(path, &body);
        assert_eq!(found.status, status, "{path} {body}: {found:?}");
        assert!(found.error().contains(why), "{path} {body}: {found:?}");
    }
    let raw: [(&[u8], u16); 14] = [
        (b"GET /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", 505),
        (b"GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2001\r\n\r\n", 413),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", 400),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", 413),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", 415),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{\"a", 400),
    ];
    for (bytes, status) in raw {
        let found = server.raw(bytes);
        assert_eq!(found.status, status, "{:?}: {found:?}", String::from_utf8_lossy(bytes));
        found.error();
    }
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    assert_eq!(server.raw(long.as_bytes()).status, 431);
    let deep = "[".repeat(1000);
    assert_eq!(server.raw(&request("/v1/completions", &deep, "Connection: close\r\n")).status, 400);
    assert_eq!(server.post("/v1/completions", &greedy("still there", 2)).status, 200);
}

#[test]
fn connections_serve_many_requests() {
    let (_folder, path) = gguf("serve-alive", 64);
    let server = Served::new(&[&path]);
    let alone = server.post("/v1/completions", &greedy("Hello", 6)).json()["choices"][0]["text"].clone();
    // A chunked body in pieces, then two requests at once, on one connection.
    let mut stream = server.connect();
    let body = greedy("Hello", 6).to_string();
    let (a, b) = body.split_at(7);
    let head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    stream.write_all(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    for part in [a, b] {
        stream.write_all(format!("{:X};note=x\r\n{part}\r\n", part.len()).as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    stream.write_all(b"0\r\nTrailer: x\r\n\r\n").unwrap();
    let first = read_one(&mut stream);
    assert!(first.head.contains("Connection: keep-alive"), "{first:?}");
    assert_eq!(first.json()["choices"][0]["text"], alone);
    let twice =
        [request("/v1/completions", &body, ""), request("/v1/completions", &body, "Connection: close\r\n")]
            .concat();
    stream.write_all(&twice).unwrap();
    assert_eq!(read_one(&mut stream).json()["choices"][0]["text"], alone);
    let last = read_one(&mut stream);
    assert!(
        last.head.contains("Connection: close") && last.json()["choices"][0]["text"] == alone,
        "{last:?}"
    );
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    // An HTTP/1.0 client gets a stream without chunks, up to the end of the connection.
    let body = {
        let mut b = greedy("Hello", 6);
        b["stream"] = make!(true);
        b.to_string()
    };
    let old = format!(
        "POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let old = server.raw(old.as_bytes());
    assert!(!old.head.contains("chunked"), "{old:?}");
    let text: String =
        old.events().iter().map(|e| e["choices"][0]["text"].as_str().unwrap().to_string()).collect();
    assert_eq!(make!(text), alone);
}

/// Reads a response with a known length from a connection that stays open.
fn read_one(stream: &mut TcpStream) -> Response {
    let mut all = Vec::new();
    while !all.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        all.push(byte[0]);
    }
    let head = String::from_utf8(all.clone()).unwrap();
    let length = head.lines().find_map(|l| l.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    Response::parse(&[all, body].concat())
}

#[test]
fn a_key_is_required_where_one_is_set() {
    let (_folder, path) = gguf("serve-key", 64);
    let server = Served::new(&[&path, "--key", "secret"]);
    assert_eq!(server.get("/health").status, 200);
    let refused = server.get("/v1/models");
    assert!(refused.status == 401 && refused.head.contains("WWW-Authenticate: Bearer"), "{refused:?}");
    assert_eq!(refused.json()["error"]["code"], "invalid_api_key");
    let with = |value: &str| {
        let head = format!(
            "GET /v1/models HTTP/1.1\r\nHost: any.name\r\nConnection: close\r\nAuthorization: {value}\r\n\r\n"
        );
        server.raw(head.as_bytes()).status
    };
    assert_eq!(with("Bearer secret"), 200);
    for wrong in
        ["Bearer secre", "Bearer secrets", "Bearer secretsecret", "Basic secret", "secret", "Bearer "]
    {
        assert_eq!(with(wrong), 401, "{wrong}");
    }
    assert_eq!(server.get("/metrics").status, 401);
    let outcome = gradus(&["serve", &path, "--port", "0", "--key", ""]);
    assert!(outcome.code == 2 && outcome.err.contains("must not be empty"), "{}", outcome.err);
}

/// The body of a request whose text takes long to generate.
fn long(stream: bool) -> Value {
    let mut body = greedy("Hello", 100_000);
    body["stream"] = make!(stream);
    body
}

#[test]
fn the_queue_is_bounded_and_aborted_requests_leave_it() {
    let (_folder, path) = gguf("serve-queue", LONG);
    let server = Served::new(&[&path, "--slots", "1", "--queue", "1", "--connections", "6"]);
    let begin = |body: &Value| {
        let mut stream = server.connect();
        stream.write_all(&request("/v1/completions", &body.to_string(), "Connection: close\r\n")).unwrap();
        stream
    };
    let running = begin(&long(true));
    server.until("gradus_running", |n| n == 1.0);
    let mut waiting = begin(&greedy("Hello", 3));
    server.until("gradus_waiting", |n| n == 1.0);
    let refused = server.post("/v1/completions", &greedy("Hello", 3));
    assert!(refused.status == 429 && refused.head.contains("Retry-After: 1"), "{refused:?}");
    assert_eq!(refused.json()["error"]["code"], "queue_full");
    // The first client disconnects during its stream, and the second request gets its slot.
    drop(running);
    let mut all = Vec::new();
    waiting.read_to_end(&mut all).unwrap();
    assert_eq!(Response::parse(&all).json()["usage"]["completion_tokens"], 3);
    server.until("gradus_cancelled_total", |n| n == 1.0);
    // A client that waits for its complete answer, and a request in the queue, can also be cancelled.
    let whole = begin(&long(false));
    server.until("gradus_running", |n| n == 1.0);
    let queued = begin(&long(false));
    server.until("gradus_waiting", |n| n == 1.0);
    drop(queued);
    server.until("gradus_cancelled_total", |n| n == 2.0);
    drop(whole);
    server.until("gradus_cancelled_total", |n| n == 3.0);
    server.until("gradus_running", |n| n == 0.0);
    assert_eq!(server.post("/v1/completions", &greedy("Hello", 3)).status, 200);
    // Opens more connections than the limit.
    server.until("gradus_connections", |n| n == 1.0);
    let mut idle: Vec<TcpStream> = (0..6).map(|_| server.connect()).collect();
    let mut last = server.connect();
    let mut all = Vec::new();
    last.read_to_end(&mut all).unwrap();
    assert_eq!(Response::parse(&all).status, 503);
    idle.clear();
    let began = Instant::now();
    while server.get("/health").status != 200 {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn slow_readers_do_not_delay_others() {
    let (_folder, path) = gguf("serve-slow", LONG);
    let server = Served::new(&[&path, "--slots", "5", "--stall", "1"]);
    let quick = server.post("/v1/completions", &greedy("Hello", 3)).json();
    // Requests some megabytes of events, and never reads them.
    let mut body = long(true);
    body["messages"] = make!([{ "role": "user", "content": "Hi" }]);
    (body["logprobs"], body["top_logprobs"], body["n"]) = (make!(true), make!(20), make!(4));
    let mut slow = server.connect();
    slow.write_all(&request("/v1/chat/completions", &body.to_string(), "")).unwrap();
    server.until("gradus_running", |n| n == 4.0);
    for _ in 0..5 {
        assert_eq!(server.post("/v1/completions", &greedy("Hello", 3)).json()["choices"], quick["choices"]);
    }
    // The request ends when the buffers are full and the client reads nothing for a second.
    server.until("gradus_cancelled_total", |n| n == 1.0);
    server.until("gradus_running", |n| n == 0.0);
    // A request whose bytes arrive slowly does not delay other requests.
    let mut dripping = server.connect();
    dripping.write_all(b"POST /v1/completions HTTP/1.1\r\nHost:").unwrap();
    assert_eq!(server.post("/v1/completions", &greedy("Hello", 3)).status, 200);
}

#[test]
fn requests_have_a_time_limit() {
    let (_folder, path) = gguf("serve-time", LONG);
    let server = Served::new(&[&path, "--time", "1"]);
    let late = server.post("/v1/completions", &long(false));
    assert_eq!((late.status, &late.json()["error"]["code"]), (504, &make!("timeout")), "{late:?}");
    let stream = server.post("/v1/completions", &long(true));
    assert_eq!(stream.status, 200);
    let last = stream.text.trim_end().rsplit("\n\n").next().unwrap().strip_prefix("data: ").unwrap();
    assert_eq!(json(last)["error"]["code"], "timeout");
    server.until("gradus_running", |n| n == 0.0);
    let few = Served::new(&[&path, "--max-tokens", "5"]);
    assert_eq!(few.post("/v1/completions", &long(false)).json()["usage"]["completion_tokens"], 5);
}

/// A killed server loses its streams only: one that is started on its port gives the same answers.
#[test]
fn a_killed_server_is_replaced_on_its_port() {
    let (_folder, path) = gguf("serve-kill", LONG);
    let mut server = Served::new(&[&path, "--slots", "4"]);
    let (port, question) = (server.port, greedy("Hello", 40));
    let right = server.post("/v1/completions", &question).json();
    for _ in 0..2 {
        let mut streams: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
        for stream in &mut streams {
            stream.write_all(&request("/v1/completions", &long(true).to_string(), "")).unwrap();
            // Some events have arrived.
            stream.read_exact(&mut [0; 2000]).unwrap();
        }
        server.until("gradus_running", |n| n == 3.0);
        // `kill` of the standard library sends SIGKILL.
        server.process.kill().unwrap();
        assert_eq!(server.ended(), None);
        for mut stream in streams {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest); // ends, with or without an error
            let rest = String::from_utf8_lossy(&rest);
            assert!(!rest.contains("[DONE]") && !rest.contains("finish_reason\":\"length"), "{rest}");
        }
        server = Served::at(port, &[&path, "--slots", "4"]);
        assert_eq!(server.port, port);
        assert_eq!(server.metric("gradus_running"), 0.0);
        let again = server.post("/v1/completions", &question).json();
        assert_eq!((&again["choices"], &again["usage"]), (&right["choices"], &right["usage"]));
    }
}

#[test]
fn a_server_stops_in_order() {
    let (_folder, path) = gguf("serve-end", 512);
    let mut server = Served::new(&[&path, "--grace", "60"]);
    let right = server.post("/v1/completions", &greedy("Hello", 300)).json()["choices"][0]["text"].clone();
    let mut body = greedy("Hello", 300);
    body["stream"] = make!(true);
    let mut stream = server.connect();
    stream.write_all(&request("/v1/completions", &body.to_string(), "")).unwrap();
    let mut all = vec![0; 1000];
    stream.read_exact(&mut all).unwrap();
    server.terminate();
    stream.read_to_end(&mut all).unwrap();
    let text: String = Response::parse(&all)
        .events()
        .iter()
        .map(|e| e["choices"][0]["text"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(make!(text), right);
    assert_eq!(server.ended(), Some(0));
    assert!(TcpStream::connect(("127.0.0.1", server.port)).is_err());
    // Without a grace period, a stream ends with an error.
    let (_folder, path) = gguf("serve-end-now", 4096);
    let mut server = Served::new(&[&path, "--grace", "0"]);
    let mut stream = server.connect();
    stream.write_all(&request("/v1/completions", &long(true).to_string(), "Connection: close\r\n")).unwrap();
    server.until("gradus_running", |n| n == 1.0);
    server.terminate();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(Response::parse(&all).text.contains("the server is stopping"));
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn texts_have_vectors() {
    let (folder, path) = model("serve-embed");
    encoder(&folder);
    let server = Served::new(&[&path, "--name", "mini"]);
    let right: Vec<Value> = output("", &["embed", &path, "one", "two"]).lines().map(json).collect();
    let done = server.post("/v1/embeddings", &make!({ "model": "mini", "input": ["one", "two"] }));
    assert_eq!(done.status, 200, "{done:?}");
    let done = done.json();
    for (i, vector) in right.iter().enumerate() {
        assert_eq!(done["data"][i], make!({ "object": "embedding", "index": i, "embedding": vector }));
    }
    assert_eq!(done["usage"], make!({ "prompt_tokens": 6, "total_tokens": 6 }));
    // The same text, passed as tokens.
    let tokens: Vec<i64> = "one".bytes().map(|b| i64::from(b) + 2).collect();
    let done = server.post("/v1/embeddings", &make!({ "input": tokens })).json();
    assert_eq!(done["data"][0]["embedding"], right[0]);
    for (body, why) in [
        (make!({}), "`input`"),
        (make!({ "input": [] }), "`input`"),
        (make!({ "input": [[999]] }), "token 999"),
        (make!({ "input": "x", "dimensions": 3 }), "`dimensions`"),
        (make!({ "input": "x", "encoding_format": "text" }), "`encoding_format`"),
    ] {
        let found = server.post("/v1/embeddings", &body);
        assert!(found.status == 400 && found.error().contains(why), "{found:?}");
    }
    let found = server.post("/v1/completions", &greedy("x", 1));
    assert!(found.status == 404 && found.error().contains("embeddings only"), "{found:?}");
    // A server with a language model and a sentence encoder.
    let (_other, language) = gguf("serve-both", 64);
    let server = Served::new(&[&language, "--embeddings", &path]);
    assert_eq!(server.get("/v1/models").json()["data"].as_array().unwrap().len(), 2);
    assert_eq!(server.post("/v1/completions", &greedy("x", 1)).status, 200);
    assert_eq!(
        server.post("/v1/embeddings", &make!({ "input": "one" })).json()["data"][0]["embedding"],
        right[0]
    );
}
