//! Random words: every block of them is known from its number, so any thread can fill any part.

use super::Call;
use gradus_ir::{Result, philox};

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn fill(call: &Call<'_>) -> Result<bool> {
    // SAFETY: a state is words.
    let words = unsafe { call.operand::<u32>(0) };
    let &[a, b, c, d] = words else { return Ok(false) };
    let (state, n) = ([a, b, c, d], call.routine.results[0].shape.numel());
    let out = call.result::<u32>(0);
    let blocks = n.div_ceil(philox::BLOCK);
    call.parts(blocks, 8 * philox::BLOCK * size_of::<u32>(), |from, to| {
        let (from, to) = (from * philox::BLOCK, (to * philox::BLOCK).min(n));
        let mut at = from;
        let put = |word| {
            // SAFETY: the words of these blocks are this task's.
            unsafe { out.at(at).write(word) };
            at += 1;
        };
        philox::fill_bits(philox::advance(state, from), put, to - from);
    });
    for (i, word) in philox::advance(state, n).into_iter().enumerate() {
        // SAFETY: the next state has four words.
        unsafe { call.result::<u32>(1).at(i).write(word) };
    }
    Ok(true)
}
