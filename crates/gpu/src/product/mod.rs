//! Selects a template for each product of matrices, and holds the code that templates share.
//! Takes a contraction and the limits of an adapter; returns its kernels in order, or the reason why there are none.
//! The templates are in `tiles.rs`, `registers.rs` and `reduction.rs`; `split.rs` splits long sums.

mod epilogue;
mod reduction;
mod registers;
pub(crate) mod split;
mod tiles;

use crate::build::{Build, Launch};
use crate::dialect::Dialect;
use crate::int::Int;
use crate::limits::{Barriers, Limits};
use crate::memory::register;
use crate::nest::{decompose, is_flat};
use crate::program::GpuProgram;
use crate::translate::kernel_launch;
use gradus_compile::{Contraction, Layout, Operation, Text};
use gradus_ir::DType;

/// The arguments of a template.
pub(crate) struct Request<'a> {
    pub(crate) program: &'a GpuProgram,
    pub(crate) c: &'a Contraction,
    /// If true, the product itself must be stored, in addition to the results of `finish`.
    pub(crate) raw: bool,
    pub(crate) limits: &'a Limits,
    pub(crate) dialect: Dialect,
    pub(crate) text: Text,
}

/// Number of rows and of columns of the block of outputs that one thread computes.
const BLOCK: usize = 4;

/// Returns the kernels of a product, in order, or the reason why there are none.
pub(crate) fn launches(request: &Request<'_>) -> Result<Vec<Launch>, String> {
    let c = request.c;
    for dtype in [c.operands, c.dtype] {
        register(dtype).ok_or_else(|| format!("kernels do not compute in {dtype}"))?;
    }
    let (m, n, k) = (c.m.0, c.n.0, c.k.0);
    if c.products() * m * n == 0 {
        return Ok(Vec::new());
    }
    let float = register(c.operands) == Some("f32") && register(c.dtype) == Some("f32");
    let fits = (0..3).all(|o| c.ends(o).is_none_or(|(_, last)| last < 1 << 31));
    if !fits {
        return Err("an operand has more than 2^31 elements".into());
    }
    // If there are few rows or columns, no tile fits, and each output is computed as a reduction.
    let narrow = m < BLOCK || n < BLOCK;
    let few = c.products() * m * n <= 1 << 12 && k >= 256 && request.limits.barriers == Barriers::Cheap;
    // Software adapters end loops after 65,535 iterations.
    let long = k >= 1 << 15;
    if !float || narrow || few || long || k == 0 {
        return reduction::launches(request);
    }
    if let Some(finish) = &c.finish
        && !epilogue::fits(c)
    {
        // The fused kernel cannot run on the sums as they are computed, so it runs after the product.
        let alone = Contraction { finish: None, ..c.clone() };
        let mut all = launches(&Request { c: &alone, raw: true, ..*request })?;
        let Request { program, limits, dialect, text, .. } = *request;
        all.extend(kernel_launch(program, finish, limits, dialect, text)?);
        return Ok(all);
    }
    let tiles = |side: usize| c.products() * m.div_ceil(side) * n.div_ceil(side);
    match request.limits.barriers {
        Barriers::Cheap if m >= 32 && n >= 32 && k >= 16 => {
            let side = if tiles(128) >= 128 && m >= 128 && n >= 128 { 128 } else { 64 };
            tiles::launch(request, side).map(|l| vec![l])
        }
        _ => registers::launch(request).map(|l| vec![l]),
    }
}

/// The axis along which neighbouring elements of an operand are loaded four at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// Rows of the first operand, columns of the second.
    Lanes,
    /// The summed axis.
    Depth,
    /// Neither.
    Neither,
}

/// An operand at one batch index: its first element, and its strides.
pub(crate) struct Operand {
    pub(crate) buffer: usize,
    pub(crate) start: Int,
    pub(crate) lane: Int,
    pub(crate) depth: Int,
    pub(crate) along: Along,
}

impl Operand {
    /// Returns the position of the element at a lane and a depth.
    pub(crate) fn at(&self, lane: &Int, depth: &Int) -> Int {
        self.start.plus(&lane.times(&self.lane)).plus(&depth.times(&self.depth))
    }
}

/// Returns the axis along which an operand can be loaded four elements at a time: its stride is 1, its extent a
/// multiple of four, and all other strides and the offset are multiples of four. Both kinds of text then treat the
/// stride as the literal 1.
pub(crate) fn along(c: &Contraction, o: usize) -> Along {
    let (lanes, lane, depth) = match o {
        0 => (c.m.0, c.m.1[0], c.k.1[0]),
        _ => (c.n.0, c.n.1[0], c.k.1[1]),
    };
    let even = |x: i64| x % 4 == 0;
    let outer = even(c.offsets[o]) && c.batch.iter().all(|b| b.0 == 1 || even(b.1[o]));
    if outer && lane == 1 && even(depth) && lanes % 4 == 0 {
        Along::Lanes
    } else if outer && depth == 1 && even(lane) && c.k.0.is_multiple_of(4) {
        Along::Depth
    } else {
        Along::Neither
    }
}

