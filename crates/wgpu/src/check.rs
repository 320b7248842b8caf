//! Checks programs before they run: rejects programs that a device cannot run, and estimates the time of each command.

use crate::context::Context;
use gradus_compile::{BufferLocation, Plan};
use gradus_gpu::{Command, GpuProgram, Memory, Word};
use gradus_ir::{Error, Result};
use std::collections::HashMap;

/// Returns the estimated seconds of each command, from rates of typical hardware or software adapters.
pub(crate) fn estimates(program: &GpuProgram, plan: Option<&Plan>, software: bool) -> Vec<f64> {
    let (bytes, flops) = if software { (4e9, 4e9) } else { (200e9, 2e12) };
    let mut parts: HashMap<usize, usize> = HashMap::new();
    for command in &program.commands {
        if let Command::Dispatch { step, .. } = command {
            *parts.entry(*step).or_default() += 1;
        }
    }
    // A long loop is one step with many commands, so the work of a step is computed only once.
    let seconds = |(step, parts): (usize, usize)| {
        let work = plan.and_then(|p| Some(p.steps.get(step)?.work(p))).unwrap_or_default();
        (step, (work.bytes / bytes + work.flops / flops) / parts as f64)
    };
    let each_part: HashMap<usize, f64> = parts.into_iter().map(seconds).collect();
    let each = |command: &Command| match command {
        Command::Dispatch { step, .. } => each_part.get(step).copied().unwrap_or_default(),
        Command::Host { .. } => 0.0,
    };
    program.commands.iter().map(each).collect()
}

/// Returns an error if a command uses a temporary that is not within one page.
fn verify_pages(context: &Context, program: &GpuProgram) -> Result<()> {
    let Some(page) = program.page else { return Ok(()) };
    let words = program.commands.iter().flat_map(|c| match c {
        Command::Dispatch { parameters, .. } => parameters.as_slice(),
        Command::Host { .. } => &[],
    });
    let used = words.filter_map(|w| if let Word::Start { buffer, .. } = w { Some(*buffer) } else { None });
    for buffer in used.filter_map(|b| program.buffers.get(b)) {
        if let BufferLocation::Arena(at) = buffer.location
            && program.page_of(at).1.saturating_add(buffer.bytes()) > page
        {
            return Err(context.error(format!(
                "a temporary of {} bytes is larger than its largest binding of {page} bytes; use smaller batches, or \
                 compute on the cpu",
                buffer.bytes()
            )));
        }
    }
    Ok(())
}

/// Returns an error if a program is inconsistent or exceeds the limits of the device.
pub(crate) fn verify(context: &Context, program: &GpuProgram) -> Result<()> {
    let wrong = |why: String| Err(Error::verify(format!("a program {why}")));
    let buffers = program.buffers.len();
    let known = |b: &usize| *b < buffers;
    if !program.inputs.iter().chain(&program.outputs).all(known) {
        return wrong("has an input or output without a buffer".into());
    }
    if program.donors.iter().flatten().any(|i| *i >= program.inputs.len()) {
        return wrong("overwrites an input that does not exist".into());
    }
    verify_pages(context, program)?;
    let checks = || program.checks.iter().flat_map(|c| [c.word, c.index]);
    if !checks().all(|b| known(&b)) {
        return wrong("checks a buffer that does not exist".into());
    }
    for command in &program.commands {
        match command {
            Command::Dispatch { module, bindings, parameters, groups, .. } => {
                let Some(module) = program.modules.get(*module) else {
                    return wrong(format!(
                        "launches kernel {module}, but has {} kernels",
                        program.modules.len()
                    ));
                };
                if bindings.len() != module.writable.len() {
                    return wrong(format!(
                        "binds {} buffers to a kernel with {} bindings",
                        bindings.len(),
                        module.writable.len()
                    ));
                }
                if bindings.len() > context.limits.bindings as usize {
                    return Err(context.error(format!(
                        "binds at most {} buffers to a kernel; this one has {}",
                        context.limits.bindings,
                        bindings.len()
                    )));
                }
                let pages = program.pages().len();
                let own = |m: &Memory| match m {
                    Memory::Own(b) => known(b),
                    Memory::Page(k) => *k < pages,
                    Memory::Heap | Memory::Arena => true,
                };
                let word = |w: &Word| !matches!(w, Word::Start { buffer, .. } if !known(buffer));
                if !bindings.iter().all(own) || !parameters.iter().all(word) {
                    return wrong("uses a buffer that does not exist".into());
                }
                if 4 * parameters.len() > context.parameters {
                    return wrong(format!(
                        "has {} parameter words for a kernel; the device allows at most {}",
                        parameters.len(),
                        context.parameters / 4
                    ));
                }
                if groups.iter().any(|n| *n > context.limits.groups) {
                    return wrong(format!(
                        "launches {groups:?} groups; the device allows at most {} along each dimension",
                        context.limits.groups
                    ));
                }
            }
            Command::Host { reads, writes, .. } => {
                if !reads.iter().chain(writes).all(known) {
                    return wrong("uses a buffer that does not exist".into());
                }
            }
        }
    }
    Ok(())
}
