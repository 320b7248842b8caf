//! Translates plans to programs. Each step is translated by a template, or becomes a host step if no template supports it.
//! Takes a plan, the limits of an adapter and a dialect; returns a [`GpuProgram`].
//! The templates are in `elementwise`, `rows`, `product` and `routine`, and loops in `scan.rs`.

use crate::build::Launch;
use crate::dialect::Dialect;
use crate::limits::Limits;
use crate::nest::Nest;
use crate::profile::profile;
use crate::program::{ALIGN, Command, GpuProgram, Memory, Module};
use crate::{elementwise, host, product, routine, rows};
use gradus_compile::{Contraction, Kernel, Plan, Routine, Step, Text, compile};
use gradus_ir::{DType, Graph, Op, Result, stop};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Compiles a graph for an adapter. Returns its plan and its program.
pub fn program_of(graph: &Graph, limits: &Limits, dialect: Dialect) -> Result<(Plan, GpuProgram)> {
    let plan = compile(graph, &profile(limits))?;
    let program = translate(&plan, limits, dialect, Text::Special)?;
    Ok((plan, program))
}

/// Largest number of checks of a program. Steps that need further checks run on the host.
const MAX_CHECKS: usize = 1 << 16;

/// Translates a plan to a program for an adapter, in a dialect.
pub fn translate(plan: &Plan, limits: &Limits, dialect: Dialect, text: Text) -> Result<GpuProgram> {
    translate_with_checks(plan, limits, dialect, text, MAX_CHECKS)
}

/// As [`translate`], with at most `most` checks of computed indices. Steps that need further checks run on the host.
pub fn translate_with_checks(
    plan: &Plan,
    limits: &Limits,
    dialect: Dialect,
    text: Text,
    most: usize,
) -> Result<GpuProgram> {
    let program = GpuProgram {
        modules: Vec::new(),
        commands: Vec::new(),
        buffers: plan.buffers.clone(),
        inputs: plan.inputs.clone(),
        outputs: plan.outputs.clone(),
        donors: plan.donors.clone(),
        arena: plan.arena,
        page: limits.page(),
        checks: Vec::new(),
    };
    // The arena holds the plan's temporaries, then the words of checks, then the temporaries of single steps.
    let start = plan.arena.next_multiple_of(ALIGN);
    let free = start + ALIGN * checks(plan).min(most);
    let checks = start..free;
    let mut t = Translation { limits, dialect, text, program, known: HashMap::new(), checks, free };
    for (at, step) in plan.steps.iter().enumerate() {
        stop::poll()?;
        if let Err(why) = t.step(at, plan, step, step) {
            let host::StepPlan { plan, reads, writes } = host::step_plan(plan, step)?;
            t.program.commands.push(Command::Host { plan: Box::new(plan), reads, writes, why, step: at });
        }
    }
    Ok(t.program)
}

/// A plan under translation.
pub(crate) struct Translation<'a> {
    limits: &'a Limits,
    dialect: Dialect,
    text: Text,
    pub(crate) program: GpuProgram,
    /// The number of each module.
    known: HashMap<Module, usize>,
    /// The bytes of the arena for the words of further checks.
    checks: Range<usize>,
    /// The offset in the arena from which temporaries of steps can be placed, in bytes.
    pub(crate) free: usize,
}

/// Returns an upper limit of the number of checks in the steps of a plan.
fn checks(plan: &Plan) -> usize {
    let one = |step: &Step| match step {
        Step::Routine(r) if matches!(r.op, Op::Take(_) | Op::Scatter(_)) => 1,
        Step::Scan { control, length, .. } => {
            length.saturating_mul(control.plans.iter().map(|p| checks(p)).sum())
        }
        _ => 0,
    };
    plan.steps.iter().map(one).fold(0, usize::saturating_add)
}

