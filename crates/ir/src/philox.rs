//! Random bits: Philox4x32-10, a counter-based generator.
//!
//! A block of four 32-bit words is a pure function of a 128-bit counter and a 64-bit key (Salmon, Moraes, Dror and
//! Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). There is no hidden state, so every element of a
//! draw depends only on its index, and any device can compute any part of it.
//!
//! A generator's *state* is four words, `[key0, key1, offset_lo, offset_hi]`: the key, and the 64-bit number of the
//! next block. A draw of `n` words uses `ceil(n / 4)` blocks; unused words of the last block are discarded.

use std::array::from_fn;

/// The multipliers of a round, for counter words 0 and 2.
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];

/// Increments of the key from round to round: the fractions of the golden ratio and of the square root of three.
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Words per block.
pub const BLOCK: usize = 4;

/// Rounds per block: the authors' default, with a margin of safety and published known answers.
const ROUNDS: usize = 10;

/// Returns the high and the low half of the 64-bit product of two words.
#[inline(always)]
fn mul_hi_lo(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    ((product >> 32) as u32, product as u32)
}

/// Returns the block of four random words for a counter and a key.
#[inline]
pub(crate) fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut c, mut k) = (counter, key);
    for _ in 0..ROUNDS {
        let (hi0, lo0) = mul_hi_lo(MULTIPLIERS[0], c[0]);
        let (hi1, lo1) = mul_hi_lo(MULTIPLIERS[1], c[2]);
        c = [hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0];
        k = [k[0].wrapping_add(WEYL[0]), k[1].wrapping_add(WEYL[1])];
    }
    c
}

/// Number of blocks computed at once.
const LANES: usize = 8;

/// Computes [`philox4x32`] for consecutive counters. The results are grouped by word, so that each operation
/// is a vector operation over the blocks.
#[inline(always)]
fn philox4x32_lanes(first: u64, key: [u32; 2]) -> [[u32; LANES]; BLOCK] {
    let block = |lane: usize| first.wrapping_add(lane as u64);
    let counters = [from_fn(|lane| block(lane) as u32), from_fn(|lane| (block(lane) >> 32) as u32)];
    let (mut c, mut k) = ([counters[0], counters[1], [0; LANES], [0; LANES]], key);
    for _ in 0..ROUNDS {
        let one = c[0].map(|x| mul_hi_lo(MULTIPLIERS[0], x));
        let two = c[2].map(|x| mul_hi_lo(MULTIPLIERS[1], x));
        c = [
            from_fn(|lane| two[lane].0 ^ c[1][lane] ^ k[0]),
            two.map(|(_, low)| low),
            from_fn(|lane| one[lane].0 ^ c[3][lane] ^ k[1]),
            one.map(|(_, low)| low),
        ];
        k = [k[0].wrapping_add(WEYL[0]), k[1].wrapping_add(WEYL[1])];
    }
    c
}

/// Returns the 64-bit block number in a state.
fn offset(state: [u32; 4]) -> u64 {
    u64::from(state[3]) << 32 | u64::from(state[2])
}

/// Passes the first `n` words of the stream at `state` to `out`, in order.
///
/// Element `i` is word `i % 4` of the block with counter `offset + i / 4`. This wrapping 64-bit number is in counter
/// words 0 (low) and 1 (high); counter words 2 and 3 are zero.
///
/// Always inlined, because the caller may be compiled for instructions that not every machine has.
#[inline(always)]
pub fn fill_bits(state: [u32; 4], mut out: impl FnMut(u32), n: usize) {
    let key = [state[0], state[1]];
    let mut block = offset(state);
    let mut left = n;
    while left >= LANES * BLOCK {
        let words = philox4x32_lanes(block, key);
        (0..LANES * BLOCK).for_each(|i| out(words[i % BLOCK][i / BLOCK]));
        block = block.wrapping_add(LANES as u64);
        left -= LANES * BLOCK;
    }
    while left > 0 {
        let words = philox4x32([block as u32, (block >> 32) as u32, 0, 0], key);
        let take = left.min(4);
        words[..take].iter().for_each(|&word| out(word));
        block = block.wrapping_add(1);
        left -= take;
    }
}

/// Returns the state after a draw of `n` words: the offset advances by `ceil(n / 4)` blocks and wraps.
pub fn advance(state: [u32; 4], n: usize) -> [u32; 4] {
    let next = offset(state).wrapping_add(n.div_ceil(4) as u64);
    [state[0], state[1], next as u32, (next >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(state: [u32; 4], n: usize) -> Vec<u32> {
        let mut words = Vec::with_capacity(n);
        fill_bits(state, |word| words.push(word), n);
        words
    }

    #[test]
    fn blocks_match_the_published_known_answers() {
        let known = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, block) in known {
            assert_eq!(philox4x32(counter, key), block);
        }
    }

    #[test]
    fn each_element_is_a_word_of_the_block_of_its_index() {
        let state = [7, 11, u32::MAX - 1, 3];
        let words = draw(state, 75);
        assert_eq!(words.len(), 75);
        for (i, &word) in words.iter().enumerate() {
            let block = (3_u64 << 32 | u64::from(u32::MAX - 1)) + (i / 4) as u64;
            let counter = [block as u32, (block >> 32) as u32, 0, 0];
            assert_eq!(word, philox4x32(counter, [7, 11])[i % 4], "element {i}");
        }
    }

    #[test]
    fn a_draw_split_at_a_block_is_the_same_stream() {
        for state in [[0; 4], [1, 2, 3, 4], [5, 6, u32::MAX, 0], [8, 9, u32::MAX - 1, u32::MAX]] {
            let whole = draw(state, 42);
            for at in (0..=40).step_by(4) {
                let mut parts = draw(state, at);
                parts.extend(draw(advance(state, at), 42 - at));
                assert_eq!(parts, whole, "split at {at}");
            }
        }
    }

    #[test]
    fn a_shorter_draw_is_a_prefix() {
        let state = [1, 2, 3, 4];
        let whole = draw(state, 13);
        for n in 0..=13 {
            assert_eq!(draw(state, n), whole[..n]);
        }
    }

    #[test]
    fn advance_counts_whole_blocks_and_carries() {
        let by = |n| advance([1, 2, 3, 4], n);
        assert_eq!(by(0), [1, 2, 3, 4]);
        for n in 1..=4 {
            assert_eq!(by(n), [1, 2, 4, 4]);
        }
        assert_eq!(by(5), [1, 2, 5, 4]);
        assert_eq!(advance([1, 2, u32::MAX, 4], 4), [1, 2, 0, 5]);
        assert_eq!(advance([1, 2, u32::MAX - 1, 4], 12), [1, 2, 1, 5]);
        assert_eq!(advance([1, 2, u32::MAX, u32::MAX], 1), [1, 2, 0, 0]);
        assert_eq!(advance([1, 2, 3, 4], usize::MAX), {
            let next = (4_u64 << 32 | 3) + (usize::MAX / 4) as u64 + 1;
            [1, 2, next as u32, (next >> 32) as u32]
        });
    }

    #[test]
    fn the_bits_are_balanced() {
        // Over 2^16 words each bit position is a fair coin: six standard deviations are 6 * 128 ones.
        let words = draw([0x1234_5678, 0x9abc_def0, 0, 0], 1 << 16);
        for bit in 0..32 {
            let ones = words.iter().filter(|&&word| word >> bit & 1 == 1).count() as i64;
            assert!((ones - (1 << 15)).abs() < 6 * 128, "bit {bit}: {ones} ones");
        }
    }
}
