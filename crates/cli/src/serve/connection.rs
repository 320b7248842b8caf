//! Serves a connection: reads its requests one after the other, checks them, and answers them by endpoint.

use super::answer::{Outcome, answer};
use super::error::ApiError;
use super::http::{Connection, Failed, Request};
use super::{Server, ask};
use serde_json::{Value as Json, json};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Increments a counter for its own lifetime.
struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn new(number: &'a AtomicU64) -> Counted<'a> {
        number.fetch_add(1, Relaxed);
        Counted(number)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// An HTTP response.
struct Response {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
    /// A header in addition to those that all responses have.
    extra: Option<(&'static str, &'static str)>,
}

impl Response {
    fn json(status: u16, body: &Json) -> Response {
        Response { status, kind: "application/json", body: body.to_string().into_bytes(), extra: None }
    }

    fn error(e: &ApiError) -> Response {
        let extra = match e.status {
            401 => Some(("WWW-Authenticate", "Bearer")),
            429 | 503 => Some(("Retry-After", "1")),
            _ => None,
        };
        Response { extra, ..Response::json(e.status, &e.body()) }
    }

    fn write(&self, connection: &mut Connection, keep_alive: bool) -> std::io::Result<()> {
        let mut headers = vec![("Content-Type", self.kind)];
        headers.extend(self.extra);
        connection.respond(self.status, &headers, &self.body, keep_alive)
    }
}

/// Serves a new connection in its own thread, or refuses it if there are too many.
pub(super) fn accept(server: &Arc<Server>, stream: TcpStream) {
    let Ok(mut connection) = Connection::new(stream, server.limits.http) else { return };
    let full = server.metrics.connections.load(Relaxed) >= server.limits.connections;
    let own = server.clone();
    // Counted before the thread starts, so that the next connection sees it.
    server.metrics.connections.fetch_add(1, Relaxed);
    let serve = move || {
        let server = own;
        let _open = Counted(&server.metrics.connections);
        match full {
            true => {
                server.metrics.answered("none", 503);
                let e = ApiError::new(503, "too many open connections");
                let _ = Response::error(&e).write(&mut connection, false);
                connection.close();
            }
            false => serve(&server, connection),
        }
    };
    // Refusing a connection takes a thread too. Beyond twice the limit, connections are closed without a
    // response.
    if server.metrics.connections.load(Relaxed) > 2 * server.limits.connections
        || std::thread::Builder::new().name("connection".into()).spawn(serve).is_err()
    {
        server.metrics.connections.fetch_sub(1, Relaxed);
    }
}

/// Answers requests until the client disconnects.
fn serve(server: &Server, mut connection: Connection) {
    loop {
        let request = match connection.request() {
            Ok(request) => request,
            Err(Failed::Gone) => return,
            Err(Failed::Bad(status, why)) => {
                server.metrics.answered("none", status);
                let _ = Response::error(&ApiError::new(status, why)).write(&mut connection, false);
                return connection.close();
            }
        };
        let _busy = Counted::new(&server.metrics.busy);
        let endpoint = endpoint(&request.path);
        let keep_alive = request.keep_alive && !server.stopping.load(Relaxed);
        let response = match respond(server, &request, &mut connection) {
            Ok(Some(response)) => response,
            Ok(None) => {
                // A streamed response. A client without chunked encoding reads up to the end of the
                // connection.
                server.metrics.answered(endpoint, 200);
                match keep_alive && request.chunks {
                    true => continue,
                    false => return connection.close(),
                }
            }
            Err(None) => {
                server.metrics.cancelled.fetch_add(1, Relaxed);
                return;
            }
            Err(Some(e)) => Response::error(&e),
        };
        server.metrics.answered(endpoint, response.status);
        match response.write(&mut connection, keep_alive) {
            Ok(()) if keep_alive => {}
            Ok(()) => return connection.close(),
            Err(_) => return,
        }
    }
}

/// Returns the name of an endpoint in metrics. Unknown paths share one name, so that clients cannot create
/// new metrics.
fn endpoint(path: &str) -> &'static str {
    let all =
        ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/models", "/metrics", "/health"];
    all.into_iter().find(|name| *name == path).unwrap_or("other")
}

/// Answers a request. Returns `Ok(None)` if the response was streamed, and `Err(None)` if the client has
/// disconnected.
fn respond(
    server: &Server,
    request: &Request,
    connection: &mut Connection,
) -> Result<Option<Response>, Option<ApiError>> {
    let path = request.path.as_str();
    if server.loopback && server.key.is_none() && !request.header("host").is_none_or(is_local) {
        // Prevents DNS rebinding: a web page whose host name resolves to this address must not use the model.
        return Err(Some(ApiError::new(403, "the Host header does not name this computer")));
    }
    if path != "/health" {
        check_key(server, request)?;
    }
    let one_model = path.strip_prefix("/v1/models/");
    let wanted = match path {
        "/v1/chat/completions" | "/v1/completions" | "/v1/embeddings" => "POST",
        "/v1/models" | "/metrics" | "/health" => "GET",
        _ if one_model.is_some() => "GET",
        _ => return Err(Some(ApiError::new(404, format!("{path} is not an endpoint of this server")))),
    };
    if request.method != wanted {
        return Err(Some(ApiError::new(405, format!("{path} accepts only {wanted} requests"))));
    }
    let model = |name: &str| json!({ "id": name, "object": "model", "created": server.created, "owned_by": "gradus" });
    match path {
        "/health" if server.stopping.load(Relaxed) => Err(Some(ApiError::new(503, "the server is stopping"))),
        "/health" => Ok(Some(Response::json(200, &json!({ "status": "ok" })))),
        "/metrics" => {
            let (kind, body) =
                ("text/plain; version=0.0.4; charset=utf-8", server.metrics.text().into_bytes());
            Ok(Some(Response { status: 200, kind, body, extra: None }))
        }
        "/v1/models" => {
            let data: Vec<Json> = server.names().into_iter().map(model).collect();
            Ok(Some(Response::json(200, &json!({ "object": "list", "data": data }))))
        }
        _ => match one_model {
            Some(name) if server.names().contains(&name) => Ok(Some(Response::json(200, &model(name)))),
            Some(name) => {
                let e = ApiError::new(404, format!("the model `{name}` does not exist"))
                    .with_code("model_not_found");
                Err(Some(e))
            }
            None => posted(server, request, connection),
        },
    }
}

/// Answers a POST request.
fn posted(
    server: &Server,
    request: &Request,
    connection: &mut Connection,
) -> Result<Option<Response>, Option<ApiError>> {
    if server.stopping.load(Relaxed) {
        return Err(Some(ApiError::new(503, "the server is stopping")));
    }
    // Browsers let pages of other sites send plain text without a preflight request, but not JSON.
    let kind = request.header("content-type").and_then(|t| t.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(Some(ApiError::new(415, "the Content-Type must be application/json")));
    }
    let body: Json = serde_json::from_slice(&request.body)
        .map_err(|e| ApiError::new(400, format!("the body is not JSON: {e}")))?;
    if request.path == "/v1/embeddings" {
        let deadline = Instant::now() + server.limits.time;
        let vectors = server.vectors.as_ref();
        let vectors = vectors.ok_or_else(|| {
            ApiError::new(
                404,
                "the model does not compute embeddings; serve a sentence encoder with --embeddings",
            )
        })?;
        return match vectors
            .answer(&body, deadline, || connection.is_open() && !server.cancel.load(Relaxed))?
        {
            Some((body, tokens)) => {
                server.metrics.prompt_tokens.fetch_add(tokens as u64, Relaxed);
                Ok(Some(Response::json(200, &body)))
            }
            None => Err(None),
        };
    }
    let language = server.language.as_ref();
    let language = language.ok_or_else(|| ApiError::new(404, "the model computes embeddings only"))?;
    let ask = ask::read(request.path == "/v1/chat/completions", &body, &request.body, language)?;
    drop(body);
    match answer(server, language, &ask, request, connection)? {
        Outcome::Body(body) => Ok(Some(Response::json(200, &body))),
        Outcome::Streamed => Ok(None),
        Outcome::Disconnected => Err(None),
    }
}

/// Returns true if a Host header names the loopback address.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Returns an error if the request does not have the key.
fn check_key(server: &Server, request: &Request) -> Result<(), ApiError> {
    let Some(key) = &server.key else { return Ok(()) };
    let given = request.header("authorization").and_then(|a| {
        let (scheme, key) = a.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
    });
    match given {
        Some(given) if equal(given.as_bytes(), key.as_bytes()) => Ok(()),
        Some(_) => Err(ApiError::new(401, "the API key is wrong").with_code("invalid_api_key")),
        None => Err(ApiError::new(401, "an API key is required: Authorization: Bearer KEY")
            .with_code("invalid_api_key")),
    }
}

/// Compares a key in a time that depends only on the length of `given`.
fn equal(given: &[u8], key: &[u8]) -> bool {
    let mut difference = given.len() ^ key.len();
    for (i, byte) in given.iter().enumerate() {
        difference |= usize::from(byte ^ key[i % key.len()]);
    }
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_whole() {
        assert!(equal(b"abc", b"abc"));
        for wrong in ["", "a", "ab", "abd", "xbc", "abca", "abcabc"] {
            assert!(!equal(wrong.as_bytes(), b"abc"), "{wrong}");
        }
    }

    #[test]
    fn hosts_of_this_computer_are_known() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.1.2.3", "[::1]:1", "[::1]"] {
            assert!(is_local(host), "{host}");
        }
        for host in
            ["", "example.org", "localhost.example.org:80", "10.0.0.1", "[::2]:1", "evil.org:127.0.0.1"]
        {
            assert!(!is_local(host), "{host}");
        }
    }
}
