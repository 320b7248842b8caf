//! The code generator: compiles a [`Kernel`] of `f32` to AVX-512 or AVX2 code. The tile interpreter runs one loop per
//! instruction; generated code runs one loop for all of them.
//!
//! A kernel is converted to nodes ([`lower`]), ordered ([`schedule`]) and encoded ([`emit`], [`encode`]).
//! Functions have the same source as the loops over slices, and sums have the same order. So results equal those of the
//! interpreter bit for bit, except for the payload of NaN. The interpreter runs kernels for which there is no code.

mod allocate;
mod avx2;
mod avx512;
mod columns;
mod emit;
mod encode;
mod far;
mod functions;
mod lower;
mod machine;
mod memory;
mod node;
mod schedule;
mod shared;
#[cfg(test)]
mod tests;

use crate::feature::Isa;
use columns::Columns;
use emit::Table;
use gradus_compile::{Access, Kernel, Layout};
use gradus_ir::DType;
use shared::Shared;
use std::sync::Arc;

/// Generated code of a kernel.
#[derive(Debug)]
pub(crate) enum Native {
    /// A kernel along rows: the code, and the number of elements per parallel index.
    Rows(Code, usize),
    /// A kernel along columns.
    Columns(Columns),
}

impl Native {
    /// Generates code for a kernel whose accesses are within their buffers. Returns `None` if it cannot.
    pub(crate) fn new(kernel: &Kernel, buffers: &[(DType, usize)]) -> Option<Native> {
        Native::on(Isa::best(), kernel, buffers)
    }

    /// Generates code for an instruction set of this processor.
    fn on(isa: Isa, kernel: &Kernel, buffers: &[(DType, usize)]) -> Option<Native> {
        let rows = || Code::new(isa, kernel, buffers).map(|code| Native::Rows(code, kernel.row_length()));
        rows().or_else(|| Columns::new(isa, kernel, buffers).map(Native::Columns))
    }

    /// Returns the approximate number of instructions per element; 0 if it is unknown, along columns.
    pub(crate) fn instructions(&self) -> usize {
        if let Native::Rows(code, _) = self { code.shared.nodes } else { 0 }
    }

    /// Returns the generated instructions: one list along rows, one per stage along columns.
    pub(crate) fn code(&self) -> Vec<&[u8]> {
        match self {
            Native::Rows(code, _) => vec![code.shared.pages.bytes()],
            Native::Columns(columns) => columns.code(),
        }
    }

    /// Returns the bytes of scratch memory that a run needs.
    pub(crate) fn scratch(&self) -> usize {
        match self {
            Native::Rows(code, _) => code.scratch(),
            Native::Columns(columns) => columns.scratch(),
        }
    }

    /// Runs a range of elements of a range of rows, in order. Ranges are (first, count). Only for kernels without
    /// reductions, which all run along rows.
    ///
    /// # Safety
    /// As for [`Native::run`].
    pub(crate) unsafe fn run_rows(
        &self,
        memory: &[*mut u8],
        rows: (usize, usize),
        elements: (usize, usize),
        scratch: *mut u8,
    ) {
        if let Native::Rows(code, _) = self {
            // SAFETY: the caller guarantees the sizes of the buffers, exclusive access to those written, and
            // the scratch memory.
            unsafe { code.block(memory, rows, elements, scratch) }
        }
    }

    /// Runs `times` ranges of indices of a kernel without reductions. The first range is (first, count); each further one
    /// starts `pitch` indices after the one before.
    ///
    /// # Safety
    /// As for [`Native::run`].
    pub(crate) unsafe fn run_block(
        &self,
        memory: &[*mut u8],
        (from, count): (usize, usize),
        (pitch, times): (usize, usize),
        scratch: *mut u8,
    ) {
        // SAFETY: the caller guarantees the sizes of the buffers, exclusive access to those written, and the
        // scratch memory.
        unsafe {
            match self {
                Native::Rows(code, _) if code.axes.len() == 1 => {
                    code.strips(memory, (from, pitch, times), (0, count), scratch);
                }
                Native::Rows(code, _) if pitch == code.row() && from % pitch + count <= pitch => {
                    code.block(memory, (from / pitch, times), (from % pitch, count), scratch);
                }
                _ => (0..times).for_each(|t| self.run(memory, from + t * pitch, count, scratch)),
            }
        }
    }

    /// Runs a range of parallel indices.
    ///
    /// # Safety
    /// `memory` has the sizes of the buffers that the kernel was compiled for, and no other thread accesses the
    /// buffers that are written. `scratch` has [`scratch`](Native::scratch) bytes and is aligned to 64 bytes.
    pub(crate) unsafe fn run(&self, memory: &[*mut u8], from: usize, count: usize, scratch: *mut u8) {
        // SAFETY: the caller guarantees the sizes of the buffers, exclusive access to those written, and the
        // scratch memory.
        unsafe {
            match self {
                Native::Rows(code, each) => code.run(memory, from * each, count * each, scratch),
                Native::Columns(columns) => columns.run(memory, from, count, scratch),
            }
        }
    }
}

/// The code of a kernel along rows.
#[derive(Debug)]
pub(crate) struct Code {
    shared: Arc<Shared>,
    /// Extents; the last axis is the row.
    axes: Vec<usize>,
    /// The accesses, each with the bytes of an element.
    accesses: Vec<(Access, usize)>,
}

/// Alignment of row buffers, in bytes: a cache line.
const ALIGN: usize = 64;

