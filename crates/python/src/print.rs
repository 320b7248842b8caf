//! `repr` as PyTorch prints: four digits, aligned, cut to the edges when there is much.

use crate::dtype::name;
use gradus::ir::Class;
use gradus::{DType, Ix, Tensor};

const OPEN: &str = "tensor(";
/// More elements than this are not all shown.
const MOST: usize = 1000;
/// Shown at each edge of an axis that is cut.
const EDGE: usize = 3;
const WIDTH: usize = 80;

/// The text of a tensor.
pub(crate) fn text(t: &Tensor) -> String {
    if t.is_traced() {
        let aval = t.aval().map_or_else(String::new, |a| a.to_string());
        return format!("tensor(traced {aval})");
    }
    let shape = t.shape();
    let plain = t.detach();
    let cut = plain.numel() > MOST;
    let body = if plain.numel() == 0 {
        "[]".to_string()
    } else {
        let shown = Shown::new(&plain, cut);
        shown.nested(&plain, OPEN.len())
    };
    let mut suffixes = Vec::new();
    if t.numel() == 0 && shape.rank() != 1 {
        let extents: Vec<String> = shape.iter().map(|d| d.to_string()).collect();
        suffixes.push(format!("size=({})", extents.join(", ")));
    }
    let natural = match t.dtype() {
        DType::F32 | DType::C64 => true,
        DType::I64 | DType::Bool => t.numel() > 0,
        _ => false,
    };
    if !natural {
        suffixes.push(format!("dtype=gradus.{}", name(t.dtype())));
    }
    if t.requires_grad() {
        suffixes.push("requires_grad=True".to_string());
    }
    let mut out = format!("{OPEN}{body}");
    for suffix in suffixes {
        let last = out.rsplit('\n').next().map_or(0, str::len);
        if last + suffix.len() + 2 > WIDTH {
            out.push_str(&format!(",\n{}{suffix}", " ".repeat(OPEN.len())));
        } else {
            out.push_str(&format!(", {suffix}"));
        }
    }
    out + ")"
}

/// How numbers are written.
enum Style {
    /// With a point and nothing behind it.
    Whole,
    Fixed,
    Scientific,
}

struct Shown {
    style: Style,
    /// Of imaginary parts.
    imaginary: Style,
    width: usize,
    cut: bool,
}

fn style(all: impl Iterator<Item = f64> + Clone) -> Style {
    let known = all.filter(|x| x.is_finite() && *x != 0.0);
    let (mut low, mut high, mut whole) = (f64::INFINITY, 0f64, true);
    for x in known {
        low = low.min(x.abs());
        high = high.max(x.abs());
        whole &= x.fract() == 0.0;
    }
    let wide = high > 0.0 && (high / low > 1000.0 || high > 1e8);
    match (whole, wide) {
        (true, false) => Style::Whole,
        (false, false) if low >= 1e-4 => Style::Fixed,
        _ => Style::Scientific,
    }
}

fn word(x: f64, style: &Style) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".into() } else { "-inf".into() };
    }
    match style {
        Style::Whole => format!("{x:.0}."),
        Style::Fixed => format!("{x:.4}"),
        Style::Scientific => {
            let text = format!("{x:.4e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, size) = match exponent.strip_prefix('-') {
                Some(size) => ('-', size),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{size:0>2}")
        }
    }
}

/// The parts at the edges, where an axis is cut.
fn edges(t: &Tensor, axis: isize) -> Tensor {
    let n = t.dim(axis);
    if n <= 2 * EDGE {
        return t.clone();
    }
    Tensor::cat(&[&t.narrow(axis, 0, EDGE), &t.narrow(axis, n - EDGE, EDGE)], axis)
}

impl Shown {
    fn new(t: &Tensor, cut: bool) -> Shown {
        let mut few = t.clone();
        if cut {
            for axis in 0..t.rank() {
                few = edges(&few, axis as isize);
            }
        }
        let mut shown = Shown { style: Style::Whole, imaginary: Style::Whole, width: 0, cut };
        let Ok(literal) = few.to_literal() else { return shown };
        match t.dtype().class() {
            Class::Float => shown.style = style(literal.f().iter().copied()),
            Class::Complex => {
                shown.style = style(literal.c().iter().map(|z| z.re));
                shown.imaginary = style(literal.c().iter().map(|z| z.im));
            }
            _ => {}
        }
        shown.width = shown.words(&few).iter().map(|w| w.len()).max().unwrap_or(0);
        shown
    }

    fn words(&self, t: &Tensor) -> Vec<String> {
        let Ok(literal) = t.to_literal() else { return Vec::new() };
        match (t.dtype(), t.dtype().class()) {
            (DType::Bool, _) => {
                literal.i().iter().map(|b| if *b != 0 { "True".into() } else { "False".into() }).collect()
            }
            (_, Class::Float) => literal.f().iter().map(|x| word(*x, &self.style)).collect(),
            (_, Class::Complex) => {
                let pair = |re: f64, im: f64| {
                    let sign = if im.is_sign_negative() { "-" } else { "+" };
                    format!("{}{sign}{}j", word(re, &self.style), word(im.abs(), &self.imaginary))
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
        let cut = self.cut && n > 2 * EDGE;
        if rank == 1 {
            let mut words = self.words(&if cut { edges(t, 0) } else { t.clone() });
            words.iter_mut().for_each(|w| *w = format!("{w:>width$}", width = self.width));
            if cut {
                words.insert(EDGE, " ...".into());
            }
            let per_line = (WIDTH.saturating_sub(indent) / (self.width + 2)).max(1);
            let lines: Vec<String> = words.chunks(per_line).map(|line| line.join(", ")).collect();
            return format!("[{}]", lines.join(&format!(",\n{}", " ".repeat(indent + 1))));
        }
        let part = |i: usize| self.nested(&t.at(vec![Ix::At(i as isize)]), indent + 1);
        let mut parts: Vec<String> = match cut {
            true => (0..EDGE).chain(n - EDGE..n).map(part).collect(),
            false => (0..n).map(part).collect(),
        };
        if cut {
            parts.insert(EDGE, "...".into());
        }
        let between = format!(",{}{}", "\n".repeat(rank - 1), " ".repeat(indent + 1));
        format!("[{}]", parts.join(&between))
    }
}
