//! Formats tensors as PyTorch does: four digits, aligned columns, large tensors shortened to their edges.

use crate::dtype::{default_float, name};
use crate::error::value_error;
use gradus::ir::Class;
use gradus::{DType, Device, Ix, Tensor};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

const OPEN: &str = "tensor(";

/// Print options.
#[derive(Clone, Copy)]
struct Options {
    /// Digits after the point.
    precision: usize,
    /// Largest number of elements that are all shown.
    threshold: usize,
    /// Elements shown at each edge of a shortened axis.
    edgeitems: usize,
    linewidth: usize,
    /// If true, numbers have exponents; by default if a magnitude is above 1e8 or over 1000 times another one, or
    /// if there are fractions and a magnitude is below 1e-4.
    sci_mode: Option<bool>,
}

const DEFAULT: Options =
    Options { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80, sci_mode: None };

static OPTIONS: Mutex<Options> = Mutex::new(DEFAULT);

fn options() -> Options {
    *OPTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets print options; options that are None stay unchanged.
#[doc = example!(set_printoptions)]
#[pyfunction]
#[pyo3(signature = (precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None))]
pub(crate) fn set_printoptions(
    precision: Option<usize>,
    threshold: Option<usize>,
    edgeitems: Option<usize>,
    linewidth: Option<usize>,
    profile: Option<&str>,
    sci_mode: Option<bool>,
) -> PyResult<()> {
    let mut new = match profile {
        None => options(),
        Some("default") => DEFAULT,
        Some("short") => Options { precision: 2, edgeitems: 2, ..DEFAULT },
        Some("full") => Options { threshold: usize::MAX, ..DEFAULT },
        Some(other) => {
            return Err(value_error(format!("profile {other:?} is not one of default, short, full")));
        }
    };
    new.precision = precision.unwrap_or(new.precision).min(17);
    new.threshold = threshold.unwrap_or(new.threshold);
    new.edgeitems = edgeitems.unwrap_or(new.edgeitems);
    new.linewidth = linewidth.unwrap_or(new.linewidth);
    new.sci_mode = sci_mode.or(new.sci_mode);
    *OPTIONS.lock().unwrap_or_else(PoisonError::into_inner) = new;
    Ok(())
}

/// Largest number of axes that are printed, because nested brackets are written by recursion.
const MAX_AXES: usize = 256;

/// Formats a tensor.
pub(crate) fn text(t: &Tensor) -> String {
    if t.is_traced() {
        return format!("tensor(traced {}{})", name(t.dtype()), t.shape());
    }
    let shape = t.shape();
    let plain = t.detach().to(Device::CPU);
    let options = options();
    let cut = plain.numel() > options.threshold;
    let body = if plain.numel() == 0 {
        "[]".to_string()
    } else if shape.rank() > MAX_AXES {
        format!("..., dim={}", shape.rank())
    } else {
        let shown = Formatter::new(&plain, cut, options);
        shown.nested(&plain, OPEN.len())
    };
    let mut suffixes = Vec::new();
    if !t.device().is_cpu() {
        suffixes.push(format!("device='{}'", t.device()));
    }
    if t.numel() == 0 && shape.rank() != 1 {
        let extents: Vec<String> = shape.iter().map(|d| d.to_string()).collect();
        suffixes.push(format!("size=({})", extents.join(", ")));
    }
    let natural = match t.dtype() {
        d if d == default_float() || d == default_float().complex() => true,
        DType::I64 | DType::Bool => t.numel() > 0,
        _ => false,
    };
    if !natural {
        suffixes.push(format!("dtype=gradus.{}", name(t.dtype())));
    }
    match t.made_by() {
        Some(op) => suffixes.push(format!("grad_fn=<{}>", backward_name(&op))),
        None if t.requires_grad() => suffixes.push("requires_grad=True".to_string()),
        None => {}
    }
    let mut out = format!("{OPEN}{body}");
    for suffix in suffixes {
        let last = out.rsplit('\n').next().map_or(0, str::len);
        if last + suffix.len() + 2 > options.linewidth {
            out.push_str(&format!(",\n{}{suffix}", " ".repeat(OPEN.len())));
        } else {
            out.push_str(&format!(", {suffix}"));
        }
    }
    out + ")"
}

/// Returns PyTorch's name of the gradient of an operation.
pub(crate) fn backward_name(op: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
    };
    format!("{}Backward0", op.split('_').map(capital).collect::<String>())
}

/// Number format.
enum Style {
    /// Integers with a trailing point.
    Integer,
    Fixed,
    Scientific,
}

struct Formatter {
    style: Style,
    /// Format of imaginary parts.
    imaginary: Style,
    width: usize,
    cut: bool,
    options: Options,
}

fn style(all: impl Iterator<Item = f64>, sci_mode: Option<bool>) -> Style {
    let known = all.filter(|x| x.is_finite() && *x != 0.0);
    let (mut low, mut high, mut integers) = (f64::INFINITY, 0f64, true);
    for x in known {
        low = low.min(x.abs());
        high = high.max(x.abs());
        integers &= x.fract() == 0.0;
    }
    let wide = high > 0.0 && (high / low > 1000.0 || high > 1e8);
    match (sci_mode, integers, wide) {
        (Some(true), ..) => Style::Scientific,
        (Some(false), true, _) | (None, true, false) => Style::Integer,
        (Some(false), false, _) => Style::Fixed,
        (None, false, false) if low >= 1e-4 => Style::Fixed,
        _ => Style::Scientific,
    }
}

