//! Generates code for kernels that reduce along columns. Lanes are parallel indices, and each accumulator is an array with an
//! element for each lane.
//!
//! Such a kernel is split into stages, which are kernels without reductions. Some run over all indices, with the lanes
//! innermost, and accumulate into arrays. Others run once over the lanes and compute values from these arrays. The arrays
//! are in the scratch memory of the thread.

use super::Code;
use crate::feature::Isa;
use crate::vector;
use gradus_compile::{Access, Inst, Kernel, Layout, Level, Operation, Store};
use gradus_ir::DType;
use gradus_ir::ops::{Combine, Scalar, pointwise};

/// Largest number of lanes that are processed together, so that their arrays stay in the first-level cache.
const LANES: usize = 1024;
/// Number of rows that are summed before the sum is added to the total. This limits rounding errors; the interpreter uses the
/// same number.
const GROUP_ROWS: usize = 32;

/// The code of a kernel along columns.
#[derive(Debug)]
pub(crate) struct Columns {
    stages: Vec<Stage>,
    /// Extent of the last parallel axis, and number of reduced indices.
    lanes: usize,
    reduced: usize,
    /// Number of buffers of the plan, and of arrays of lanes.
    buffers: usize,
    arrays: usize,
}

/// A reduction, the number of the array for a group of rows, and that of the array for the total.
type Fold = (Combine, usize, usize);

/// A stage: a kernel without reductions.
#[derive(Debug)]
struct Stage {
    code: Code,
    /// If true, it runs over all indices, not only over the lanes.
    all: bool,
    /// Reductions that it accumulates into arrays.
    folds: Vec<Fold>,
}

impl Columns {
    /// Returns the instructions of each stage.
    pub(super) fn code(&self) -> Vec<&[u8]> {
        self.stages.iter().map(|stage| stage.code.shared.pages.bytes()).collect()
    }

    /// Generates code for a kernel whose accesses are within their buffers. Returns `None` if there is no code for it.
    pub(super) fn new(isa: Isa, kernel: &Kernel, buffers: &[(DType, usize)]) -> Option<Columns> {
        let lane = kernel.parallel.checked_sub(1)?;
        if !kernel.columns || kernel.axes.contains(&0) || kernel.parallel == kernel.axes.len() {
            return None;
        }
        let lanes = kernel.axes[lane];
        let mut splitter =
            Splitter { kernel, arrays: vec![None; kernel.body.len()], count: 0, failed: false };
        let pass = passes(kernel);
        let last = pass.iter().copied().max().unwrap_or(0).max(0);
        let mut parts: Vec<(Kernel, bool, Vec<Fold>)> = Vec::new();
        for now in -1..=last {
            let mut all = Part::new(kernel, true, buffers.len());
            let mut folds = Vec::new();
            for (i, inst) in kernel.body.iter().enumerate().filter(|(i, _)| pass[*i] == now) {
                let Operation::Reduce(combine) = inst.op else { continue };
                let total = splitter.array(i);
                let group = splitter.fresh();
                folds.push((combine, group, total));
                let x = splitter.import(&mut all, inst.args[0]);
                let access = all.array(group);
                let sum = all.push(Operation::Load(access.clone()), vec![], inst.dtype);
                let op = pointwise::find(loop_name(combine)?)?;
                let value = all.push(Operation::Scalar(Scalar::Pointwise(op)), vec![sum, x], inst.dtype);
                all.kernel.stores.push(Store { value, access });
            }
            if now == last {
                let elements = |s: &&Store| kernel.body[s.value].level == Level::Element;
                for store in kernel.stores.iter().filter(elements) {
                    let value = splitter.import(&mut all, store.value);
                    let access = all.access(kernel, &store.access);
                    all.kernel.stores.push(Store { value, access });
                }
            }
            let mut own = Part::new(kernel, false, buffers.len());
            for i in (0..kernel.body.len()).filter(|&i| pass[i] == now && is_lane(&kernel.body[i])) {
                let used = |j: usize| {
                    kernel.body[j].args.contains(&i) && !(pass[j] == now && is_lane(&kernel.body[j]))
                };
                let value = splitter.compute(&mut own, i);
                if (0..kernel.body.len()).any(used) {
                    let access = own.array(splitter.array(i));
                    own.kernel.stores.push(Store { value, access });
                }
            }
            for store in &kernel.stores {
                if kernel.body[store.value].level == Level::Row && pass[store.value] == now {
                    let value = splitter.import(&mut own, store.value);
                    let access = own.access(kernel, &store.access);
                    own.kernel.stores.push(Store { value, access });
                }
            }
            parts.push((all.kernel, true, folds));
            parts.push((own.kernel, false, vec![]));
        }
        if splitter.failed {
            return None;
        }
        let mut sizes = buffers.to_vec();
        sizes.resize(buffers.len() + splitter.count, (DType::F32, lanes));
        let compiled = parts
            .into_iter()
            .filter(|p| !p.0.stores.is_empty())
            .map(|(kernel, all, folds)| Some(Stage { code: Code::new(isa, &kernel, &sizes)?, all, folds }));
        let stages = compiled.collect::<Option<Vec<_>>>()?;
        Some(Columns {
            stages,
            lanes,
            reduced: kernel.row_length(),
            buffers: buffers.len(),
            arrays: splitter.count,
        })
    }

