//! Nested lists of numbers, and objects of a shape, a dtype and such a list.

use crate::atomic::{self, failed};
use crate::chosen;
use crate::digits::{self, Digits};
use gradus_ir::{Class, DType, Result};
use gradus_tensor::Tensor;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The tensor in a file: a list, an object `{"shape", "dtype", "data"}`, or one of these under its name.
/// Whether its whole numbers are wanted as such where floats do not hold them, is said by `whole`.
pub fn read(path: &Path, name: &str, whole: bool) -> Result<Tensor> {
    let value: Value = serde_json::from_slice(&crate::bytes(path)?)
        .map_err(|e| failed(path, format!("is no JSON that can be read: {e}")))?;
    let value = match &value {
        Value::Object(all) if !all.contains_key("data") => {
            let names: Vec<String> = all.keys().cloned().collect();
            &all[&chosen(path, name, &names)?]
        }
        other => other,
    };
    from_value(value, whole).map_err(|why| failed(path, why))
}

/// The tensor that a value describes; of what does not say what it is, `whole` numbers keep all their digits.
pub fn from_value(value: &Value, whole: bool) -> std::result::Result<Tensor, String> {
    let Value::Object(described) = value else {
        let (numbers, shape) = list(value)?;
        return Ok(digits::tensor(&numbers, shape, whole));
    };
    let dtype = match described.get("dtype") {
        Some(Value::String(name)) => {
            Some(DType::parse(name).ok_or_else(|| format!("has the dtype `{name}`, which is not known"))?)
        }
        Some(_) => return Err("has a `dtype` that is no text".into()),
        None => None,
    };
    let shape: Option<Vec<usize>> = match described.get("shape") {
        Some(shape) => Some(serde_json::from_value(shape.clone()).map_err(|_| "has a `shape` that is none")?),
        None => None,
    };
    let (numbers, own) = list(described.get("data").ok_or("has no `data`")?)?;
    let pairs = own.last() == Some(&2) && shape.as_ref().is_none_or(|s| s.len() + 1 == own.len());
    let tensor = match dtype {
        Some(dtype) if dtype.class() == Class::Int => digits::whole(&numbers, own, dtype)?,
        Some(dtype) if dtype.is_complex() && pairs => {
            let both = digits::tensor(&numbers, own, false);
            let part = |i| both.narrow(-1, i, 1).squeeze(-1);
            part(0).complex(&part(1)).to_dtype(dtype)
        }
        Some(dtype) => digits::tensor(&numbers, own, false).to_dtype(dtype),
        None => digits::tensor(&numbers, own, whole),
    };
    let Some(shape) = shape.filter(|s| **s != *tensor.shape()) else { return Ok(tensor) };
    // An empty list does not say how long its rows would be.
    if shape.contains(&0) && tensor.numel() == 0 {
        return Ok(Tensor::zeros(shape).to_dtype(tensor.dtype()));
    }
    Err(format!("has shape {shape:?}, but its data has {:?}", &*tensor.shape()))
}

/// The tensor that a person wrote: JSON in which `nan` and `inf` need no quotes.
pub fn from_literal(text: &str, whole: bool) -> std::result::Result<Tensor, String> {
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
    from_value(&value, whole)
}

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
                    return Err("is ragged: a number stands where a list is expected".into());
                }
                let float = match number {
                    Value::Number(n) => n.as_f64().ok_or("has a number that is none")?,
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
            _ => return Err(format!("is ragged: a list of {} does not fit to those before it", items.len())),
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

/// `{"shape": […], "dtype": "f32", "data": […]}`; a scalar's data is a number. What JSON has no numbers for is a text, and
/// a complex number a pair.
pub fn to_text(tensor: &Tensor) -> Result<String> {
    let dtype = tensor.check()?.dtype();
    let shape: Vec<usize> = tensor.shape().to_vec();
    let items = items(tensor)?;
    let mut text = format!("{{\"shape\": {shape:?}, \"dtype\": \"{}\", \"data\": ", dtype.name());
    nested(&shape, &mut items.iter(), &mut text);
    text.push('}');
    Ok(text)
}

/// Each element as JSON writes it, with all its digits and no more.
pub fn items(tensor: &Tensor) -> Result<Vec<String>> {
    Ok(match tensor.check()?.dtype() {
        DType::Bool => tensor.to_vec::<bool>()?.iter().map(bool::to_string).collect(),
        DType::I64 => tensor.to_vec::<i64>()?.iter().map(i64::to_string).collect(),
        // The shortest digits that give the same number again are those of its own type.
        DType::F32 => tensor.to_vec::<f32>()?.into_iter().map(|x| number(x.into(), &x)).collect(),
        d if d.is_complex() => {
            let part = |t: Tensor| t.to_dtype(DType::F64).to_vec::<f64>();
            let (re, im) = (part(tensor.real())?, part(tensor.imag())?);
            re.iter().zip(&im).map(|(a, b)| format!("[{}, {}]", number(*a, a), number(*b, b))).collect()
        }
        _ => tensor.to_dtype(DType::F64).to_vec::<f64>()?.iter().map(|x| number(*x, x)).collect(),
    })
}

/// The same where there is no place for two parts of one number.
pub(crate) fn real_items(path: &Path, tensor: &Tensor) -> Result<Vec<String>> {
    if tensor.dtype().is_complex() {
        return Err(failed(path, "cannot hold complex numbers"));
    }
    items(tensor)
}

/// A number as JSON writes it; vast and tiny ones with an exponent.
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

/// One line per element, `{"index": […], "value": x}`, behind a line that says what they are.
pub(crate) fn write_rows(path: &Path, name: &str, tensor: &Tensor) -> Result<()> {
    let shape = tensor.check()?.shape().to_vec();
    let mut text = heading(name, &shape, "\"index\", \"value\"");
    for (at, x) in real_items(path, tensor)?.iter().enumerate() {
        let _ = writeln!(text, "{{\"index\": {:?}, \"value\": {x}}}", unravel(at, &shape));
    }
    atomic::write(path, &[text.as_bytes()])
}

/// The largest elements along the last axis, one line each: `{"row": […], "rank": 0, "index": i, "value": x}`, behind a
/// line that says what they are.
pub fn write_top(path: &Path, name: &str, values: &Tensor, places: &Tensor) -> Result<()> {
    let shape = values.check()?.shape().to_vec();
    let mut text = heading(name, &shape, "\"row\", \"rank\", \"index\", \"value\"");
    let places = real_items(path, places)?;
    for ((at, x), place) in real_items(path, values)?.iter().enumerate().zip(places) {
        let mut row = unravel(at, &shape);
        let rank = row.pop().unwrap_or(0);
        let _ = writeln!(text, "{{\"row\": {row:?}, \"rank\": {rank}, \"index\": {place}, \"value\": {x}}}");
    }
    atomic::write(path, &[text.as_bytes()])
}

fn heading(name: &str, shape: &[usize], columns: &str) -> String {
    format!("{{\"name\": {}, \"shape\": {shape:?}, \"columns\": [{columns}]}}\n", json!(name))
}

/// The place of an element in row-major order, axis by axis.
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
