//! HTTP/1.1 on one connection: parses requests strictly and within limits, writes responses and event
//! streams.
//!
//! Returns methods, paths, headers and bodies; `connection.rs` interprets them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Limits of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Largest request line and headers together, in bytes.
    pub(crate) head: usize,
    /// Largest body, in bytes.
    pub(crate) body: usize,
    /// Longest idle time of a connection between two requests.
    pub(crate) idle: Duration,
    /// Longest time for a request to arrive, from its first byte.
    pub(crate) arrive: Duration,
    /// Longest time that a write may wait for the client to read.
    pub(crate) stall: Duration,
}

/// Largest number of headers of a request.
const MAX_HEADERS: usize = 100;

/// Largest number of bytes read and discarded before a connection is closed, so that the client can read the
/// response.
const MAX_DRAINED: usize = 1 << 20;

/// Number of bytes read at once.
const PIECE: usize = 16 << 10;

/// A parsed request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path, without a query.
    pub(crate) path: String,
    /// Header names in lower case, with their values.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// If true, the client wants to send more requests.
    pub(crate) keep_alive: bool,
    /// If true, the client supports chunked bodies.
    pub(crate) chunks: bool,
}

impl Request {
    /// Returns the value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// The reason why no request was read.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The client closed the connection or was too slow, or the network failed.
    Gone,
    /// The request is malformed. The connection is closed after the response, because the start of the next
    /// request is unknown.
    Bad(u16, &'static str),
}

impl From<io::Error> for Failed {
    fn from(_: io::Error) -> Failed {
        Failed::Gone
    }
}

/// A connection, with the bytes that were read but not yet parsed.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    limits: Limits,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, limits: Limits) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(limits.stall))?;
        Ok(Connection { stream, buffer: Vec::new(), limits })
    }

    /// Reads some bytes into the buffer. Fails at the end of the stream or at the deadline.
    fn fill(&mut self, deadline: Instant) -> Result<(), Failed> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failed::Gone);
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut piece = [0; PIECE];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(Failed::Gone),
                Ok(n) => {
                    self.buffer.extend(&piece[..n]);
                    return Ok(());
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Failed::Gone),
            }
        }
    }

    /// Reads the next request.
    pub(crate) fn request(&mut self) -> Result<Request, Failed> {
        // Empty lines before a request are permitted, because some clients send one.
        for _ in 0..4 {
            while self.buffer.len() < 2 {
                self.fill(Instant::now() + self.limits.idle)?;
            }
            match self.buffer.starts_with(b"\r\n") {
                true => drop(self.buffer.drain(..2)),
                false => break,
            }
        }
        let deadline = Instant::now() + self.limits.arrive;
        let late = |e| match e {
            Failed::Gone if Instant::now() >= deadline => {
                Failed::Bad(408, "the request took too long to arrive")
            }
            other => other,
        };
        let mut searched = 0;
        let end = loop {
            if let Some(at) = find(&self.buffer[searched..], b"\r\n\r\n") {
                break searched + at;
            }
            searched = self.buffer.len().saturating_sub(3);
            if self.buffer.len() > self.limits.head {
                return Err(Failed::Bad(431, "the headers are too large"));
            }
            self.fill(deadline).map_err(late)?;
        };
        if end > self.limits.head {
            return Err(Failed::Bad(431, "the headers are too large"));
        }
        let head: Vec<u8> = self.buffer.drain(..end + 4).take(end).collect();
        let (mut request, length) = parse(&head)?;
        match length {
            Length::None => {}
            Length::Known(n) if n > self.limits.body as u64 => {
                return Err(Failed::Bad(413, "the body is too large"));
            }
            known => {
                if request.header("expect").is_some_and(|e| e.eq_ignore_ascii_case("100-continue")) {
                    self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
                }
                request.body = match known {
                    Length::Known(n) => self.take(n as usize, deadline).map_err(late)?,
                    _ => self.chunked(deadline).map_err(late)?,
                };
            }
        }
        Ok(request)
    }

    /// Takes a number of bytes from the stream.
    fn take(&mut self, count: usize, deadline: Instant) -> Result<Vec<u8>, Failed> {
        while self.buffer.len() < count {
            self.fill(deadline)?;
        }
        let rest = self.buffer.split_off(count);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    /// Takes a line of a chunked body, without its line end.
    fn line(&mut self, deadline: Instant) -> Result<Vec<u8>, Failed> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).take(at).collect();
                return Ok(line);
            }
            if self.buffer.len() > 256 {
                return Err(Failed::Bad(400, "a line of the chunked body is too long"));
            }
            self.fill(deadline)?;
        }
    }

    /// Reads a chunked body.
    fn chunked(&mut self, deadline: Instant) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        // Bounds the number of chunks, because tiny chunks cost far more time than their bytes.
        let mut chunks = 1024 + self.limits.body / 256;
        loop {
            chunks = chunks.checked_sub(1).ok_or(Failed::Bad(400, "the body has too many chunks"))?;
            let line = self.line(deadline)?;
            let digits = line.split(|b| *b == b';').next().unwrap_or_default();
            let size = std::str::from_utf8(digits).ok().filter(|d| (1..=8).contains(&d.len()));
            let size = size.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
            let Some(size) = size.and_then(|d| usize::from_str_radix(d, 16).ok()) else {
                return Err(Failed::Bad(400, "the size of a chunk is not a hexadecimal number"));
            };
            if size == 0 {
                break;
            }
            if body.len() + size > self.limits.body {
                return Err(Failed::Bad(413, "the body is too large"));
            }
            body.extend(self.take(size, deadline)?);
            if self.take(2, deadline)? != b"\r\n" {
                return Err(Failed::Bad(400, "a chunk does not match its size"));
            }
        }
        // Trailers are read and ignored.
        for _ in 0..MAX_HEADERS {
            if self.line(deadline)?.is_empty() {
                return Ok(body);
            }
        }
        Err(Failed::Bad(431, "too many trailers"))
    }

    /// Returns true if the client is still connected, as far as can be seen without waiting.
    pub(crate) fn is_open(&self) -> bool {
        if self.stream.set_nonblocking(true).is_err() {
            return false;
        }
        let seen = self.stream.peek(&mut [0]);
        let blocking = self.stream.set_nonblocking(false);
        match seen {
            Ok(0) => false,
            Ok(_) => blocking.is_ok(),
            Err(e) => e.kind() == io::ErrorKind::WouldBlock && blocking.is_ok(),
        }
    }

    /// Writes a response with a body.
    pub(crate) fn respond(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        body: &[u8],
        keep_alive: bool,
    ) -> io::Result<()> {
        let mut text = head(status, keep_alive);
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n", body.len());
        self.write(&[text.as_bytes(), body].concat())
    }

    /// Starts an event stream.
    pub(crate) fn stream<'a>(&'a mut self, request: &Request) -> io::Result<EventStream<'a>> {
        let chunks = request.chunks;
        let mut text = head(200, request.keep_alive && chunks);
        text += "Content-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-store\r\n";
        text += if chunks { "Transfer-Encoding: chunked\r\n\r\n" } else { "\r\n" };
        self.write(text.as_bytes())?;
        Ok(EventStream { connection: self, chunks })
    }

    /// Writes all bytes. Fails if the client reads nothing for longer than the limit.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Closes the connection. First reads what the client is still sending: unread data would reset the
    /// connection, and the client could not read the response.
    pub(crate) fn close(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let until = Instant::now() + Duration::from_millis(500);
        let mut drained = self.buffer.len();
        while drained < MAX_DRAINED {
            self.buffer.clear();
            if self.fill(until).is_err() {
                break;
            }
            drained += self.buffer.len();
        }
    }
}