    fn array_bytes(&self) -> usize {
        4 * LANES.min(self.lanes).next_multiple_of(16)
    }

    /// Returns the bytes of scratch memory that a run needs.
    pub(super) fn scratch(&self) -> usize {
        let code = self.stages.iter().map(|s| s.code.scratch()).max().unwrap_or(0);
        self.arrays * self.array_bytes() + code
    }

    /// Runs a range of parallel indices.
    ///
    /// # Safety
    /// As for [`Native::run`](super::Native::run).
    pub(super) unsafe fn run(&self, memory: &[*mut u8], from: usize, count: usize, scratch: *mut u8) {
        let mut table = memory[..self.buffers].to_vec();
        table.resize(self.buffers + self.arrays, scratch);
        let (mut at, end) = (from, from + count);
        while at < end {
            let (outer, first) = (at / self.lanes, at % self.lanes);
            let n = LANES.min(self.lanes - first).min(end - at);
            for a in 0..self.arrays {
                // An array holds only the lanes of this call, so its address is shifted by the first lane.
                table[self.buffers + a] =
                    scratch.wrapping_add(a * self.array_bytes()).wrapping_sub(4 * first);
            }
            // SAFETY: the caller guarantees the memory of the kernel and the scratch memory, whose arrays hold
            // `LANES` lanes.
            unsafe {
                let scratch = scratch.add(self.arrays * self.array_bytes());
                for stage in &self.stages {
                    match stage.all {
                        true => self.fold(stage, &table, outer, (first, n), scratch),
                        false => stage.code.block(&table, (outer, 1), (first, n), scratch),
                    }
                }
            }
            at += n;
        }
    }

    /// Runs a stage over the reduced indices.
    unsafe fn fold(
        &self,
        stage: &Stage,
        table: &[*mut u8],
        outer: usize,
        lanes: (usize, usize),
        scratch: *mut u8,
    ) {
        let (first, n) = lanes;
        let array = |a: usize| table[self.buffers + a].wrapping_add(4 * first).cast::<f32>();
        // SAFETY: the caller guarantees scratch memory in which each array has the `n` lanes of this call.
        let clear = |a: usize, combine: Combine| unsafe {
            let start = match combine {
                Combine::Max => f32::NEG_INFINITY,
                Combine::Min => f32::INFINITY,
                _ => 0.0,
            };
            (0..n).for_each(|i| array(a).add(i).write(start));
        };
        stage.folds.iter().for_each(|f| clear(f.2, f.0));
        let mut row = 0;
        while row < self.reduced {
            let rows = if stage.folds.is_empty() { self.reduced } else { GROUP_ROWS.min(self.reduced - row) };
            stage.folds.iter().for_each(|f| clear(f.1, f.0));
            // SAFETY: the caller guarantees the memory of the kernel and the scratch memory.
            unsafe {
                stage.code.block(table, (outer * self.reduced + row, rows), lanes, scratch);
                for &(combine, group, total) in &stage.folds {
                    let add = loop_name(combine).and_then(|name| vector::loops::<f32>().binary(name));
                    add.into_iter().for_each(|f| (f.vv)(array(total), array(group), array(total), n));
                }
            }
            row += rows;
        }
    }
}

fn loop_name(combine: Combine) -> Option<&'static str> {
    match combine {
        Combine::Sum => Some("add"),
        Combine::Max => Some("maximum"),
        Combine::Min => Some("minimum"),
        _ => None,
    }
}

