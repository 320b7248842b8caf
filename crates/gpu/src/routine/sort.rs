//! Writes the passes of a merge sort. In each pass, every element finds its position in the neighbouring run by binary
//! search. Passes move only indices, and read keys through them. The sort is stable, and NaN is larger than every number.

use super::{Call, each, split_extents};
use crate::build::{Build, GROUP, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::memory::{load, register, store};
use crate::pointwise;
use gradus_ir::DType;

/// Returns the condition that key `a` comes before key `b`.
fn before(dtype: DType, descending: bool, a: &str, b: &str) -> String {
    let (a, b) = if descending { (b, a) } else { (a, b) };
    match register(dtype) {
        Some("f32") => format!("f_before({a}, {b})"),
        Some("vec2<u32>") => format!("l_less({a}, {b})"),
        Some("bool") => format!("(!{a} && {b})"),
        _ => format!("({a} < {b})"),
    }
}

/// Returns a buffer for the sorted indices of each vector, and the passes that fill it. Takes the number of rows before
/// the vectors, their length and their stride.
pub(super) fn positions(
    call: &mut Call<'_>,
    keys: usize,
    (rows, length, width): (usize, usize, usize),
    descending: bool,
) -> Result<(usize, Vec<Launch>), String> {
    let dtype = call.program.buffers[keys].dtype;
    if dtype.is_complex() {
        return Err(format!("elements of {dtype} cannot be ordered"));
    }
    let numel = rows * length * width;
    let mut from = None;
    let mut all = Vec::new();
    let buffers = [call.scratch(DType::U32, numel.max(1)), call.scratch(DType::U32, numel.max(1))];
    let mut run = 1;
    let mut k = 0;
    while run < length || k == 0 {
        let to = buffers[k % 2];
        all.extend(pass(call, keys, from, to, (rows, length, width), run, descending)?);
        from = Some(to);
        run *= 2;
        k += 1;
    }
    Ok((from.unwrap_or(buffers[0]), all))
}

/// Returns one pass, which merges runs of length `run` into runs of twice the length.
fn pass(
    call: &Call<'_>,
    keys: usize,
    from: Option<usize>,
    to: usize,
    (rows, length, width): (usize, usize, usize),
    run: usize,
    descending: bool,
) -> Result<Vec<Launch>, String> {
    let numel = rows * length * width;
    if numel == 0 {
        return Ok(Vec::new());
    }
    let mut b = Build::new(call.program, call.dialect, call.text);
    b.bind(keys, Unit::Word, false);
    if let Some(from) = from {
        b.bind(from, Unit::Word, false);
    }
    b.bind(to, Unit::Word, true);
    let dtype = b.dtype(keys);
    let item = each::begin(&mut b, numel);
    let (n, w) = (b.size(length as i64), b.size(width as i64));
    // The length of runs is a parameter also in special text, so that all passes share a kernel.
    let r = Int::Text(b.parameter(crate::program::Word::Value(run as u32)));
    let column = b.int(item.modulo(&w));
    let rest = b.int(item.over(&w));
    let own = b.int(rest.modulo(&n));
    let row = b.int(rest.over(&n));
    let line = b.int(row.times(&n).times(&w).plus(&column));
    let key_start = b.start(keys, 0);
    let from_start = from.map(|f| b.start(f, 0));
    let to_start = b.start(to, 0);
    let position = |b: &mut Build<'_>, at: &Int| match (from, &from_start) {
        (Some(f), Some(start)) => {
            let at = start.plus(&line).plus(&at.times(&w));
            let at = b.int(at);
            let p = load(b, f, &at);
            Int::Text(b.value(p))
        }
        _ => at.clone(),
    };
    let key = |b: &mut Build<'_>, position: &Int| {
        let at = key_start.plus(&line).plus(&position.times(&w));
        let at = b.int(at);
        let k = load(b, keys, &at);
        b.value(k)
    };
    let mine = position(&mut b, &own);
    let my_key = key(&mut b, &mine);
    let number = b.int(own.over(&r));
    let odd = b.value(format!("({} & 1u) == 1u", number.text()));
    let first = b.int(Int::Text(format!("({} & ~1u)", number.text())).times(&r));
    let start = b.value(format!("select({0} + {1}, {0}, {odd})", first.text(), r.text()));
    let low = b.variable(format!("min({start}, {})", n.text()));
    let high = b.variable(format!("min({start} + {}, {})", r.text(), n.text()));
    let base = b.value(&low);
    b.line(format!("while ({low} < {high}) {{"));
    let middle = b.value(format!("({low} + {high}) / 2u"));
    let other = position(&mut b, &Int::Text(middle.clone()));
    let other_key = key(&mut b, &other);
    // Among equal keys, those of the first run come first.
    let smaller = before(dtype, descending, &other_key, &my_key);
    let larger = before(dtype, descending, &my_key, &other_key);
    b.line(format!("if (select({smaller}, !{larger}, {odd})) {{\n{low} = {middle} + 1u;\n}} else {{\n{high} = {middle};\n}}\n}}"));
    let inside =
        b.value(format!("{} - select({}, {} + {}, {odd})", own.text(), first.text(), first.text(), r.text()));
    let rank = b.value(format!("{} + {inside} + ({low} - {base})", first.text()));
    let at = to_start.plus(&line).plus(&Int::Text(rank).times(&w));
    let at = b.int(at);
    store(&mut b, to, &at, &mine.text());
    Ok(vec![b.finish(numel.div_ceil(GROUP as usize), call.limits.groups, call.limits.bindings)?])
}

/// Returns the kernels that write the sorted values and their original indices.
pub(super) fn launches(call: &mut Call<'_>, axis: usize, descending: bool) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (rows, length, width) = split_extents(&routine.types[0], axis);
    let kept = routine.results[0].shape[axis];
    let x = routine.ins[0];
    let (order, mut all) = positions(call, x, (rows, length, width), descending)?;
    for (k, &out) in routine.outs.iter().enumerate() {
        let dtype = routine.results[k].dtype;
        let reads = if k == 0 { vec![x, order] } else { vec![order] };
        all.extend(each::launch(call, &reads, out, |b, flat| {
            let (n, w, first) = (b.size(length as i64), b.size(width as i64), b.size(kept as i64));
            let column = b.int(flat.modulo(&w));
            let rest = b.int(flat.over(&w));
            let own = b.int(rest.modulo(&first));
            let row = b.int(rest.over(&first));
            let line = b.int(row.times(&n).times(&w).plus(&column));
            let at = b.start(order, 0).plus(&line).plus(&own.times(&w));
            let at = b.int(at);
            let position = load(b, order, &at);
            let position = Int::Text(b.value(position));
            if k == 1 {
                return Ok(b.value(pointwise::cast(DType::U32, dtype, &position.text())));
            }
            let at = b.start(x, 0).plus(&line).plus(&position.times(&w));
            let at = b.int(at);
            let value = load(b, x, &at);
            Ok(b.value(value))
        })?);
    }
    Ok(all)
}