impl Translation<'_> {
    /// Appends the commands of a step of a plan, or returns the reason why there are none. `own` is the same step with
    /// the buffer numbers of the program, which inside loops differ from those of the plan.
    pub(crate) fn step(
        &mut self,
        at: usize,
        plan: &Plan,
        step: &Step,
        own: &Step,
    ) -> std::result::Result<(), String> {
        let excess = self.excess(own);
        if excess.is_empty() {
            return self.step_within_bindings(at, plan, step, own);
        }
        let mark = self.mark();
        let done = self.staged(at, plan, step, own, &excess);
        match &done {
            // Releases the temporaries of the step: later steps may use the same memory.
            Ok(()) => self.free = mark.free,
            Err(_) => self.roll_back(&mark),
        }
        done
    }

    /// Appends the commands of a step, with copies in place of these buffers. Copies are temporaries, so they share one
    /// binding. Results are copied back afterwards.
    fn staged(
        &mut self,
        at: usize,
        plan: &Plan,
        step: &Step,
        own: &Step,
        buffers: &[usize],
    ) -> std::result::Result<(), String> {
        let mut copies = HashMap::new();
        for &b in buffers {
            let (dtype, numel) = (self.program.buffers[b].dtype, self.program.buffers[b].numel);
            copies.insert(b, self.temporary(dtype, numel));
            // Copies results before the step too, because a step in a loop may write only a part of them.
            self.copy(at, (b, 0), (copies[&b], 0))?;
        }
        let mut moved = own.clone();
        host::rename(&mut moved, &|b| copies.get(&b).copied().unwrap_or(b));
        self.step_within_bindings(at, plan, step, &moved)?;
        let writes = own.writes();
        buffers
            .iter()
            .filter(|b| writes.contains(b))
            .try_for_each(|&b| self.copy(at, (copies[&b], 0), (b, 0)))
    }

    /// Returns the buffers to copy so that a step does not use more buffers with their own memory than the adapter can bind.
    fn excess(&self, step: &Step) -> Vec<usize> {
        // The steps of a loop are translated one by one.
        if matches!(step, Step::Scan { .. }) {
            return Vec::new();
        }
        let is_own = |b: &usize| matches!(self.program.memory(*b), Memory::Own(_));
        let (reads, writes) = (step.reads(), step.writes());
        let mut all: Vec<usize> = reads.iter().chain(&writes).copied().filter(is_own).collect();
        all.sort_unstable();
        all.dedup();
        // Two bindings are reserved: one for the heap of small tensors, one for the arena.
        let most = (self.limits.bindings as usize).saturating_sub(2);
        let memories: BTreeSet<Memory> = all.iter().map(|b| self.program.memory(*b)).collect();
        if memories.len() <= most {
            return Vec::new();
        }
        // Copies operands first, because results are copied twice; and among these, smaller buffers first.
        let mut order: Vec<usize> = all.into_iter().filter(|b| !shares_memory(&self.program, *b)).collect();
        order.sort_by_key(|b| (writes.contains(b), self.program.buffers[*b].bytes(), *b));
        order.truncate(memories.len() - most);
        order
    }

    /// Appends the commands of a step whose buffers can all be bound.
    fn step_within_bindings(
        &mut self,
        at: usize,
        plan: &Plan,
        step: &Step,
        own: &Step,
    ) -> std::result::Result<(), String> {
        let launches = match (step, own) {
            (_, Step::Kernel(kernel)) => self.kernel(kernel)?.into_iter().collect(),
            (Step::Contract(original), Step::Contract(c)) => {
                self.product(c, c.finish.is_none() || is_used(plan, step, original.buffers[2]))?
            }
            (_, Step::Routine(routine)) => self.routine(at, routine)?,
            (_, Step::Scan { control, shared, carries, length, reverse }) => {
                return self.scan(at, control, (*shared, *carries), *length, *reverse);
            }
            (_, Step::Switch(_)) => return Err("a switch runs on the host".into()),
            (_, Step::Slices { .. }) => return Err("slices run on the host".into()),
            (_, Step::While { .. }) => return Err("a loop with a condition runs on the host".into()),
            (_, Step::Contract(_)) => {
                return Err("a step is a product in the program, but not in the plan".into());
            }
        };
        launches.into_iter().for_each(|l| self.dispatch(at, l));
        Ok(())
    }

    /// Returns the kernels of a product.
    fn product(&mut self, c: &Contraction, raw: bool) -> std::result::Result<Vec<Launch>, String> {
        let Translation { limits, dialect, text, free, .. } = *self;
        if let Some(parts) = product::split::parts(c, limits) {
            let scratch = self.temporary(DType::F32, parts * product::split::numel(c));
            // Releases the temporaries of the step: later steps may use the same memory.
            self.free = free;
            let partial = &product::split::partial(c, parts, scratch);
            let program = &self.program;
            let request = product::Request { program, c: partial, raw: true, limits, dialect, text };
            let mut all = product::launches(&request)?;
            all.extend(self.kernel(&product::split::total(c, raw, parts, scratch))?);
            return Ok(all);
        }
        product::launches(&product::Request { program: &self.program, c, raw, limits, dialect, text })
    }

    /// Returns the kernels of a routine. If it cannot be translated, removes its temporaries and checks.
    fn routine(&mut self, at: usize, routine: &Routine) -> std::result::Result<Vec<Launch>, String> {
        let before = self.mark();
        let Translation { limits, dialect, text, free, .. } = *self;
        let mut checks = self.checks.clone();
        let program = &mut self.program;
        let found = routine::launches(&mut routine::Call {
            program,
            routine,
            limits,
            dialect,
            text,
            step: at,
            checks: &mut checks,
            free,
        });
        match found {
            Ok(_) => self.checks = checks,
            Err(_) => self.roll_back(&before),
        }
        found
    }

    /// Returns the launch of a kernel; `None` if it has no indices.
    pub(crate) fn kernel(&self, kernel: &Kernel) -> std::result::Result<Option<Launch>, String> {
        kernel_launch(&self.program, kernel, self.limits, self.dialect, self.text)
    }

    /// Appends a command that launches a kernel.
    pub(crate) fn dispatch(&mut self, step: usize, launch: Launch) {
        let Launch { module, bindings, parameters, groups } = launch;
        let known = &mut self.known;
        let modules = &mut self.program.modules;
        let number = *known.entry(module).or_insert_with_key(|module| {
            modules.push(module.clone());
            modules.len() - 1
        });
        let command = Command::Dispatch { module: number, bindings, parameters, groups, step };
        self.program.commands.push(command);
    }

    /// Allocates a temporary after those in use.
    pub(crate) fn temporary(&mut self, dtype: DType, numel: usize) -> usize {
        let (at, end) = self.program.next_temporary(self.free, numel * dtype.size());
        self.free = end;
        self.program.temporary(dtype, numel, at)
    }

    /// Records the current size of the program.
    pub(crate) fn mark(&self) -> Mark {
        let p = &self.program;
        Mark {
            modules: p.modules.len(),
            commands: p.commands.len(),
            buffers: p.buffers.len(),
            checks: p.checks.len(),
            arena: p.arena,
            check: self.checks.start,
            free: self.free,
        }
    }

    /// Removes everything that was added to the program since the mark.
    pub(crate) fn roll_back(&mut self, mark: &Mark) {
        let p = &mut self.program;
        self.known.retain(|_, number| *number < mark.modules);
        p.modules.truncate(mark.modules);
        p.commands.truncate(mark.commands);
        p.buffers.truncate(mark.buffers);
        p.checks.truncate(mark.checks);
        p.arena = mark.arena;
        (self.checks.start, self.free) = (mark.check, mark.free);
    }
}