/// Returns true if an instruction has one value per lane.
fn is_lane(inst: &Inst) -> bool {
    inst.level == Level::Row && matches!(inst.op, Operation::Scalar(_))
}

/// Returns, for each value per element, the first pass in which it can be computed; for each value per lane, the pass after
/// which it is known.
fn passes(kernel: &Kernel) -> Vec<i64> {
    let mut pass: Vec<i64> = Vec::with_capacity(kernel.body.len());
    for inst in &kernel.body {
        let first = if inst.level == Level::Row && !matches!(inst.op, Operation::Reduce(_)) { -1 } else { 0 };
        let args = inst.args.iter().map(|&a| {
            let later = first == 0 && kernel.body[a].level == Level::Row;
            pass[a] + later as i64
        });
        pass.push(args.max().unwrap_or(first).max(first));
    }
    pass
}

/// The kernel being split.
struct Splitter<'k> {
    kernel: &'k Kernel,
    /// For each value, the array in which other stages read it, if any.
    arrays: Vec<Option<usize>>,
    count: usize,
    /// If true, the kernel has no code, because an array would need another dtype than `f32`.
    failed: bool,
}

/// A kernel made of some of the instructions.
struct Part {
    kernel: Kernel,
    buffers: usize,
    /// The new indices of the instructions.
    new_index: Vec<Option<usize>>,
}

impl Splitter<'_> {
    fn fresh(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    fn array(&mut self, i: usize) -> usize {
        self.failed |= self.kernel.body[i].dtype != DType::F32;
        match self.arrays[i] {
            Some(a) => a,
            None => {
                let a = self.fresh();
                self.arrays[i] = Some(a);
                a
            }
        }
    }

    /// Returns the value of an instruction in a part: computed there, or loaded from its array.
    fn import(&mut self, part: &mut Part, i: usize) -> usize {
        if let Some(known) = part.new_index[i] {
            return known;
        }
        let inst = &self.kernel.body[i];
        if is_lane(inst) || matches!(inst.op, Operation::Reduce(_)) {
            let access = part.array(self.array(i));
            let value = part.push(Operation::Load(access), vec![], inst.dtype);
            part.new_index[i] = Some(value);
            return value;
        }
        self.compute(part, i)
    }

    fn compute(&mut self, part: &mut Part, i: usize) -> usize {
        let inst = &self.kernel.body[i];
        let args = inst.args.iter().map(|a| self.import(part, *a)).collect();
        let op = match &inst.op {
            Operation::Load(access) => Operation::Load(part.access(self.kernel, access)),
            other => other.clone(),
        };
        let value = part.push(op, args, inst.dtype);
        part.new_index[i] = Some(value);
        value
    }
}

impl Part {
    /// Makes a part over all indices with the lanes innermost if `all` is true, else over the parallel indices.
    fn new(kernel: &Kernel, all: bool, buffers: usize) -> Part {
        let mut axes = kernel.axes[..kernel.parallel - 1].to_vec();
        if all {
            axes.extend(&kernel.axes[kernel.parallel..]);
        }
        axes.push(kernel.axes[kernel.parallel - 1]);
        let parallel = axes.len();
        let part = Kernel { axes, parallel, columns: false, body: vec![], stores: vec![] };
        Part { kernel: part, buffers, new_index: vec![None; kernel.body.len()] }
    }

    fn push(&mut self, op: Operation, args: Vec<usize>, dtype: DType) -> usize {
        self.kernel.body.push(Inst { op, args, dtype, level: Level::Element });
        self.kernel.body.len() - 1
    }

    /// Converts an access of the kernel to the axes of the part.
    fn access(&self, kernel: &Kernel, access: &Access) -> Access {
        let old = &access.layout.strides;
        let lane = kernel.parallel - 1;
        let mut strides = old[..lane].to_vec();
        if self.kernel.axes.len() == old.len() {
            strides.extend(&old[kernel.parallel..]);
        }
        strides.push(old[lane]);
        Access { buffer: access.buffer, layout: Layout { offset: access.layout.offset, strides } }
    }

    /// Returns the access of an array: one element per lane.
    fn array(&self, a: usize) -> Access {
        let mut strides = vec![0; self.kernel.axes.len() - 1];
        strides.push(1);
        Access { buffer: self.buffers + a, layout: Layout { offset: 0, strides } }
    }
}
