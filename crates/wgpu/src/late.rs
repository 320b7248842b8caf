//! Late errors: the device detects an index out of range while it computes, and the host reports it when a result is read.
//!
//! A step with indices writes a word with the position of the first index out of range. Before later steps reuse that
//! memory, a kernel of one thread stores the word and the index in a *record* of the run. Until the record is read, the
//! results of the run, and all values computed from them, refer to a [`Suspect`], a run that may have failed. A read of
//! such a result also reads the record in the same submission, so it does not wait longer than other reads. A run that
//! writes cells first waits for the records of all runs that its operands depend on.

use crate::context::Context;
use crate::device::bound;
use crate::memory::Block;
use crate::queue::{Bound, State};
use gradus_compile::{Plan, Routine, Step};
use gradus_gpu::{Command, GpuProgram, Module, Word};
use gradus_ir::{DType, Error, Op, Result};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Bytes of the record of one check: the position of the index or [`NONE`], and both words of the index.
pub(crate) const RECORD: usize = 16;
/// The value of the position if all indices are in range.
const NONE: u32 = u32::MAX;

/// The indices that a check examines.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The dtype of the indices, and the extent they must be below.
    pub(crate) dtype: DType,
    pub(crate) extent: usize,
    /// The op of the check, which the error names.
    routine: Option<Routine>,
}

/// A run that may have failed.
pub(crate) struct Suspect {
    subjects: Arc<[Subject]>,
    record: Block,
    /// The first error of the run, or `None` if the run succeeded. Unset while the outcome is unknown.
    outcome: OnceLock<Option<Error>>,
}

impl Suspect {
    /// Makes a suspect for a run whose record is in `record`.
    pub(crate) fn new(subjects: &Arc<[Subject]>, record: Block) -> Arc<Suspect> {
        Arc::new(Suspect { subjects: subjects.clone(), record, outcome: OnceLock::new() })
    }

    /// Returns the error of the run; `None` if the run succeeded or its outcome is unknown.
    pub(crate) fn error(&self) -> Option<Error> {
        self.outcome.get().cloned().flatten()
    }

    /// Returns true if the outcome is known.
    pub(crate) fn is_known(&self) -> bool {
        self.outcome.get().is_some()
    }

    /// Returns the location of the record: buffer, first byte and size.
    pub(crate) fn range(&self) -> Option<(Bound, usize, usize)> {
        let (buffer, start) = bound(self.record.memory())?;
        Some((buffer, start, RECORD * self.subjects.len()))
    }

    /// Sets the outcome from the record. If the run is not over, sets it only if the record has an error.
    pub(crate) fn decide(&self, record: &[u32], is_over: bool) {
        let failed = record.chunks_exact(RECORD / 4).zip(&*self.subjects).find(|(r, _)| r[0] != NONE);
        let error = failed.map(|(r, subject)| subject.error(u64::from(r[2]) << 32 | u64::from(r[1])));
        if is_over || error.is_some() {
            let _ = self.outcome.set(error);
        }
    }
}

impl Subject {
    /// Returns the subjects of a program's checks, in order.
    pub(crate) fn all(program: &GpuProgram, plan: Option<&Plan>) -> Arc<[Subject]> {
        let mut all: Vec<Subject> = Vec::with_capacity(program.checks.len());
        let (mut step, mut count, mut routines) = (None, 0, Vec::new());
        for check in &program.checks {
            if step != Some(check.step) {
                (step, count, routines) = (Some(check.step), 0, Vec::new());
                let own = plan.and_then(|p| p.steps.get(check.step));
                own.into_iter().for_each(|s| indexing(s, &mut routines));
            }
            // A loop lists the checks of all ops of its body, in their order, for the first iteration, then for the
            // second, and so on.
            let routine = routines.get(count % routines.len().max(1)).map(|r| (*r).clone());
            count += 1;
            let dtype = program.buffers[check.index].dtype;
            all.push(Subject { dtype, extent: check.extent, routine });
        }
        all.into()
    }

    /// Returns, for each command, the checks whose word no later command writes. Their records are stored directly
    /// after the command, because the indices may be temporaries.
    pub(crate) fn checks_by_command(program: &GpuProgram) -> Vec<Vec<usize>> {
        let word = |i: usize| program.checks[i].word;
        let by_word: HashMap<usize, usize> = (0..program.checks.len()).map(|i| (word(i), i)).collect();
        let mut last: HashMap<usize, usize> = HashMap::new();
        for (at, command) in program.commands.iter().enumerate() {
            let Command::Dispatch { parameters, .. } = command else { continue };
            for parameter in parameters {
                if let Word::Start { buffer, .. } = parameter
                    && let Some(check) = by_word.get(buffer)
                {
                    last.insert(*check, at);
                }
            }
        }
        let mut by_command = vec![Vec::new(); program.commands.len()];
        let mut last: Vec<(usize, usize)> = last.into_iter().collect();
        last.sort_unstable();
        last.into_iter().for_each(|(check, at)| by_command[at].push(check));
        by_command
    }