impl Code {
    fn new(isa: Isa, kernel: &Kernel, buffers: &[(DType, usize)]) -> Option<Code> {
        let (lowered, accesses) = lower::lower(isa, kernel, buffers)?;
        let accesses = accesses.into_iter().zip(lowered.sizes.iter().copied()).collect();
        Some(Code { shared: shared::shared(isa, lowered)?, axes: kernel.axes.clone(), accesses })
    }

    fn row(&self) -> usize {
        self.axes.last().copied().unwrap_or(1)
    }

    fn table_bytes(&self) -> usize {
        (8 * self.shared.table.words()).next_multiple_of(ALIGN)
    }

    fn row_bytes(&self) -> usize {
        (4 * self.row()).next_multiple_of(ALIGN)
    }

    fn scratch(&self) -> usize {
        self.table_bytes() + self.shared.kept * self.row_bytes()
    }

    /// Runs a range of indices, in row-major order; complete rows if the kernel reduces.
    ///
    /// # Safety
    /// As for [`Native::run`].
    unsafe fn run(&self, memory: &[*mut u8], from: usize, count: usize, scratch: *mut u8) {
        let row = self.row();
        let (mut at, end) = (from, from + count);
        while at < end {
            let (first, start) = (at / row, at % row);
            let n = (row - start).min(end - at);
            let rows = if n == row { (end - at) / row } else { 1 };
            // SAFETY: the caller guarantees the sizes of the buffers, exclusive access to those written, and
            // the scratch memory.
            unsafe { self.block(memory, (first, rows), (start, n), scratch) };
            at += rows * n;
        }
    }

    /// Runs a range of elements of a range of rows; ranges are (first, count).
    ///
    /// # Safety
    /// As for [`Native::run`].
    unsafe fn block(
        &self,
        memory: &[*mut u8],
        rows: (usize, usize),
        elements: (usize, usize),
        scratch: *mut u8,
    ) {
        let outer = &self.axes[..self.axes.len() - 1];
        let (mut first, end) = (rows.0, rows.0 + rows.1);
        while first < end {
            // One call runs the rows along the second-to-last axis.
            let rows = outer.last().map_or(1, |extent| (extent - first % extent).min(end - first));
            let offset = |layout: &Layout| {
                let (mut offset, mut rest) = (layout.offset, first);
                for (extent, stride) in outer.iter().zip(&layout.strides).rev() {
                    offset += (rest % extent) as i64 * stride;
                    rest /= extent;
                }
                (offset, outer.len().checked_sub(1).map_or(0, |o| layout.strides[o]))
            };
            // SAFETY: the caller guarantees the sizes of the buffers, exclusive access to those written, and
            // the scratch memory.
            unsafe { self.call(memory, rows, elements, scratch, offset) };
            first += rows;
        }
    }

    /// Runs ranges of a kernel of one axis as if they were rows. Takes the start of the first, the distance from one
    /// start to the next, and the number of ranges; `elements` is a range (first, count) within each.
    ///
    /// # Safety
    /// As for [`Native::run`].
    unsafe fn strips(
        &self,
        memory: &[*mut u8],
        (from, pitch, times): (usize, usize, usize),
        elements: (usize, usize),
        scratch: *mut u8,
    ) {
        let offset = |layout: &Layout| {
            (layout.offset + from as i64 * layout.strides[0], pitch as i64 * layout.strides[0])
        };
        // SAFETY: the caller guarantees the sizes of the buffers, exclusive access to those written, and the
        // scratch memory.
        unsafe { self.call(memory, times, elements, scratch, offset) }
    }

    /// Calls the code for `rows` rows. `offset` returns, for a layout, the offset of the first row and the
    /// stride between rows.
    ///
    /// # Safety
    /// As for [`Native::run`].
    unsafe fn call(
        &self,
        memory: &[*mut u8],
        rows: usize,
        (start, n): (usize, usize),
        scratch: *mut u8,
        offset: impl Fn(&Layout) -> (i64, i64),
    ) {
        if rows == 0 {
            return;
        }
        let (table, words) = (self.shared.table, scratch.cast::<u64>());
        // SAFETY: the scratch memory holds the table and the row buffers; the code accesses only indices of the
        // kernel, which were checked to be within their buffers.
        unsafe {
            let put = |word: usize, value: u64| words.add(word).write(value);
            for k in 0..self.shared.kept {
                let buffer = scratch.add(self.table_bytes() + k * self.row_bytes());
                put(table.pointer(self.accesses.len() + k), buffer as u64);
                put(table.pitch(self.accesses.len() + k), 0);
            }
            for unroll in 1..=table.folded {
                let (whole, rest) = Table::counts(unroll);
                let round = unroll * table.lanes;
                put(whole, (n / round * round) as u64);
                put(rest, (n % round) as u64);
            }
            put(Table::ROWS, rows as u64);
            for (a, (access, size)) in self.accesses.iter().enumerate() {
                let (first, pitch) = offset(&access.layout);
                let along = access.layout.strides.last().map_or(0, |s| start as i64 * s);
                let bytes = (first + along) * *size as i64;
                put(table.pointer(a), memory[access.buffer].wrapping_offset(bytes as isize) as u64);
                put(table.pitch(a), (pitch * *size as i64) as u64);
            }
            let run: extern "sysv64" fn(*mut u64) = std::mem::transmute(self.shared.pages.start());
            run(words);
        }
    }
}
