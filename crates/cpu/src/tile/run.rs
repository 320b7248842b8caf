//! Runs interpreter programs tile by tile.

use super::build::{Instruction, Task, TileProgram, Walk, Write};
use super::lanes::{Arg, Func, Lanes, Loop};
use super::loops::{Number, Splat, accumulate, binary, expand, reduce};
use super::memory::{AccessLayout, read_range, runs, write};
use super::{Kind, scalar};
use crate::Pool;
use gradus_compile::Level;
use gradus_ir::DType;
use std::cell::RefCell;

/// Smallest work per thread, in elements times instructions.
const GRAIN: usize = 1 << 16;
/// Number of rows that are summed before their sum is added to the total of a column. This limits rounding errors.
const GROUP_ROWS: usize = 32;

/// The memory of a plan's buffers.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a>(pub(crate) &'a [*mut u8]);

impl Memory<'_> {
    /// Returns the address of a buffer.
    pub(crate) fn at(&self, buffer: usize) -> *mut u8 {
        self.0[buffer]
    }
}

// SAFETY: addresses alone access no memory. Threads run different indices of a kernel, and each index writes its own elements.
unsafe impl Send for Memory<'_> {}
// SAFETY: addresses alone access no memory. Threads run different indices of a kernel, and each index writes its own elements.
unsafe impl Sync for Memory<'_> {}

/// A cache line of scratch memory, aligned for vectors.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct CacheLine(#[allow(dead_code, reason = "only its size is used")] [u8; 64]);

/// Memory that a thread keeps between runs: scratch memory and the list of registers in it.
type Scratch = (Vec<CacheLine>, Vec<*mut u8>);

thread_local! {
    static SCRATCH: RefCell<Vec<Scratch>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with scratch memory of this thread.
fn with_scratch(bytes: usize, f: impl FnOnce(*mut u8)) {
    let (mut lines, registers) = SCRATCH.with(|s| s.borrow_mut().pop()).unwrap_or_default();
    if lines.len() * 64 < bytes {
        lines.resize(bytes.div_ceil(64), CacheLine([0; 64]));
    }
    f(lines.as_mut_ptr().cast());
    SCRATCH.with(|s| s.borrow_mut().push((lines, registers)));
}

impl TileProgram {
    /// Calls `f` with a tile in scratch memory of this thread; nested runs use separate memory.
    fn with_tile(&self, memory: Memory<'_>, f: impl FnOnce(&mut Tile<'_>)) {
        let (mut lines, mut registers) = SCRATCH.with(|s| s.borrow_mut().pop()).unwrap_or_default();
        if lines.len() * 64 < self.scratch {
            lines.resize(self.scratch.div_ceil(64), CacheLine([0; 64]));
        }
        let scratch: *mut u8 = lines.as_mut_ptr().cast();
        registers.clear();
        registers.resize(self.code.len(), scratch);
        let mut tile = Tile { p: self, memory, scratch, registers };
        f(&mut tile);
        let registers = tile.registers;
        SCRATCH.with(|s| s.borrow_mut().push((lines, registers)));
    }
}

impl TileProgram {
    /// Runs all rows, divided among as many threads as the work justifies.
    ///
    /// # Safety
    /// `memory` has the sizes of the buffers that the program was built for, and no other thread accesses it
    /// during the call.
    pub(crate) unsafe fn run(&self, pool: &Pool, memory: Memory<'_>) {
        let rows = (GRAIN / self.cost()).max(1).next_multiple_of(self.tile);
        let chunks = self.rows.div_ceil(rows);
        if chunks <= 1 {
            // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them.
            return unsafe { self.run_rows(memory, 0, self.rows) };
        }
        pool.run(chunks, &|c| {
            // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them;
            // chunks are separate rows.
            unsafe { self.run_rows(memory, c * rows, rows.min(self.rows - c * rows)) }
        });
    }

