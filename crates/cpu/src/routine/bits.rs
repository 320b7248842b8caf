//! Computes random words. Each block of words is computed from its number, so any thread can write any part.

use super::Call;
#[cfg(target_arch = "x86_64")]
use crate::Isa;
use gradus_ir::{Result, philox};

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn fill(call: &Call<'_>) -> Result<bool> {
    // SAFETY: the caller of `run` guarantees the buffers; operand 0, the state, has dtype `u32`.
    let words = unsafe { call.operand::<u32>(0) };
    let &[a, b, c, d] = words else { return Ok(false) };
    let (state, n) = ([a, b, c, d], call.routine.results[0].shape.numel());
    let out = call.result::<u32>(0);
    let blocks = n.div_ceil(philox::BLOCK);
    call.parts(blocks, 8 * philox::BLOCK * size_of::<u32>(), |from, to| {
        let (from, to) = (from * philox::BLOCK, (to * philox::BLOCK).min(n));
        // SAFETY: the result has `n` words, and this range belongs to this task.
        let words = unsafe { out.slice(from, to - from) };
        write(philox::advance(state, from), words);
    });
    for (i, word) in philox::advance(state, n).into_iter().enumerate() {
        // SAFETY: result 1, the next state, has four words.
        unsafe { call.result::<u32>(1).at(i).write(word) };
    }
    Ok(true)
}

/// Writes the first words of the stream that starts at a state.
fn write(state: [u32; 4], words: &mut [u32]) {
    #[inline(always)]
    fn all(state: [u32; 4], words: &mut [u32]) {
        let (n, mut targets) = (words.len(), words.iter_mut());
        let put = |word| {
            if let Some(target) = targets.next() {
                *target = word;
            }
        };
        philox::fill_bits(state, put, n);
    }
    #[cfg(target_arch = "x86_64")]
    if Isa::best() >= Isa::Avx2 {
        /// # Safety
        /// The processor has AVX2.
        #[target_feature(enable = "avx2")]
        unsafe fn vectors(state: [u32; 4], words: &mut [u32]) {
            all(state, words);
        }
        // SAFETY: the test above has found AVX2.
        return unsafe { vectors(state, words) };
    }
    all(state, words);
}
