//! Writes kernels that read and write at computed indices. For an index out of range, reads take the first slice and
//! writes do nothing. A separate kernel checks the range, and the host reports an error.

use super::{Call, each, sort, split_extents};
use crate::build::{Build, Launch};
use crate::int::Int;
use crate::memory::{load, register};
use crate::pointwise;
use gradus_ir::DType;
use gradus_ir::ops::Combine;

/// Loads an index. Returns its low word, and the condition that the index is not negative and below `extent`.
fn word(b: &mut Build<'_>, buffer: usize, at: &Int, extent: &Int) -> (String, String) {
    let dtype = b.dtype(buffer);
    let raw = load(b, buffer, at);
    let raw = b.value(raw);
    match register(dtype) {
        Some("vec2<u32>") => (format!("{raw}.x"), format!("({raw}.y == 0u && {raw}.x < {})", extent.text())),
        _ => {
            let low = b.value(pointwise::cast(dtype, DType::U32, &raw));
            let inside = format!("({low} < {})", extent.text());
            (low, inside)
        }
    }
}

/// Returns the kernels that copy the slices of the first operand at the indices of the second.
pub(super) fn take(call: &mut Call<'_>, axis: usize) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (_, extent, width) = split_extents(&routine.types[0], axis);
    let (x, index, out) = (routine.ins[0], routine.ins[1], routine.outs[0]);
    let count = routine.types[1].shape.numel();
    let mut all = call.check(index, extent)?;
    if extent == 0 {
        // The axis is empty. Either the result is empty too, or every index is out of range.
        return if call.program.buffers[out].numel == 0 {
            Ok(all)
        } else {
            Err("it reads slices of an axis of extent 0".into())
        };
    }
    all.extend(each::launch(call, &[x, index], out, |b, flat| {
        let (n, w, u) = (b.size(extent as i64), b.size(width as i64), b.size(count as i64));
        let column = b.int(flat.modulo(&w));
        let slice = b.int(flat.over(&w));
        let position = b.int(slice.modulo(&u));
        let row = b.int(slice.over(&u));
        let at = b.start(index, 0).plus(&position);
        let at = b.int(at);
        let (low, inside) = word(b, index, &at, &n);
        let chosen = Int::Text(b.value(format!("select(0u, {low}, {inside})")));
        let from = row.times(&n).plus(&chosen).times(&w).plus(&column);
        let from = b.start(x, 0).plus(&from);
        let from = b.int(from);
        let value = load(b, x, &from);
        Ok(b.value(value))
    })?);
    Ok(all)
}

/// Returns the kernels that copy the first operand and combine slices of the third into it, at the indices of the second.
/// They sort the updates by index. Each element of the result then combines the updates of its index in order.
pub(super) fn scatter(
    call: &mut Call<'_>,
    axis: usize,
    combine: Option<Combine>,
) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (_, extent, width) = split_extents(&routine.types[0], axis);
    let (base, index, updates, out) = (routine.ins[0], routine.ins[1], routine.ins[2], routine.outs[0]);
    let count = routine.types[1].shape.numel();
    let dtype = routine.types[0].dtype;
    if let Some(how) = combine {
        pointwise::combine(how, dtype, "a", "b")?;
    }
    let mut all = call.check(index, extent)?;
    let (order, sorts) = sort::positions(call, index, (1, count, 1), false)?;
    all.extend(sorts);
    // For each slice, the position of its first update in the sorted order.
    let starts = call.scratch(DType::U32, extent + 1);
    all.extend(each::launch(call, &[index, order], starts, |b, slice| {
        let u = b.size(count as i64);
        let (order_start, index_start) = (b.start(order, 0), b.start(index, 0));
        let (low, high) = (b.variable("0u"), b.variable(u.text()));
        b.line(format!("while ({low} < {high}) {{"));
        let middle = b.value(format!("({low} + {high}) / 2u"));
        let at = order_start.plus(&Int::Text(middle.clone()));
        let position = b.value(load(b, order, &at));
        let at = index_start.plus(&Int::Text(position));
        let key = load(b, index, &at);
        let key = b.value(key);
        let smaller = less(b.dtype(index), &key, &slice.text());
        b.line(format!("if ({smaller}) {{\n{low} = {middle} + 1u;\n}} else {{\n{high} = {middle};\n}}\n}}"));
        Ok(low)
    })?);
    all.extend(each::launch(call, &[base, updates, order, starts], out, |b, flat| {
        let (n, w, u) = (b.size(extent as i64), b.size(width as i64), b.size(count as i64));
        let column = b.int(flat.modulo(&w));
        let slice = b.int(flat.over(&w));
        let own = b.int(slice.modulo(&n));
        let row = b.int(slice.over(&n));
        let at = b.start(base, 0).plus(flat);
        let at = b.int(at);
        let first = load(b, base, &at);
        let value = b.variable(first);
        let (order_start, update_start) = (b.start(order, 0), b.start(updates, 0));
        let from = b.start(starts, 0).plus(&own);
        let from = b.int(from);
        let end = b.value(load(b, starts, &from.plus(&Int::Literal(1))));
        let begin = load(b, starts, &from);
        let j = b.name();
        b.line(format!("for (var {j} = {begin}; {j} < {end}; {j} = {j} + 1u) {{"));
        let at = order_start.plus(&Int::Text(j.clone()));
        let position = Int::Text(b.value(load(b, order, &at)));
        let from = row.times(&u).plus(&position).times(&w).plus(&column);
        let from = b.int(update_start.plus(&from));
        let update = load(b, updates, &from);
        let update = b.value(update);
        let both = match combine {
            Some(how) => pointwise::combine(how, dtype, &value, &update)?,
            None => update,
        };
        b.line(format!("{value} = {both};\n}}"));
        Ok(value)
    })?);
    Ok(all)
}

/// Returns the condition that an index is smaller than an unsigned word.
fn less(dtype: DType, key: &str, word: &str) -> String {
    match register(dtype) {
        Some("vec2<u32>") => format!("l_less({key}, l_u32({word}))"),
        Some("i32") => format!("({key} < 0 || bitcast<u32>({key}) < {word})"),
        _ => format!("({key} < {word})"),
    }
}
