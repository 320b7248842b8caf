//! Builds interpreter programs from kernels: chooses loops, registers, and the size of a tile.

use super::Kind;
use super::lanes::{Loop, loop_of};
use super::memory::{AccessLayout, Pieces, check};
use super::transposed::Transposed;
use crate::jit::Native;
use gradus_compile::{Access, Kernel, Level, Operation};
use gradus_ir::ops::Combine;
use gradus_ir::{DType, Literal, Result};

/// Number of elements of a tile of complete rows, unless a row is longer.
const TILE: usize = 1024;
/// Longest row that fits into a tile.
const LONGEST_ROW: usize = 8192;
/// Number of elements of a tile of a longer row.
const PART: usize = 4096;
/// Number of columns of a tile if the kernel reduces along columns.
const COLUMNS: usize = 512;

/// The order in which the index space is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// Tiles of complete rows.
    Rows,
    /// One row at a time, in parts. Each reduction that depends on another needs a further pass over the row.
    Parts,
    /// Tiles of consecutive parallel indices (lanes), with a loop over the reduced indices.
    Columns,
}

/// A kernel ready to run.
#[derive(Debug)]
pub(crate) struct TileProgram {
    pub(super) axes: Vec<usize>,
    pub(super) parallel: usize,
    pub(super) rows: usize,
    pub(super) row: usize,
    pub(super) walk: Walk,
    /// Number of rows (or columns) of a tile.
    pub(super) tile: usize,
    pub(super) code: Vec<Instruction>,
    pub(super) stores: Vec<Write>,
    /// Instructions of each pass over a row: those per element, then those per row.
    pub(super) passes: Vec<(Vec<usize>, Vec<usize>)>,
    pub(super) scratch: usize,
    /// The program as a transposing copy, if it is one.
    pub(super) transposed: Option<Transposed>,
    /// Generated code of the same kernel.
    pub(crate) native: Option<Native>,
}

/// One instruction: its task and its register.
#[derive(Debug)]
pub(super) struct Instruction {
    pub(super) task: Task,
    pub(super) kind: Kind,
    pub(super) level: Level,
    /// Offset of its register in scratch memory; unused if it reads or writes memory directly.
    pub(super) at: usize,
    /// The store to whose memory it writes directly, if any.
    pub(super) into: Option<usize>,
}

/// The task of an instruction.
#[derive(Debug)]
pub(super) enum Task {
    Constant(Literal),
    Load(AccessLayout),
    Pieces(Pieces),
    Index(AccessLayout),
    /// Repeats a value per row for each element.
    Expand(usize),
    Loop(Loop),
    Reduce {
        combine: Combine,
        arg: usize,
        dtype: DType,
    },
}

/// A store.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) value: usize,
    pub(super) access: AccessLayout,
}

impl TileProgram {
    /// Builds the program of a kernel over buffers of these types and sizes, with generated code if possible.
    pub(crate) fn new(kernel: &Kernel, buffers: &[(DType, usize)]) -> Result<TileProgram> {
        let mut program = TileProgram::interpreted(kernel, buffers)?;
        // Generated code needs accesses within their buffers, which `interpreted` has checked.
        program.native = Native::new(kernel, buffers);
        Ok(program)
    }

