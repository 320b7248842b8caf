//! Reads a TOML table key by key. A value of the wrong type, or a key that is never read, is an error that
//! describes the accepted values. The values that are read, including defaults, are recorded, so that a
//! resumed run can be compared with the run it continues.

use crate::{Done, Failure};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use toml::{Table, Value};

/// Values by the full name of their key, such as `optimizer.rate`.
pub(crate) type Recorded = BTreeMap<String, String>;

/// A table of a file, and the keys that were read.
pub(crate) struct Keys {
    file: String,
    /// Prefix of the table's keys in messages: empty, or for instance `optimizer.`.
    prefix: String,
    table: Table,
    asked: Vec<String>,
    /// The values read so far; shared with nested tables.
    recorded: Rc<RefCell<Recorded>>,
}

impl Keys {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Done<Keys> {
        let file = path.display().to_string();
        let text = gradus::files::text(path)?;
        let table = text.parse::<Table>().map_err(|e| Failure::Run(format!("{file}: {e}")))?;
        Ok(Keys { file, prefix: String::new(), table, asked: Vec::new(), recorded: Rc::default() })
    }

    /// Makes an error about a key.
    pub(crate) fn fault(&self, key: &str, why: &str) -> Failure {
        Failure::Run(format!("{}: `{}{key}` {why}", self.file, self.prefix))
    }

    /// Returns the value of a key, if it is present. Fails if `f` does not accept the value; `fits` describes
    /// what it accepts.
    fn get<T>(&mut self, key: &str, fits: &str, f: impl Fn(&Value) -> Option<T>) -> Done<Option<T>> {
        self.asked.push(key.to_string());
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let found = f(value).ok_or_else(|| self.fault(key, &format!("is {}, not {fits}", shown(value))))?;
        if !value.is_table() {
            self.record(key, &written(value));
        }
        Ok(Some(found))
    }

    /// As `get`, with a default for a missing key.
    fn get_or<T: Copy + std::fmt::Debug>(
        &mut self,
        key: &str,
        fits: &str,
        default: T,
        f: impl Fn(&Value) -> Option<T>,
    ) -> Done<T> {
        let found = self.get(key, fits, f)?.unwrap_or(default);
        // Recorded in one form, because 1 and 1.0 are the same number.
        self.record(key, &format!("{found:?}"));
        Ok(found)
    }

    /// Records a value for a key, in place of the value that was read.
    pub(crate) fn record(&self, key: &str, value: &str) {
        self.recorded.borrow_mut().insert(format!("{}{key}", self.prefix), value.to_string());
    }

    /// Returns all values that were read, including defaults, by the full names of their keys.
    pub(crate) fn recorded(&self) -> Recorded {
        self.recorded.borrow().clone()
    }

    /// Returns the value, or an error that the key is missing.
    pub(crate) fn need<T>(&self, key: &str, fits: &str, value: Option<T>) -> Done<T> {
        value.ok_or_else(|| self.fault(key, &format!("is missing; it must be {fits}")))
    }

    /// Reads a text.
    pub(crate) fn text(&mut self, key: &str, fits: &str) -> Done<Option<String>> {
        self.get(key, fits, |v| v.as_str().map(str::to_string))
    }

