//! Writes Fourier transforms of complex vectors. Lengths with small prime factors use passes of small radix that also
//! reorder the elements (Stockham); other lengths use a convolution with a chirp (Bluestein). A thread computes one
//! butterfly.

use super::each;
use super::{Call, split_extents};
use crate::build::{Build, GROUP, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::memory::{load, store};
use crate::program::Word;
use gradus_ir::DType;

/// Radices, in the order in which they are tried.
const RADICES: [usize; 7] = [8, 4, 2, 3, 5, 7, 11];
/// Longest vector that is transformed by a chirp, because squares of indices must fit in a word.
const MAX_CHIRP: usize = 1 << 15;
/// Longest vector that is supported, because eight times an index must fit in a word.
const MAX: usize = 1 << 28;

/// The vectors of a transform: the number of rows before the axis, its extent, and the number of elements after it.
#[derive(Clone, Copy)]
struct Lines {
    outer: usize,
    length: usize,
    inner: usize,
}

/// Returns the kernels of a transform along an axis.
pub(super) fn launches(call: &mut Call<'_>, axis: usize, inverse: bool) -> Result<Vec<Launch>, String> {
    let (outer, length, inner) = split_extents(&call.routine.types[0], axis);
    let (x, out) = (call.routine.ins[0], call.routine.outs[0]);
    let lines = Lines { outer, length, inner };
    if outer * length * inner == 0 {
        return Ok(Vec::new());
    }
    if length > MAX {
        return Err("its axis has more than 2^28 elements".into());
    }
    match radices(length) {
        Some(radices) => {
            let scratch = call.scratch(DType::C64, outer * length * inner);
            passes(call, [x, out, scratch], lines, &radices, inverse)
        }
        None if length <= MAX_CHIRP => chirp(call, lines, inverse),
        None => Err(format!("its extent has a prime factor above 11 and exceeds {MAX_CHIRP}")),
    }
}

/// Factors `length` into radices of `RADICES`. Returns `None` if it has another prime factor.
fn radices(mut length: usize) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for radix in RADICES {
        while length.is_multiple_of(radix) {
            all.push(radix);
            length /= radix;
        }
    }
    (length == 1).then_some(all)
}

/// Returns the passes of a transform from one buffer to another. They alternate between the result and a scratch buffer.
fn passes(
    call: &Call<'_>,
    [from, to, scratch]: [usize; 3],
    lines: Lines,
    radices: &[usize],
    inverse: bool,
) -> Result<Vec<Launch>, String> {
    // A vector of one element is copied.
    let radices = if radices.is_empty() { &[1] } else { radices };
    let (mut done, mut source, mut all) = (1, from, Vec::new());
    for (i, radix) in radices.iter().enumerate() {
        let target = if (radices.len() - 1 - i).is_multiple_of(2) { to } else { scratch };
        all.push(pass(call, [source, target], lines, (*radix, done), inverse)?);
        done *= radix;
        source = target;
    }
    Ok(all)
}

/// Returns a pass that combines transforms of length `done` into transforms of length `radix · done`.
fn pass(
    call: &Call<'_>,
    [from, to]: [usize; 2],
    lines: Lines,
    (radix, done): (usize, usize),
    inverse: bool,
) -> Result<Launch, String> {
    let mut b = Build::new(call.program, call.dialect, call.text);
    b.bind(from, Unit::Word, false);
    b.bind(to, Unit::Word, true);
    let step = lines.length / radix;
    let items = lines.outer * step * lines.inner;
    let item = each::begin(&mut b, items);
    let (inner, length) = (b.size(lines.inner as i64), b.size(lines.length as i64));
    let (step, done_size) = (b.size(step as i64), b.size(done as i64));
    let column = b.int(item.modulo(&inner));
    let rest = b.int(item.over(&inner));
    let j = b.int(rest.modulo(&step));
    let line = b.int(rest.over(&step).times(&length));
    let index = |b: &mut Build<'_>, buffer: usize, at: &Int| {
        let start = b.start(buffer, 0);
        b.int(start.plus(&line.plus(at).times(&inner)).plus(&column))
    };
    let mut parts = Vec::new();
    for r in 0..radix {
        let at = index(&mut b, from, &j.plus(&step.times(&Int::Literal(r as u32))));
        let value = load(&b, from, &at);
        parts.push(b.value(value));
    }
    let within = b.int(j.modulo(&done_size));
    if done > 1 {
        let whole = b.size((radix * done) as i64);
        let first = root(&mut b, &within, &whole, inverse);
        let mut power = first.clone();
        for (r, part) in parts.iter_mut().enumerate().skip(1) {
            if r > 1 {
                power = product(&mut b, &power, &first);
            }
            *part = product(&mut b, part, &power);
        }
    }
    let block = b.int(j.over(&done_size).times(&done_size).times(&Int::Literal(radix as u32)));
    let results = butterfly(&mut b, &parts, inverse);
    for (r, value) in results.iter().enumerate() {
        let at = block.plus(&within).plus(&done_size.times(&Int::Literal(r as u32)));
        let at = index(&mut b, to, &at);
        store(&mut b, to, &at, value);
    }
    b.finish(items.div_ceil(GROUP as usize), call.limits.groups, call.limits.bindings)
}

