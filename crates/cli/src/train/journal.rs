//! The log of a run, next to its checkpoint. It consists of a line of JSON per record, the same records as events, and
//! a drawing of the loss.

use super::{curve, events};
use crate::{Done, Failure};
use gradus::files::atomic;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The state of a run at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) step: u64,
    pub(crate) loss: f64,
    /// The loss on held-out examples, if it was computed.
    pub(crate) validation: Option<f64>,
    pub(crate) rate: f64,
    /// Seconds since the Unix epoch.
    pub(crate) time: f64,
}

impl Record {
    fn line(&self) -> String {
        // JSON cannot represent infinities and NaN as numbers.
        let shown = |x: f64| if x.is_finite() { json!(x) } else { json!(x.to_string()) };
        let mut all =
            json!({"step": self.step, "loss": shown(self.loss), "rate": self.rate, "time": self.time});
        if let Some(x) = self.validation {
            all["validation"] = shown(x);
        }
        format!("{all}\n")
    }

    fn parse(line: &str) -> Option<Record> {
        let v: Value = serde_json::from_str(line).ok()?;
        let number = |key: &str| v[key].as_f64().or_else(|| v[key].as_str()?.parse().ok());
        Some(Record {
            step: v["step"].as_u64()?,
            loss: number("loss")?,
            validation: number("validation"),
            rate: v["rate"].as_f64()?,
            time: v["time"].as_f64()?,
        })
    }

    fn event(&self) -> Vec<u8> {
        let mut all = vec![("loss", self.loss), ("rate", self.rate)];
        all.extend(self.validation.map(|x| ("validation", x)));
        events::scalars(self.time, self.step, &all)
    }
}

/// The open files of a log.
pub(crate) struct Journal {
    log: File,
    events: File,
}

fn log(folder: &Path) -> PathBuf {
    folder.join("log.jsonl")
}

/// Reads the records of a folder. An incomplete line is skipped.
pub(crate) fn records(folder: &Path) -> Vec<Record> {
    let text = gradus::files::text(&log(folder)).unwrap_or_default();
    text.lines().filter_map(Record::parse).collect()
}

/// Writes the drawing of the records into their folder.
pub(crate) fn draw(folder: &Path, records: &[Record]) -> Done {
    Ok(atomic::write(&folder.join("loss.svg"), &[curve::svg(records).as_bytes()])?)
}

impl Journal {
    /// Opens the log to continue after a step. Later records, of a run that went beyond its last checkpoint, are removed.
    pub(crate) fn begin(folder: &Path, after: u64) -> Done<Journal> {
        let kept: Vec<Record> = records(folder).into_iter().filter(|r| r.step <= after).collect();
        let lines: String = kept.iter().map(Record::line).collect();
        atomic::write(&log(folder), &[lines.as_bytes()])?;
        let mut binary = events::version(kept.first().map_or_else(super::now, |r| r.time));
        kept.iter().for_each(|r| binary.extend(r.event()));
        let path = folder.join("events.out.tfevents.gradus");
        atomic::write(&path, &[&binary])?;
        let open = |path: &Path| {
            let failed = |e| Failure::Run(format!("{}: {e}", path.display()));
            OpenOptions::new().append(true).open(path).map_err(failed)
        };
        Ok(Journal { log: open(&log(folder))?, events: open(&path)? })
    }

    /// Appends a record to both files.
    pub(crate) fn write(&mut self, record: &Record) -> std::io::Result<()> {
        self.log.write_all(record.line().as_bytes())?;
        self.events.write_all(&record.event())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back() {
        // Sums of tenths, and times in microseconds, need all digits to be read back exactly.
        for (loss, validation) in
            [(0.125, None), (f64::INFINITY, Some(-f64::INFINITY)), (0.1 + 0.2, Some(0.7 + 0.1))]
        {
            for time in [12.5, 1_763_212_694.123_456_7] {
                let r = Record { step: 7, loss, validation, rate: 1.0 / 3.0 * 1e-3, time };
                assert_eq!(Record::parse(&r.line()), Some(r));
            }
        }
        assert_eq!(Record::parse("{\"step\": 7, \"lo"), None);
    }

    /// Random numbers are the same after being written and read.
    #[test]
    fn numbers_are_read_exactly() {
        let mut bits = 0x9E37_79B9_7F4A_7C15u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let x = f64::from_bits(bits);
            let r = Record { step: 1, loss: x, validation: None, rate: 0.5, time: 0.0 };
            if x.is_finite() {
                assert_eq!(Record::parse(&r.line()).map(|r| r.loss.to_bits()), Some(x.to_bits()));
            }
        }
    }
}
