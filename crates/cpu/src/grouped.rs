//! Multiplies each row by one of several matrices: implements the region `grouped_dot` and its quantised form.
//!
//! Rows with the same matrix are multiplied together. If they are consecutive, they are read and written in place. Otherwise
//! they are gathered before the product, and their results are scattered after it.

use crate::Pool;
use crate::gemm::{Operand, Output, Problem, Scratch, Strided, gemm};
use crate::quantized::{self, Rows, Weights};
use gradus_ir::format::Format;

/// Matrices `[groups, outputs, inputs]`.
#[derive(Clone, Copy)]
pub(crate) struct Matrices {
    pub(crate) groups: usize,
    pub(crate) outputs: usize,
    pub(crate) inputs: usize,
    pub(crate) values: Values,
}

/// The elements of matrices.
#[derive(Clone, Copy)]
pub(crate) enum Values {
    Floats(*const f32),
    Quantized(Format, *const u8),
}

impl Matrices {
    /// Computes `y = x · matrixᵀ` for `count` consecutive rows.
    ///
    /// # Safety
    /// `x` is `[count, inputs]`, `y` is `[count, outputs]`, `group` is below `groups`, matrices are as large as stated, and no
    /// other thread accesses `y`.
    unsafe fn multiply(&self, pool: &Pool, group: usize, x: *const f32, y: *mut f32, count: usize) {
        let (rows, width) = (self.outputs, self.inputs);
        // SAFETY: the caller guarantees the extents of `x` and `y`, and that `group` is a matrix of `values`.
        unsafe {
            match self.values {
                Values::Floats(data) => {
                    let strided = |data: *const f32| {
                        Operand::Strided(Strided { data, batch: 0, lane: width as isize, depth: 1 })
                    };
                    let problem = Problem {
                        batch: 1,
                        m: count,
                        n: rows,
                        k: width,
                        a: strided(x),
                        b: strided(data.add(group * rows * width)),
                        c: Output { data: y, batch: 0, row: rows as isize },
                        accumulate: false,
                        finish: None,
                    };
                    gemm(pool, &problem);
                }
                Values::Quantized(format, data) => {
                    let bytes = width / format.block_elements() * format.block_bytes();
                    let data = data.add(group * rows * bytes);
                    quantized::dot(pool, &Weights { format, data, rows, width }, Rows { x, y, count });
                }
            }
        }
    }
}

/// Computes `y[n] = x[n] · matrices[groups[n]]ᵀ`. Rows whose group is not one of the matrices become 0.
///
/// # Safety
/// `x` is `[groups.len(), inputs]`, `y` is `[groups.len(), outputs]`, matrices are as large as stated, and no other
/// thread accesses the results.
pub(crate) unsafe fn dot(pool: &Pool, matrices: &Matrices, x: *const f32, y: *mut f32, groups: &[i64]) {
    let (inputs, outputs) = (matrices.inputs, matrices.outputs);
    let known = |g: i64| usize::try_from(g).ok().filter(|g| *g < matrices.groups);
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(groups.len());
    for (row, group) in groups.iter().enumerate() {
        match known(*group) {
            Some(group) => order.push((group, row)),
            // SAFETY: the row is inside of the results.
            None => unsafe { y.add(row * outputs).write_bytes(0, outputs) },
        }
    }
    order.sort_unstable();
    for own in order.chunk_by(|a, b| a.0 == b.0) {
        let ((group, first), count) = (own[0], own.len());
        let last = own[count - 1].1;
        // SAFETY: rows are inside of activations and results; the scratch holds the gathered rows of both.
        unsafe {
            if last - first + 1 == count {
                matrices.multiply(pool, group, x.add(first * inputs), y.add(first * outputs), count);
                continue;
            }
            let scratch = Scratch::take::<f32>(count * (inputs + outputs));
            let from = scratch.as_ptr::<f32>();
            let to = from.add(count * inputs);
            for (i, (_, row)) in own.iter().enumerate() {
                std::ptr::copy_nonoverlapping(x.add(row * inputs), from.add(i * inputs), inputs);
            }
            matrices.multiply(pool, group, from, to, count);
            for (i, (_, row)) in own.iter().enumerate() {
                std::ptr::copy_nonoverlapping(to.add(i * outputs), y.add(row * outputs), outputs);
            }
        }
    }
}
