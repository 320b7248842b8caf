//! Writes running combinations along an axis, such as cumulative sums. Long vectors are split into chunks: kernels compute
//! the total of each chunk, then the total before each chunk, then the elements. Sums of floats are pairs of a value and
//! its rounding error.

use super::{Call, each, split_extents};
use crate::build::{Build, GROUP, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::memory::{load, register, store};
use crate::pointwise::{combine, identity};
use gradus_ir::DType;
use gradus_ir::ops::Combine;

/// Smallest and largest number of elements per chunk. Within these bounds a chunk has about as many elements as there
/// are chunks.
const CHUNK: (usize, usize) = (256, 1 << 13);
/// Longest vector that is not split: one thread processes it.
const UNSPLIT: usize = 1024;

/// An accumulator: a value, or a sum and its rounding error.
struct Running {
    how: Combine,
    dtype: DType,
    value: String,
    lost: Option<String>,
}

impl Running {
    fn new(b: &mut Build<'_>, how: Combine, dtype: DType) -> Running {
        let value = b.variable(identity(how, dtype));
        let pair = how == Combine::Sum && register(dtype) == Some("f32");
        let lost = if pair { Some(b.variable("0.0f")) } else { None };
        Running { how, dtype, value, lost }
    }

    fn add(&self, b: &mut Build<'_>, x: &str) -> Result<(), String> {
        let Some(lost) = &self.lost else {
            let both = combine(self.how, self.dtype, &self.value, x)?;
            b.line(format!("{} = {both};", self.value));
            return Ok(());
        };
        let s = &self.value;
        let sum = b.value(format!("f_fence({s} + {x})"));
        let back = b.value(format!("f_fence({sum} - {s})"));
        let error = b.value(format!("f_fence({s} - f_fence({sum} - {back})) + f_fence({x} - {back})"));
        // Ignores the rounding error of an infinite sum, for which the formula gives NaN.
        b.line(format!(
            "{lost} = select({lost}, f_fence({lost} + {error}), f_is_finite({sum}));\n{s} = {sum};"
        ));
        Ok(())
    }

    fn result(&self, b: &mut Build<'_>) -> String {
        match &self.lost {
            Some(lost) => b.value(format!("{} + {lost}", self.value)),
            None => b.value(&self.value),
        }
    }
}

/// Vectors along the axis, split into chunks.
struct Lines {
    how: Combine,
    reverse: bool,
    x: usize,
    length: usize,
    width: usize,
    lines: usize,
    chunk: usize,
    chunks: usize,
}

impl Lines {
    /// Writes the start of a kernel. Returns the thread's vector and chunk, the first element of the chunk, and its
    /// end.
    fn begin(&self, b: &mut Build<'_>) -> (Int, Int, Int, Int) {
        let item = each::begin(b, self.lines * self.chunks);
        let (chunks, chunk, n) =
            (b.size(self.chunks as i64), b.size(self.chunk as i64), b.size(self.length as i64));
        // Neighbouring threads process neighbouring vectors.
        let lines = b.size(self.lines as i64);
        let line = b.int(item.modulo(&lines));
        let own = b.int(item.over(&lines).modulo(&chunks));
        let first = b.int(own.times(&chunk));
        let last = Int::Text(b.value(format!("min({} + {}, {})", first.text(), chunk.text(), n.text())));
        (line, own, first, last)
    }

    fn at(&self, b: &mut Build<'_>, buffer: usize, line: &Int, t: &Int) -> Int {
        let (n, w) = (b.size(self.length as i64), b.size(self.width as i64));
        let k = match self.reverse {
            true => Int::Text(format!("({} - 1u - {})", n.text(), t.text())),
            false => t.clone(),
        };
        let at = line.over(&w).times(&n).plus(&k).times(&w).plus(&line.modulo(&w));
        let at = b.start(buffer, 0).plus(&at);
        b.int(at)
    }
}

/// Returns the kernels of a running combination.
pub(super) fn launches(
    call: &mut Call<'_>,
    how: Combine,
    axis: usize,
    reverse: bool,
) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (rows, length, width) = split_extents(&routine.types[0], axis);
    let (x, out) = (routine.ins[0], routine.outs[0]);
    let dtype = routine.types[0].dtype;
    combine(how, dtype, "a", "b")?;
    if rows * length * width == 0 {
        return Ok(Vec::new());
    }
    let root = length.isqrt().next_power_of_two().clamp(CHUNK.0, CHUNK.1);
    let chunk = if length > UNSPLIT { root } else { length };
    let chunks = length.div_ceil(chunk);
    let lines = Lines { how, reverse, x, length, width, lines: rows * width, chunk, chunks };
    let mut all = Vec::new();
    let mut before = None;
    if chunks > 1 {
        // Totals are stored in the dtype of a register. Those of floats have a second part, the rounding error.
        let wide = match register(dtype) {
            Some("f32") => DType::F32,
            Some("i32") => DType::I32,
            Some("u32" | "bool") => DType::U32,
            _ => dtype,
        };
        if dtype == DType::Bool {
            return Err("there is no kernel for long running combinations of bool".into());
        }
        let parts = [call.scratch(wide, lines.lines * chunks), call.scratch(wide, lines.lines * chunks)];
        all.push(totals(call, &lines, dtype, parts)?);
        all.push(offsets(call, &lines, dtype, parts)?);
        before = Some(parts);
    }
    all.push(elements(call, &lines, dtype, out, before)?);
    Ok(all)
}