    /// As [`TileProgram::new`], without generated code.
    pub(crate) fn interpreted(kernel: &Kernel, buffers: &[(DType, usize)]) -> Result<TileProgram> {
        check(kernel, buffers)?;
        let (rows, row) = (kernel.rows(), kernel.row_length());
        let reduces = kernel.body.iter().any(|i| matches!(i.op, Operation::Reduce(_)));
        let walk = match reduces {
            true if kernel.columns => Walk::Columns,
            true if row > LONGEST_ROW => Walk::Parts,
            _ => Walk::Rows,
        };
        let tile = match walk {
            Walk::Rows => (TILE / row.max(1)).clamp(1, rows.max(1)),
            Walk::Parts => 1,
            Walk::Columns => COLUMNS.min(rows.max(1)),
        };
        let mut b = Build { kernel, buffers, walk, of: Vec::new(), code: Vec::new(), wide: Vec::new() };
        for i in 0..kernel.body.len() {
            let instruction = b.add_instruction(i);
            b.of.push(instruction);
        }
        let of = b.of;
        let stores: Vec<Write> = kernel
            .stores
            .iter()
            .map(|s| {
                let dtype = buffers[s.access.buffer].0;
                let span = span(kernel, walk, kernel.body[s.value].level);
                Write { value: of[s.value], access: AccessLayout::new(&kernel.axes, span, &s.access, dtype) }
            })
            .collect();
        let elements = match walk {
            Walk::Rows => tile * row,
            Walk::Parts => PART.min(row),
            Walk::Columns => tile,
        };
        let mut program = TileProgram {
            axes: kernel.axes.clone(),
            parallel: kernel.parallel,
            rows,
            row,
            walk,
            tile,
            code: b.code,
            stores,
            passes: Vec::new(),
            scratch: 0,
            transposed: None,
            native: None,
        };
        program.transposed = Transposed::of(&program.code, &program.stores).filter(|_| row == 1);
        program.passes = program.passes_over_a_row();
        program.write_in_place();
        program.allocate(elements, tile);
        Ok(program)
    }

    /// Returns the number of elements of a part of a long row.
    pub(super) fn part(&self) -> usize {
        PART.min(self.row.max(1))
    }

    /// Returns the generated instructions.
    pub(crate) fn instructions(&self) -> Vec<&[u8]> {
        self.native.as_ref().map(Native::code).unwrap_or_default()
    }

    /// Estimates the work per row, in elements times instructions. An instruction that reads pieces counts more, because it
    /// visits every piece.
    pub(crate) fn cost(&self) -> usize {
        let weight = |i: &Instruction| if matches!(i.task, Task::Pieces(_)) { 4 } else { 1 };
        let weights = self.code.iter().map(weight).sum::<usize>();
        let instructions = self.native.as_ref().map_or(0, Native::instructions);
        self.row.max(1) * weights.max(instructions / 4).max(1)
    }

    /// Makes loops write results directly to memory where no later instruction reads from memory, because the memory of a
    /// result may be that of an operand.
    fn write_in_place(&mut self) {
        if self.walk == Walk::Parts {
            return;
        }
        let last_use = self.last_uses();
        let mut loads_end = 0;
        for (i, instruction) in self.code.iter().enumerate() {
            if matches!(instruction.task, Task::Load(_) | Task::Pieces(_)) {
                loads_end = loads_end.max(last_use[i]).max(i);
            }
        }
        for (s, store) in self.stores.iter().enumerate() {
            let instruction = &mut self.code[store.value];
            let made = matches!(instruction.task, Task::Loop(_)) && instruction.level == Level::Element;
            let whole = store.access.is_contiguous && instruction.kind.is_stored_as(store.access.dtype);
            if made && whole && instruction.into.is_none() && store.value >= loads_end {
                instruction.into = Some(s);
            }
        }
    }

    /// Returns the last instruction that uses each value. Stores come after all instructions.
    fn last_uses(&self) -> Vec<usize> {
        let mut last = vec![0; self.code.len()];
        for (i, instruction) in self.code.iter().enumerate() {
            last[i] = last[i].max(i);
            for a in instruction.task.args() {
                last[a] = i;
            }
        }
        for store in &self.stores {
            last[store.value] = usize::MAX;
        }
        last
    }

