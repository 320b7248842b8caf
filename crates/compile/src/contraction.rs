//! Represents contractions as batched matrix products with strides, and matches labelled contractions to them. A product
//! may include an elementwise kernel, which runs on each block of the result while the block is in cache.

use crate::kernel::Kernel;
use crate::layout::Layout;
use gradus_ir::DType;
use std::fmt;

/// `out[b, i, j] = Σ_k lhs[b, i, k] · rhs[b, k, j]`.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// Dtype of the operands.
    pub operands: DType,
    /// Dtype of the sums and of the result: that of the operands, or `f32` if they are `bf16`.
    pub dtype: DType,
    /// Buffers: first operand, second operand, result.
    pub buffers: [usize; 3],
    /// Index of the first element in each buffer.
    pub offsets: [i64; 3],
    /// Batch axes, which operands and result share: extent, and strides in each of the three.
    pub batch: Vec<(usize, [i64; 3])>,
    /// Rows: extent, and strides in the first operand and the result.
    pub m: (usize, [i64; 2]),
    /// Columns: extent, and strides in the second operand and the result. The stride in the result is 1, unless there
    /// is only one column.
    pub n: (usize, [i64; 2]),
    /// The summed axis: extent, and strides in the first and the second operand.
    pub k: (usize, [i64; 2]),
    /// An elementwise kernel over the row-major result, run on each block as soon as the block is computed.
    pub finish: Option<Kernel>,
}

impl Contraction {
    /// Returns the buffers read: both operands, and those that the fused kernel loads, except the product.
    pub fn reads(&self) -> Vec<usize> {
        let follow = self.finish.iter().flat_map(|k| k.loads().map(|a| a.buffer));
        self.buffers[..2].iter().copied().chain(follow.filter(|b| *b != self.buffers[2])).collect()
    }

    /// Returns the buffers written.
    pub fn writes(&self) -> Vec<usize> {
        let follow = self.finish.iter().flat_map(|k| k.stores.iter().map(|s| s.access.buffer));
        [self.buffers[2]].into_iter().chain(follow).collect()
    }

    /// Returns the extents and strides of operand `o`, or of the result if `o` is 2: the batch axes, then its own two axes.
    pub fn axes(&self, o: usize) -> impl Iterator<Item = (usize, i64)> {
        let own = match o {
            0 => [(self.m.0, self.m.1[0]), (self.k.0, self.k.1[0])],
            1 => [(self.n.0, self.n.1[0]), (self.k.0, self.k.1[1])],
            _ => [(self.m.0, self.m.1[1]), (self.n.0, self.n.1[1])],
        };
        self.batch.iter().map(move |b| (b.0, b.1[o])).chain(own)
    }

    /// Returns the first and the last position accessed in operand `o`, or in the result if `o` is 2. Returns `None` if no
    /// element is accessed.
    pub fn ends(&self, o: usize) -> Option<(i64, i64)> {
        let (extents, strides): (Vec<usize>, Vec<i64>) = self.axes(o).unzip();
        Layout { offset: self.offsets[o], strides }.ends(&extents)
    }

    /// Returns the number of products in the batch.
    pub fn products(&self) -> usize {
        self.batch.iter().map(|b| b.0).product()
    }
}

/// One operand of a contraction: labels and extents of its axes, and its layout in memory.
pub(crate) struct Operand<'a> {
    pub(crate) labels: &'a str,
    pub(crate) shape: &'a [usize],
    pub(crate) layout: Layout,
}

/// The reason why a contraction cannot be a matrix product without a copy of an operand.
pub(crate) enum NotMatmul {
    /// The operand with this index has a summed axis that the other lacks, or its summed axes have no common stride.
    Operand(usize),
    /// No axis of the result is contiguous.
    Result,
}

/// An axis during matching: its extent, and its strides in the two operands and the result (0 where they lack the
/// axis).
#[derive(Clone, Copy, Debug)]
struct Axis {
    extent: usize,
    strides: [i64; 3],
}

