//! Programs for people: the plan's own text, then every command with its groups, bindings and bytes.

use gradus_compile::{Plan, amount};
use gradus_gpu::{Command, Memory, Program};
use std::fmt::Write;

/// Counts first, then the plan, then the commands.
pub(crate) fn explain(program: &Program, plan: Option<&Plan>) -> String {
    let mut out = String::new();
    let hosts = program.commands.iter().filter(|c| matches!(c, Command::Host { .. })).count();
    let dispatches = program.commands.len() - hosts;
    let _ = writeln!(
        out,
        "{dispatches} dispatches of {} kernels, {hosts} host steps, arena of {}",
        program.modules.len(),
        amount(program.arena as f64, "B")
    );
    out.extend(plan.map(Plan::explained));
    for command in &program.commands {
        let _ = match command {
            Command::Dispatch { module, bindings, groups, step, .. } => {
                let [x, y, z] = groups;
                let names: Vec<String> = bindings.iter().map(|m| name(program, m)).collect();
                let bytes = plan.and_then(|p| Some(p.steps.get(*step)?.work(p).bytes));
                let bytes = bytes.map_or(String::new(), |b| format!(", {}", amount(b, "B")));
                writeln!(
                    out,
                    "step {step}: dispatch of kernel {module}, groups {x}×{y}×{z}, bindings {}{bytes}",
                    names.join(" ")
                )
            }
            Command::Host { reads, writes, why, step, .. } => {
                let bytes =
                    |all: &[usize]| all.iter().map(|b| program.buffers[*b].bytes()).sum::<usize>() as f64;
                let (read, write) = (amount(bytes(reads), "B"), amount(bytes(writes), "B"));
                writeln!(out, "step {step}: host: {why} (reads {read}, uploads {write})")
            }
        };
    }
    out
}

fn name(program: &Program, memory: &Memory) -> String {
    match memory {
        Memory::Heap => "heap".to_string(),
        Memory::Arena => "arena".to_string(),
        Memory::Own(b) => format!("b{b} ({})", amount(program.buffers[*b].bytes() as f64, "B")),
    }
}