    /// Assigns registers to offsets in scratch memory; an offset is reused after the last use of its value.
    fn allocate(&mut self, elements: usize, rows: usize) {
        let reuse = self.walk == Walk::Rows;
        let last = self.last_uses();
        // An offset is reused only for registers of the same size and level, because loops may write where they read.
        let mut free: Vec<(usize, (usize, usize, Level))> = Vec::new();
        let mut taken: Vec<(usize, usize, (usize, usize, Level))> = Vec::new();
        let mut end = 0;
        for (i, instruction) in self.code.iter_mut().enumerate() {
            let count = if instruction.level == Level::Element { elements } else { rows };
            // A reduction along columns needs a second register for the sums of a group of rows.
            let registers = matches!(instruction.task, Task::Reduce { .. }) as usize + 1;
            let bytes = (count * instruction.kind.size()).next_multiple_of(64) * registers;
            let class = (bytes, instruction.kind.size(), instruction.level);
            if reuse {
                // The result of a loop may reuse the register of an operand whose last use is this loop.
                let overwrites_operand = matches!(instruction.task, Task::Loop(_));
                taken.retain(|&(until, at, size)| {
                    let over = until < i || (until == i && overwrites_operand);
                    if over {
                        free.push((at, size));
                    }
                    !over
                });
            }
            let at = match free.iter().position(|f| f.1 == class) {
                Some(f) => free.swap_remove(f).0,
                None => {
                    end += bytes;
                    end - bytes
                }
            };
            taken.push((last[i], at, class));
            instruction.at = at;
        }
        self.scratch = end;
    }

    /// Returns the passes over a row. Operands of a reduction that depend on another reduction are computed in a later pass.
    fn passes_over_a_row(&self) -> Vec<(Vec<usize>, Vec<usize>)> {
        // For each value per element, the first pass in which it can be computed; for each value per row, the pass after
        // which it is known.
        let mut pass: Vec<i64> = Vec::with_capacity(self.code.len());
        for instruction in &self.code {
            // Instructions over elements, including reductions, run in a pass after those that compute the row values they use.
            let over_elements =
                instruction.level == Level::Element || matches!(instruction.task, Task::Reduce { .. });
            let t = instruction
                .task
                .args()
                .into_iter()
                .map(|a: usize| pass[a] + (over_elements && self.code[a].level == Level::Row) as i64);
            let first = if instruction.level == Level::Row { -1 } else { 0 };
            pass.push(t.max().unwrap_or(first).max(first));
        }
        let stored = self.stores.iter().map(|s| s.value).filter(|&v| self.code[v].level == Level::Element);
        let last = pass.iter().copied().max().unwrap_or(0).max(0);
        (-1..=last)
            .map(|now| {
                let mut needed = vec![false; self.code.len()];
                for (i, instruction) in self.code.iter().enumerate() {
                    if matches!(instruction.task, Task::Reduce { .. }) && pass[i] == now {
                        instruction.task.args().into_iter().for_each(|a| needed[a] = true);
                    }
                }
                if now == last {
                    stored.clone().for_each(|v| needed[v] = true);
                }
                for i in (0..self.code.len()).rev().filter(|&i| self.code[i].level == Level::Element) {
                    if needed[i] {
                        self.code[i].task.args().into_iter().for_each(|a| needed[a] = true);
                    }
                }
                let level = |l: Level| move |i: &usize| self.code[*i].level == l;
                let elements = (0..self.code.len()).filter(level(Level::Element)).filter(|&i| needed[i]);
                let rows = (0..self.code.len()).filter(level(Level::Row)).filter(|&i| pass[i] == now);
                (elements.collect(), rows.collect())
            })
            .collect()
    }
}

impl Task {
    pub(super) fn args(&self) -> Vec<usize> {
        match self {
            Task::Expand(a) | Task::Reduce { arg: a, .. } => vec![*a],
            Task::Loop(l) => l.args.iter().map(|a| a.instruction).collect(),
            _ => vec![],
        }
    }
}

/// Returns the number of axes that a register of a level covers.
fn span(kernel: &Kernel, walk: Walk, level: Level) -> usize {
    if walk == Walk::Columns || level == Level::Row { kernel.parallel } else { kernel.axes.len() }
}

