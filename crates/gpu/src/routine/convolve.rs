//! Writes convolutions, sums of overlapping windows, and padding between elements. A thread computes one element.
//! Takes a routine of a plan; returns its kernels. Large convolutions of floats are in `implicit.rs` and `direct.rs`.

use super::{Call, direct, each, implicit};
use crate::build::{Build, Launch};
use crate::int::Int;
use crate::limits::Barriers;
use crate::memory::{load, register, zero};
use crate::nest::decompose;
use crate::pointwise::{combine, identity};
use gradus_compile::Layout;
use gradus_ir::DType;
use gradus_ir::ops::{Combine, Window};

/// Returns the extents of a shape as expressions.
pub(super) fn sizes(b: &mut Build<'_>, shape: &[usize]) -> Vec<Int> {
    shape.iter().map(|e| b.size(*e as i64)).collect()
}

/// Returns the row-major number of an index.
pub(super) fn number(b: &mut Build<'_>, shape: &[usize], index: &[Int]) -> Int {
    let strides = Layout::row_major(shape).strides;
    let terms = strides.iter().zip(index);
    terms.fold(Int::Literal(0), |sum, (s, i)| {
        let stride = b.size(*s);
        sum.plus(&i.times(&stride))
    })
}

/// Divides a signed position by a dilation. Returns the index of the element at that position, and the condition that
/// there is an element with an index below `extent`.
pub(super) fn spread(b: &mut Build<'_>, at: Int, dilation: usize, extent: &Int) -> (Int, String) {
    let at = b.int(at);
    if dilation == 1 {
        let inside = format!("{} < {}", at.text(), extent.text());
        return (at, inside);
    }
    let d = b.size(dilation as i64);
    let own = b.int(at.over(&d));
    // As an unsigned word a negative number is large, but its quotient may be a valid index, so the sign is tested too.
    let inside = format!(
        "bitcast<i32>({0}) >= 0 && {1} * {2} == {0} && {1} < {3}",
        at.text(),
        own.text(),
        d.text(),
        extent.text()
    );
    (own, inside)
}

/// Returns the product of two elements, in the type of sums.
fn times(dtype: DType, a: &str, b: &str) -> Result<String, String> {
    combine(Combine::Prod, dtype, a, b)
}

/// Returns the kernels of a correlation with strides, padding, dilations and groups.
pub(super) fn convolve(call: &mut Call<'_>, window: &Window) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (x, w, out) = (routine.ins[0], routine.ins[1], routine.outs[0]);
    let dtype = routine.types[0].dtype;
    let (xs, ws, os) =
        (routine.types[0].shape.to_vec(), routine.types[1].shape.to_vec(), routine.results[0].shape.to_vec());
    let n = window.stride.len();
    let terms: usize = ws[2..].iter().product();
    times(dtype, "a", "b")?;
    let float = register(dtype) == Some("f32");
    let product = match call.limits.barriers {
        Barriers::Cheap if float => implicit::launches(call, window)?,
        Barriers::Expensive if float => direct::launches(call, window)?,
        _ => None,
    };
    if let Some(all) = product {
        return Ok(all);
    }
    if call.limits.barriers == Barriers::Expensive && terms > 1 << 15 {
        return Err(
            "its windows have more than 2^15 elements, and this adapter stops loops of more iterations"
                .into(),
        );
    }
    each::launch(call, &[x, w], out, |b, flat| {
        let extents = sizes(b, &os);
        let at = decompose(b, flat, &extents);
        let (x_start, w_start) = (b.start(x, 0), b.start(w, 0));
        let group = number(b, &xs[..2], &at[..2]);
        let group = b.int(group);
        let filter = number(b, &ws[..2], &[at[1].clone(), at[2].clone()]);
        let filter = b.int(filter);
        let (inner_x, inner_w): (usize, usize) = (xs[2..].iter().product(), ws[2..].iter().product());
        let (block_x, block_w) = (b.size(inner_x as i64), b.size(inner_w as i64));
        let base_x = b.int(x_start.plus(&group.times(&block_x)));
        let base_w = b.int(w_start.plus(&filter.times(&block_w)));
        let x_sizes = sizes(b, &xs);
        let sum = b.variable(identity(Combine::Sum, dtype));
        // Writes one loop for the channels and one for each spatial axis. Positions outside of the operand are skipped.
        let mut loops: Vec<Int> = Vec::new();
        let mut inside: Vec<Int> = Vec::new();
        let channels = b.size(ws[2] as i64);
        let c = b.name();
        b.line(format!("for (var {c} = 0u; {c} < {}; {c} = {c} + 1u) {{", channels.text()));
        loops.push(Int::Text(c));
        inside.push(loops[0].clone());
        let mut open = 1;
        for i in 0..n {
            let k = b.name();
            let size = b.size(ws[3 + i] as i64);
            b.line(format!("for (var {k} = 0u; {k} < {}; {k} = {k} + 1u) {{", size.text()));
            let (stride, dilation, low) = (
                b.size(window.stride[i] as i64),
                b.size(window.window_dilation[i] as i64),
                b.size(-window.low[i]),
            );
            let k = Int::Text(k);
            let place = at[3 + i].times(&stride).plus(&k.times(&dilation)).plus(&low);
            let (own, condition) = spread(b, place, window.base_dilation[i], &x_sizes[3 + i]);
            b.line(format!("if ({condition}) {{"));
            loops.push(k);
            inside.push(own);
            open += 2;
        }
        let at_x = number(b, &xs[2..], &inside);
        let at_x = b.int(base_x.plus(&at_x));
        let at_w = number(b, &ws[2..], &loops);
        let at_w = b.int(base_w.plus(&at_w));
        let (p, q) = (load(b, x, &at_x), load(b, w, &at_w));
        let (p, q) = (b.value(p), b.value(q));
        let next = match register(dtype) {
            Some("f32") => format!("fma({p}, {q}, {sum})"),
            _ => combine(Combine::Sum, dtype, &sum, &times(dtype, &p, &q)?)?,
        };
        b.line(format!("{sum} = {next};"));
        (0..open).for_each(|_| b.line("}"));
        Ok(sum)
    })
}

