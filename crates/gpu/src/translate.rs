//! From plans to programs: a template for each step, and a host step for what has none.

use crate::build::Launch;
use crate::dialect::Dialect;
use crate::limits::Limits;
use crate::nest::Nest;
use crate::program::{ALIGN, Command, Module, Program};
use crate::{elementwise, host, product, routine, rows};
use gradus_compile::{Kernel, Plan, Routine, Step, Text};
use gradus_ir::{Op, Result, stop};
use std::collections::HashMap;

/// Turns a plan into a program for an adapter, in a dialect.
pub fn translate(plan: &Plan, limits: &Limits, dialect: Dialect, text: Text) -> Result<Program> {
    let program = Program {
        modules: Vec::new(),
        commands: Vec::new(),
        buffers: plan.buffers.clone(),
        inputs: plan.inputs.clone(),
        outputs: plan.outputs.clone(),
        donors: plan.donors.clone(),
        arena: plan.arena,
        checks: Vec::new(),
    };
    // Checks come behind the plan's temporaries, then the temporaries of single steps.
    let check = plan.arena.next_multiple_of(ALIGN);
    let free = check + ALIGN * plan.steps.iter().filter(|s| can_check(s)).count();
    let mut t = Translation { plan, limits, dialect, text, program, known: HashMap::new(), check, free };
    for (at, step) in plan.steps.iter().enumerate() {
        stop::poll()?;
        t.step(at, step)?;
    }
    Ok(t.program)
}

struct Translation<'a> {
    plan: &'a Plan,
    limits: &'a Limits,
    dialect: Dialect,
    text: Text,
    program: Program,
    /// The modules by their text.
    known: HashMap<Module, usize>,
    /// The byte of the arena for the next check.
    check: usize,
    /// The first byte of the arena for temporaries of a step.
    free: usize,
}

/// Whether a step may have a check.
fn can_check(step: &Step) -> bool {
    matches!(step, Step::Routine(r) if matches!(r.op, Op::Take(_) | Op::Scatter(_)))
}

impl Translation<'_> {
    fn step(&mut self, at: usize, step: &Step) -> Result<()> {
        let launches = match step {
            Step::Kernel(kernel) => self.kernel(kernel).map(|l| l.into_iter().collect()),
            Step::Contract(c) => {
                let raw = c.finish.is_none() || self.is_used(at, c.buffers[2]);
                let Translation { limits, dialect, text, .. } = *self;
                product::launches(&product::Request { program: &self.program, c, raw, limits, dialect, text })
            }
            Step::Routine(routine) => self.routine(at, routine),
            Step::Switch(_) => Err("a switch runs on the host".into()),
            Step::Scan { .. } => Err("a scan runs on the host".into()),
            Step::Slices { .. } => Err("slices run on the host".into()),
            Step::While { .. } => Err("a loop with a condition runs on the host".into()),
        };
        match launches {
            Ok(launches) => launches.into_iter().for_each(|l| self.dispatch(at, l)),
            Err(why) => {
                let host::Alone { plan, reads, writes } = host::alone(self.plan, step)?;
                self.program.commands.push(Command::Host {
                    plan: Box::new(plan),
                    reads,
                    writes,
                    why,
                    step: at,
                });
            }
        }
        Ok(())
    }

    /// The kernels of a routine. If there are none, its temporaries and checks are forgotten.
    fn routine(&mut self, at: usize, routine: &Routine) -> std::result::Result<Vec<Launch>, String> {
        let before = (self.program.buffers.len(), self.program.checks.len(), self.program.arena);
        let Translation { limits, dialect, text, free, .. } = *self;
        let mut check = self.check;
        let program = &mut self.program;
        let found = routine::launches(&mut routine::Call {
            program,
            routine,
            limits,
            dialect,
            text,
            step: at,
            check: &mut check,
            free,
        });
        if found.is_err() {
            self.program.buffers.truncate(before.0);
            self.program.checks.truncate(before.1);
            self.program.arena = before.2;
        } else {
            self.check = check;
        }
        found
    }

    /// Whether a buffer is an output, or read by another step.
    fn is_used(&self, at: usize, buffer: usize) -> bool {
        let mut others = self.plan.steps.iter().enumerate().filter(|(k, _)| *k != at);
        self.plan.outputs.contains(&buffer) || others.any(|(_, s)| s.reads().contains(&buffer))
    }

    fn kernel(&self, kernel: &Kernel) -> std::result::Result<Option<Launch>, String> {
        kernel_launch(&self.program, kernel, self.limits, self.dialect, self.text)
    }

    fn dispatch(&mut self, step: usize, launch: Launch) {
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
}

/// The launch of a kernel; none if it has no index.
pub(crate) fn kernel_launch(
    program: &Program,
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
