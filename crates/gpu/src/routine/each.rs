//! Writes kernels that compute each element of a result separately. A thread writes complete words of the result.

use super::Call;
use crate::build::{Build, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::memory::{per_word, store, store_four};

/// Returns a kernel that writes every element of buffer `out`. `value` returns the expression of the element with a
/// row-major number; it may load from the buffers `reads`.
pub(super) fn launch(
    call: &Call<'_>,
    reads: &[usize],
    out: usize,
    value: impl Fn(&mut Build<'_>, &Int) -> Result<String, String>,
) -> Result<Vec<Launch>, String> {
    let numel = call.program.buffers[out].numel;
    if numel == 0 {
        return Ok(Vec::new());
    }
    let mut b = Build::new(call.program, call.dialect, call.text);
    reads.iter().for_each(|r| b.bind(*r, Unit::Word, false));
    b.bind(out, Unit::Word, true);
    let per = per_word(b.dtype(out));
    let items = numel.div_ceil(per);
    b.without_barriers(call.limits, items);
    let item = begin(&mut b, items);
    let start = b.start(out, 0);
    let last = b.size(numel as i64 - 1);
    let first = b.int(item.times(&Int::Literal(per as u32)));
    let mut all = Vec::new();
    for k in 0..per {
        let own = first.plus(&Int::Literal(k as u32));
        let own = match per {
            1 => own,
            // Elements after the last are in padding that is never read. They are computed as the last.
            _ => Int::Text(b.value(format!("min({}, {})", own.text(), last.text()))),
        };
        all.push(value(&mut b, &own)?);
    }
    let at = b.int(start.plus(&first));
    match per {
        1 => store(&mut b, out, &at, &all[0]),
        _ => store_four(&mut b, out, &at, &all),
    }
    Ok(vec![b.finish_threads(items, call.limits)?])
}

/// Returns the number of the thread, as an expression. Writes a line by which threads with a number of `items` or more
/// return.
pub(super) fn begin(b: &mut Build<'_>, items: usize) -> Int {
    let most = b.size(items as i64);
    let item = b.value(b.thread());
    b.line(format!("if ({item} >= {}) {{\nreturn;\n}}", most.text()));
    Int::Text(item)
}