    /// Returns the error of an index, equal to the error on the CPU.
    fn error(&self, bits: u64) -> Error {
        let index = match self.dtype {
            DType::I8 => i64::from(bits as i8),
            DType::I32 => i64::from(bits as i32),
            _ => bits as i64,
        };
        let error = Error::index(index, self.extent);
        match &self.routine {
            Some(r) => {
                let error = error.in_op(r.op.name(), &r.types);
                r.origin.as_ref().map_or(error.clone(), |origin| error.of(origin))
            }
            None => error,
        }
    }
}

/// Appends the ops of a step that have a check, including those in loops.
fn indexing<'a>(step: &'a Step, to: &mut Vec<&'a Routine>) {
    match step {
        Step::Routine(r) if matches!(r.op, Op::Take(_) | Op::Scatter(_)) => to.push(r),
        Step::Scan { control, .. } => {
            control.plans.iter().flat_map(|p| &p.steps).for_each(|step| indexing(step, to));
        }
        _ => {}
    }
}

/// Returns the kernels that store a record, for different locations of the indices: the heap, the arena, or another buffer.
pub(crate) fn modules() -> [Module; 3] {
    let kernel = |memory: &str| {
        let own = memory == "own";
        let third = "@group(0) @binding(2) var<storage, read> own: array<u32>;";
        let text = format!(
            "struct P {{ word: u32, first: u32, size: u32, to: u32 }}
@group(0) @binding(0) var<storage, read> arena: array<u32>;
@group(0) @binding(1) var<storage, read_write> heap: array<u32>;
{}
@group(0) @binding({}) var<uniform> p: P;
@compute @workgroup_size(1)
fn main() {{
  let position = arena[p.word];
  heap[p.to] = position;
  if (position != {NONE}u) {{
    let at = (p.first + position) * p.size;
    let low = {memory}[at / 4u] >> ((at % 4u) * 8u);
    heap[p.to + 1u] = select(low, low & 0xffu, p.size == 1u);
    heap[p.to + 2u] = select(0u, {memory}[at / 4u + 1u], p.size == 8u);
  }}
}}
",
            if own { third } else { "" },
            2 + u32::from(own)
        );
        let writable = if own { vec![false, true, false] } else { vec![false, true] };
        Module { text, writable, group: [1, 1, 1] }
    };
    [kernel("heap"), kernel("arena"), kernel("own")]
}

/// The sources of a record: the buffer and first byte of the word, and those of the indices.
pub(crate) struct Recorded<'a> {
    pub(crate) arena: &'a Bound,
    pub(crate) word: usize,
    pub(crate) index: &'a (Bound, usize),
    /// If true, the indices are in the same buffer as the word.
    pub(crate) is_same: bool,
    pub(crate) dtype: DType,
    /// The first byte of the record in the heap.
    pub(crate) to: usize,
}

impl Context {
    /// Queues the kernel that stores a record.
    pub(crate) fn queue_record(&self, state: &mut State, from: &Recorded<'_>, run: u64) {
        let (memory, first) = from.index;
        let mut buffers = vec![from.arena.clone(), Bound::Heap];
        let kernel = match memory {
            Bound::Heap => 0,
            Bound::Own(_) if from.is_same => 1,
            Bound::Own(_) => {
                buffers.push(memory.clone());
                2
            }
        };
        let size = from.dtype.size();
        let words = [from.word / 4, first / size, size, from.to / 4];
        let parameters: Vec<u8> = words.iter().flat_map(|w| (*w as u32).to_ne_bytes()).collect();
        state.dispatch(self, (&self.records[kernel], buffers), &parameters, [1, 1, 1], run);
    }

    /// Waits until the outcome of these runs is known. Returns the error of the first that failed.
    pub(crate) fn resolve(self: &Arc<Context>, suspects: &[Arc<Suspect>]) -> Result<()> {
        if suspects.iter().any(|s| !s.is_known()) {
            let over = suspects.iter().map(|s| (s.clone(), true)).collect();
            self.read_ranges(&[], &[], over)?;
        }
        suspects.iter().find_map(|s| s.error()).map_or(Ok(()), Err)
    }
}
