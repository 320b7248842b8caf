//! Tensors in JSON: nested lists of numbers, and objects with shape, dtype and such a list.

use crate::atomic::{self, failed};
use crate::choose_name;
use crate::digits::{self, Digits};
use gradus_ir::{Class, DType, Result};
use gradus_tensor::Tensor;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Reads the tensor in a file: a list, an object `{"shape", "dtype", "data"}`, or one of these under its
/// name. With `exact_integers`, integers that floats cannot hold are read as integers.
pub fn read(path: &Path, name: &str, exact_integers: bool) -> Result<Tensor> {
    let value: Value = serde_json::from_slice(&crate::bytes(path)?)
        .map_err(|e| failed(path, format!("is not valid JSON: {e}")))?;
    let value = match &value {
        Value::Object(all) if !all.contains_key("data") => {
            let names: Vec<String> = all.keys().cloned().collect();
            &all[&choose_name(path, name, &names)?]
        }
        other => other,
    };
    from_value(value, exact_integers).map_err(|why| failed(path, why))
}

/// Converts a value to a tensor. With `exact_integers`, and if the value states no dtype, integers that floats cannot
/// hold stay integers.
pub fn from_value(value: &Value, exact_integers: bool) -> std::result::Result<Tensor, String> {
    let Value::Object(described) = value else {
        let (numbers, shape) = list(value)?;
        return Ok(digits::tensor(&numbers, shape, exact_integers));
    };
    let dtype = match described.get("dtype") {
        Some(Value::String(name)) => {
            Some(DType::parse(name).ok_or_else(|| format!("has the dtype `{name}`, which is not known"))?)
        }
        Some(_) => return Err("has a `dtype` that is not a string".into()),
        None => None,
    };
    let shape: Option<Vec<usize>> = match described.get("shape") {
        Some(shape) => Some(
            serde_json::from_value(shape.clone()).map_err(|_| "has a `shape` that is not a list of sizes")?,
        ),
        None => None,
    };
    let (numbers, own) = list(described.get("data").ok_or("has no `data`")?)?;
    let pairs = own.last() == Some(&2) && shape.as_ref().is_none_or(|s| s.len() + 1 == own.len());
    let tensor = match dtype {
        Some(dtype) if dtype.class() == Class::Int => digits::integers(&numbers, own, dtype)?,
        Some(dtype) if dtype.is_complex() && pairs => {
            let both = digits::tensor(&numbers, own, false);
            let part = |i| both.narrow(-1, i, 1).squeeze(-1);
            part(0).complex(&part(1)).to_dtype(dtype)
        }
        Some(dtype) => digits::tensor(&numbers, own, false).to_dtype(dtype),
        None => digits::tensor(&numbers, own, exact_integers),
    };
    let Some(shape) = shape.filter(|s| **s != *tensor.shape()) else { return Ok(tensor) };
    // An empty list does not determine the length of its rows.
    if shape.contains(&0) && tensor.numel() == 0 {
        return Ok(Tensor::zeros(shape).to_dtype(tensor.dtype()));
    }
    Err(format!("has shape {shape:?}, but its data has {:?}", &*tensor.shape()))
}

/// Parses a tensor as a person writes it: JSON in which `nan` and `inf` need no quotes.
pub fn from_literal(text: &str, exact_integers: bool) -> std::result::Result<Tensor, String> {
    let (mut json, mut rest) = (String::with_capacity(text.len()), text);
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        let sign = usize::from(!quoted && matches!(c, '-' | '+'));
        let letters = rest[sign..].chars().take_while(char::is_ascii_alphabetic).count();
        let word = if quoted || letters == 0 { "" } else { &rest[..sign + letters] };
        let (taken, put) = match word.to_ascii_lowercase().trim_start_matches('+') {
            "nan" | "-nan" => (word.len(), "\"NaN\""),
            "inf" | "infinity" => (word.len(), "\"inf\""),
            "-inf" | "-infinity" => (word.len(), "\"-inf\""),
            "" => (c.len_utf8(), &rest[..c.len_utf8()]),
            _ => (word.len(), word),
        };
        quoted ^= c == '"';
        json.push_str(put);
        rest = &rest[taken..];
    }
    let value = serde_json::from_str(&json).map_err(|_| "expected a number, or a list of numbers: [1, 2]")?;
    from_value(&value, exact_integers)
}

/// Returns the numbers in nested lists, in row-major order, and the shape.
fn list(value: &Value) -> std::result::Result<(Vec<Digits>, Vec<usize>), String> {
    fn level(
        value: &Value,
        at: usize,
        shape: &mut Vec<usize>,
        out: &mut Vec<Digits>,
    ) -> std::result::Result<(), String> {
        let items = match value {
            Value::Array(items) => items,
            number => {
                if shape.get(at).is_some() {
                    return Err("is ragged: a number occurs where a list is expected".into());
                }
                let float = match number {
                    Value::Number(n) => n.as_f64().ok_or("has a number that cannot be represented")?,
                    Value::Bool(b) => f64::from(u8::from(*b)),
                    Value::String(s) if matches!(&**s, "NaN" | "inf" | "-inf") => {
                        s.parse().unwrap_or(f64::NAN)
                    }
                    other => return Err(format!("has `{other}` where a number is expected")),
                };
                out.push(Digits::new(float, || number.as_i64()));
                return Ok(());
            }
        };
        match shape.get(at) {
            None if out.is_empty() => shape.push(items.len()),
            Some(n) if *n == items.len() => {}
            _ => {
                return Err(format!(
                    "is ragged: a list of {} differs in length from those before it",
                    items.len()
                ));
            }
        }
        items.iter().try_for_each(|item| level(item, at + 1, shape, out))
    }
    let (mut shape, mut numbers) = (Vec::new(), Vec::new());
    level(value, 0, &mut shape, &mut numbers)?;
    if shape.iter().product::<usize>() != numbers.len() {
        return Err("is ragged".into());
    }
    Ok((numbers, shape))
}

