//! Reads and compares tensors of golden files.

use gradus::ir::{Aval, C, DType, Literal};
use serde_json::Value;

/// Parses a number that JSON does not have, which is stored as a string.
pub(crate) fn parse_float(s: &str) -> Option<f64> {
    match s {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Reads a tensor from `shape`, `dtype` and `data`. Returns `None` for null.
pub(crate) fn literal(v: &Value) -> Option<Literal> {
    let shape: Vec<usize> = v["shape"].as_array()?.iter().map(|d| d.as_u64().unwrap() as usize).collect();
    let data = v["data"].as_array()?;
    let float = |x: &Value| x.as_f64().or_else(|| parse_float(x.as_str()?)).unwrap();
    Some(match v["dtype"].as_str()? {
        "f64" => Literal::floats(DType::F64, shape, data.iter().map(float).collect()).unwrap(),
        "i64" => {
            Literal::ints(DType::I64, shape, data.iter().map(|x| x.as_i64().unwrap()).collect()).unwrap()
        }
        "bool" => {
            let truth = |x: &Value| x.as_i64().or(x.as_bool().map(i64::from)).unwrap();
            Literal::ints(DType::Bool, shape, data.iter().map(truth).collect()).unwrap()
        }
        "c128" => {
            let parts: Vec<f64> = data.iter().map(float).collect();
            let pairs: Vec<C> = parts.chunks(2).map(|p| C::new(p[0], p[1])).collect();
            Literal::new(Aval::new(DType::C128, shape), pairs).unwrap()
        }
        other => panic!("dtype {other}"),
    })
}

/// Reads all tensors of a list.
pub(crate) fn literals(v: &Value) -> Vec<Literal> {
    v.as_array().map(|all| all.iter().map(|x| literal(x).unwrap()).collect()).unwrap_or_default()
}

/// Checks that two results are equal: each number within `tolerance` times its size, or times 1 where it is
/// smaller.
pub(crate) fn compare(found: &Literal, right: &Literal, tolerance: f64) -> Result<(), String> {
    if found.shape() != right.shape() {
        return Err(format!("shape {}, must be {}", found.shape(), right.shape()));
    }
    if found.dtype().class() != right.dtype().class() {
        return Err(format!("dtype {}, must be {}", found.dtype(), right.dtype()));
    }
    let parts = |l: &Literal| -> Vec<f64> {
        let complex = l.c().iter().flat_map(|z| [z.re, z.im]);
        l.f().iter().copied().chain(complex).chain(l.i().iter().map(|&i| i as f64)).collect()
    };
    let (a, b) = (parts(found), parts(right));
    if a.len() != b.len() {
        return Err(format!("{} numbers, must be {}", a.len(), b.len()));
    }
    let scale = b.iter().filter(|x| x.is_finite()).fold(1.0f64, |m, x| m.max(x.abs()));
    for (i, (x, y)) in a.iter().zip(&b).enumerate() {
        let same =
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * scale.min(y.abs().max(1.0));
        if !same {
            return Err(format!("element {i} is {x:?}, must be {y:?}"));
        }
    }
    Ok(())
}
