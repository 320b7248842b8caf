//! Runs a server in its own process, and a client that writes bytes to its socket.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `gradus serve` on a free port; stopped when dropped.
pub(crate) struct Served {
    pub(crate) port: u16,
    pub(crate) process: Child,
}

impl Served {
    pub(crate) fn new(args: &[&str]) -> Served {
        Served::at(0, args)
    }

    /// As [`Served::new`], on this port unless it is 0.
    pub(crate) fn at(port: u16, args: &[&str]) -> Served {
        let mut process = Command::new(env!("CARGO_BIN_EXE_gradus"))
            .args([&["serve", "--port", &port.to_string()], args].concat())
            .env_remove("GRADUS_SERVE_KEY")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port =
            line.strip_prefix("http://127.0.0.1:").and_then(|l| l.split('/').next()).unwrap_or_default();
        Served { port: port.parse().unwrap_or_else(|_| panic!("{line:?}")), process }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Writes bytes and reads until the server closes.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes); // the server may close the connection before it has read everything
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        Response::parse(&all)
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.raw(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.raw(&request(path, &body.to_string(), "Connection: close\r\n"))
    }

    /// The value of a metric.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").text;
        let line = text
            .lines()
            .find(|l| l.starts_with(&format!("{name} ")))
            .unwrap_or_else(|| panic!("{name}: {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Waits until a metric has a value.
    pub(crate) fn until(&self, name: &str, fits: impl Fn(f64) -> bool) {
        let began = Instant::now();
        while !fits(self.metric(name)) {
            assert!(began.elapsed() < Duration::from_secs(60), "{name} is {}", self.metric(name));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks the process to end, as a service manager does.
    pub(crate) fn terminate(&self) {
        assert!(Command::new("kill").arg(self.process.id().to_string()).status().unwrap().success());
    }

    /// Waits until the process has ended; returns its exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            assert!(began.elapsed() < Duration::from_secs(60), "the process does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A POST request as bytes.
pub(crate) fn request(path: &str, body: &str, headers: &str) -> Vec<u8> {
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}");
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A parsed response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Response {
    pub(crate) fn parse(bytes: &[u8]) -> Response {
        let at = bytes.windows(4).position(|w| w == b"\r\n\r\n");
        let at = at.unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut body = &bytes[at + 4..];
        let mut text = Vec::new();
        if head.contains("Transfer-Encoding: chunked") {
            while let Some(end) = body.windows(2).position(|w| w == b"\r\n") {
                let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
                text.extend(&body[end + 2..end + 2 + size]);
                body = &body[end + 4 + size..];
            }
        } else {
            text = body.to_vec();
        }
        Response { status, head, text: String::from_utf8(text).unwrap() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The events of a stream, without the last, which is `[DONE]`.
    pub(crate) fn events(&self) -> Vec<Value> {
        let mut all: Vec<&str> = self
            .text
            .split("\n\n")
            .filter(|e| !e.is_empty())
            .map(|e| e.strip_prefix("data: ").unwrap())
            .collect();
        assert_eq!(all.pop(), Some("[DONE]"), "{self:?}");
        all.iter().map(|e| serde_json::from_str(e).unwrap()).collect()
    }

    /// The message of an error. Fails unless the error object has the fields that clients expect.
    pub(crate) fn error(&self) -> String {
        let json = self.json();
        let error = json["error"].as_object().unwrap_or_else(|| panic!("{self:?}"));
        for key in ["message", "type", "param", "code"] {
            assert!(error.contains_key(key), "{self:?}");
        }
        error["message"].as_str().unwrap().to_string()
    }
}

/// The body of a request for a greedy text in which the end token is forbidden.
pub(crate) fn greedy(prompt: &str, tokens: usize) -> Value {
    json!({ "prompt": prompt, "max_tokens": tokens, "temperature": 0, "logit_bias": { "0": -100 } })
}