/// Matches a contraction to a matrix product. The flag is true if the product exchanges the operands.
pub(crate) fn match_product(
    [operands, dtype]: [DType; 2],
    ops: &[Operand<'_>; 3],
) -> Result<(Contraction, bool), NotMatmul> {
    let step = |o: usize, label: char| {
        let at = ops[o].labels.chars().position(|l| l == label)?;
        Some(ops[o].layout.strides[at])
    };
    for (o, operand) in ops[..2].iter().enumerate() {
        let elsewhere = |label: char| (0..3).any(|p| p != o && ops[p].labels.contains(label));
        if !operand.labels.chars().all(elsewhere) {
            return Err(NotMatmul::Operand(o));
        }
    }
    let (mut batch, mut m, mut n, mut k) = (vec![], vec![], vec![], vec![]);
    // Lists the axes in the order of the result, then the summed ones in the order of the first operand.
    let out: Vec<(char, usize)> = ops[2].labels.chars().zip(ops[2].shape.iter().copied()).collect();
    let summed = ops[0].labels.chars().zip(ops[0].shape.iter().copied());
    let summed = summed.filter(|(l, _)| !ops[2].labels.contains(*l));
    for (label, extent) in out.iter().copied().chain(summed) {
        let found: [Option<i64>; 3] = std::array::from_fn(|o| step(o, label));
        let axis = Axis { extent, strides: found.map(|s| s.unwrap_or(0)) };
        match found {
            [Some(_), Some(_), Some(_)] => batch.push(axis),
            [Some(_), None, _] => m.push(axis),
            [None, Some(_), _] => n.push(axis),
            [Some(_), Some(_), None] => k.push(axis),
            _ => return Err(NotMatmul::Result),
        }
    }
    for axes in [&mut batch, &mut m, &mut n, &mut k] {
        merge(axes);
    }
    if k.len() > 1 {
        let uneven =
            (0..2).find(|&o| k.windows(2).any(|w| w[0].strides[o] != w[1].strides[o] * w[1].extent as i64));
        return Err(NotMatmul::Operand(uneven.unwrap_or(0)));
    }
    // The contiguous axis of the result becomes that of the columns.
    let contiguous = |axes: &[Axis]| axes.last().is_some_and(|a| a.strides[2] == 1);
    let swapped = !contiguous(&n) && contiguous(&m);
    if swapped {
        std::mem::swap(&mut m, &mut n);
    }
    let numel = |axes: &[Axis]| axes.iter().map(|a| a.extent).product::<usize>();
    if !contiguous(&n) && numel(&n) > 1 {
        return Err(NotMatmul::Result);
    }
    // Rows and columns may have one axis each. The longest axis of the rows stays; all others become batch axes.
    let columns = n.pop();
    let longest = (0..m.len()).max_by_key(|&i| m[i].extent);
    let rows = longest.map(|i| m.remove(i));
    batch.extend(m);
    batch.extend(n);
    let one = Axis { extent: 1, strides: [0; 3] };
    let (rows, columns, k) = (rows.unwrap_or(one), columns.unwrap_or(one), k.pop().unwrap_or(one));
    let exchange = |s: [i64; 3]| if swapped { [s[1], s[0], s[2]] } else { s };
    let (r, c, s) = (exchange(rows.strides), exchange(columns.strides), exchange(k.strides));
    let offset = |o: usize| ops[o].layout.offset;
    let offsets = exchange([offset(0), offset(1), offset(2)]);
    let contraction = Contraction {
        operands,
        dtype,
        buffers: [0; 3],
        offsets,
        batch: batch.iter().map(|a| (a.extent, exchange(a.strides))).collect(),
        m: (rows.extent, [r[0], r[2]]),
        n: (columns.extent, [c[1], c[2]]),
        k: (k.extent, [s[0], s[1]]),
        finish: None,
    };
    Ok((contraction, swapped))
}

/// Merges neighbouring axes with a common stride in all operands, and drops axes of extent 1.
fn merge(axes: &mut Vec<Axis>) {
    axes.retain(|a| a.extent != 1);
    axes.dedup_by(|inner, outer| {
        let even = (0..3).all(|o| outer.strides[o] == inner.strides[o] * inner.extent as i64);
        if even {
            *outer = Axis { extent: outer.extent * inner.extent, strides: inner.strides };
        }
        even
    });
}

impl fmt::Display for Contraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.buffers;
        writeln!(
            f,
            "b{c} := b{a} · b{b}, {} of {}×{}×{} ({})",
            self.products(),
            self.m.0,
            self.n.0,
            self.k.0,
            self.operands
        )?;
        match &self.finish {
            Some(kernel) => write!(f, "  then {kernel}"),
            None => Ok(()),
        }
    }
}
