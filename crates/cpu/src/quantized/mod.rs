//! Products of activations with quantised weights, and conversion of quantised weights to `f32`.
//!
//! Weights are read as the bytes of a file. With few rows of activations, each weight is unpacked into registers and multiplied
//! there, so that memory is read once. With more than [`FEW`] rows, panels of weights are unpacked for the matrix product of
//! `gemm`. A result does not depend on the number of threads. With at most [`FEW`] rows, it also does not depend on the other
//! rows.

pub(crate) mod int8;
mod panel;
#[cfg(test)]
mod tests;
mod unpack;

use crate::elements::Elements;
use crate::gemm::{Operand, Output, Problem, Scratch, Strided, gemm};
use crate::wide::{GROUP, Plain, Wide};
use crate::{Isa, Pool};
use gradus_ir::format::Format;
use half::bf16;
use panel::Panels;
use unpack::{Any, Blocks, Q4_0, Q4_1, Q4K, Q6K, Q8_0};

/// Largest number of rows of activations that are multiplied without packing.
const FEW: usize = 16;

/// Work of a task: bytes of weights times rows of activations.
const TASK: usize = 1 << 15;

/// A matrix of quantised weights: consecutive rows, each of consecutive blocks.
#[derive(Clone, Copy)]
pub(crate) struct Weights {
    pub(crate) format: Format,
    /// The first byte.
    pub(crate) data: *const u8,
    /// Number of rows. Each row computes one output of the product.
    pub(crate) rows: usize,
    /// Number of elements in a row, a multiple of the elements of a block.
    pub(crate) width: usize,
}

// SAFETY: the bytes are only read, and the callers of the functions below guarantee that no thread writes to them.
unsafe impl Sync for Weights {}
// SAFETY: the bytes are only read, and the callers of the functions below guarantee that no thread writes to them.
unsafe impl Send for Weights {}

impl Weights {
    fn blocks(&self) -> usize {
        self.width / self.format.block_elements()
    }

    fn row_bytes(&self) -> usize {
        self.blocks() * self.format.block_bytes()
    }
}

/// Activations at `x` and results at `y`: `count` consecutive rows of each.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) x: *const f32,
    pub(crate) y: *mut f32,
    pub(crate) count: usize,
}

// SAFETY: each task writes its own results, and the callers of the functions below guarantee that no thread writes to the
// activations.
unsafe impl Sync for Rows {}

/// Computes `y = x · weightsᵀ`.
///
/// # Safety
/// `weights.data` has `weights.rows` rows of whole blocks, `rows.x` has `rows.count` rows of `weights.width` activations, and
/// `rows.y` has space for `rows.count` rows of `weights.rows` results. During the call no other thread accesses the results or
/// writes to the weights and activations.
pub(crate) unsafe fn dot(pool: &Pool, weights: &Weights, rows: Rows) {
    if weights.rows == 0 || rows.count == 0 {
        return;
    }
    let kernels = kernels(Isa::best());
    if rows.count > FEW {
        let panels = Panels { weights: *weights, kernels };
        let a = Strided { data: rows.x, batch: 0, lane: weights.width as isize, depth: 1 };
        let problem = Problem {
            batch: 1,
            m: rows.count,
            n: weights.rows,
            k: weights.width,
            a: Operand::Strided(a),
            b: Operand::Packed(&panels),
            c: Output { data: rows.y, batch: 0, row: weights.rows as isize },
            accumulate: false,
            finish: None,
        };
        // SAFETY: the caller guarantees the activations and exclusive access to the results, with the extents and strides of
        // `problem`; `panels` reads rows and blocks of the weights.
        unsafe { gemm(pool, &problem) };
        return;
    }
    let each = (TASK / (weights.row_bytes() * rows.count).max(1)).clamp(1, weights.rows);
    pool.run(weights.rows.div_ceil(each), &|task| {
        let (from, to) = (task * each, ((task + 1) * each).min(weights.rows));
        // SAFETY: the caller guarantees the weights, the activations and the results; no two tasks have the same output, and
        // `kernels` chose an instruction set that the processor has.
        unsafe { (kernels.dot)(weights, rows, from, to) }
    });
}

/// As [`dot`], with activations rounded to `bf16`.
///
/// # Safety
/// As for [`dot`].
pub(crate) unsafe fn dot_bf16(pool: &Pool, weights: &Weights, rows: Rows) {
    let count = rows.count * weights.width;
    let rounded = Scratch::take::<f32>(count);
    // SAFETY: the caller guarantees `count` activations; the scratch memory has space for `count` numbers.
    let (from, to) = unsafe {
        (
            std::slice::from_raw_parts(rows.x, count),
            std::slice::from_raw_parts_mut(rounded.as_ptr::<f32>(), count),
        )
    };
    from.iter().zip(to).for_each(|(x, to)| *to = bf16::from_f32(*x).to_f32());
    // SAFETY: the caller guarantees the weights and the results; `rounded` has as many activations as `rows.x`.
    unsafe { dot(pool, weights, Rows { x: rounded.as_ptr::<f32>().cast_const(), ..rows }) };
}

/// Writes the weights as `f32`.
///
/// # Safety
/// `weights.data` has `weights.rows` rows of whole blocks, `out` has space for a number for every weight, and no other thread
/// accesses `out` during the call.
pub(crate) unsafe fn dequantize(pool: &Pool, weights: &Weights, out: *mut f32) {
    let to = Elements(out);
    let kernels = kernels(Isa::best());
    let each = (TASK / weights.row_bytes().max(1)).clamp(1, weights.rows.max(1));
    pool.run(weights.rows.div_ceil(each), &|task| {
        for row in task * each..((task + 1) * each).min(weights.rows) {
            let bytes = weights.data.wrapping_add(row * weights.row_bytes());
            // SAFETY: the caller guarantees the blocks of every row and space for their values; each row belongs to one task.
            unsafe { (kernels.unpack)(weights.format, bytes, weights.blocks(), to.at(row * weights.width)) };
        }
    });
}

