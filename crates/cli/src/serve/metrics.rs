//! Metrics of a server, in the format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: &[f64] = &[0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// A histogram of durations.
#[derive(Default)]
pub(crate) struct Histogram {
    counts: Mutex<(Vec<u64>, f64)>,
}

impl Histogram {
    pub(crate) fn add(&self, time: Duration) {
        let mut held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (counts, sum) = &mut *held;
        counts.resize(BUCKETS.len() + 1, 0);
        let seconds = time.as_secs_f64();
        counts[BUCKETS.iter().position(|end| seconds <= *end).unwrap_or(BUCKETS.len())] += 1;
        *sum += seconds;
    }

    fn write(&self, name: &str, help: &str, out: &mut String) {
        let held = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut total = 0;
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        for (i, end) in BUCKETS.iter().map(f64::to_string).chain(["+Inf".into()]).enumerate() {
            total += held.0.get(i).copied().unwrap_or(0);
            let _ = writeln!(out, "{name}_bucket{{le=\"{end}\"}} {total}");
        }
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {total}", held.1);
    }
}

/// Metrics of a server.
#[derive(Default)]
pub(crate) struct Metrics {
    /// Number of answered requests, by endpoint and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// Number of tokens of prompts.
    pub(crate) prompt_tokens: AtomicU64,
    /// Number of generated tokens.
    pub(crate) generated_tokens: AtomicU64,
    /// Number of requests whose client disconnected.
    pub(crate) cancelled: AtomicU64,
    /// Number of open connections.
    pub(crate) connections: AtomicU64,
    /// Number of requests that are being answered.
    pub(crate) busy: AtomicU64,
    /// Number of texts that wait for a slot.
    pub(crate) waiting: AtomicU64,
    /// Number of texts that are being generated.
    pub(crate) running: AtomicU64,
    /// Number of restarts of the engine after a panic or an error.
    pub(crate) restarts: AtomicU64,
    /// Time from the arrival of a request to its first token.
    pub(crate) first_token: Histogram,
    /// Time from the arrival of a request to the end of its response.
    pub(crate) duration: Histogram,
}

impl Metrics {
    pub(crate) fn answered(&self, endpoint: &'static str, status: u16) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((endpoint, status)).or_default() += 1;
    }

    /// Writes all metrics, in Prometheus' text format.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        out += "# HELP gradus_requests_total Answered requests.\n# TYPE gradus_requests_total counter\n";
        for ((endpoint, status), count) in requests.iter() {
            let _ =
                writeln!(out, "gradus_requests_total{{endpoint=\"{endpoint}\",status=\"{status}\"}} {count}");
        }
        drop(requests);
        let numbers = [
            ("prompt_tokens_total", "counter", "Tokens of prompts.", &self.prompt_tokens),
            ("generated_tokens_total", "counter", "Generated tokens.", &self.generated_tokens),
            ("cancelled_total", "counter", "Requests whose client disconnected.", &self.cancelled),
            ("engine_restarts_total", "counter", "Restarts of the engine after a failure.", &self.restarts),
            ("connections", "gauge", "Open connections.", &self.connections),
            ("requests_open", "gauge", "Requests that are being answered.", &self.busy),
            ("waiting", "gauge", "Texts that wait for a slot.", &self.waiting),
            ("running", "gauge", "Texts that are being generated.", &self.running),
        ];
        for (name, kind, help, value) in numbers {
            let value = value.load(Relaxed);
            let _ = writeln!(
                out,
                "# HELP gradus_{name} {help}\n# TYPE gradus_{name} {kind}\ngradus_{name} {value}"
            );
        }
        self.first_token.write("gradus_first_token_seconds", "Time until the first token.", &mut out);
        self.duration.write("gradus_request_seconds", "Time of complete requests.", &mut out);
        out
    }
}