/// A response that is sent event by event.
pub(crate) struct EventStream<'a> {
    connection: &'a mut Connection,
    chunks: bool,
}

impl EventStream<'_> {
    /// Sends an event with this data.
    pub(crate) fn send(&mut self, data: &str) -> io::Result<()> {
        let event = format!("data: {data}\n\n");
        match self.chunks {
            true => self.connection.write(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()),
            false => self.connection.write(event.as_bytes()),
        }
    }

    /// Ends the stream. Without this the client sees a truncated stream.
    pub(crate) fn end(self) -> io::Result<()> {
        if self.chunks { self.connection.write(b"0\r\n\r\n") } else { Ok(()) }
    }

    /// Returns true if the client is still connected.
    pub(crate) fn is_open(&self) -> bool {
        self.connection.is_open()
    }
}

/// Returns the status line of a response, and the headers common to all.
fn head(status: u16, keep_alive: bool) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    };
    let connection = if keep_alive { "keep-alive" } else { "close" };
    format!("HTTP/1.1 {status} {reason}\r\nConnection: {connection}\r\nX-Content-Type-Options: nosniff\r\n")
}

/// The length of a body.
#[derive(Debug, PartialEq)]
enum Length {
    None,
    Known(u64),
    Chunked,
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

/// Returns true if a text is a token of the HTTP grammar, as methods and header names must be.
fn is_token(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(fits)
}

/// Parses the request line and the headers.
fn parse(head: &[u8]) -> Result<(Request, Length), Failed> {
    let bad = |why| Failed::Bad(400, why);
    let head = std::str::from_utf8(head).map_err(|_| bad("the headers are not UTF-8"))?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad("the request line must be a method, a path and a version"));
    };
    if !is_token(method) || !target.starts_with('/') || !target.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(bad("the request line must be a method, a path and a version"));
    }
    let newer = match version {
        "HTTP/1.1" => true,
        "HTTP/1.0" => false,
        _ => return Err(Failed::Bad(505, "only HTTP/1.0 and HTTP/1.1 are supported")),
    };
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(bad("a header has no colon"))?;
        let value = value.trim_matches([' ', '\t']);
        let plain = |b: u8| b == b'\t' || (b >= 0x20 && b != 0x7F);
        if !is_token(name) || !value.bytes().all(plain) {
            return Err(bad("a header has characters that are not permitted"));
        }
        if headers.len() >= MAX_HEADERS {
            return Err(Failed::Bad(431, "too many headers"));
        }
        headers.push((name.to_ascii_lowercase(), value.to_string()));
    }
    let all = |name: &str| {
        let own = headers.iter().filter(|(n, _)| n == name).map(|(_, v)| v.clone());
        own.collect::<Vec<_>>()
    };
    if newer && all("host").len() != 1 {
        return Err(bad("exactly one Host header is required"));
    }
    let (coding, length) = (all("transfer-encoding"), all("content-length"));
    let length = match (coding.as_slice(), length.as_slice()) {
        ([], []) => Length::None,
        ([], [n]) if !n.is_empty() && n.len() <= 18 && n.bytes().all(|b| b.is_ascii_digit()) => {
            Length::Known(n.parse().map_err(|_| bad("Content-Length is not a number"))?)
        }
        ([], _) => return Err(bad("Content-Length is not one number")),
        ([c], []) if newer && c.eq_ignore_ascii_case("chunked") => Length::Chunked,
        (_, []) => return Err(Failed::Bad(501, "the only supported transfer coding is chunked")),
        _ => return Err(bad("Content-Length and Transfer-Encoding cannot be combined")),
    };
    let wants = |what: &str| {
        all("connection").iter().any(|v| v.split(',').any(|w| w.trim().eq_ignore_ascii_case(what)))
    };
    let keep_alive = if newer { !wants("close") } else { wants("keep-alive") };
    let path = target.split(['?', '#']).next().unwrap_or_default().to_string();
    let request =
        Request { method: method.to_string(), path, headers, body: Vec::new(), keep_alive, chunks: newer };
    Ok((request, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Request, Length), u16> {
        parse(text.as_bytes()).map_err(|e| match e {
            Failed::Bad(status, _) => status,
            Failed::Gone => 0,
        })
    }

    #[test]
    fn requests_are_read_strictly() {
        let (r, length) = parsed("POST /v1/x?y=1 HTTP/1.1\r\nHost: a\r\nContent-Length:  12 ").unwrap();
        assert_eq!((r.method.as_str(), r.path.as_str(), length), ("POST", "/v1/x", Length::Known(12)));
        assert_eq!((r.header("content-length"), r.header("none"), r.keep_alive), (Some("12"), None, true));
        let (r, length) =
            parsed("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\nConnection: x, Close")
                .unwrap();
        assert_eq!((length, r.keep_alive), (Length::Chunked, false));
        let (r, length) = parsed("GET / HTTP/1.0\r\nConnection: keep-alive").unwrap();
        assert_eq!((length, r.keep_alive, r.chunks), (Length::None, true, false));
        let wrong = [
            ("GET /", 400),
            ("GET  / HTTP/1.1\r\nHost: a", 400),
            ("G(T / HTTP/1.1\r\nHost: a", 400),
            ("GET x HTTP/1.1\r\nHost: a", 400),
            ("GET / HTTP/2\r\nHost: a", 505),
            ("GET / HTTP/1.1", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nX : 1", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\nb", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked", 501),
        ];
        for (text, status) in wrong {
            assert_eq!(parsed(text).map(|_| ()).unwrap_err(), status, "{text:?}");
        }
    }
}
