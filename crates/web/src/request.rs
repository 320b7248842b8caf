//! Reads fields of requests, and makes errors about them.

use crate::page::page;
use crate::session;
use gradus_ir::{DType, Error, Result};
use gradus_lang::Faults;
use gradus_tensor::Tensor;
use serde_json::Value;

/// Largest number of elements of a list in a request.
const MAX: usize = 1 << 24;

/// The error that a response contains.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl From<Error> for Fault {
    fn from(e: Error) -> Fault {
        let text = e.to_string();
        // Removes the source location in this crate, because errors of the page have a location of their own.
        let message = text.split_once("\n  at ").map_or(text.as_str(), |(message, _)| message);
        Fault { kind: crate::kind_of(&e), message: message.to_string() }
    }
}

impl From<Faults> for Fault {
    fn from(faults: Faults) -> Fault {
        Fault { kind: "program", message: faults.render(false) }
    }
}

/// A request.
pub(crate) struct Request(Value);

impl Request {
    pub(crate) fn new(value: Value) -> Request {
        Request(value)
    }

    /// Returns a field, or null if it is missing.
    pub(crate) fn field(&self, name: &str) -> &Value {
        &self.0[name]
    }

    pub(crate) fn text(&self, name: &str) -> Result<String> {
        let text = self.field(name).as_str();
        text.map(str::to_string).ok_or_else(|| wrong(name, self.field(name), "a string"))
    }

    pub(crate) fn number(&self, name: &str) -> Result<u32> {
        number(self.field(name), name)
    }

    pub(crate) fn list(&self, name: &str) -> Result<&[Value]> {
        match self.field(name) {
            Value::Null => Ok(&[]),
            Value::Array(all) if all.len() <= MAX => Ok(all),
            other => Err(wrong(name, other, "a list")),
        }
    }

    /// Returns the tensor that a field refers to.
    pub(crate) fn tensor(&self, name: &str) -> Result<Tensor> {
        session::tensor(self.number(name)?)
    }

    /// Returns the tensors that a list refers to.
    pub(crate) fn tensors(&self, name: &str) -> Result<Vec<Tensor>> {
        self.list(name)?.iter().map(|id| session::tensor(number(id, name)?)).collect()
    }

    /// Takes over bytes of the page.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        bytes(self.field(name), name)
    }

    pub(crate) fn shape(&self, name: &str) -> Result<Vec<usize>> {
        self.list(name)?.iter().map(|n| Ok(number(n, name)? as usize)).collect()
    }

    pub(crate) fn dtype(&self, name: &str) -> Result<DType> {
        dtype(&self.text(name)?)
    }
}

/// Makes the error for a field or argument of the wrong type. `must` states what is accepted.
pub(crate) fn wrong(name: &str, found: &Value, must: &str) -> Error {
    Error::value(format!("{found} as `{name}`"), format!("is not accepted; it must be {must}"))
}

pub(crate) fn number(value: &Value, name: &str) -> Result<u32> {
    let fits = value.as_u64().and_then(|n| u32::try_from(n).ok());
    fits.ok_or_else(|| wrong(name, value, "a non-negative integer"))
}

pub(crate) fn bytes(value: &Value, name: &str) -> Result<Vec<u8>> {
    let (at, count) = (number(&value["at"], name)?, number(&value["bytes"], name)?);
    Ok(page()?.take(at as usize, count as usize))
}

/// Returns the dtype with this name.
pub(crate) fn dtype(name: &str) -> Result<DType> {
    DType::parse(name).ok_or_else(|| {
        let names: Vec<&str> = DType::ALL.iter().map(|d| d.name()).collect();
        Error::value(format!("the dtype `{name}`"), format!("does not exist; there are {}", names.join(", ")))
    })
}
