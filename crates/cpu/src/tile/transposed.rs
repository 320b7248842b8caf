//! Runs transposing copies: the operand is contiguous along columns, the result along rows. Copies blocks that are so
//! small that every cache line is read and written completely while it is in cache.

use super::build::{Instruction, Task, Write};
use super::lanes::Func;
use super::run::Memory;

/// Number of rows and of columns of a block. For `f32`, a row of the block is half a cache line of the result, and a
/// column is a cache line of the operand. The lines of a block are so few that they do not evict each other, even at
/// distances that are powers of two.
const ROWS: usize = 16;
const COLUMNS: usize = 8;

/// A copy whose result is row-major, and whose operand is contiguous along the second-to-last axis.
#[derive(Debug)]
pub(super) struct Transposed {
    /// Bytes of an element.
    size: usize,
    /// The buffers, and the offsets of the first elements.
    from: (usize, i64),
    to: (usize, i64),
    /// Axes before the last two, and the operand's strides along them.
    outer: Vec<(usize, i64)>,
    rows: usize,
    columns: usize,
    /// The operand's stride along a row of the result; its stride along a column is 1.
    step: i64,
}

impl Transposed {
    /// Returns the copy that a program makes, if it is only a transposing copy.
    pub(super) fn of(code: &[Instruction], stores: &[Write]) -> Option<Transposed> {
        let ([Instruction { task: Task::Load(access), .. }, rest @ ..], [store]) = (code, stores) else {
            return None;
        };
        let same = |i: &Instruction| matches!(&i.task, Task::Loop(l) if matches!(l.func, Func::Copy) && l.narrow.is_none());
        let own = &store.access;
        if !rest.iter().all(same) || !own.is_contiguous || own.dtype != access.dtype {
            return None;
        }
        let outer: Vec<(usize, i64)> =
            access.axes.iter().copied().zip(access.strides.iter().copied()).collect();
        let (&(columns, step), rest) = outer.split_last()?;
        let (&(rows, 1), rest) = rest.split_last()? else { return None };
        (step.unsigned_abs() >= COLUMNS as u64 && rows >= ROWS && columns >= COLUMNS).then(|| Transposed {
            size: access.dtype.size(),
            from: (access.buffer, access.layout.offset),
            to: (own.buffer, own.layout.offset),
            outer: rest.to_vec(),
            rows,
            columns,
            step,
        })
    }

    /// Copies a range of elements of the result.
    ///
    /// # Safety
    /// `memory` has the sizes of the buffers that the program was built for, and no other thread accesses the
    /// buffers that are written.
    pub(super) unsafe fn run(&self, memory: Memory<'_>, from: usize, count: usize) {
        // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them; each
        // type has `size` bytes.
        unsafe {
            match self.size {
                1 => self.each::<u8>(memory, from, count),
                2 => self.each::<u16>(memory, from, count),
                4 => self.each::<u32>(memory, from, count),
                8 => self.each::<[u32; 2]>(memory, from, count),
                _ => self.each::<[u32; 4]>(memory, from, count),
            }
        }
    }

    unsafe fn each<T: Copy>(&self, memory: Memory<'_>, from: usize, count: usize) {
        let (source, to) = (memory.at(self.from.0).cast::<T>(), memory.at(self.to.0).cast::<T>());
        let to = to.wrapping_offset(self.to.1 as isize);
        let (mut at, end) = (from, from + count);
        while at < end {
            let (row, column) = (at / self.columns, at % self.columns);
            let (r, mut rest) = (row % self.rows, row / self.rows);
            let mut offset = self.from.1 + r as i64 + column as i64 * self.step;
            for (extent, stride) in self.outer.iter().rev() {
                offset += (rest % extent) as i64 * stride;
                rest /= extent;
            }
            // If the range starts or ends within this row, copies only that part of the row.
            let whole = column == 0 && end - at >= self.columns;
            let rows = if whole { ((end - at) / self.columns).min(self.rows - r).min(ROWS) } else { 1 };
            let columns = if whole { self.columns } else { (self.columns - column).min(end - at) };
            for first in (0..columns).step_by(COLUMNS) {
                for c in first..(first + COLUMNS).min(columns) {
                    let source = source.wrapping_offset((offset + c as i64 * self.step) as isize);
                    for r in 0..rows {
                        // SAFETY: `r` and `c` are within the axes of the kernel, whose accesses were checked against
                        // their buffers.
                        unsafe { to.add(at + r * self.columns + c).write(source.add(r).read()) };
                    }
                }
            }
            at += rows * columns;
        }
    }
}
