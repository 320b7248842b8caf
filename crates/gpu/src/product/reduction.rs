//! Writes products as kernels with reductions: one row per output. For products with few outputs, and for dtypes for which
//! there is no other template.

use super::{Request, layout, sums};
use crate::build::Launch;
use crate::translate::kernel_launch;
use gradus_compile::{Access, Inst, Kernel, Level, Operation, Store};
use gradus_ir::ops::{Combine, Scalar, pointwise};

/// Returns the kernel of the product, then the kernel fused with it, if any.
pub(super) fn launches(request: &Request<'_>) -> Result<Vec<Launch>, String> {
    let Request { program, c, limits, dialect, text, .. } = *request;
    let mut axes: Vec<usize> = c.batch.iter().map(|b| b.0).collect();
    axes.extend([c.m.0, c.n.0, c.k.0]);
    let parallel = axes.len() - 1;
    let load = |o: usize| Inst {
        op: Operation::Load(Access { buffer: c.buffers[o], layout: layout(c, o) }),
        args: Vec::new(),
        dtype: c.operands,
        level: Level::Element,
    };
    let product = Inst {
        op: Operation::Scalar(Scalar::Pointwise(&pointwise::arith::mul)),
        args: vec![0, 1],
        dtype: sums(c),
        level: Level::Element,
    };
    let sum = Inst { op: Operation::Reduce(Combine::Sum), args: vec![2], dtype: sums(c), level: Level::Row };
    let store = Store { value: 3, access: Access { buffer: c.buffers[2], layout: layout(c, 2) } };
    // Neighbouring threads process neighbouring columns if the second operand is contiguous along them.
    let columns = c.n.1[0] == 1 && c.n.0 > 1 && c.k.1[1] != 1;
    let mut kernel =
        Kernel { axes, parallel, columns, body: vec![load(0), load(1), product, sum], stores: vec![store] };
    kernel.coalesce();
    let mut all: Vec<Launch> = Vec::new();
    all.extend(kernel_launch(program, &kernel, limits, dialect, text)?);
    if let Some(finish) = &c.finish {
        all.extend(kernel_launch(program, finish, limits, dialect, text)?);
    }
    Ok(all)
}