struct Build<'k> {
    kernel: &'k Kernel,
    buffers: &'k [(DType, usize)],
    walk: Walk,
    /// For each instruction of the kernel, the instruction of the program.
    of: Vec<usize>,
    code: Vec<Instruction>,
    /// Values per row that are expanded, each with the instruction that expands it.
    wide: Vec<(usize, usize)>,
}

impl Build<'_> {
    fn push(&mut self, task: Task, kind: Kind, level: Level) -> usize {
        self.code.push(Instruction { task, kind, level, at: 0, into: None });
        self.code.len() - 1
    }

    /// Adds the instruction of the program for instruction `i` of the kernel, and returns its index.
    fn add_instruction(&mut self, i: usize) -> usize {
        let inst = &self.kernel.body[i];
        let kind = Kind::of(inst.dtype);
        let level = inst.level;
        let span = span(self.kernel, self.walk, level);
        let task = match &inst.op {
            Operation::Constant(l) => Task::Constant(l.clone()),
            Operation::Load(access) => {
                let dtype = self.buffers[access.buffer].0;
                Task::Load(AccessLayout::new(&self.kernel.axes, span, access, dtype))
            }
            Operation::Pieces(pieces) => Task::Pieces(Pieces::new(pieces, self.buffers)),
            Operation::Index(layout) => {
                let access = Access { buffer: 0, layout: layout.clone() };
                let access = AccessLayout::new(&self.kernel.axes, span, &access, inst.dtype);
                Task::Index(access)
            }
            Operation::Reduce(combine) => {
                let arg = self.of[inst.args[0]];
                let arg = if self.is_narrow(arg) { self.repeat_row_value(arg) } else { arg };
                Task::Reduce { combine: *combine, arg, dtype: inst.dtype }
            }
            Operation::Scalar(scalar) => {
                let args: Vec<usize> = inst.args.iter().map(|a| self.of[*a]).collect();
                let dtypes: Vec<DType> = inst.args.iter().map(|a| self.kernel.body[*a].dtype).collect();
                let mut l = loop_of(*scalar, &args, &dtypes, inst.dtype);
                // A scalar operand stays scalar if the loop supports it; otherwise it is repeated.
                let narrow = |b: &Self, k: usize| match level {
                    Level::Element => b.is_narrow(args[k]),
                    Level::Row => b.is_constant(args[k]),
                };
                let numbers: Vec<usize> = (0..args.len()).filter(|&k| narrow(self, k)).collect();
                for &k in &numbers {
                    if l.takes_number(k, numbers.len(), self.is_constant(args[k])) {
                        l.args[k].number = true;
                    } else {
                        l.args[k].instruction = match level {
                            Level::Element => self.repeat_row_value(args[k]),
                            Level::Row => {
                                self.push(Task::Expand(args[k]), self.code[args[k]].kind, Level::Row)
                            }
                        };
                    }
                }
                Task::Loop(l)
            }
        };
        self.push(task, kind, level)
    }

    /// Returns the instruction that repeats a row value for each element. Adds it if needed.
    fn repeat_row_value(&mut self, instruction: usize) -> usize {
        if let Some(&(_, wide)) = self.wide.iter().find(|(l, _)| *l == instruction) {
            return wide;
        }
        let kind = self.code[instruction].kind;
        let wide = self.push(Task::Expand(instruction), kind, Level::Element);
        self.wide.push((instruction, wide));
        wide
    }

    fn is_constant(&self, instruction: usize) -> bool {
        matches!(self.code[instruction].task, Task::Constant(_))
    }

    /// Returns true if the register of a value has fewer elements than the tile. If the kernel reduces along columns, a
    /// row value has one element per lane.
    fn is_narrow(&self, instruction: usize) -> bool {
        self.is_constant(instruction)
            || (self.code[instruction].level == Level::Row && self.walk != Walk::Columns)
    }
}
