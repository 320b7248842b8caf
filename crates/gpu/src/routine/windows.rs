//! Convolution without barriers: one kernel copies all windows to a matrix, and a product follows.
//! Each element of the operand is stored once per window that contains it. On software adapters this is several times
//! faster than computing its position for every term of every sum.

use super::Call;
use super::convolve::{number, sizes, spread};
use super::each;
use crate::build::Launch;
use crate::memory::load;
use crate::nest::decompose;
use crate::product;
use gradus_compile::Contraction;
use gradus_ir::DType;
use gradus_ir::ops::Window;

/// Largest matrix of windows, in bytes.
const MOST: usize = 256 << 20;

/// The kernels of a convolution of `f32`; `None` if it is too small or its windows need too much memory.
pub(super) fn launches(call: &mut Call<'_>, window: &Window) -> Result<Option<Vec<Launch>>, String> {
    let routine = call.routine;
    let (x, w, out) = (routine.ins[0], routine.ins[1], routine.outs[0]);
    let (xs, ws, os) =
        (routine.types[0].shape.to_vec(), routine.types[1].shape.to_vec(), routine.results[0].shape.to_vec());
    let (images, groups, rows) = (os[0], os[1], os[2]);
    let (terms, positions): (usize, usize) = (ws[2..].iter().product(), os[3..].iter().product());
    let numel = [groups, terms, positions].iter().fold(images, |n, e| n.saturating_mul(*e));
    let most = MOST.min(usize::try_from(call.limits.binding).unwrap_or(MOST));
    let small = terms < 8 || rows < 4 || positions < 4;
    if routine.results[0].dtype != DType::F32 || small || numel.saturating_mul(4) > most {
        return Ok(None);
    }
    let matrix = call.scratch(DType::F32, numel);
    // Axes of the matrix: images, groups, channels, positions within the window, positions of the window.
    let n = window.stride.len();
    let shape: Vec<usize> = [&os[..2], &ws[2..], &os[3..]].concat();
    let mut all = each::launch(call, &[x], matrix, |b, flat| {
        let extents = sizes(b, &shape);
        let at = decompose(b, flat, &extents);
        let x_sizes = sizes(b, &xs);
        let start = b.start(x, 0);
        let value = b.variable("0.0f");
        let mut index = at[..3].to_vec();
        for i in 0..n {
            let (stride, dilation, low) = (
                b.size(window.stride[i] as i64),
                b.size(window.window_dilation[i] as i64),
                b.size(-window.low[i]),
            );
            let own = at[3 + n + i].times(&stride).plus(&at[3 + i].times(&dilation)).plus(&low);
            let (own, condition) = spread(b, own, window.base_dilation[i], &x_sizes[3 + i]);
            b.line(format!("if ({condition}) {{"));
            index.push(own);
        }
        let from = number(b, &xs, &index);
        let from = b.int(start.plus(&from));
        let loaded = load(b, x, &from);
        b.line(format!("{value} = {loaded};"));
        (0..n).for_each(|_| b.line("}"));
        Ok(value)
    })?;
    let step = |n: usize| n as i64;
    let c = Contraction {
        operands: DType::F32,
        dtype: DType::F32,
        buffers: [w, matrix, out],
        offsets: [0; 3],
        batch: vec![
            (images, [0, step(groups * terms * positions), step(groups * rows * positions)]),
            (groups, [step(rows * terms), step(terms * positions), step(rows * positions)]),
        ],
        m: (rows, [step(terms), step(positions)]),
        n: (positions, [1, 1]),
        k: (terms, [1, step(positions)]),
        finish: None,
    };
    let Call { program, limits, dialect, text, .. } = call;
    let request = product::Request { program, c: &c, raw: true, limits, dialect: *dialect, text: *text };
    all.extend(product::launches(&request)?);
    Ok(Some(all))
}