/// Returns the kernel of a sum of overlapping windows. A thread computes an element, and adds its windows in order.
pub(super) fn fold(call: &mut Call<'_>, window: &Window) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (x, out) = (routine.ins[0], routine.outs[0]);
    let dtype = routine.types[0].dtype;
    let (xs, os) = (routine.types[0].shape.to_vec(), routine.results[0].shape.to_vec());
    let n = window.size.len();
    let lead = os.len() - n;
    combine(Combine::Sum, dtype, "a", "b")?;
    each::launch(call, &[x], out, |b, flat| {
        let extents = sizes(b, &os);
        let at = decompose(b, flat, &extents);
        let counts = sizes(b, &xs[lead..lead + n]);
        let start = b.start(x, 0);
        let sum = b.variable(identity(Combine::Sum, dtype));
        let (mut places, mut within) = (Vec::new(), Vec::new());
        for i in 0..n {
            let k = b.name();
            let size = b.size(window.size[i] as i64);
            b.line(format!("for (var {k} = 0u; {k} < {}; {k} = {k} + 1u) {{", size.text()));
            let dilation = b.size(window.window_dilation[i] as i64);
            let back = Int::Text(k.clone()).times(&dilation);
            let rest = Int::Text(format!("({} - {})", at[lead + i].text(), back.text()));
            let (own, condition) = spread(b, rest, window.stride[i], &counts[i]);
            b.line(format!("if ({condition}) {{"));
            places.push(own);
            within.push(Int::Text(k));
        }
        let index: Vec<Int> = at[..lead].iter().cloned().chain(places).chain(within).collect();
        let from = number(b, &xs, &index);
        let from = b.int(start.plus(&from));
        let value = load(b, x, &from);
        let value = b.value(value);
        b.line(format!("{sum} = {};", combine(Combine::Sum, dtype, &sum, &value)?));
        (0..2 * n).for_each(|_| b.line("}"));
        Ok(sum)
    })
}

/// Returns the kernel that pads the operand with zeros around and between its elements.
pub(super) fn pad(call: &mut Call<'_>, low: &[i64], interior: &[usize]) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (x, out) = (routine.ins[0], routine.outs[0]);
    let dtype = routine.types[0].dtype;
    let (xs, os) = (routine.types[0].shape.to_vec(), routine.results[0].shape.to_vec());
    each::launch(call, &[x], out, |b, flat| {
        let extents = sizes(b, &os);
        let at = decompose(b, flat, &extents);
        let x_sizes = sizes(b, &xs);
        let start = b.start(x, 0);
        let value = b.variable(zero(dtype));
        let mut index = Vec::new();
        for (i, own) in at.iter().enumerate() {
            let before = b.size(-low[i]);
            let (own, condition) = spread(b, own.plus(&before), interior[i] + 1, &x_sizes[i]);
            b.line(format!("if ({condition}) {{"));
            index.push(own);
        }
        let from = number(b, &xs, &index);
        let from = b.int(start.plus(&from));
        let loaded = load(b, x, &from);
        b.line(format!("{value} = {loaded};"));
        at.iter().for_each(|_| b.line("}"));
        Ok(value)
    })
}