    /// Runs these rows on this thread.
    ///
    /// # Safety
    /// As for [`TileProgram::run`].
    pub(crate) unsafe fn run_rows(&self, memory: Memory<'_>, from: usize, count: usize) {
        if let Some(copy) = &self.transposed {
            // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them.
            return unsafe { copy.run(memory, from, count) };
        }
        if let Some(code) = &self.native {
            return with_scratch(code.scratch(), |scratch| {
                // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses
                // them; scratch memory is aligned to 64 bytes and large enough.
                unsafe { code.run(memory.0, from, count, scratch) }
            });
        }
        self.with_tile(memory, |tile| {
            let mut at = from;
            while at < from + count {
                let rows = self.tile.min(from + count - at);
                // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses
                // them.
                unsafe {
                    match self.walk {
                        Walk::Rows => tile.compute_rows(Block::of(at, rows)),
                        Walk::Parts => tile.compute_parts(at),
                        Walk::Columns => tile.compute_columns(at, rows),
                    }
                }
                at += rows;
            }
        });
    }
}

impl TileProgram {
    /// Runs `times` ranges of indices of a kernel without reductions. Each has `count` indices; the first starts at
    /// `from`, and each further one `pitch` indices after the one before.
    ///
    /// # Safety
    /// As for [`TileProgram::run`].
    pub(crate) unsafe fn run_block(
        &self,
        memory: Memory<'_>,
        from: usize,
        count: usize,
        pitch: usize,
        times: usize,
    ) {
        if let Some(code) = &self.native {
            return with_scratch(code.scratch(), |scratch| {
                // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses
                // them; scratch memory is aligned to 64 bytes and large enough.
                unsafe { code.run_block(memory.0, (from, count), (pitch, times), scratch) };
            });
        }
        self.with_tile(memory, |tile| {
            let together = (self.tile / count.max(1)).clamp(1, times.max(1));
            let mut done = 0;
            while done < times {
                let first = from + done * pitch;
                let times = together.min(times - done);
                if count > self.tile || times == 1 {
                    let mut at = first;
                    while at < first + count {
                        let n = self.tile.min(first + count - at);
                        // SAFETY: the caller guarantees the sizes of the buffers and that no other thread
                        // accesses them.
                        unsafe { tile.compute_rows(Block::of(at, n)) };
                        at += n;
                    }
                } else {
                    // SAFETY: the caller guarantees the sizes of the buffers and that no other thread
                    // accesses them.
                    unsafe { tile.compute_rows(Block { from: first, count, pitch, times }) };
                }
                done += times;
            }
        });
    }
}

impl TileProgram {
    /// Runs a kernel without reductions one row after the other, because a row may read elements that the previous row
    /// wrote. Runs a range of rows of `row` elements, and in each row a range of elements, which must fit in a tile.
    /// Ranges are (first, count).
    ///
    /// # Safety
    /// As for [`TileProgram::run`], except that rows may read elements that earlier rows write.
    pub(crate) unsafe fn run_in_order(
        &self,
        memory: Memory<'_>,
        rows: (usize, usize),
        row: usize,
        elements: (usize, usize),
    ) {
        if let Some(code) = &self.native {
            return with_scratch(code.scratch(), |scratch| {
                // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses
                // them; scratch memory is aligned to 64 bytes and large enough.
                unsafe { code.run_rows(memory.0, rows, elements, scratch) }
            });
        }
        self.with_tile(memory, |tile| {
            for r in rows.0..rows.0 + rows.1 {
                // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses
                // them.
                unsafe { tile.compute_rows(Block::of(r * row + elements.0, elements.1)) };
            }
        });
    }
}

/// The rows of a tile: `times` ranges of `count` rows. The first starts at `from`, and each further one `pitch` rows
/// after the one before.
#[derive(Clone, Copy)]
struct Block {
    from: usize,
    count: usize,
    pitch: usize,
    times: usize,
}

