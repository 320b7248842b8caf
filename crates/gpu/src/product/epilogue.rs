//! Writes the epilogue of a product: a function that stores four neighbouring sums, or runs the fused kernel on them.

use super::{is_aligned, reads_own};
use crate::build::Build;
use crate::dialect::Unit;
use crate::elementwise::{Shares, by_four, lanes};
use crate::int::Int;
use crate::memory::{store, store_four};
use crate::nest::{INLINED, Nest, Point, decompose, lines};
use crate::product::Request;
use gradus_compile::{Access, Contraction, Kernel, Operation};

/// Returns true if the kernel after a product can run on its sums as they are computed.
pub(super) fn fits(c: &Contraction) -> bool {
    // A thread has 16 sums, and the epilogue is inlined for each.
    reads_own(c) && c.finish.as_ref().is_none_or(|kernel| 16 * lines(kernel) <= 2 * INLINED)
}

/// Returns true if an instruction of the fused kernel loads the result of the product.
fn is_product(c: &Contraction, kernel: &Kernel, i: usize) -> bool {
    matches!(&kernel.body[i].op, Operation::Load(access) if access.buffer == c.buffers[2])
}

/// Declares the buffers that the function `finish` uses.
pub(super) fn bind(b: &mut Build<'_>, request: &Request<'_>) {
    let c = request.c;
    let aligned = is_aligned(c);
    let unit = |b: &Build<'_>, buffer: usize, four: bool, written: bool| match b.dtype(buffer).size() {
        4 if four => Unit::Four,
        1 | 2 if written && !four => Unit::Atomic,
        _ => Unit::Word,
    };
    if request.raw {
        let own = unit(b, c.buffers[2], aligned, true);
        b.bind(c.buffers[2], own, true);
    }
    let Some(kernel) = &c.finish else { return };
    let by_four = |access: &Access| aligned && by_four(kernel, access);
    for (_, inst) in kernel.body.iter().enumerate().filter(|(i, _)| !is_product(c, kernel, *i)) {
        let accesses: Vec<&Access> = match &inst.op {
            Operation::Load(access) => vec![access],
            Operation::Pieces(pieces) => pieces.iter().map(|p| &p.access).collect(),
            _ => Vec::new(),
        };
        for access in accesses {
            let four = matches!(inst.op, Operation::Load(_)) && by_four(access);
            let own = unit(b, access.buffer, four, false);
            b.bind(access.buffer, own, false);
        }
    }
    for s in &kernel.stores {
        let own = unit(b, s.access.buffer, by_four(&s.access), true);
        b.bind(s.access.buffer, own, true);
    }
}

/// Writes the function `finish(x0, x1, x2, x3, place, left)`. Its arguments are the sums of four neighbouring columns,
/// the position of the first in the product, and the number of columns from the first on that exist (possibly more than
/// 4).
pub(super) fn function(b: &mut Build<'_>, request: &Request<'_>) -> Result<(), String> {
    let c = request.c;
    let aligned = is_aligned(c);
    let list = "x0: f32, x1: f32, x2: f32, x3: f32, place: u32, left: u32";
    b.open_function("finish", list);
    let values: [String; 4] = std::array::from_fn(|k| format!("x{k}"));
    let place = Int::Text("place".into());
    if request.raw {
        let start = b.start(c.buffers[2], 0).plus(&place);
        let start = b.int(start);
        if aligned {
            store_four(b, c.buffers[2], &start, &values);
        } else {
            for (k, value) in values.iter().enumerate() {
                b.line(format!("if ({k}u < left) {{"));
                store(b, c.buffers[2], &start.plus(&Int::Literal(k as u32)), value);
                b.line("}");
            }
        }
    }
    if let Some(kernel) = &c.finish {
        let nest = Nest::new(b, kernel, true)?;
        let preset = |k: usize| -> Vec<Option<String>> {
            (0..kernel.body.len()).map(|i| is_product(c, kernel, i).then(|| values[k].clone())).collect()
        };
        if aligned {
            let along = kernel.axes.last().is_some_and(|e| e % 4 == 0);
            let shares = Shares { four: true, ragged: false, along };
            lanes(b, &nest, &shares, &place, &Int::Literal(0), std::array::from_fn(preset))?;
        } else {
            for k in 0..4 {
                b.line(format!("if ({k}u < left) {{"));
                let flat = b.int(place.plus(&Int::Literal(k as u32)));
                let index = if nest.needs_index() { decompose(b, &flat, &nest.extents) } else { Vec::new() };
                let point = Point { index, flat: Some(flat) };
                let mut own = preset(k);
                nest.values(b, &point, &mut own, |_| true)?;
                for (to, s) in nest.stores.iter().zip(&kernel.stores) {
                    let value = own[s.value].clone().ok_or("a stored value is missing")?;
                    let at = Nest::at(to, &point);
                    store(b, to.buffer, &at, &value);
                }
                b.line("}");
            }
        }
    }
    b.close_function();
    Ok(())
}