fn finish(b: Build<'_>, call: &Call<'_>, items: usize) -> Result<Launch, String> {
    b.finish(items.div_ceil(GROUP as usize), call.limits.groups, call.limits.bindings)
}

/// Returns the kernel that writes the total of each chunk.
fn totals(call: &Call<'_>, lines: &Lines, dtype: DType, parts: [usize; 2]) -> Result<Launch, String> {
    let mut b = Build::new(call.program, call.dialect, call.text);
    b.bind(lines.x, Unit::Word, false);
    parts.iter().for_each(|p| b.bind(*p, Unit::Word, true));
    let (line, own, first, last) = lines.begin(&mut b);
    let running = Running::new(&mut b, lines.how, dtype);
    let t = b.name();
    b.line(format!("for (var {t} = {}; {t} < {}; {t} = {t} + 1u) {{", first.text(), last.text()));
    let at = lines.at(&mut b, lines.x, &line, &Int::Text(t));
    let x = load(&b, lines.x, &at);
    let x = b.value(x);
    running.add(&mut b, &x)?;
    b.line("}");
    put(&mut b, lines, parts, &line, &own, &running);
    finish(b, call, lines.lines * lines.chunks)
}

/// Returns the kernel that replaces the total of each chunk by the total of all chunks before it.
fn offsets(call: &Call<'_>, lines: &Lines, dtype: DType, parts: [usize; 2]) -> Result<Launch, String> {
    let mut b = Build::new(call.program, call.dialect, call.text);
    parts.iter().for_each(|p| b.bind(*p, Unit::Word, true));
    let line = each::begin(&mut b, lines.lines);
    let chunks = b.size(lines.chunks as i64);
    let running = Running::new(&mut b, lines.how, dtype);
    let c = b.name();
    b.line(format!("for (var {c} = 0u; {c} < {}; {c} = {c} + 1u) {{", chunks.text()));
    let own = Int::Text(c);
    let total = get(&mut b, lines, parts, &line, &own, &running);
    put(&mut b, lines, parts, &line, &own, &running);
    for part in total {
        running.add(&mut b, &part)?;
    }
    b.line("}");
    finish(b, call, lines.lines)
}

/// Returns the kernel that writes the elements.
fn elements(
    call: &Call<'_>,
    lines: &Lines,
    dtype: DType,
    out: usize,
    before: Option<[usize; 2]>,
) -> Result<Launch, String> {
    let mut b = Build::new(call.program, call.dialect, call.text);
    b.bind(lines.x, Unit::Word, false);
    before.iter().flatten().for_each(|p| b.bind(*p, Unit::Word, false));
    let narrow = b.dtype(out).size() < 4;
    b.bind(out, if narrow { Unit::Atomic } else { Unit::Word }, true);
    let (line, own, first, last) = lines.begin(&mut b);
    let running = Running::new(&mut b, lines.how, dtype);
    if let Some(parts) = before {
        for part in get(&mut b, lines, parts, &line, &own, &running) {
            running.add(&mut b, &part)?;
        }
    }
    let t = b.name();
    b.line(format!("for (var {t} = {}; {t} < {}; {t} = {t} + 1u) {{", first.text(), last.text()));
    let t = Int::Text(t);
    let at = lines.at(&mut b, lines.x, &line, &t);
    let x = load(&b, lines.x, &at);
    let x = b.value(x);
    running.add(&mut b, &x)?;
    let result = running.result(&mut b);
    let at = lines.at(&mut b, out, &line, &t);
    store(&mut b, out, &at, &result);
    b.line("}");
    finish(b, call, lines.lines * lines.chunks)
}

fn slot(b: &mut Build<'_>, lines: &Lines, buffer: usize, line: &Int, chunk: &Int) -> Int {
    let n = b.size(lines.lines as i64);
    let at = b.start(buffer, 0).plus(&chunk.times(&n)).plus(line);
    b.int(at)
}

fn put(b: &mut Build<'_>, lines: &Lines, parts: [usize; 2], line: &Int, chunk: &Int, running: &Running) {
    let values = [Some(&running.value), running.lost.as_ref()];
    for (buffer, value) in parts.into_iter().zip(values) {
        if let Some(value) = value {
            let at = slot(b, lines, buffer, line, chunk);
            store(b, buffer, &at, value);
        }
    }
}

fn get(
    b: &mut Build<'_>,
    lines: &Lines,
    parts: [usize; 2],
    line: &Int,
    chunk: &Int,
    running: &Running,
) -> Vec<String> {
    let count = 1 + running.lost.is_some() as usize;
    let mut all = Vec::new();
    for buffer in parts.into_iter().take(count) {
        let at = slot(b, lines, buffer, line, chunk);
        let value = load(b, buffer, &at);
        all.push(b.value(value));
    }
    all
}
