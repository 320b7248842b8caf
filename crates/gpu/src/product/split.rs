//! Splits products with few tiles and a long summed axis: each part of that axis is a separate product, and a second
//! kernel adds the results in order.

use super::{is_row_major, reads_own};
use crate::limits::{Barriers, Limits};
use gradus_compile::{Access, Contraction, Inst, Kernel, Layout, Level, Operation, Store};
use gradus_ir::DType;
use gradus_ir::ops::Combine;

/// Number of tiles that occupy a GPU.
const ENOUGH: usize = 256;
/// Smallest number of elements of the summed axis per part.
const LEAST: usize = 128;

/// Returns the number of parts into which a product is split; `None` if it is not split.
pub(crate) fn parts(c: &Contraction, limits: &Limits) -> Option<usize> {
    let tiles = c.products() * c.m.0.div_ceil(64) * c.n.0.div_ceil(64);
    let float = [c.operands, c.dtype].iter().all(|d| matches!(d, DType::F32 | DType::BF16 | DType::F16));
    let fits = limits.barriers == Barriers::Cheap && float && c.m.0 >= 32 && c.n.0 >= 32 && tiles > 0;
    if !fits || tiles * 2 > ENOUGH || !is_row_major(c) || !reads_own(c) {
        return None;
    }
    let wanted = (ENOUGH / tiles).min(c.k.0 / LEAST);
    (2..=wanted).rev().find(|s| c.k.0.is_multiple_of(*s) && (c.k.0 / s).is_multiple_of(16))
}

/// Returns the number of elements of the result.
pub(crate) fn numel(c: &Contraction) -> usize {
    c.products() * c.m.0 * c.n.0
}

/// Returns the products of all parts as one contraction, in which the parts are an additional batch axis.
pub(crate) fn partial(c: &Contraction, parts: usize, scratch: usize) -> Contraction {
    let depth = c.k.0 / parts;
    let along = |s: i64| s * depth as i64;
    let mut all = Contraction { finish: None, dtype: DType::F32, ..c.clone() };
    all.buffers[2] = scratch;
    all.k.0 = depth;
    all.batch.insert(0, (parts, [along(c.k.1[0]), along(c.k.1[1]), numel(c) as i64]));
    all
}

/// Returns the kernel that adds the parts. It includes the kernel that is fused with the product.
pub(crate) fn total(c: &Contraction, raw: bool, parts: usize, scratch: usize) -> Kernel {
    let axes = c.finish.as_ref().map_or(vec![numel(c)], |k| k.axes.clone());
    let flat = Layout::row_major(&axes).strides;
    let wide = |strides: &[i64], last: i64| strides.iter().copied().chain([last]).collect::<Vec<i64>>();
    let part = Layout { offset: 0, strides: wide(&flat, numel(c) as i64) };
    let load = Operation::Load(Access { buffer: scratch, layout: part });
    let mut body = vec![
        Inst { op: load, args: Vec::new(), dtype: DType::F32, level: Level::Element },
        Inst { op: Operation::Reduce(Combine::Sum), args: vec![0], dtype: DType::F32, level: Level::Row },
    ];
    let mut stores = Vec::new();
    if raw {
        let layout = Layout { offset: 0, strides: wide(&flat, 0) };
        stores.push(Store { value: 1, access: Access { buffer: c.buffers[2], layout } });
    }
    if let Some(finish) = &c.finish {
        // The index of each instruction in the new body, in which the sum of the parts replaces the product.
        let mut at = Vec::with_capacity(finish.body.len());
        for inst in &finish.body {
            if matches!(&inst.op, Operation::Load(access) if access.buffer == c.buffers[2]) {
                at.push(1);
                continue;
            }
            let mut own = inst.clone();
            own.level = Level::Row;
            own.args.iter_mut().for_each(|a| *a = at[*a]);
            match &mut own.op {
                Operation::Load(access) => access.layout.strides.push(0),
                Operation::Index(layout) => layout.strides.push(0),
                Operation::Pieces(all) => {
                    for piece in all {
                        piece.access.layout.strides.push(0);
                        piece.bounds.iter_mut().for_each(|(l, _)| l.strides.push(0));
                    }
                }
                _ => {}
            }
            at.push(body.len());
            body.push(own);
        }
        for s in &finish.stores {
            let mut access = s.access.clone();
            access.layout.strides.push(0);
            stores.push(Store { value: at[s.value], access });
        }
    }
    let parallel = axes.len();
    let axes = axes.into_iter().chain([parts]).collect();
    Kernel { axes, parallel, columns: true, body, stores }
}
