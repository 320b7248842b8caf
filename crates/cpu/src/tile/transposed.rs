//! Copies across: what lies along columns is written along rows, in blocks small enough that every line of memory is read
//! and written whole while it is near.

use super::build::{Line, Task, Write};
use super::lanes::Func;
use super::run::Memory;

/// Rows and columns of a block: a line of memory of `f32` each way, but few enough that lines a power of two apart do not
/// push each other out.
const ROWS: usize = 16;
const COLUMNS: usize = 8;

/// A copy whose result lies in rows, and whose operand lies in columns of these.
#[derive(Debug)]
pub(super) struct Transposed {
    /// Bytes of an element.
    size: usize,
    /// Buffers, and the first places.
    from: (usize, i64),
    to: (usize, i64),
    /// Axes before the last two, and the operand's steps along them.
    outer: Vec<(usize, i64)>,
    rows: usize,
    columns: usize,
    /// The operand's step along a row of the result; down a column it is 1.
    step: i64,
}

impl Transposed {
    /// A program that is such a copy.
    pub(super) fn of(code: &[Line], stores: &[Write]) -> Option<Transposed> {
        let ([Line { task: Task::Load(place), .. }, rest @ ..], [store]) = (code, stores) else {
            return None;
        };
        let same = |line: &Line| matches!(&line.task, Task::Loop(l) if matches!(l.func, Func::Copy) && l.narrow.is_none());
        let own = &store.place;
        if !rest.iter().all(same) || !own.is_whole || own.dtype != place.dtype {
            return None;
        }
        let outer: Vec<(usize, i64)> =
            place.axes.iter().copied().zip(place.strides.iter().copied()).collect();
        let (&(columns, step), rest) = outer.split_last()?;
        let (&(rows, 1), rest) = rest.split_last()? else { return None };
        (step.unsigned_abs() >= COLUMNS as u64 && rows >= ROWS && columns >= COLUMNS).then(|| Transposed {
            size: place.dtype.size(),
            from: (place.buffer, place.layout.offset),
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
    /// Memory is what the program's buffers were said to be, and nobody else uses what is written.
    pub(super) unsafe fn run(&self, memory: Memory<'_>, from: usize, count: usize) {
        // SAFETY: the caller's promise, at any type of that size.
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
            let mut place = self.from.1 + r as i64 + column as i64 * self.step;
            for (extent, stride) in self.outer.iter().rev() {
                place += (rest % extent) as i64 * stride;
                rest /= extent;
            }
            // Of a row that is not there whole the part that is.
            let whole = column == 0 && end - at >= self.columns;
            let rows = if whole { ((end - at) / self.columns).min(self.rows - r).min(ROWS) } else { 1 };
            let columns = if whole { self.columns } else { (self.columns - column).min(end - at) };
            for first in (0..columns).step_by(COLUMNS) {
                for c in first..(first + COLUMNS).min(columns) {
                    let source = source.wrapping_offset((place + c as i64 * self.step) as isize);
                    for r in 0..rows {
                        // SAFETY: places were checked against their buffers.
                        unsafe { to.add(at + r * self.columns + c).write(source.add(r).read()) };
                    }
                }
            }
            at += rows * columns;
        }
    }
}
