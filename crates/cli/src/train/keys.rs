//! A TOML table that is read key by key. A value of the wrong type, or a key that is never read, is an error that says what fits.
//! The values that are read, defaults included, are recorded: a resumed run is compared with the run that it continues.

use crate::{Done, Failure};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use toml::{Table, Value};

/// Values by the full name of their key, such as `optimizer.rate`.
pub(crate) type Recorded = BTreeMap<String, String>;

/// A table, its place in its file, and the keys that were asked for.
pub(crate) struct Keys {
    file: String,
    /// What stands before its keys: empty, or `optimizer.`.
    prefix: String,
    table: Table,
    asked: Vec<String>,
    /// Shared with the tables inside.
    recorded: Rc<RefCell<Recorded>>,
}

impl Keys {
    /// Those of a file.
    pub(crate) fn read(path: &Path) -> Done<Keys> {
        let file = path.display().to_string();
        let text = gradus::files::text(path)?;
        let table = text.parse::<Table>().map_err(|e| Failure::Run(format!("{file}: {e}")))?;
        Ok(Keys { file, prefix: String::new(), table, asked: Vec::new(), recorded: Rc::default() })
    }

    /// A message about a key.
    pub(crate) fn fault(&self, key: &str, why: &str) -> Failure {
        Failure::Run(format!("{}: `{}{key}` {why}", self.file, self.prefix))
    }

    /// The value of a key, if it is there; it must be one that `f` takes.
    fn get<T>(&mut self, key: &str, fits: &str, f: impl Fn(&Value) -> Option<T>) -> Done<Option<T>> {
        self.asked.push(key.to_string());
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let found = f(value).ok_or_else(|| self.fault(key, &format!("is {}, not {fits}", shown(value))))?;
        if !value.is_table() {
            self.record(key, &written(value));
        }
        Ok(Some(found))
    }

    /// As `get`, with the value of a key that is not there.
    fn get_or<T: Copy + std::fmt::Debug>(
        &mut self,
        key: &str,
        fits: &str,
        without: T,
        f: impl Fn(&Value) -> Option<T>,
    ) -> Done<T> {
        let found = self.get(key, fits, f)?.unwrap_or(without);
        // In one form: 1 and 1.0 are the same number.
        self.record(key, &format!("{found:?}"));
        Ok(found)
    }

    /// Records the value of a key, in place of the one that was read.
    pub(crate) fn record(&self, key: &str, value: &str) {
        self.recorded.borrow_mut().insert(format!("{}{key}", self.prefix), value.to_string());
    }

    /// All values that were read, defaults included, by the full names of their keys.
    pub(crate) fn recorded(&self) -> Recorded {
        self.recorded.borrow().clone()
    }

    /// A key that must be there.
    pub(crate) fn need<T>(&self, key: &str, fits: &str, value: Option<T>) -> Done<T> {
        value.ok_or_else(|| self.fault(key, &format!("is missing: it is {fits}")))
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &str, fits: &str) -> Done<Option<String>> {
        self.get(key, fits, |v| v.as_str().map(str::to_string))
    }

