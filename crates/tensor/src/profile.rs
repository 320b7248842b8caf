//! Times of the steps of one run: as a table with the device's peak rates, and as a trace file.

use crate::device::Device;
use crate::eager::execute::AnyExecutable;
use gradus_cpu::amount;
use gradus_device::{Roofline, Work};
use std::fmt::Write;
use std::time::Duration;

/// The timed steps of one run, in order; made by [`Compiled::timeline`](crate::Compiled::timeline).
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Name of the device.
    pub device: String,
    /// The steps.
    pub steps: Vec<TimedStep>,
}

/// A step of a run.
#[derive(Clone, Debug)]
pub struct TimedStep {
    /// Description of the step.
    pub title: String,
    /// Operations and bytes.
    pub work: Work,
    /// Duration.
    pub took: Duration,
}

impl Timeline {
    pub(crate) fn new(ready: &AnyExecutable, times: &[Duration], device: Device) -> Timeline {
        let steps = ready.steps().into_iter().zip(ready.costs()).enumerate();
        let took = |i: usize| times.get(i).copied().unwrap_or_default();
        let step = |(i, (title, work))| TimedStep { title, work, took: took(i) };
        Timeline { device: device.name(), steps: steps.map(step).collect() }
    }

    /// Returns a table with one line per step, longest first: time, share of the total, rates, and percentage of the
    /// peak rates. Omits steps whose time is 0.
    pub fn report(&self, peak: Roofline) -> String {
        let total: Duration = self.steps.iter().map(|s| s.took).sum();
        let mut order: Vec<(usize, &TimedStep)> = self.steps.iter().enumerate().collect();
        order.sort_by_key(|(_, step)| std::cmp::Reverse(step.took));
        let mut text = format!(
            "{} steps in {total:?}; peak rates: {}, {}\n",
            self.steps.len(),
            amount(peak.flops, "FLOP/s"),
            amount(peak.bytes, "B/s")
        );
        let _ = writeln!(
            text,
            "{:>10} {:>6} {:>12} {:>12} {:>6}  step",
            "time", "share", "FLOP/s", "B/s", "peak"
        );
        for (i, TimedStep { title, work, took }) in order {
            let seconds = took.as_secs_f64();
            if seconds == 0.0 {
                continue;
            }
            let least = (work.flops / peak.flops).max(work.bytes / peak.bytes);
            let _ = writeln!(
                text,
                "{:>10} {:>5.1}% {:>12} {:>12} {:>5.0}%  {i}: {title}",
                format!("{took:.1?}"),
                100.0 * seconds / total.as_secs_f64(),
                amount(work.flops / seconds, ""),
                amount(work.bytes / seconds, ""),
                100.0 * least / seconds,
            );
        }
        text
    }

    /// Returns a trace in the JSON format of Chrome's trace viewer, which Perfetto also opens. Steps follow each other
    /// without gaps, because only durations are measured.
    pub fn trace(&self) -> String {
        let name = |text: &str| {
            format!(
                r#"{{"ph":"M","pid":1,"tid":1,"name":"{text}","args":{{"name":{}}}}}"#,
                json(&self.device)
            )
        };
        let mut events = vec![name("process_name"), name("thread_name")];
        let mut start = 0.0;
        for (i, TimedStep { title, work, took }) in self.steps.iter().enumerate() {
            let micros = took.as_secs_f64() * 1e6;
            events.push(format!(
                r#"{{"ph":"X","pid":1,"tid":1,"ts":{start},"dur":{micros},"name":{},"args":{{"step":{i},"flops":{},"bytes":{}}}}}"#,
                json(title), work.flops, work.bytes
            ));
            start += micros;
        }
        format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
    }
}

/// Quotes a string for JSON.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}
