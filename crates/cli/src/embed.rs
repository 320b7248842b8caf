//! `gradus embed`: prints the embedding vectors of texts.

use crate::args::DeviceArgs;
use crate::{Done, Terminal};
use clap::Args;
use gradus::models::bert::Embedder;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct EmbedArgs {
    /// Folder with config.json, tokenizer.json and safetensors files of a BERT model
    pub(crate) model: PathBuf,
    /// Texts to embed; if none are given, each line of standard input is a text
    pub(crate) texts: Vec<String>,
    #[command(flatten)]
    pub(crate) on: DeviceArgs,
}

pub(crate) fn run(args: &EmbedArgs, terminal: &mut Terminal<'_>) -> Done {
    let mut model = Embedder::load(&args.model, args.on.device()?)?;
    for text in &args.texts {
        line(&mut model, text, terminal)?;
    }
    let mut text = String::new();
    while args.texts.is_empty() && terminal.input.read_line(&mut text)? > 0 {
        line(&mut model, text.trim_end_matches(['\r', '\n']), terminal)?;
        text.clear();
    }
    Ok(())
}

/// Writes the vector of a text as a JSON list.
fn line(model: &mut Embedder, text: &str, terminal: &mut Terminal<'_>) -> Done {
    let vector = model.embed(text)?;
    writeln!(terminal.out, "{}", serde_json::Value::from(vector))?;
    Ok(())
}
