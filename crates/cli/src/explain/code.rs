//! The generated code of a program: GPU kernels as text, and the CPU's instructions.

use crate::{Done, Terminal};
use gradus::gpu::{Dialect, Limits, program_of};
use gradus::lang::Lowered;
use gradus::{CodeBody, Compiled, DType, Error, Graph};
use iced_x86::{Decoder, DecoderOptions, Formatter, Mnemonic, NasmFormatter};

/// Prints the graph, the plan, the buffers and the source of every kernel. Needs no adapter: the limits are those that every
/// WebGPU adapter has.
pub(super) fn kernels(
    graph: &Graph,
    lowered: &Lowered,
    dialect: Dialect,
    terminal: &mut Terminal<'_>,
) -> Done {
    // WGSL has no such numbers. CUDA C has, but kernels are made for both.
    let wide = |d: &DType| matches!(d, DType::F64 | DType::C128);
    if let Some(aval) = graph.nodes().iter().flat_map(|n| &n.outs).find(|a| wide(&a.dtype)) {
        let why = "has no kernels for GPUs; use 32-bit inputs";
        return Err(Error::dtype(aval.dtype, why).into());
    }
    let (plan, program) = program_of(graph, &Limits::WEBGPU, dialect)?;
    writeln!(terminal.out, "// graph\n{graph}")?;
    for (i, name) in lowered.outputs.iter().enumerate() {
        writeln!(terminal.out, "// output {i}: {name}")?;
    }
    writeln!(terminal.out, "\n// plan\n{}", program.explained(Some(&plan)))?;
    write!(terminal.out, "// buffers\n{}", program.listing())?;
    Ok(())
}

/// Prints the instructions that were generated for each step on the CPU.
pub(super) fn instructions(compiled: &Compiled, terminal: &mut Terminal<'_>) -> Done {
    let code = compiled.code();
    for (i, title) in compiled.steps().iter().enumerate() {
        writeln!(terminal.out, "step {i}: {title}")?;
        let own: Vec<&CodeBody> = code.iter().filter(|c| c.step == i).map(|c| &c.body).collect();
        if own.is_empty() {
            writeln!(terminal.out, "    no generated code: a prepared routine runs it")?;
        }
        for body in own {
            match body {
                CodeBody::Text(text) => writeln!(terminal.out, "{text}")?,
                CodeBody::Instructions(bytes) => disassemble(bytes, terminal)?,
            }
        }
    }
    Ok(())
}

/// Prints 64-bit x86 instructions, one a line, with their offset. Constants follow the return.
fn disassemble(bytes: &[u8], terminal: &mut Terminal<'_>) -> Done {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let mut formatter = NasmFormatter::new();
    let mut text = String::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        text.clear();
        formatter.format(&instruction, &mut text);
        writeln!(terminal.out, "    {:6x}  {text}", instruction.ip())?;
        if instruction.mnemonic() == Mnemonic::Ret {
            break;
        }
    }
    let constants = bytes.len() - decoder.position();
    if constants > 0 {
        writeln!(terminal.out, "    {:6x}  {constants} bytes of constants", decoder.position())?;
    }
    Ok(())
}
