//! Writes the kernel of random words: a thread computes a block of four words from its number and the state.

use super::{Call, each};
use crate::build::{Build, GROUP, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::memory::{load, store};

/// Returns the kernel that writes random words, and the state after them.
pub(super) fn launches(call: &mut Call<'_>) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let (state, words, next) = (routine.ins[0], routine.outs[0], routine.outs[1]);
    let numel = call.program.buffers[words].numel;
    let blocks = numel.div_ceil(4);
    let mut b = Build::new(call.program, call.dialect, call.text);
    b.bind(state, Unit::Word, false);
    b.bind(words, Unit::Word, true);
    b.bind(next, Unit::Word, true);
    let item = each::begin(&mut b, blocks.max(1));
    let from = b.start(state, 0);
    let mut part = |k: u32| {
        let word = load(&b, state, &from.plus(&Int::Literal(k)));
        b.value(word)
    };
    let (k0, k1, low, high) = (part(0), part(1), part(2), part(3));
    let count = b.size(numel as i64);
    let counter = b.value(format!("l_add(vec2<u32>({low}, {high}), vec2<u32>({}, 0u))", item.text()));
    let block =
        b.value(format!("philox(vec4<u32>({counter}.x, {counter}.y, 0u, 0u), vec2<u32>({k0}, {k1}))"));
    let first = b.int(item.times(&Int::Literal(4)));
    let to = b.start(words, 0).plus(&first);
    let to = b.int(to);
    for (k, part) in ["x", "y", "z", "w"].iter().enumerate() {
        let own = first.plus(&Int::Literal(k as u32));
        b.line(format!("if ({} < {}) {{", own.text(), count.text()));
        store(&mut b, words, &to.plus(&Int::Literal(k as u32)), &format!("{block}.{part}"));
        b.line("}");
    }
    b.line(format!("if ({} == 0u) {{", item.text()));
    let used = b.size(blocks as i64);
    let after = b.value(format!("l_add(vec2<u32>({low}, {high}), vec2<u32>({}, 0u))", used.text()));
    let to = b.start(next, 0);
    for (k, word) in [k0, k1, format!("{after}.x"), format!("{after}.y")].iter().enumerate() {
        store(&mut b, next, &to.plus(&Int::Literal(k as u32)), word);
    }
    b.line("}");
    let groups = blocks.max(1).div_ceil(GROUP as usize);
    Ok(vec![b.finish(groups, call.limits.groups, call.limits.bindings)?])
}
