//! What a run leaves behind beside its checkpoint: a line of JSON per record, the same as events, and the loss as a curve.

use super::{curve, events};
use crate::{Done, Failure};
use gradus::files::atomic;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) step: u64,
    pub(crate) loss: f64,
    pub(crate) rate: f64,
    /// Seconds since 1970.
    pub(crate) time: f64,
}

impl Record {
    fn line(&self) -> String {
        // JSON has no numbers that are not finite.
        let loss = if self.loss.is_finite() { json!(self.loss) } else { json!(self.loss.to_string()) };
        let all = json!({"step": self.step, "loss": loss, "rate": self.rate, "time": self.time});
        format!("{all}\n")
    }

    fn parse(line: &str) -> Option<Record> {
        let v: Value = serde_json::from_str(line).ok()?;
        let loss = v["loss"].as_f64().or_else(|| v["loss"].as_str()?.parse().ok())?;
        Some(Record { step: v["step"].as_u64()?, loss, rate: v["rate"].as_f64()?, time: v["time"].as_f64()? })
    }

    fn event(&self) -> Vec<u8> {
        events::scalars(self.time, self.step, &[("loss", self.loss), ("rate", self.rate)])
    }
}

/// The files of a run, open.
pub(crate) struct Journal {
    log: File,
    events: File,
}

fn log(folder: &Path) -> PathBuf {
    folder.join("log.jsonl")
}

/// The records of a folder; a line that was cut off is none.
pub(crate) fn records(folder: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(log(folder)).unwrap_or_default();
    text.lines().filter_map(Record::parse).collect()
}

/// Draws the curve of a folder's records into it.
pub(crate) fn draw(folder: &Path, records: &[Record]) -> Done {
    Ok(atomic::write(&folder.join("loss.svg"), &[curve::svg(records).as_bytes()])?)
}

impl Journal {
    /// Begins behind a step: what was written after it, by a run that went further than its checkpoint, goes.
    pub(crate) fn begin(folder: &Path, after: u64) -> Done<Journal> {
        let text = std::fs::read_to_string(log(folder)).unwrap_or_default();
        let old = text.lines().filter_map(|line| Some((line, Record::parse(line)?)));
        let kept: Vec<(&str, Record)> = old.filter(|(_, r)| r.step <= after).collect();
        // Lines stay as they were written: a number that is read and written again may differ in its last digit.
        let lines: String = kept.iter().map(|(line, _)| format!("{line}\n")).collect();
        atomic::write(&log(folder), &[lines.as_bytes()])?;
        let mut binary = events::version(kept.first().map_or_else(super::now, |(_, r)| r.time));
        kept.iter().for_each(|(_, r)| binary.extend(r.event()));
        let path = folder.join("events.out.tfevents.gradus");
        atomic::write(&path, &[&binary])?;
        let open = |path: &Path| {
            let failed = |e| Failure::Run(format!("{}: {e}", path.display()));
            OpenOptions::new().append(true).open(path).map_err(failed)
        };
        Ok(Journal { log: open(&log(folder))?, events: open(&path)? })
    }

    /// One more.
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
        for loss in [0.125, f64::INFINITY, -3.5] {
            let r = Record { step: 7, loss, rate: 0.1, time: 12.5 };
            assert_eq!(Record::parse(&r.line()), Some(r));
        }
        assert_eq!(Record::parse("{\"step\": 7, \"lo"), None);
    }
}
