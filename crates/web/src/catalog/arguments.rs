//! Parses arguments of operations from JSON.

use crate::request::{self, wrong};
use crate::session;
use gradus_ir::{DType, Result};
use gradus_tensor::{Arg, Device, Number, Reduction, Tensor};
use serde_json::Value;

/// The arguments of a call, in order.
pub(crate) struct Arguments<'a>(&'a [Value]);

/// A tensor or a number.
pub(crate) enum Operand {
    Tensor(Tensor),
    Number(Number),
}

impl<'a> From<&'a Operand> for Arg<'a> {
    fn from(operand: &'a Operand) -> Arg<'a> {
        match operand {
            Operand::Tensor(t) => Arg::Tensor(t),
            Operand::Number(n) => Arg::Number(*n),
        }
    }
}

fn integer(value: &Value, must: &str) -> Result<i64> {
    let number = value.as_i64().or_else(|| {
        let x = value.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9e15)?;
        Some(x as i64)
    });
    number.ok_or_else(|| wrong("an argument", value, must))
}

fn size(value: &Value) -> Result<usize> {
    let n = integer(value, "a non-negative integer")?;
    usize::try_from(n).map_err(|_| wrong("an argument", value, "a non-negative integer"))
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(all: &'a [Value]) -> Arguments<'a> {
        Arguments(all)
    }

    fn get(&self, i: usize) -> &'a Value {
        self.0.get(i).unwrap_or(&Value::Null)
    }

    pub(crate) fn has(&self, i: usize) -> bool {
        !self.get(i).is_null()
    }

    pub(crate) fn tensor(&self, i: usize) -> Result<Tensor> {
        tensor(self.get(i))
    }

    pub(crate) fn maybe_tensor(&self, i: usize) -> Result<Option<Tensor>> {
        if self.has(i) { self.tensor(i).map(Some) } else { Ok(None) }
    }

    pub(crate) fn tensors(&self, i: usize) -> Result<Vec<Tensor>> {
        let all =
            self.get(i).as_array().ok_or_else(|| wrong("an argument", self.get(i), "a list of tensors"))?;
        all.iter().map(tensor).collect()
    }

    pub(crate) fn operand(&self, i: usize) -> Result<Operand> {
        let value = self.get(i);
        match value {
            Value::Number(n) if n.is_i64() => {
                Ok(Operand::Number(Number::Int(n.as_i64().unwrap_or_default())))
            }
            Value::Number(n) => Ok(Operand::Number(Number::Float(n.as_f64().unwrap_or(f64::NAN)))),
            Value::Bool(b) => Ok(Operand::Number(Number::Bool(*b))),
            // JSON has no infinities and no NaN, so they are passed as text.
            Value::String(s) if s == "Infinity" => Ok(Operand::Number(Number::Float(f64::INFINITY))),
            Value::String(s) if s == "-Infinity" => Ok(Operand::Number(Number::Float(f64::NEG_INFINITY))),
            Value::String(s) if s == "NaN" => Ok(Operand::Number(Number::Float(f64::NAN))),
            _ => tensor(value).map(Operand::Tensor),
        }
    }

    pub(crate) fn number(&self, i: usize, default: Option<f64>) -> Result<f64> {
        match (self.get(i), default) {
            (Value::Null, Some(default)) => Ok(default),
            (Value::String(s), _) if s == "Infinity" => Ok(f64::INFINITY),
            (Value::String(s), _) if s == "-Infinity" => Ok(f64::NEG_INFINITY),
            (value, _) => value.as_f64().ok_or_else(|| wrong("an argument", value, "a number")),
        }
    }

    pub(crate) fn maybe_number(&self, i: usize) -> Result<Option<f64>> {
        if self.has(i) { self.number(i, None).map(Some) } else { Ok(None) }
    }

    pub(crate) fn axis(&self, i: usize, default: Option<isize>) -> Result<isize> {
        match (self.get(i), default) {
            (Value::Null, Some(default)) => Ok(default),
            (value, _) => integer(value, "an axis").map(|n| n as isize),
        }
    }

    /// Returns one axis, several axes, or `None` for all if there is no argument.
    pub(crate) fn axes(&self, i: usize) -> Result<Option<Vec<isize>>> {
        match self.get(i) {
            Value::Null => Ok(None),
            Value::Array(all) => {
                all.iter().map(|a| integer(a, "an axis").map(|n| n as isize)).collect::<Result<_>>().map(Some)
            }
            value => integer(value, "an axis or a list of axes").map(|n| Some(vec![n as isize])),
        }
    }

    pub(crate) fn integers(&self, i: usize) -> Result<Vec<i64>> {
        let all =
            self.get(i).as_array().ok_or_else(|| wrong("an argument", self.get(i), "a list of integers"))?;
        all.iter().map(|n| integer(n, "an integer")).collect()
    }

    pub(crate) fn size(&self, i: usize, default: Option<usize>) -> Result<usize> {
        match (self.get(i), default) {
            (Value::Null, Some(default)) => Ok(default),
            (value, _) => size(value),
        }
    }

    /// Returns a list of sizes, or one size for all axes.
    pub(crate) fn sizes(&self, i: usize, default: usize) -> Result<Vec<usize>> {
        match self.get(i) {
            Value::Null => Ok(vec![default]),
            Value::Array(all) => all.iter().map(size).collect(),
            value => size(value).map(|n| vec![n]),
        }
    }

    pub(crate) fn flag(&self, i: usize, default: bool) -> Result<bool> {
        match self.get(i) {
            Value::Null => Ok(default),
            value => value.as_bool().ok_or_else(|| wrong("an argument", value, "true or false")),
        }
    }

    pub(crate) fn text(&self, i: usize) -> Result<String> {
        let value = self.get(i);
        value.as_str().map(str::to_string).ok_or_else(|| wrong("an argument", value, "a string"))
    }

    pub(crate) fn dtype(&self, i: usize, default: DType) -> Result<DType> {
        if self.has(i) { request::dtype(&self.text(i)?) } else { Ok(default) }
    }

    pub(crate) fn device(&self, i: usize) -> Result<Device> {
        session::device_named(self.get(i))
    }

    pub(crate) fn reduction(&self, i: usize) -> Result<Reduction> {
        reduction(self.get(i))
    }

    /// Returns a field of an argument that is an object of options.
    pub(crate) fn option(&self, i: usize, name: &str) -> &'a Value {
        &self.get(i)[name]
    }

    pub(crate) fn tensor_option(&self, i: usize, name: &str) -> Result<Option<Tensor>> {
        let value = self.option(i, name);
        if value.is_null() { Ok(None) } else { tensor(value).map(Some) }
    }

    pub(crate) fn reduction_option(&self, i: usize, name: &str) -> Result<Reduction> {
        reduction(self.option(i, name))
    }

    /// Returns pairs of integers.
    pub(crate) fn pairs(&self, i: usize) -> Result<Vec<(i64, i64)>> {
        let value = self.get(i);
        let all = value.as_array().ok_or_else(|| wrong("an argument", value, "a list of pairs"))?;
        all.iter().map(|p| Ok((integer(&p[0], "an integer")?, integer(&p[1], "an integer")?))).collect()
    }
}

fn reduction(value: &Value) -> Result<Reduction> {
    match value.as_str() {
        None | Some("mean") => Ok(Reduction::Mean),
        Some("sum") => Ok(Reduction::Sum),
        Some("none") => Ok(Reduction::None),
        Some(_) => Err(wrong("reduction", value, "`mean`, `sum` or `none`")),
    }
}

fn tensor(value: &Value) -> Result<Tensor> {
    match value["t"].as_u64().and_then(|id| u32::try_from(id).ok()) {
        Some(id) => session::tensor(id),
        None => Err(wrong("an argument", value, "a tensor")),
    }
}