/// The extents of a product: rows, columns and the summed axis.
pub(crate) struct Sizes {
    pub(crate) m: Int,
    pub(crate) n: Int,
    pub(crate) k: Int,
}

impl Sizes {
    pub(crate) fn of(b: &mut Build<'_>, c: &Contraction) -> Sizes {
        Sizes { m: b.size(c.m.0 as i64), n: b.size(c.n.0 as i64), k: b.size(c.k.0 as i64) }
    }
}

/// Returns the two operands at a batch index, and the position of the first element of the result, relative to its
/// buffer.
pub(crate) fn operands(b: &mut Build<'_>, c: &Contraction, batch: &Int) -> ([Operand; 2], Int) {
    let extents: Vec<Int> = c.batch.iter().map(|x| b.size(x.0 as i64)).collect();
    let index = decompose(b, batch, &extents);
    let moved = |b: &mut Build<'_>, o: usize, start: Int| {
        let terms = c.batch.iter().zip(&index);
        terms.fold(start, |sum, (axis, i)| {
            let stride = b.size(axis.1[o]);
            sum.plus(&i.times(&stride))
        })
    };
    let operand = |b: &mut Build<'_>, o: usize| {
        let start = b.start(c.buffers[o], c.offsets[o]);
        let start = moved(b, o, start);
        let start = b.int(start);
        let (lane, depth) = if o == 0 { (c.m.1[0], c.k.1[0]) } else { (c.n.1[0], c.k.1[1]) };
        let along = along(c, o);
        let stride = |b: &mut Build<'_>, s: i64, one: bool| if one { Int::Literal(1) } else { b.size(s) };
        let lane = stride(b, lane, along == Along::Lanes);
        let depth = stride(b, depth, along == Along::Depth);
        Operand { buffer: c.buffers[o], start, lane, depth, along }
    };
    let (first, second) = (operand(b, 0), operand(b, 1));
    // Offsets are parameters also in special text, so that products at other offsets share a kernel.
    let offset = Int::Text(b.parameter(crate::program::Word::Value(c.offsets[2] as u32)));
    let place = moved(b, 2, offset);
    let place = b.int(place);
    ([first, second], place)
}

/// Returns true if four neighbouring columns of the result can be stored at once: every group of four is complete and
/// starts at a multiple of four elements.
pub(crate) fn is_aligned(c: &Contraction) -> bool {
    let even = |x: i64| x % 4 == 0;
    c.n.0.is_multiple_of(4)
        && c.n.1[1] == 1
        && even(c.m.1[1])
        && even(c.offsets[2])
        && c.batch.iter().all(|b| b.0 == 1 || even(b.1[2]))
}

/// Returns true if the fused kernel reads the product only at the index it writes.
fn reads_own(c: &Contraction) -> bool {
    let Some(kernel) = &c.finish else { return true };
    kernel.body.iter().all(|inst| match &inst.op {
        Operation::Load(access) if access.buffer == c.buffers[2] => {
            access.layout.offset == 0 && is_flat(&kernel.axes, &access.layout)
        }
        Operation::Pieces(all) => all.iter().all(|p| p.access.buffer != c.buffers[2]),
        _ => true,
    })
}

/// Returns true if the result is a complete row-major tensor of batch, rows and columns.
fn is_row_major(c: &Contraction) -> bool {
    let mut axes: Vec<usize> = c.batch.iter().map(|b| b.0).collect();
    axes.extend([c.m.0, c.n.0]);
    let mut strides = layout(c, 2).strides;
    strides.pop();
    c.offsets[2] == 0 && is_flat(&axes, &Layout { offset: 0, strides })
}

/// Returns the layout of an operand or the result over batch, rows, columns and the summed axis.
fn layout(c: &Contraction, o: usize) -> Layout {
    let mut strides: Vec<i64> = c.batch.iter().map(|b| b.1[o]).collect();
    strides.extend(match o {
        0 => [c.m.1[0], 0, c.k.1[0]],
        1 => [0, c.n.1[0], c.k.1[1]],
        _ => [c.m.1[1], c.n.1[1], 0],
    });
    Layout { offset: c.offsets[o], strides }
}

/// Returns the dtype in which sums are accumulated.
fn sums(c: &Contraction) -> DType {
    c.dtype
}
