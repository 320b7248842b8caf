//! `gradus convert`: converts a model from a GGUF file to a Hugging Face folder or back, or quantises it to a GGUF file.

use crate::{Done, Failure, Terminal};
use clap::Args;
use gradus::DType;
use gradus::files::gguf::{Format, is_gguf};
use gradus::models::convert;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// GGUF file or Hugging Face folder to read
    pub(crate) source: PathBuf,
    /// Folder to write, or GGUF file if SOURCE is a folder or --type is given
    pub(crate) output: PathBuf,
    /// Dtype of weights written to a folder
    #[arg(long, value_name = "DTYPE", default_value = "f32", value_parser = ["f32", "bf16", "f16"])]
    pub(crate) dtype: String,
    /// Write a GGUF file with its matrices in this quantised format, such as Q8_0 or Q4_K
    #[arg(long = "type", value_name = "FORMAT")]
    pub(crate) format: Option<String>,
}

/// Writes a quantised GGUF file.
fn quantize(args: &ConvertArgs, name: &str, terminal: &mut Terminal<'_>) -> Done {
    let all = || Format::all().filter(|f| f.is_quantized() && f.is_in_files());
    let Some(format) = all().find(|f| f.name().eq_ignore_ascii_case(name)) else {
        let known: Vec<&str> = all().map(Format::name).collect();
        return Err(Failure::Usage(format!("--type {name} is not one of {}", known.join(", "))));
    };
    if args.output.is_dir() {
        return Err(Failure::Usage(format!("{} is a folder; name a file to write", args.output.display())));
    }
    let report = convert::quantize(&args.source, &args.output, format)?;
    writeln!(terminal.out, "wrote {}", args.output.display())?;
    writeln!(
        terminal.out,
        "{} tensors quantised to {}, {} unchanged; relative error {:.5}, at most {:.5} in {}",
        report.tensors,
        format.name(),
        report.kept,
        report.relative,
        report.worst.1,
        report.worst.0
    )?;
    Ok(())
}

pub(crate) fn run(args: &ConvertArgs, terminal: &mut Terminal<'_>) -> Done {
    if !args.source.is_dir() && !is_gguf(&args.source) {
        let why = "is neither a GGUF file nor a Hugging Face folder";
        return Err(Failure::Run(format!("{}: {why}", args.source.display())));
    }
    if let Some(name) = &args.format {
        return quantize(args, name, terminal);
    }
    if args.source.is_dir() {
        if args.output.is_dir() {
            return Err(Failure::Usage(format!(
                "{} is a folder; name a file to write",
                args.output.display()
            )));
        }
        convert::to_gguf(&args.source, &args.output)?;
    } else {
        if args.output.is_file() {
            return Err(Failure::Usage(format!(
                "{} is a file; name a folder to write",
                args.output.display()
            )));
        }
        let dtype = match args.dtype.as_str() {
            "bf16" => DType::BF16,
            "f16" => DType::F16,
            _ => DType::F32,
        };
        convert::to_folder(&args.source, &args.output, dtype)?;
    }
    writeln!(terminal.out, "wrote {}", args.output.display())?;
    Ok(())
}