fn word(x: f64, style: &Style, digits: usize) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".into() } else { "-inf".into() };
    }
    match style {
        Style::Integer => format!("{x:.0}."),
        Style::Fixed => format!("{x:.digits$}"),
        Style::Scientific => {
            let text = format!("{x:.digits$e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, size) = match exponent.strip_prefix('-') {
                Some(size) => ('-', size),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{size:0>2}")
        }
    }
}

/// Returns the parts at the edges of a shortened axis.
fn edges(t: &Tensor, axis: isize, edge: usize) -> Tensor {
    let n = t.dim(axis);
    if n <= 2 * edge {
        return t.clone();
    }
    Tensor::cat(&[&t.narrow(axis, 0, edge), &t.narrow(axis, n - edge, edge)], axis)
}

impl Formatter {
    fn new(t: &Tensor, cut: bool, options: Options) -> Formatter {
        let mut few = t.clone();
        if cut {
            for axis in 0..t.rank() {
                few = edges(&few, axis as isize, options.edgeitems);
            }
        }
        let mut shown =
            Formatter { style: Style::Integer, imaginary: Style::Integer, width: 0, cut, options };
        let Ok(literal) = few.to_literal() else { return shown };
        match t.dtype().class() {
            Class::Float => shown.style = style(literal.f().iter().copied(), options.sci_mode),
            Class::Complex => {
                shown.style = style(literal.c().iter().map(|z| z.re), options.sci_mode);
                shown.imaginary = style(literal.c().iter().map(|z| z.im), options.sci_mode);
            }
            _ => {}
        }
        // NaN, infinities and zeros of floats do not determine the width.
        let counts = |x: f64| x.is_finite() && x != 0.0;
        let widths = |parts: Vec<f64>, style: &Style| {
            let words =
                parts.into_iter().filter(|x| counts(*x)).map(|x| word(x, style, options.precision).len());
            words.max().unwrap_or(1)
        };
        shown.width = match t.dtype().class() {
            Class::Float => widths(literal.f().to_vec(), &shown.style),
            Class::Complex => widths(literal.c().iter().map(|z| z.re).collect(), &shown.style),
            _ => shown.words(&few).iter().map(|w| w.len()).max().unwrap_or(0),
        };
        shown
    }

    fn words(&self, t: &Tensor) -> Vec<String> {
        let Ok(literal) = t.to_literal() else { return Vec::new() };
        match (t.dtype(), t.dtype().class()) {
            (DType::Bool, _) => {
                literal.i().iter().map(|b| if *b != 0 { "True".into() } else { "False".into() }).collect()
            }
            (_, Class::Float) => {
                literal.f().iter().map(|x| word(*x, &self.style, self.options.precision)).collect()
            }
            (_, Class::Complex) => {
                let digits = self.options.precision;
                let pair = |re: f64, im: f64| {
                    let sign = if im.is_sign_negative() { "-" } else { "+" };
                    let (re, im) = (word(re, &self.style, digits), word(im.abs(), &self.imaginary, digits));
                    format!("{re:>width$}{sign}{im}j", width = self.width)
                };
                literal.c().iter().map(|z| pair(z.re, z.im)).collect()
            }
            _ => literal.i().iter().map(|i| i.to_string()).collect(),
        }
    }

    fn nested(&self, t: &Tensor, indent: usize) -> String {
        let rank = t.rank();
        if rank == 0 {
            return self.words(t).pop().unwrap_or_default();
        }
        let n = t.dim(0);
        let edge = self.options.edgeitems;
        let cut = self.cut && n > 2 * edge;
        if rank == 1 {
            let mut words = self.words(&if cut { edges(t, 0, edge) } else { t.clone() });
            words.iter_mut().for_each(|w| *w = format!("{w:>width$}", width = self.width));
            if cut {
                words.insert(edge, " ...".into());
            }
            let width = match t.dtype().is_complex() {
                true => words.iter().map(|w| w.len()).max().unwrap_or(0), // width of both parts
                false => self.width,
            };
            let per_line = (self.options.linewidth.saturating_sub(indent) / (width + 2)).max(1);
            let lines: Vec<String> = words.chunks(per_line).map(|line| line.join(", ")).collect();
            return format!("[{}]", lines.join(&format!(",\n{}", " ".repeat(indent + 1))));
        }
        let part = |i: usize| self.nested(&t.at(vec![Ix::At(i as isize)]), indent + 1);
        let mut parts: Vec<String> = match cut {
            true => (0..edge).chain(n - edge..n).map(part).collect(),
            false => (0..n).map(part).collect(),
        };
        if cut {
            parts.insert(edge, "...".into());
        }
        let between = format!(",{}{}", "\n".repeat(rank - 1), " ".repeat(indent + 1));
        format!("[{}]", parts.join(&between))
    }
}