/// Returns the root of unity `exp(∓2πi k / n)` for `k < n`: negative sign forward, positive sign for the inverse.
///
/// Integer arithmetic reduces the angle to an eighth of a circle, so the reduction adds no rounding error.
fn root(b: &mut Build<'_>, k: &Int, n: &Int, inverse: bool) -> String {
    let eight = b.int(k.times(&Int::Literal(8)));
    let octant = b.int(eight.over(n));
    let rest = b.value(format!("{} - {}", eight.text(), octant.times(n).text()));
    let eighth = b.parameter(Word::Value(std::f32::consts::FRAC_PI_4.to_bits()));
    // In odd octants the angle is measured from the end of the octant, so that it is small near that end.
    let odd = b.value(format!("({} & 1u) == 1u", octant.text()));
    let share = b.value(format!("select({rest}, {} - {rest}, {odd})", n.text()));
    let angle = b.value(format!("(f32({share}) / f32({})) * bitcast<f32>({eighth})", n.text()));
    let (c, s) = (b.value(format!("f_near_cos({angle})")), b.value(format!("f_near_sin({angle})")));
    let quarter = b.value(format!("(({} + 1u) >> 1u) & 3u", octant.text()));
    // The angle is measured from the nearest multiple of a quarter of a circle, which is `quarter`. In odd octants it is
    // measured backwards, so the sine is negated.
    let s = b.value(format!("select({s}, -{s}, {odd})"));
    let re = b.value(format!(
        "select(select({c}, -{s}, {quarter} == 1u), select(-{c}, {s}, {quarter} == 3u), {quarter} >= 2u)"
    ));
    let im = b.value(format!(
        "select(select({s}, {c}, {quarter} == 1u), select(-{s}, -{c}, {quarter} == 3u), {quarter} >= 2u)"
    ));
    let sign = if inverse { "" } else { "-" };
    b.value(format!("vec2<f32>({re}, {sign}{im})"))
}

/// Returns the product of two complex numbers.
fn product(b: &mut Build<'_>, x: &str, y: &str) -> String {
    b.value(format!("vec2<f32>(fma({x}.x, {y}.x, -({x}.y * {y}.y)), fma({x}.x, {y}.y, {x}.y * {y}.x))"))
}

/// Returns the transform of a few numbers, computed from its definition. Factors 1, -1, i and -i need no
/// multiplication.
fn butterfly(b: &mut Build<'_>, parts: &[String], inverse: bool) -> Vec<String> {
    let n = parts.len();
    let sum = |b: &mut Build<'_>, r: usize| {
        let (mut re, mut im) = (String::new(), String::new());
        for (q, x) in parts.iter().enumerate() {
            let k = r * q % n;
            let (c, s) = match (4 * k).is_multiple_of(n) {
                true => [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][4 * k / n],
                false => {
                    let angle = std::f64::consts::TAU * k as f64 / n as f64;
                    (angle.cos(), angle.sin())
                }
            };
            let s = if inverse { s } else { -s };
            re = added(&re, &[(c, format!("{x}.x")), (-s, format!("{x}.y"))]);
            im = added(&im, &[(c, format!("{x}.y")), (s, format!("{x}.x"))]);
        }
        b.value(format!("vec2<f32>({re}, {im})"))
    };
    (0..n).map(|r| sum(b, r)).collect()
}

/// Appends terms, each a factor times a value, to the expression of a sum, which may be empty.
fn added(sum: &str, terms: &[(f64, String)]) -> String {
    let mut sum = sum.to_string();
    for (factor, value) in terms {
        sum = match (*factor, sum.is_empty()) {
            (0.0, _) => sum,
            (1.0, true) => value.clone(),
            (-1.0, true) => format!("(-{value})"),
            (1.0, false) => format!("({sum} + {value})"),
            (-1.0, false) => format!("({sum} - {value})"),
            (f, true) => format!("({:?}f * {value})", f as f32),
            (f, false) => format!("fma({:?}f, {value}, {sum})", f as f32),
        };
    }
    sum
}

