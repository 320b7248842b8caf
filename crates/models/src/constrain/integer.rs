//! Expressions that match the decimal integers between two bounds.

use super::document::Fields;
use super::expression::{Arena, Id};
use gradus_ir::{Error, Result};

/// Largest number of digits of an integer; up to this, integers are exact as `f64`.
pub(super) const MAX_DIGITS: usize = 15;

const LARGEST: i64 = 10i64.pow(MAX_DIGITS as u32) - 1;

/// Reads the smallest and the largest integer that a schema permits.
pub(super) fn bounds(map: &Fields) -> Result<(i64, i64)> {
    let read = |key: &str| match map.get(key) {
        None => Ok(None),
        Some(n) => match n.as_f64().filter(|x| x.abs() <= LARGEST as f64) {
            Some(x) => Ok(Some(x)),
            None => Err(Error::value(
                format!("the schema's {key} {n}"),
                format!("must be a number from -{LARGEST} to {LARGEST}"),
            )),
        },
    };
    let mut least = read("minimum")?.map_or(-LARGEST, |x| x.ceil() as i64);
    let mut most = read("maximum")?.map_or(LARGEST, |x| x.floor() as i64);
    if let Some(x) = read("exclusiveMinimum")? {
        least = least.max(x.floor() as i64 + 1);
    }
    if let Some(x) = read("exclusiveMaximum")? {
        most = most.min(x.ceil() as i64 - 1);
    }
    Ok((least, most))
}

/// Makes an expression of all integers from `least` to `most`, without leading zeros.
pub(super) fn between(arena: &mut Arena, (least, most): (i64, i64)) -> Result<Id> {
    let mut parts = Vec::new();
    if least <= -1 && least <= most {
        let minus = arena.literal("-")?;
        let size = natural(arena, (-most).max(1), -least)?;
        parts.push(arena.sequence(&[minus, size])?);
    }
    if most >= 0 && least <= most {
        parts.push(natural(arena, least.max(0), most)?);
    }
    arena.choice(&parts)
}

/// Makes an expression of all integers from `least` to `most`; both must be 0 or more.
fn natural(arena: &mut Arena, least: i64, most: i64) -> Result<Id> {
    let digits = |n: i64| n.to_string().into_bytes();
    let mut parts = Vec::new();
    let (short, long) = (digits(least).len(), digits(most).len());
    for length in short..=long {
        let from = if length == short { digits(least) } else { digits(10i64.pow(length as u32 - 1)) };
        let to = if length == long { digits(most) } else { vec![b'9'; length] };
        parts.push(same_length(arena, &from, &to)?);
    }
    arena.choice(&parts)
}

/// Makes an expression of all numbers from `from` to `to`, which have the same number of digits.
fn same_length(arena: &mut Arena, from: &[u8], to: &[u8]) -> Result<Id> {
    let (Some((a, from)), Some((b, to))) = (from.split_first(), to.split_first()) else {
        return arena.sequence(&[]);
    };
    let (zeros, nines) = (vec![b'0'; from.len()], vec![b'9'; from.len()]);
    if from == zeros && to == nines {
        let (first, digit) = (arena.byte(&[(*a, *b)])?, arena.byte(&[(b'0', b'9')])?);
        let rest = arena.repeat(digit, from.len() as u32, from.len() as u32)?;
        return arena.sequence(&[first, rest]);
    }
    let mut with = |first: u8, last: u8, from: &[u8], to: &[u8]| {
        let (first, rest) = (arena.byte(&[(first, last)])?, same_length(arena, from, to)?);
        arena.sequence(&[first, rest])
    };
    if a == b {
        return with(*a, *a, from, to);
    }
    let mut parts = vec![with(*a, *a, from, &nines)?];
    if b - a > 1 {
        parts.push(with(a + 1, b - 1, &zeros, &nines)?);
    }
    parts.push(with(*b, *b, &zeros, to)?);
    arena.choice(&parts)
}
