//! Runs contractions as matrix products, and the fused kernel on each block of the result while the block is in cache.

use crate::gemm::{self, Operand, Output, Problem, Real, Strided, Tile};
use crate::pool::Pool;
use crate::tile::{Memory, TileProgram};
use gradus_compile::Contraction;
use gradus_ir::{DType, Error, Result};
use half::bf16;

/// Returns an error if a contraction accesses elements outside of its buffers. Running such a contraction would be unsound.
pub(crate) fn check(c: &Contraction, buffers: &[(DType, usize)]) -> Result<()> {
    for (o, &buffer) in c.buffers.iter().enumerate() {
        let Some((low, high)) = c.ends(o) else { continue };
        if low < 0 || high as u64 >= buffers[buffer].1 as u64 {
            return Err(Error::verify(format!("a product reaches outside of buffer {buffer}\n{c}")));
        }
    }
    Ok(())
}

/// Computes a contraction.
///
/// # Safety
/// `memory` holds the buffers of the contraction's plan, and no other thread accesses them during the call.
pub(crate) unsafe fn run(c: &Contraction, finish: Option<&TileProgram>, pool: &Pool, memory: Memory<'_>) {
    // SAFETY: the caller guarantees that memory is that of the contraction's plan and that no other thread accesses it.
    unsafe {
        match c.operands {
            DType::F64 => run_typed::<f64>(c, finish, pool, memory),
            DType::BF16 => run_typed::<bf16>(c, finish, pool, memory),
            _ => run_typed::<f32>(c, finish, pool, memory),
        }
    }
}

/// Computes a contraction with operands of type `T`, under the contract of [`run`].
unsafe fn run_typed<T: Real>(c: &Contraction, finish: Option<&TileProgram>, pool: &Pool, memory: Memory<'_>) {
    if c.products() * c.m.0 * c.n.0 == 0 {
        return;
    }
    // `gemm` has one batch axis: the longest one of the contraction. Loops run over the others.
    let longest = (0..c.batch.len()).max_by_key(|&i| c.batch[i].0);
    let (batch, steps) = longest.map_or((1, [0; 3]), |i| c.batch[i]);
    let others: Vec<(usize, [i64; 3])> =
        c.batch.iter().enumerate().filter(|(i, _)| Some(*i) != longest).map(|(_, b)| *b).collect();
    let count: usize = others.iter().map(|b| b.0).product();
    let one = |index: usize| {
        let mut at = c.offsets;
        let mut rest = index;
        for (extent, steps) in others.iter().rev() {
            let i = (rest % extent) as i64;
            rest /= extent;
            (0..3).for_each(|o| at[o] += i * steps[o]);
        }
        fn first<N>(memory: Memory<'_>, c: &Contraction, at: [i64; 3], o: usize) -> *mut N {
            memory.at(c.buffers[o]).cast::<N>().wrapping_offset(at[o] as isize)
        }
        let strided = |o: usize, lane: i64, depth: i64| {
            let (batch, lane, depth) = (steps[o] as isize, lane as isize, depth as isize);
            Operand::Strided(Strided { data: first::<T>(memory, c, at, o).cast_const(), batch, lane, depth })
        };
        let (start, row) = (at[2], c.m.1[1]);
        let run_fused_kernel = |tile: Tile<T::Sum>| {
            let Some(program) = finish else { return };
            // The index of an element in the fused kernel is its offset in the product.
            let index = start + tile.batch as i64 * steps[2] + tile.row0 as i64 * row + tile.col0 as i64;
            // SAFETY: this block is finished, and only this thread accesses it.
            unsafe { program.run_block(memory, index as usize, tile.cols, row as usize, tile.rows) };
        };
        let problem = Problem {
            batch,
            m: c.m.0,
            n: c.n.0,
            k: c.k.0,
            a: strided(0, c.m.1[0], c.k.1[0]),
            b: strided(1, c.n.1[0], c.k.1[1]),
            c: Output {
                data: first::<T::Sum>(memory, c, at, 2),
                batch: steps[2] as isize,
                row: row as isize,
            },
            accumulate: false,
            finish: finish.is_some().then_some(&run_fused_kernel),
        };
        // SAFETY: `check` has verified that the contraction stays in its buffers; the caller guarantees
        // exclusive access.
        unsafe { gemm::gemm(pool, &problem) };
    };
    if count > 1 { pool.run(count, &one) } else { one(0) }
}