/// Writes the values of consecutive blocks as `f32`, on this thread.
///
/// # Safety
/// `bytes` has `blocks` blocks, `out` has space for a number for each of their elements, and no other thread accesses `out`.
pub(crate) unsafe fn unpack(format: Format, bytes: *const u8, blocks: usize, out: *mut f32) {
    // SAFETY: the caller guarantees the blocks and space for their values; `Isa::best` is a set that the processor has.
    unsafe { (kernels(Isa::best()).unpack)(format, bytes, blocks, out) }
}

/// The functions compiled for an instruction set.
pub(super) struct Kernels {
    /// Computes the outputs from the third argument up to the fourth, of all rows.
    dot: unsafe fn(&Weights, Rows, usize, usize),
    /// Writes the values of consecutive blocks.
    unpack: unsafe fn(Format, *const u8, usize, *mut f32),
}

fn kernels(isa: Isa) -> &'static Kernels {
    match isa.clamped().vectors() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => &avx512::KERNELS,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => &avx2::KERNELS,
        _ => &plain::KERNELS,
    }
}

/// Evaluates an expression with `$blocks` bound to a value of the type that reads the format.
macro_rules! of_format {
    ($format:expr, |$blocks:ident| $call:expr) => {
        match $format {
            Format::Q4_0 => {
                let $blocks = &mut Q4_0;
                $call
            }
            Format::Q4_1 => {
                let $blocks = &mut Q4_1;
                $call
            }
            Format::Q8_0 => {
                let $blocks = &mut Q8_0;
                $call
            }
            Format::Q4K => {
                let $blocks = &mut Q4K;
                $call
            }
            Format::Q6K => {
                let $blocks = &mut Q6K;
                $call
            }
            other => {
                let $blocks = &mut Any::new(other);
                $call
            }
        }
    };
}
use of_format;

macro_rules! instance {
    ($name:ident, $wide:ty, [$($attr:tt)*]) => {
        mod $name {
            use super::*;

            pub(super) static KERNELS: Kernels = Kernels { dot, unpack };

            $($attr)*
            unsafe fn dot(weights: &Weights, rows: Rows, from: usize, to: usize) {
                // SAFETY: the caller guarantees the weights, the activations, the results and the instruction set.
                unsafe { of_format!(weights.format, |b| dot_outputs::<$wide, _>(b, weights, rows, from, to)) }
            }

            $($attr)*
            unsafe fn unpack(format: Format, bytes: *const u8, blocks: usize, out: *mut f32) {
                let (size, elements) = (format.block_bytes(), format.block_elements());
                // SAFETY: the caller guarantees `blocks` blocks, space for their values and the instruction set.
                unsafe {
                    of_format!(format, |b| {
                        for k in 0..blocks {
                            let to = out.add(k * elements);
                            b.each::<$wide>(bytes.add(k * size), |j, w| w.store(to.add(j * GROUP)));
                        }
                    })
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instance!(avx512, crate::wide::Avx512, [#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]]);
#[cfg(target_arch = "x86_64")]
instance!(avx2, crate::wide::Avx2, [#[target_feature(enable = "avx2,fma,f16c")]]);
instance!(plain, Plain, []);

/// Computes the outputs `from..to` of all rows.
#[inline(always)]
unsafe fn dot_outputs<W: Wide, B: Blocks>(b: &mut B, weights: &Weights, rows: Rows, from: usize, to: usize) {
    for output in from..to {
        let mut row = 0;
        while row < rows.count {
            let left = (rows.count - row).min(W::ROWS);
            // SAFETY: the caller guarantees the weights, the activations, the results and the instruction set of `W`;
            // `row + left` is at most `rows.count`.
            row += unsafe {
                match left {
                    8.. => dot_rows::<W, B, 8>(b, weights, rows, output, row),
                    4.. => dot_rows::<W, B, 4>(b, weights, rows, output, row),
                    2.. => dot_rows::<W, B, 2>(b, weights, rows, output, row),
                    _ => dot_rows::<W, B, 1>(b, weights, rows, output, row),
                }
            };
        }
    }
}

/// Computes one output of `R` rows from `row` on. Returns `R`.
#[inline(always)]
unsafe fn dot_rows<W: Wide, B: Blocks, const R: usize>(
    b: &mut B,
    weights: &Weights,
    rows: Rows,
    output: usize,
    row: usize,
) -> usize {
    let (size, elements) = (weights.format.block_bytes(), weights.format.block_elements());
    // SAFETY: the caller guarantees row `output` of the weights, `R` rows of activations and results from `row` on, and the
    // instruction set of `W`.
    unsafe {
        let bytes = weights.data.add(output * weights.row_bytes());
        let x = rows.x.add(row * weights.width);
        let mut sums = [W::zero(); R];
        for k in 0..weights.blocks() {
            b.each::<W>(bytes.add(k * size), |j, w| {
                let x = x.add(k * elements + j * GROUP);
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = w.mul_add(W::load(x.add(r * weights.width)), *sum);
                }
            });
        }
        for (r, sum) in sums.into_iter().enumerate() {
            *rows.y.add((row + r) * weights.rows + output) = sum.sum();
        }
    }
    R
}
