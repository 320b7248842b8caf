//! Prints the generated code of a program: source of GPU kernels, or CPU instructions.

use crate::{Done, Terminal};
use gradus::gpu::{Dialect, Limits, program_of};
use gradus::lang::Lowered;
use gradus::{CodeBody, Compiled, DType, Error, Graph};
use iced_x86::{Decoder, DecoderOptions, Formatter, Mnemonic, NasmFormatter};

/// Prints the graph, the plan, the buffers and the source of every kernel. Needs no adapter: the limits are those that all
/// WebGPU adapters have.
pub(super) fn kernels(
    graph: &Graph,
    lowered: &Lowered,
    dialect: Dialect,
    terminal: &mut Terminal<'_>,
) -> Done {
    // WGSL has no 64-bit floats. CUDA C has them, but kernels are generated for both.
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

/// Prints the instructions generated for each step on the CPU.
pub(super) fn instructions(compiled: &Compiled, terminal: &mut Terminal<'_>) -> Done {
    let code = compiled.code();
    for (i, title) in compiled.steps().iter().enumerate() {
        writeln!(terminal.out, "step {i}: {title}")?;
        let own: Vec<&CodeBody> = code.iter().filter(|c| c.step == i).map(|c| &c.body).collect();
        if own.is_empty() {
            writeln!(terminal.out, "    no generated code: a library routine runs this step")?;
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

/// Prints x86-64 instructions, one per line, with their offsets. The constants after the return are only counted.
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