    /// Reads one of these words; the first is the default.
    pub(crate) fn word(&mut self, key: &str, words: &[&'static str]) -> Done<&'static str> {
        let fits = format!("one of {}", words.join(", "));
        self.get_or(key, &fits, words[0], |v| words.iter().find(|w| v.as_str() == Some(w)).copied())
    }

    /// Reads a number, with a default.
    pub(crate) fn number(&mut self, key: &str, default: f64) -> Done<f64> {
        self.get_or(key, "a number", default, number)
    }

    /// Reads an optional number.
    pub(crate) fn maybe_number(&mut self, key: &str) -> Done<Option<f64>> {
        let found = self.get(key, "a number", number)?;
        if let Some(x) = found {
            self.record(key, &format!("{x:?}"));
        }
        Ok(found)
    }

    /// Reads an optional integer of at least `least`.
    pub(crate) fn count(&mut self, key: &str, least: u64) -> Done<Option<u64>> {
        let whole = |v: &Value| v.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| *n >= least);
        self.get(key, &format!("an integer of {least} or more"), whole)
    }

    /// Reads an integer of at least `least`, with a default.
    pub(crate) fn count_or(&mut self, key: &str, least: u64, default: u64) -> Done<u64> {
        let found = self.count(key, least)?.unwrap_or(default);
        self.record(key, &found.to_string());
        Ok(found)
    }

    /// Reads an integer of at least 1, with a default.
    pub(crate) fn size(&mut self, key: &str, default: usize) -> Done<usize> {
        Ok(self.count_or(key, 1, default as u64)? as usize)
    }

    /// Reads a boolean, with a default.
    pub(crate) fn flag(&mut self, key: &str, default: bool) -> Done<bool> {
        self.get_or(key, "true or false", default, Value::as_bool)
    }

    /// Reads a list of two numbers, with a default.
    pub(crate) fn two(&mut self, key: &str, default: (f64, f64)) -> Done<(f64, f64)> {
        let pair = |v: &Value| match v.as_array()?.as_slice() {
            [a, b] => Some((number(a)?, number(b)?)),
            _ => None,
        };
        self.get_or(key, "a list of two numbers", default, pair)
    }

    /// Reads a list of integers, 0 or more.
    pub(crate) fn counts(&mut self, key: &str) -> Done<Option<Vec<u64>>> {
        let each = |v: &Value| v.as_array()?.iter().map(|n| u64::try_from(n.as_integer()?).ok()).collect();
        self.get(key, "a list of integers", each)
    }

    /// Reads a list of pairs of a step and a number.
    pub(crate) fn points(&mut self, key: &str) -> Done<Option<Vec<(u64, f64)>>> {
        let point = |v: &Value| match v.as_array()?.as_slice() {
            [at, x] => Some((u64::try_from(at.as_integer()?).ok()?, number(x)?)),
            _ => None,
        };
        let each = |v: &Value| v.as_array()?.iter().map(point).collect();
        self.get(key, "a list of pairs of an integer and a number", each)
    }

    /// Reads a list of names; empty if the key is missing.
    pub(crate) fn names(&mut self, key: &str) -> Done<Vec<String>> {
        let each = |v: &Value| v.as_array()?.iter().map(|n| Some(n.as_str()?.to_string())).collect();
        Ok(self.get(key, "a list of names", each)?.unwrap_or_default())
    }

    /// Reads a nested table; empty if the key is missing.
    pub(crate) fn table(&mut self, key: &str) -> Done<Keys> {
        let table = self.get(key, "a table", |v| v.as_table().cloned())?.unwrap_or_default();
        let prefix = format!("{}{key}.", self.prefix);
        let recorded = self.recorded.clone();
        Ok(Keys { file: self.file.clone(), prefix, table, asked: Vec::new(), recorded })
    }

    /// Returns true if a key is present.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns the keys of a table whose keys the user chooses.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.table.keys().cloned().collect()
    }

    /// Returns true if the value of a key is a table.
    pub(crate) fn is_table(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(Value::is_table)
    }

    /// Returns true if the value of a key is a text.
    pub(crate) fn is_text(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(Value::is_str)
    }

    /// Returns an error if the table has a key that was never read.
    pub(crate) fn finish(self) -> Done {
        match self.table.keys().find(|key| !self.asked.contains(key)) {
            Some(key) => {
                let mut known: Vec<&str> = Vec::new();
                for key in &self.asked {
                    if !known.contains(&key.as_str()) {
                        known.push(key);
                    }
                }
                let why = match known.is_empty() {
                    true => "is not a key of this table, which must be empty".to_string(),
                    false => format!("is not a key of this table; its keys are {}", known.join(", ")),
                };
                Err(self.fault(key, &why))
            }
            None => Ok(()),
        }
    }
}

fn number(v: &Value) -> Option<f64> {
    v.as_float().or_else(|| v.as_integer().map(|n| n as f64)).filter(|x| x.is_finite())
}

/// Writes a value in the form in which it is recorded.
fn written(v: &Value) -> String {
    match v {
        Value::Array(all) => format!("[{}]", all.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Float(x) => format!("{x:?}"),
        other => shown(other),
    }
}

/// Writes a value as messages show it.
fn shown(v: &Value) -> String {
    match v {
        Value::String(s) => format!("{s:?}"),
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Boolean(b) => b.to_string(),
        other => format!("of type {}", other.type_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Keys {
        let table = text.parse().expect("TOML");
        Keys { file: "f".into(), prefix: "p.".into(), table, asked: Vec::new(), recorded: Rc::default() }
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_keys_that_were_read() {
        let mut own = keys("steps = 3\nrat = 1");
        for key in ["steps", "rate", "steps"] {
            assert!(own.maybe_number(key).is_ok());
        }
        let why = |finished| if let Err(Failure::Run(why)) = finished { why } else { String::new() };
        assert_eq!(why(own.finish()), "f: `p.rat` is not a key of this table; its keys are steps, rate");
        let none = keys("rate = 1").finish();
        assert_eq!(why(none), "f: `p.rate` is not a key of this table, which must be empty");
    }
}