/// Returns true if a buffer is an output that overwrites an input, or an input that an output overwrites.
fn shares_memory(program: &GpuProgram, buffer: usize) -> bool {
    let mut donors = program.donors.iter().enumerate();
    donors
        .any(|(k, donor)| donor.is_some_and(|i| program.outputs[k] == buffer || program.inputs[i] == buffer))
}

/// The state of a translation, to which it can be rolled back.
pub(crate) struct Mark {
    modules: usize,
    commands: usize,
    buffers: usize,
    checks: usize,
    arena: usize,
    check: usize,
    pub(crate) free: usize,
}

/// Returns true if a buffer of a plan is an output, or if a step other than this one reads it.
fn is_used(plan: &Plan, step: &Step, buffer: usize) -> bool {
    let mut others = plan.steps.iter().filter(|s| !std::ptr::eq(*s, step));
    plan.outputs.contains(&buffer) || others.any(|s| s.reads().contains(&buffer))
}

/// Returns the launch of a kernel; `None` if it has no index.
pub(crate) fn kernel_launch(
    program: &GpuProgram,
    kernel: &Kernel,
    limits: &Limits,
    dialect: Dialect,
    text: Text,
) -> std::result::Result<Option<Launch>, String> {
    if kernel.rows() == 0 {
        return Ok(None);
    }
    if Nest::reduces(kernel) {
        return rows::launch(program, kernel, limits, dialect, text).map(Some);
    }
    if kernel.row_length() == 0 {
        return Ok(None);
    }
    elementwise::launch(program, kernel, limits, dialect, text).map(Some)
}