impl Block {
    fn of(from: usize, count: usize) -> Block {
        Block { from, count, pitch: 0, times: 1 }
    }

    /// Converts rows of `row` elements to elements.
    fn elements(self, row: usize) -> Block {
        Block { from: self.from * row, count: self.count * row, pitch: self.pitch * row, ..self }
    }

    fn all(self) -> usize {
        self.count * self.times
    }

    /// Calls `f(number of elements before the range, its first index)` for each range.
    fn each(self, mut f: impl FnMut(usize, usize)) {
        (0..self.times).for_each(|t| f(t * self.count, self.from + t * self.pitch));
    }
}

/// A tile that is being computed.
struct Tile<'a> {
    p: &'a TileProgram,
    memory: Memory<'a>,
    scratch: *mut u8,
    registers: Vec<*mut u8>,
}

/// The indices that a register covers, as rows of elements.
#[derive(Clone, Copy)]
struct Cover {
    block: Block,
    rows: usize,
    row: usize,
}

impl Tile<'_> {
    /// Computes a tile of complete rows.
    unsafe fn compute_rows(&mut self, block: Block) {
        let (row, rows) = (self.p.row, block.all());
        let of = |level: Level| if level == Level::Element { block.elements(row) } else { block };
        for i in 0..self.p.code.len() {
            let block = of(self.p.code[i].level);
            // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them;
            // `cover` is within the tile.
            unsafe { self.execute(i, Cover { block, rows, row }, &[]) };
        }
        for (s, store) in self.p.stores.iter().enumerate() {
            let instruction = &self.p.code[store.value];
            if instruction.into == Some(s) && block.times == 1 {
                continue;
            }
            // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them;
            // the block is within the tile.
            unsafe { self.store(store, instruction, of(instruction.level), &[]) };
        }
    }

    /// Computes one row in parts, in as many passes as its reductions need.
    unsafe fn compute_parts(&mut self, at: usize) {
        let (row, part) = (self.p.row, self.p.part());
        let passes = self.p.passes.len();
        for (pass, (elements, rows)) in self.p.passes.iter().enumerate() {
            let reductions: Vec<usize> = rows
                .iter()
                .copied()
                .filter(|&i| matches!(self.p.code[i].task, Task::Reduce { .. }))
                .collect();
            // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them,
            // here and below.
            unsafe {
                reductions.iter().for_each(|&i| self.reset_reduction(i, 1));
                let mut from = 0;
                while from < row && !elements.is_empty() {
                    let count = part.min(row - from);
                    let block = Block::of(at * row + from, count);
                    let cover = Cover { block, rows: 1, row: count };
                    elements.iter().for_each(|&i| self.execute(i, cover, &[]));
                    for &i in &reductions {
                        self.add_part(i, count);
                    }
                    if pass + 1 == passes {
                        for store in &self.p.stores {
                            let instruction = &self.p.code[store.value];
                            if instruction.level == Level::Element {
                                self.store(store, instruction, block, &[]);
                            }
                        }
                    }
                    from += count;
                }
                for &i in rows.iter().filter(|i| !reductions.contains(i)) {
                    self.execute(i, Cover { block: Block::of(at, 1), rows: 1, row }, &[]);
                }
            }
        }
        for store in self.p.stores.iter().filter(|s| self.p.code[s.value].level == Level::Row) {
            // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them.
            unsafe { self.store(store, &self.p.code[store.value], Block::of(at, 1), &[]) };
        }
    }

    /// Computes a tile of `lanes` parallel indices from `at` on, with a loop over the reduced indices.
    unsafe fn compute_columns(&mut self, at: usize, lanes: usize) {
        let block = Block::of(at, lanes);
        let cover = Cover { block, rows: lanes, row: 1 };
        let reduced = &self.p.axes[self.p.parallel..];
        let mut index = vec![0usize; reduced.len()];
        // SAFETY: the caller guarantees the sizes of the buffers and that no other thread accesses them.
        unsafe {
            for (elements, rows) in &self.p.passes {
                let (sums, after): (Vec<usize>, Vec<usize>) =
                    rows.iter().partition(|&&i| matches!(self.p.code[i].task, Task::Reduce { .. }));
                sums.iter().for_each(|&i| self.reset_reduction(i, lanes));
                let steps = if elements.is_empty() && sums.is_empty() { 0 } else { self.p.row };
                for step in 0..steps {
                    elements.iter().for_each(|&i| self.execute(i, cover, &index));
                    sums.iter().for_each(|&i| self.add_lanes(i, lanes, step, steps));
                    for (s, store) in self.p.stores.iter().enumerate() {
                        let instruction = &self.p.code[store.value];
                        if instruction.level == Level::Element && instruction.into != Some(s) {
                            self.store(store, instruction, block, &index);
                        }
                    }
                    for a in (0..reduced.len()).rev() {
                        index[a] += 1;
                        if index[a] < reduced[a] {
                            break;
                        }
                        index[a] = 0;
                    }
                }
                after.iter().for_each(|&i| self.execute(i, cover, &[]));
            }
            for store in self.p.stores.iter().filter(|s| self.p.code[s.value].level == Level::Row) {
                self.store(store, &self.p.code[store.value], block, &[]);
            }
        }
    }

    /// Returns the axes that a register of a level covers.
    fn axes(&self, level: Level) -> &[usize] {
        let all = &self.p.axes;
        if level == Level::Row || self.p.walk == Walk::Columns { &all[..self.p.parallel] } else { all }
    }

    /// Returns the offset of the first element at the indices `fixed` of the axes that the register does not cover.
    fn offset(&self, access: &AccessLayout, fixed: &[usize]) -> i64 {
        let strides = &access.layout.strides[self.p.parallel..];
        access.layout.offset + strides.iter().zip(fixed).map(|(s, &i)| s * i as i64).sum::<i64>()
    }

    unsafe fn execute(&mut self, i: usize, cover: Cover, fixed: &[usize]) {
        let p = self.p;
        let instruction = &p.code[i];
        let Cover { block, rows, row } = cover;
        let count = block.all();
        let mut to = self.scratch.wrapping_add(instruction.at);
        if let Some(s) = instruction.into.filter(|_| block.times == 1) {
            let access = &p.stores[s].access;
            let first = self.offset(access, fixed) + block.from as i64;
            to = self.memory.0[access.buffer]
                .wrapping_offset(first as isize * instruction.kind.size() as isize);
        }
        self.registers[i] = to;
        // SAFETY: registers have space for the elements that tiles cover; accesses were checked against their
        // buffers, and the caller guarantees the sizes of the memory.
        unsafe {
            match &instruction.task {
                Task::Constant(_) => {}
                Task::Load(access) => {
                    let source = self.memory.0[access.buffer];
                    let first = self.offset(access, fixed);
                    if access.is_contiguous && instruction.kind.is_stored_as(access.dtype) && block.times == 1
                    {
                        let at = (first + block.from as i64) as isize * instruction.kind.size() as isize;
                        self.registers[i] = source.wrapping_offset(at);
                        return;
                    }
                    let (axes, layout) = (&access.axes[..], (first, &access.strides[..]));
                    let size = instruction.kind.size();
                    block.each(|before, from| {
                        let to = (to.add(before * size), size);
                        read_range(access.dtype, source, axes, layout, (from, block.count), to);
                    });
                }
                Task::Pieces(pieces) => {
                    let all = self.axes(instruction.level);
                    let further: Vec<usize> = (p.parallel..p.axes.len()).collect();
                    block.each(|before, from| {
                        let to = to.add(before * instruction.kind.size());
                        pieces.fill(
                            instruction.kind,
                            all,
                            (&further, fixed),
                            (from, block.count),
                            self.memory.0,
                            to,
                        );
                    });
                }
                Task::Index(access) => {
                    let (axes, strides) = (self.axes(instruction.level), &access.layout.strides);
                    let step = axes.len().checked_sub(1).map_or(1, |a| strides[a]);
                    let first = self.offset(access, fixed);
                    block.each(|before, from| {
                        runs(axes, strides, first, from, block.count, |k, at, n| {
                            let to = to.add((before + k) * instruction.kind.size());
                            let all = (0..n).map(|j| (j, at + j as i64 * step));
                            match instruction.kind {
                                Kind::F32 => all.for_each(|(j, x)| to.cast::<f32>().add(j).write(x as f32)),
                                Kind::F64 => all.for_each(|(j, x)| to.cast::<f64>().add(j).write(x as f64)),
                                _ if access.dtype == DType::I64 => {
                                    all.for_each(|(j, x)| to.cast::<i64>().add(j).write(x))
                                }
                                _ => {
                                    all.for_each(|(j, x)| to.cast::<i64>().add(j).write(access.dtype.wrap(x)))
                                }
                            }
                        });
                    });
                }
                Task::Expand(a) => match &p.code[*a].task {
                    Task::Constant(l) => scalar::fill(l, to, count),
                    _ => expand(instruction.kind.size(), self.registers[*a], rows, row, to),
                },
                Task::Loop(l) => self.apply(l, instruction, to, cover),
                Task::Reduce { combine, arg, dtype } => {
                    let size = instruction.kind.size();
                    for r in 0..rows {
                        let x = self.registers[*arg].wrapping_add(r * row * size);
                        reduce(*combine, *dtype, x, row, to, r);
                    }
                }
            }
        }
    }

    unsafe fn apply(&self, l: &Loop, instruction: &Instruction, to: *mut u8, cover: Cover) {
        // SAFETY: the caller guarantees that operands and `to` have the elements of `cover`.
        unsafe {
            match &l.func {
                Func::F32(lanes) => self.lanes(lanes, &l.args, to, cover),
                Func::F64(lanes) => self.lanes(lanes, &l.args, to, cover),
                Func::I64(lanes) => self.lanes(lanes, &l.args, to, cover),
                Func::Bool(lanes) => self.lanes(lanes, &l.args, to, cover),
                Func::Copy => {
                    let x = self.registers[l.args[0].instruction];
                    std::ptr::copy(x, to, cover.block.all() * instruction.kind.size());
                }
                Func::Convert(f) => f.apply(self.registers[l.args[0].instruction], to, cover.block.all()),
                Func::Each { scalar, from, to: dtype } => {
                    let args: Vec<*const u8> =
                        l.args.iter().map(|a| self.registers[a.instruction].cast_const()).collect();
                    scalar::each(*scalar, from, &args, *dtype, to, cover.block.all());
                }
            }
            if let Some(narrow) = l.narrow {
                narrow.apply(to, cover.block.all());
            }
        }
    }

    unsafe fn lanes<T: Number>(&self, lanes: &Lanes<T>, args: &[Arg], to: *mut u8, cover: Cover) {
        let Cover { block, rows, row } = cover;
        let count = block.all();
        let x = |k: usize| self.registers[args[k].instruction].cast_const().cast::<T>();
        let constant = |k: usize| match &self.p.code[args[k].instruction].task {
            Task::Constant(l) if args[k].number => Some(T::of(l)),
            _ => None,
        };
        // SAFETY: the caller guarantees that operands and `to` have the elements of `cover`.
        unsafe {
            match lanes {
                Lanes::Unary(f) => f(x(0), to.cast(), count),
                Lanes::Test(f) => f(x(0), to, count),
                Lanes::Binary(f) => {
                    let numbers = (args[0].number, args[1].number);
                    binary(
                        f,
                        numbers,
                        (constant(0), constant(1)),
                        (x(0), x(1)),
                        to.cast(),
                        (count, rows, row),
                    );
                }
                Lanes::Compare(f) => {
                    let numbers = (args[0].number, args[1].number);
                    binary(f, numbers, (constant(0), constant(1)), (x(0), x(1)), to, (count, rows, row));
                }
                Lanes::Select(f) => {
                    let mask = self.registers[args[0].instruction];
                    match (constant(1), constant(2)) {
                        (None, None) => (f.vv)(mask, x(1), x(2), to.cast(), count),
                        (None, Some(b)) => (f.vs)(mask, x(1), b, to.cast(), count),
                        (Some(a), None) => (f.sv)(mask, a, x(2), to.cast(), count),
                        (Some(a), Some(b)) => (f.ss)(mask, a, b, to.cast(), count),
                    }
                }
            }
        }
    }

    unsafe fn store(&self, store: &Write, instruction: &Instruction, block: Block, fixed: &[usize]) {
        let access = &store.access;
        let (axes, strides) = (&access.axes[..], &access.strides[..]);
        let step = axes.len().checked_sub(1).map_or(1, |a| strides[a]);
        let (value, size) = (self.registers[store.value], instruction.kind.size());
        let constant;
        let value = match &instruction.task {
            Task::Constant(l) => {
                constant = Splat::new(l, block.all());
                constant.0.as_ptr().cast()
            }
            _ => value.cast_const(),
        };
        let (first, to) = (self.offset(access, fixed), self.memory.0[access.buffer]);
        block.each(|before, from| {
            runs(axes, strides, first, from, block.count, |k, at, n| {
                // SAFETY: accesses were checked against their buffers, and the register has the elements of the block.
                unsafe { write(access.dtype, value.add((before + k) * size), to, at, step, n) };
            });
        });
    }

    /// Sets the accumulators of a reduction that is computed in several parts to the identity.
    unsafe fn reset_reduction(&mut self, i: usize, n: usize) {
        let instruction = &self.p.code[i];
        self.registers[i] = self.scratch.wrapping_add(instruction.at);
        if let Task::Reduce { combine, dtype, .. } = &instruction.task {
            // SAFETY: registers of reductions have space for twice the elements they cover.
            unsafe {
                scalar::identity(*combine, *dtype, self.registers[i], n);
                scalar::identity(*combine, *dtype, self.partial_accumulator(i, n), n);
            }
        }
    }

    /// Returns the second accumulator of a reduction with `n` results. It holds the result of one part of a row, or of one
    /// group of rows.
    fn partial_accumulator(&self, i: usize, n: usize) -> *mut u8 {
        self.registers[i].wrapping_add((n * self.p.code[i].kind.size()).next_multiple_of(64))
    }

    /// Combines a part of a row into a reduction.
    unsafe fn add_part(&mut self, i: usize, count: usize) {
        if let Task::Reduce { combine, arg, dtype } = &self.p.code[i].task {
            let partial = self.partial_accumulator(i, 1);
            // SAFETY: registers of reductions have space for twice the elements they cover; the operand has the elements
            // that the caller states.
            unsafe {
                reduce(*combine, *dtype, self.registers[*arg], count, partial, 0);
                scalar::accumulate(*combine, *dtype, partial, self.registers[i], 1);
            }
        }
    }

    /// Combines a row of lanes into a reduction along columns.
    unsafe fn add_lanes(&mut self, i: usize, n: usize, step: usize, steps: usize) {
        let Task::Reduce { combine, arg, dtype } = &self.p.code[i].task else { return };
        let (total, group, x) = (self.registers[i], self.partial_accumulator(i, n), self.registers[*arg]);
        // SAFETY: registers of reductions have space for twice the elements they cover; the operand has the elements that the
        // caller states.
        unsafe {
            accumulate(*combine, *dtype, x, group, n);
            if step % GROUP_ROWS == GROUP_ROWS - 1 || step + 1 == steps {
                accumulate(*combine, *dtype, group, total, n);
                scalar::identity(*combine, *dtype, group, n);
            }
        }
    }
}
