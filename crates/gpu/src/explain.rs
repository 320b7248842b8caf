//! Describes programs as text for users: commands with their groups, bindings and bytes; buffers and kernel sources.

use crate::program::{Command, GpuProgram, Memory};
use gradus_compile::{BufferLocation, Plan, amount};
use std::fmt::Write;

impl GpuProgram {
    /// Describes a program: numbers of commands and kernels, then the plan, then each command.
    pub fn explained(&self, plan: Option<&Plan>) -> String {
        let program = self;
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

    /// Lists the buffers, then the source of each kernel with the steps that launch it.
    pub fn listing(&self) -> String {
        let mut out = String::new();
        for (number, buffer) in self.buffers.iter().enumerate() {
            let location = match &buffer.location {
                BufferLocation::Input(i) => format!("input {i}"),
                BufferLocation::Output(i) => format!("output {i}"),
                BufferLocation::Constant(_) => "constant".into(),
                BufferLocation::Arena(at) => format!("temporary at byte {at}"),
            };
            let _ = writeln!(out, "b{number}: {} {}, {location}", buffer.numel, buffer.dtype);
        }
        for (number, module) in self.modules.iter().enumerate() {
            let uses = |c: &Command| match c {
                Command::Dispatch { module, step, .. } => (*module == number).then(|| step.to_string()),
                Command::Host { .. } => None,
            };
            let mut steps: Vec<String> = self.commands.iter().filter_map(uses).collect();
            steps.dedup();
            let _ = write!(out, "\n// kernel {number}, steps {}\n{}", steps.join(", "), module.text);
        }
        out
    }
}

fn name(program: &GpuProgram, memory: &Memory) -> String {
    match memory {
        Memory::Heap => "heap".to_string(),
        Memory::Arena => "arena".to_string(),
        Memory::Page(k) => format!("page {k} of the arena"),
        Memory::Own(b) => format!("b{b} ({})", amount(program.buffers[*b].bytes() as f64, "B")),
    }
}
