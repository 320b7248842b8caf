//! `gradus convert`: a model from a GGUF file to a Hugging Face folder, or back.

use crate::{Done, Failure, Terminal};
use clap::Args;
use gradus::DType;
use gradus::files::gguf::is_gguf;
use gradus::models::convert;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// A GGUF file, or a Hugging Face folder
    pub(crate) source: PathBuf,
    /// The other: a folder for a file, a file for a folder
    pub(crate) output: PathBuf,
    /// Dtype of the weights that are written to a folder
    #[arg(long, value_name = "DTYPE", default_value = "f32", value_parser = ["f32", "bf16", "f16"])]
    pub(crate) dtype: String,
}

pub(crate) fn run(args: &ConvertArgs, terminal: &mut Terminal<'_>) -> Done {
    if args.source.is_dir() {
        if args.output.is_dir() {
            return Err(Failure::Usage(format!(
                "{} is a folder; name a file to write",
                args.output.display()
            )));
        }
        convert::to_gguf(&args.source, &args.output)?;
    } else {
        if !is_gguf(&args.source) {
            let why = "is neither a GGUF file nor a Hugging Face folder";
            return Err(Failure::Run(format!("{}: {why}", args.source.display())));
        }
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
