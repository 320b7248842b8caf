//! Writes kernels for `argmax` and `argmin`: the index of the first largest or smallest element along an axis. The
//! threads of a group divide a vector among them, and reduce their candidates by a fixed tree.

use super::{Call, split_extents};
use crate::build::{Build, GROUP, GROUP_NUMBER, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::limits::Barriers;
use crate::memory::{load, register, store};
use crate::pointwise;
use gradus_ir::DType;

/// Returns an expression that is true if `a` precedes `b` in the order: NaN first, then by value. Equal values do not
/// precede each other.
fn beats(dtype: DType, largest: bool, a: &str, b: &str) -> String {
    let (x, y) = if largest { (b, a) } else { (a, b) };
    match register(dtype) {
        Some("f32") => format!("(!f_is_nan({b}) && (f_is_nan({a}) || {x} < {y}))"),
        Some("vec2<u32>") => format!("l_less({x}, {y})"),
        Some("bool") => format!("(!{x} && {y})"),
        _ => format!("({x} < {y})"),
    }
}

/// Returns the kernel of `argmax` or `argmin` along an axis, or the reason why there is none.
pub(super) fn launches(call: &mut Call<'_>, largest: bool, axis: usize) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (rows, length, width) = split_extents(&routine.types[0], axis);
    let (x, out) = (routine.ins[0], routine.outs[0]);
    let lines = rows * width;
    if lines == 0 {
        return Ok(Vec::new());
    }
    if length == 0 {
        return Err("its axis has extent 0, so there is no largest or smallest element".into());
    }
    let threads = match call.limits.barriers {
        Barriers::Expensive if length > 1 << 15 => GROUP,
        Barriers::Expensive => 1,
        Barriers::Cheap if length < 64 => 1,
        Barriers::Cheap if length < 1024 => 32,
        Barriers::Cheap => GROUP,
    };
    let mut b = Build::new(call.program, call.dialect, call.text);
    b.bind(x, Unit::Word, false);
    let narrow = b.dtype(out).size() < 4;
    b.bind(out, if narrow { Unit::Atomic } else { Unit::Word }, true);
    let dtype = b.dtype(x);
    let kind = register(dtype).ok_or_else(|| format!("kernels do not compute in {dtype}"))?;
    if dtype.is_complex() {
        return Err(format!("elements of {dtype} cannot be ordered"));
    }
    let per_group = GROUP / threads;
    let most = b.size(lines as i64);
    let number = b.value(format!("{GROUP_NUMBER} * {per_group}u + local / {threads}u"));
    let lane = b.value(format!("local % {threads}u"));
    let line = Int::Text(b.value(format!("min({number}, {} - 1u)", most.text())));
    let (n, w) = (b.size(length as i64), b.size(width as i64));
    let start = line.over(&w).times(&n).times(&w).plus(&line.modulo(&w));
    let start = b.start(x, 0).plus(&start);
    let start = b.int(start);
    let element = |b: &mut Build<'_>, at: &Int| {
        let at = b.int(start.plus(&at.times(&w)));
        let value = load(b, x, &at);
        b.value(value)
    };
    // Threads without an element start with the last element, which changes no result.
    let first = b.value(format!("min({lane}, {} - 1u)", n.text()));
    let value = element(&mut b, &Int::Text(first.clone()));
    let (best, place) = (b.variable(value), b.variable(&first));
    let j = b.name();
    b.line(format!("for (var {j} = {lane} + {threads}u; {j} < {}; {j} = {j} + {threads}u) {{", n.text()));
    let value = element(&mut b, &Int::Text(j.clone()));
    let better = beats(dtype, largest, &value, &best);
    b.line(format!("if ({better}) {{\n{best} = {value};\n{place} = {j};\n}}\n}}"));
    if threads > 1 {
        let shared = if kind == "bool" { "u32" } else { kind };
        b.shared_array("best", shared, GROUP);
        b.shared_array("place", "u32", GROUP);
        let put = |v: &str| if kind == "bool" { format!("select(0u, 1u, {v})") } else { v.to_string() };
        let get =
            |at: &str| if kind == "bool" { format!("(best[{at}] != 0u)") } else { format!("best[{at}]") };
        b.line(format!("best[local] = {};\nplace[local] = {place};\nworkgroupBarrier();", put(&best)));
        let mut half = threads / 2;
        while half > 0 {
            b.line(format!("if ({lane} < {half}u) {{"));
            let other = b.value(get(&format!("local + {half}u")));
            let mine = b.value(get("local"));
            let other_place = b.value(format!("place[local + {half}u]"));
            let wins = beats(dtype, largest, &other, &mine);
            let loses = beats(dtype, largest, &mine, &other);
            b.line(format!("if ({wins} || (!{loses} && {other_place} < place[local])) {{"));
            b.line(format!(
                "best[local] = {};\nplace[local] = {other_place};\n}}\n}}\nworkgroupBarrier();",
                put(&other)
            ));
            half /= 2;
        }
        b.line(format!("{place} = place[local];"));
    }
    b.line(format!("if ({lane} == 0u && {number} < {}) {{", most.text()));
    let result = b.value(pointwise::cast(DType::U32, call.program.buffers[out].dtype, &place));
    let to = b.start(out, 0).plus(&Int::Text(number));
    let to = b.int(to);
    store(&mut b, out, &to, &result);
    b.line("}");
    Ok(vec![b.finish(lines.div_ceil(per_group as usize), call.limits.groups, call.limits.bindings)?])
}