/// Writes `{"shape": […], "dtype": "f32", "data": […]}`; a scalar's data is a number. Numbers that JSON lacks
/// are strings, and a complex number is a pair.
pub fn to_text(tensor: &Tensor) -> Result<String> {
    let dtype = tensor.check()?.dtype();
    let shape: Vec<usize> = tensor.shape().to_vec();
    let items = items(tensor)?;
    let mut text = format!("{{\"shape\": {shape:?}, \"dtype\": \"{}\", \"data\": ", dtype.name());
    nested(&shape, &mut items.iter(), &mut text);
    text.push('}');
    Ok(text)
}

/// Formats each element for JSON, with the fewest digits that identify it.
pub fn items(tensor: &Tensor) -> Result<Vec<String>> {
    Ok(match tensor.check()?.dtype() {
        DType::Bool => tensor.to_vec::<bool>()?.iter().map(bool::to_string).collect(),
        DType::I64 => tensor.to_vec::<i64>()?.iter().map(i64::to_string).collect(),
        // The shortest digits of an `f32` differ from those of its value as `f64`.
        DType::F32 => tensor.to_vec::<f32>()?.into_iter().map(|x| number(x.into(), &x)).collect(),
        d if d.is_complex() => {
            let part = |t: Tensor| t.to_dtype(DType::F64).to_vec::<f64>();
            let (re, im) = (part(tensor.real())?, part(tensor.imag())?);
            re.iter().zip(&im).map(|(a, b)| format!("[{}, {}]", number(*a, a), number(*b, b))).collect()
        }
        _ => tensor.to_dtype(DType::F64).to_vec::<f64>()?.iter().map(|x| number(*x, x)).collect(),
    })
}

/// As [`items`], but returns an error for complex numbers.
pub(crate) fn real_items(path: &Path, tensor: &Tensor) -> Result<Vec<String>> {
    if tensor.dtype().is_complex() {
        return Err(failed(path, "cannot hold complex numbers"));
    }
    items(tensor)
}

/// Formats a number for JSON; very large and very small ones with an exponent. `own` is the number in its own
/// type, which determines the digits.
fn number(x: f64, own: &(impl std::fmt::Display + std::fmt::LowerExp)) -> String {
    match x {
        x if x.is_nan() => "\"NaN\"".into(),
        x if x.is_infinite() => if x > 0.0 { "\"inf\"" } else { "\"-inf\"" }.into(),
        x if x != 0.0 && !(1e-5..1e16).contains(&x.abs()) => format!("{own:e}"),
        _ => own.to_string(),
    }
}

fn nested<'a>(shape: &[usize], items: &mut impl Iterator<Item = &'a String>, out: &mut String) {
    let Some((n, inner)) = shape.split_first() else {
        return out.push_str(items.next().map_or("null", |x| x));
    };
    out.push('[');
    for i in 0..*n {
        out.push_str(if i == 0 { "" } else { ", " });
        nested(inner, items, out);
    }
    out.push(']');
}

pub(crate) fn write(path: &Path, tensor: &Tensor) -> Result<()> {
    atomic::write(path, &[to_text(tensor)?.as_bytes(), b"\n"])
}

/// Writes one line per element, `{"index": […], "value": x}`, after a heading line.
pub(crate) fn write_rows(path: &Path, name: &str, tensor: &Tensor) -> Result<()> {
    let shape = tensor.check()?.shape().to_vec();
    let mut text = heading(name, &shape, "\"index\", \"value\"");
    for (at, x) in real_items(path, tensor)?.iter().enumerate() {
        let _ = writeln!(text, "{{\"index\": {:?}, \"value\": {x}}}", unravel(at, &shape));
    }
    atomic::write(path, &[text.as_bytes()])
}

/// Writes the largest elements along the last axis, one line each: `{"row": […], "rank": 0, "index": i,
/// "value": x}`, after a heading line.
pub fn write_top(path: &Path, name: &str, values: &Tensor, indices: &Tensor) -> Result<()> {
    let shape = values.check()?.shape().to_vec();
    let mut text = heading(name, &shape, "\"row\", \"rank\", \"index\", \"value\"");
    let indices = real_items(path, indices)?;
    for ((at, x), index) in real_items(path, values)?.iter().enumerate().zip(indices) {
        let mut row = unravel(at, &shape);
        let rank = row.pop().unwrap_or(0);
        let _ = writeln!(text, "{{\"row\": {row:?}, \"rank\": {rank}, \"index\": {index}, \"value\": {x}}}");
    }
    atomic::write(path, &[text.as_bytes()])
}

fn heading(name: &str, shape: &[usize], columns: &str) -> String {
    format!("{{\"name\": {}, \"shape\": {shape:?}, \"columns\": [{columns}]}}\n", json!(name))
}

/// Converts a row-major position to an index.
fn unravel(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|n| {
            let i = at % n.max(&1);
            at /= n.max(&1);
            i
        })
        .collect();
    index.reverse();
    index
}
