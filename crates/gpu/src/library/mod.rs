//! The functions that kernels call: 64-bit integers, narrow floats, complex numbers, and scalar functions.
//! Takes the text of a kernel; returns the functions it needs, each after those that it calls itself.

use crate::dialect::Dialect;
use crate::record::record;
use gradus_scalar::{angle, circular, exponential, gamma, hyperbolic, logarithm, power};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

const COMMON: &str = include_str!("common.wgsl");
const INT64: &str = include_str!("int64.wgsl");
/// Functions that only WGSL needs, because CUDA has instructions for them.
const WGSL: &str = include_str!("wgsl.wgsl");

/// Returns the functions by name, as WGSL.
fn functions() -> &'static BTreeMap<String, String> {
    static ALL: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = BTreeMap::new();
        for file in [COMMON, INT64, WGSL] {
            for function in split(file) {
                all.insert(name(&function).to_string(), function);
            }
        }
        for text in recorded() {
            all.insert(name(&text).to_string(), text);
        }
        all
    })
}

/// Returns the functions of `gradus_scalar` as text, by recording their arithmetic.
fn recorded() -> Vec<String> {
    macro_rules! all {
        ($($name:ident $f:path;)*) => {
            vec![$(record(concat!("f_", stringify!($name)), 1, |x| $f(x[0]))),*]
        };
    }
    let mut all = all! {
        exp exponential::exp;
        exp2 exponential::exp2;
        log exponential::log;
        sigmoid exponential::sigmoid;
        tanh exponential::tanh;
        erf exponential::erf;
        erfc exponential::erfc;
        near_sin circular::sin;
        near_cos circular::cos;
        near_tan circular::tan;
        expm1 hyperbolic::expm1;
        sinh hyperbolic::sinh;
        cosh hyperbolic::cosh;
        log1p logarithm::log1p;
        log2 logarithm::log2;
        log10 logarithm::log10;
        asinh logarithm::asinh;
        acosh logarithm::acosh;
        atanh logarithm::atanh;
        erfinv logarithm::erfinv;
        atan angle::atan;
        asin angle::asin;
        acos angle::acos;
        cbrt power::cbrt;
        lgamma gamma::lgamma;
        digamma gamma::digamma;
    };
    macro_rules! pairs {
        ($($name:ident $f:path;)*) => {
            [$(record(concat!("f_", stringify!($name)), 2, |x| $f(x[0], x[1]))),*]
        };
    }
    all.extend(pairs! {
        atan2 angle::atan2;
        near_turned circular::turned_sin;
        pow power::pow;
        hypot power::hypot;
        logaddexp logarithm::logaddexp;
    });
    all
}

/// Splits a file into its functions. Drops the comments before each function.
fn split(file: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut inside = false;
    for line in file.lines() {
        if line.starts_with("fn ") {
            inside = true;
            all.push(String::new());
        }
        if inside && let Some(last) = all.last_mut() {
            *last += line;
            *last += "\n";
        }
        inside &= line != "}";
    }
    all
}

fn name(function: &str) -> &str {
    let rest = function.strip_prefix("fn ").unwrap_or(function);
    rest.split('(').next().unwrap_or("")
}

/// Returns the names of the library functions that a text calls, once for each call.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.match_indices('(').map(move |(at, _)| {
        let start = text[..at].rfind(|c| !is_name(c)).map_or(0, |k| k + 1);
        &text[start..at]
    });
    words.filter(|word| functions().contains_key(*word))
}

/// Returns the names of the library functions that a text calls, each once, in the order of their first calls.
fn called(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for word in calls(text) {
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// Returns the text of all library functions that a text needs.
pub(crate) fn needed(text: &str, dialect: Dialect) -> String {
    fn visit(name: &str, dialect: Dialect, done: &mut BTreeSet<String>, out: &mut String) {
        if !done.insert(name.to_string()) || dialect.is_builtin(name) {
            return;
        }
        let Some(body) = functions().get(name) else { return };
        // The first name is that of the function itself.
        called(body).into_iter().filter(|n| *n != name).for_each(|n| visit(n, dialect, done, out));
        *out += &dialect.function(body);
    }
    let (mut done, mut out) = (BTreeSet::new(), String::new());
    called(text).into_iter().for_each(|n| visit(n, dialect, &mut done, &mut out));
    out
}

/// Returns the number of lines of code that the calls of an expression become if a compiler inlines them.
pub(crate) fn lines(expression: &str) -> usize {
    fn visit(name: &str, known: &mut BTreeMap<String, usize>) -> usize {
        if let Some(&lines) = known.get(name) {
            return lines;
        }
        let body = functions().get(name).map_or("", String::as_str);
        // Library functions are not recursive, so the text of a function contains its own name only in the declaration.
        let inner = calls(body).filter(|n| *n != name).map(|n| visit(n, known)).sum::<usize>();
        let lines = body.lines().count() + inner;
        known.insert(name.to_string(), lines);
        lines
    }
    static KNOWN: OnceLock<BTreeMap<String, usize>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let mut known = BTreeMap::new();
        functions().keys().for_each(|name| _ = visit(name, &mut known));
        known
    });
    calls(expression).map(|name| known[name]).sum()
}

/// Returns true if there is a function with this name.
pub(crate) fn has(name: &str) -> bool {
    functions().contains_key(name)
}