/// Returns the kernels of a transform of any length: a convolution with the chirp `exp(∓πi k² / n)`, which is computed by
/// transforms whose length is a power of two.
fn chirp(call: &mut Call<'_>, lines: Lines, inverse: bool) -> Result<Vec<Launch>, String> {
    let Lines { outer, length, inner } = lines;
    let (x, out) = (call.routine.ins[0], call.routine.outs[0]);
    let padded = (2 * length - 1).next_power_of_two();
    let factors = radices(padded).unwrap_or_default();
    let count = outer * inner;
    let [a, c, spare] = [(); 3].map(|()| call.scratch(DType::C64, count * padded));
    let [kernel, transformed, own_spare] = [(); 3].map(|()| call.scratch(DType::C64, padded));
    let (many, one) =
        (Lines { outer: count, length: padded, inner: 1 }, Lines { outer: 1, length: padded, inner: 1 });
    let at = |b: &mut Build<'_>, line: &Int, k: &Int, buffer: usize| {
        let (n, w) = (b.size(length as i64), b.size(inner as i64));
        let row = line.over(&w).times(&n).plus(k).times(&w).plus(&line.modulo(&w));
        let start = b.start(buffer, 0);
        b.int(start.plus(&row))
    };
    // Multiplies the vectors by the chirp, and pads them with zeros.
    let mut all = each::launch(call, &[x], a, |b, flat| {
        let (n, m) = (b.size(length as i64), b.size(padded as i64));
        let (line, k) = (b.int(flat.over(&m)), b.int(flat.modulo(&m)));
        let inside = b.value(format!("{} < {}", k.text(), n.text()));
        let own = Int::Text(b.value(format!("select(0u, {}, {inside})", k.text())));
        let from = at(b, &line, &own, x);
        let value = load(b, x, &from);
        let value = b.value(value);
        let turn = chirp_factor(b, &own, &n, inverse);
        let value = product(b, &value, &turn);
        Ok(b.value(format!(
            "vec2<f32>(select(0.0f, {value}.x, {inside}), select(0.0f, {value}.y, {inside}))"
        )))
    })?;
    all.extend(passes(call, [a, c, spare], many, &factors, false)?);
    // Writes the conjugate chirp at indices k and m - k for all k < n, and transforms it.
    all.extend(each::launch(call, &[], kernel, |b, flat| {
        let (n, m) = (b.size(length as i64), b.size(padded as i64));
        let back = b.value(format!("min({0}, {1} - {0})", flat.text(), m.text()));
        let inside = b.value(format!("{back} < {}", n.text()));
        let own = Int::Text(b.value(format!("select(0u, {back}, {inside})")));
        let turn = chirp_factor(b, &own, &n, !inverse);
        Ok(b.value(format!("vec2<f32>(select(0.0f, {turn}.x, {inside}), select(0.0f, {turn}.y, {inside}))")))
    })?);
    all.extend(passes(call, [kernel, transformed, own_spare], one, &factors, false)?);
    all.extend(each::launch(call, &[c, transformed], a, |b, flat| {
        let m = b.size(padded as i64);
        let (left, right) = (b.start(c, 0).plus(flat), b.start(transformed, 0).plus(&flat.modulo(&m)));
        let (left, right) = (b.int(left), b.int(right));
        let (p, q) = (load(b, c, &left), load(b, transformed, &right));
        let (p, q) = (b.value(p), b.value(q));
        Ok(product(b, &p, &q))
    })?);
    all.extend(passes(call, [a, c, spare], many, &factors, true)?);
    all.extend(each::launch(call, &[c], out, |b, flat| {
        let (n, m, w) = (b.size(length as i64), b.size(padded as i64), b.size(inner as i64));
        let rest = b.int(flat.over(&w));
        let k = b.int(rest.modulo(&n));
        let line = b.int(rest.over(&n).times(&w).plus(&flat.modulo(&w)));
        let from = b.start(c, 0).plus(&line.times(&m).plus(&k));
        let from = b.int(from);
        let value = load(b, c, &from);
        let value = b.value(value);
        let turn = chirp_factor(b, &k, &n, inverse);
        let value = product(b, &value, &turn);
        let share = b.parameter(Word::Value((1.0 / padded as f32).to_bits()));
        Ok(b.value(format!(
            "vec2<f32>({value}.x * bitcast<f32>({share}), {value}.y * bitcast<f32>({share}))"
        )))
    })?);
    Ok(all)
}

/// Returns the chirp `exp(∓πi k² / n)` for `k < n`.
fn chirp_factor(b: &mut Build<'_>, k: &Int, n: &Int, inverse: bool) -> String {
    let twice = b.int(n.times(&Int::Literal(2)));
    let square = b.int(k.times(k).modulo(&twice));
    root(b, &square, &twice, inverse)
}
