//! Formats elements as words of one width. Floats have the fewest digits that identify them, at most eight
//! after the point, and scientific notation where the range of the array needs it.

use gradus_ir::literal::Data;
use gradus_ir::{Class, DType};

/// Default limit of digits after the point.
const DIGITS: usize = 8;

/// Options of float formatting.
#[derive(Clone, Copy)]
struct Style {
    dtype: DType,
    /// Maximal number of digits after the point.
    most: usize,
    /// If true, plus signs are shown.
    signed: bool,
}

/// Formats all elements as words of equal width.
pub(super) fn words(elements: &Data, dtype: DType, digits: Option<usize>) -> Vec<String> {
    let style = Style { dtype: dtype.real(), most: digits.unwrap_or(DIGITS), signed: false };
    match elements {
        Data::F(v) => floats(v, style),
        Data::C(v) => {
            let part = |f: fn(&gradus_ir::C) -> f64| v.iter().map(f).collect::<Vec<f64>>();
            let real = floats(&part(|z| z.re), style);
            let imag = floats(&part(|z| z.im), Style { signed: true, ..style });
            real.iter().zip(imag).map(|(re, im)| with_unit(re, &im)).collect()
        }
        Data::I(v) if dtype.class() == Class::Bool => {
            right_aligned(v.iter().map(|x| (*x != 0).to_string()).collect())
        }
        Data::I(v) => right_aligned(v.iter().map(i64::to_string).collect()),
    }
}

/// Puts `j` directly after the digits, and moves the alignment spaces after `j`.
fn with_unit(re: &str, im: &str) -> String {
    let digits = im.trim_end();
    format!("{re}{digits}j{}", &im[digits.len()..])
}

fn right_aligned(words: Vec<String>) -> Vec<String> {
    let width = words.iter().map(String::len).max().unwrap_or(0);
    words.into_iter().map(|w| format!("{w:>width$}")).collect()
}

/// Formats floats with their points aligned.
fn floats(v: &[f64], style: Style) -> Vec<String> {
    let finite = || v.iter().copied().filter(|x| x.is_finite());
    let sizes = || finite().map(f64::abs).filter(|x| *x != 0.0);
    let (most, least) = (sizes().fold(0.0, f64::max), sizes().fold(f64::INFINITY, f64::min));
    let scientific = most >= 1e8 || (most > 0.0 && (least < 1e-4 || most / least > 1000.0));
    let digits = if scientific { finite().map(|x| mantissa_digits(x, style)).max().unwrap_or(0) } else { 0 };
    let power = finite().map(|x| exponent(x, digits).abs()).max().map_or(0, |p| p.to_string().len().max(2));
    let word = |x: f64| {
        let sign = match x {
            _ if x.is_nan() => {
                if style.signed {
                    "+"
                } else {
                    ""
                }
            }
            _ if x.is_sign_negative() => "-",
            _ => {
                if style.signed {
                    "+"
                } else {
                    ""
                }
            }
        };
        let size = match x.abs() {
            size if size.is_nan() => "nan".to_string(),
            size if size.is_infinite() => "inf".to_string(),
            size if scientific => format_scientific(size, digits, power),
            size => format_positional(size, style),
        };
        format!("{sign}{size}")
    };
    let words: Vec<(f64, String)> = v.iter().map(|&x| (x, word(x))).collect();
    // Largest width before the point, and from the point on, of all finite numbers.
    let point = |w: &str| w.find('.').unwrap_or(w.len());
    let sides = words.iter().filter(|(x, _)| x.is_finite()).map(|(_, w)| (point(w), w.len() - point(w)));
    let (before, after) = sides.fold((0, 0), |(a, b), (c, d)| (a.max(c), b.max(d)));
    let others = words.iter().filter(|(x, _)| !x.is_finite()).map(|(_, w)| w.len()).max().unwrap_or(0);
    let width = (before + after).max(others);
    let aligned = |(x, w): &(f64, String)| {
        let after = if x.is_finite() { after + point(w) - w.len() } else { 0 };
        format!("{:>width$}", format!("{w}{}", " ".repeat(after)))
    };
    words.iter().map(aligned).collect()
}

/// Returns the number of digits after the point of the shortest scientific form that rounds to the number in
/// its dtype.
fn mantissa_digits(x: f64, Style { dtype, most, .. }: Style) -> usize {
    let identifies = |d: &usize| format!("{x:.d$e}").parse::<f64>().is_ok_and(|y| dtype.round(y) == x);
    (0..most).find(identifies).unwrap_or(most)
}

/// Returns the mantissa, with `digits` digits after the point, and the exponent of the scientific form.
fn split_scientific(x: f64, digits: usize) -> (String, i32) {
    let text = format!("{x:.digits$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.to_string(), power.parse().unwrap_or(0))
}

fn exponent(x: f64, digits: usize) -> i32 {
    split_scientific(x, digits).1
}

/// Formats a magnitude in scientific notation, with `digits` of mantissa and `power` digits of exponent.
fn format_scientific(size: f64, digits: usize, power: usize) -> String {
    let (mantissa, exponent) = split_scientific(size, digits);
    let point = if digits == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:0power$}", exponent.abs())
}

/// Formats a magnitude with the fewest digits after the point that round to it in its dtype.
fn format_positional(size: f64, Style { dtype, most, .. }: Style) -> String {
    let identifies = |d: &usize| format!("{size:.d$}").parse::<f64>().is_ok_and(|y| dtype.round(y) == size);
    let digits = (0..most).find(identifies).unwrap_or(most);
    let text = format!("{size:.digits$}");
    if digits == 0 {
        return format!("{text}.");
    }
    // After rounding to the last digit, the text may end in zeros.
    text.trim_end_matches('0').to_string()
}