    /// One of these words; the first of them if there is none.
    pub(crate) fn word(&mut self, key: &str, words: &[&'static str]) -> Done<&'static str> {
        let fits = format!("one of {}", words.join(", "));
        self.get_or(key, &fits, words[0], |v| words.iter().find(|w| v.as_str() == Some(w)).copied())
    }

    /// A number, or what it is without.
    pub(crate) fn number(&mut self, key: &str, without: f64) -> Done<f64> {
        self.get_or(key, "a number", without, number)
    }

    /// A number that need not be there.
    pub(crate) fn maybe_number(&mut self, key: &str) -> Done<Option<f64>> {
        let found = self.get(key, "a number", number)?;
        if let Some(x) = found {
            self.record(key, &format!("{x:?}"));
        }
        Ok(found)
    }

    /// A whole number of at least this, if it is there.
    pub(crate) fn count(&mut self, key: &str, least: u64) -> Done<Option<u64>> {
        let whole = |v: &Value| v.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| *n >= least);
        self.get(key, &format!("a whole number of {least} or more"), whole)
    }

    /// A whole number of at least this, or what it is without.
    pub(crate) fn count_or(&mut self, key: &str, least: u64, without: u64) -> Done<u64> {
        let found = self.count(key, least)?.unwrap_or(without);
        self.record(key, &found.to_string());
        Ok(found)
    }

    /// A size, or what it is without.
    pub(crate) fn size(&mut self, key: &str, without: usize) -> Done<usize> {
        Ok(self.count_or(key, 1, without as u64)? as usize)
    }

    /// Yes or no, or what it is without.
    pub(crate) fn flag(&mut self, key: &str, without: bool) -> Done<bool> {
        self.get_or(key, "true or false", without, Value::as_bool)
    }

    /// Two numbers, or what they are without.
    pub(crate) fn two(&mut self, key: &str, without: (f64, f64)) -> Done<(f64, f64)> {
        let pair = |v: &Value| match v.as_array()?.as_slice() {
            [a, b] => Some((number(a)?, number(b)?)),
            _ => None,
        };
        self.get_or(key, "a list of two numbers", without, pair)
    }

    /// A list of whole numbers.
    pub(crate) fn counts(&mut self, key: &str) -> Done<Option<Vec<u64>>> {
        let each = |v: &Value| v.as_array()?.iter().map(|n| u64::try_from(n.as_integer()?).ok()).collect();
        self.get(key, "a list of whole numbers", each)
    }

    /// A list of steps, each with a number.
    pub(crate) fn points(&mut self, key: &str) -> Done<Option<Vec<(u64, f64)>>> {
        let point = |v: &Value| match v.as_array()?.as_slice() {
            [at, x] => Some((u64::try_from(at.as_integer()?).ok()?, number(x)?)),
            _ => None,
        };
        let each = |v: &Value| v.as_array()?.iter().map(point).collect();
        self.get(key, "a list of pairs of a whole number and a number", each)
    }

    /// A list of names.
    pub(crate) fn names(&mut self, key: &str) -> Done<Vec<String>> {
        let each = |v: &Value| v.as_array()?.iter().map(|n| Some(n.as_str()?.to_string())).collect();
        Ok(self.get(key, "a list of names", each)?.unwrap_or_default())
    }

    /// A table; an empty one if it is not there.
    pub(crate) fn table(&mut self, key: &str) -> Done<Keys> {
        let table = self.get(key, "a table", |v| v.as_table().cloned())?.unwrap_or_default();
        let prefix = format!("{}{key}.", self.prefix);
        let recorded = self.recorded.clone();
        Ok(Keys { file: self.file.clone(), prefix, table, asked: Vec::new(), recorded })
    }

    /// Whether a key is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The keys of a table whose keys are for the user to choose.
    pub(crate) fn own(&self) -> Vec<String> {
        self.table.keys().cloned().collect()
    }

    /// Whether a key has a table.
    pub(crate) fn is_table(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(Value::is_table)
    }

    /// Whether a key has a text.
    pub(crate) fn is_text(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(Value::is_str)
    }

    /// Nothing is left that nobody has asked for.
    pub(crate) fn finish(self) -> Done {
        match self.table.keys().find(|key| !self.asked.contains(key)) {
            Some(key) => {
                let mut known = self.asked.clone();
                known.dedup();
                Err(self.fault(key, &format!("is no key here; there are {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }
}

fn number(v: &Value) -> Option<f64> {
    v.as_float().or_else(|| v.as_integer().map(|n| n as f64)).filter(|x| x.is_finite())
}

/// A value as it is recorded.
fn written(v: &Value) -> String {
    match v {
        Value::Array(all) => format!("[{}]", all.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Float(x) => format!("{x:?}"),
        other => shown(other),
    }
}

/// A value in a message.
fn shown(v: &Value) -> String {
    match v {
        Value::String(s) => format!("{s:?}"),
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Boolean(b) => b.to_string(),
        other => format!("of type {}", other.type_str()),
    }
}
