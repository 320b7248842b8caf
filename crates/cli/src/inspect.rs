//! `gradus inspect`: lists the contents of a file of weights.

use crate::show::table;
use crate::{Done, Failure, Terminal};
use clap::Args;
use gradus::files::{gguf, safetensors};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// GGUF or safetensors file
    pub(crate) file: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// A tensor of a file.
struct Row {
    name: String,
    kind: String,
    shape: Vec<usize>,
    bytes: usize,
}

/// Largest number of characters shown of a value.
const MAX_SHOWN: usize = 60;

pub(crate) fn run(args: &InspectArgs, terminal: &mut Terminal<'_>) -> Done {
    if args.file.is_dir() {
        let why = "is a folder; give one of its files, such as";
        let name = args.file.display();
        return Err(Failure::Run(format!("{name}: {why} {name}/model.safetensors")));
    }
    let (format, notes, rows) =
        if gguf::is_gguf(&args.file) { of_gguf(args)? } else { of_safetensors(args)? };
    let parameters = |r: &Row| r.shape.iter().product::<usize>();
    let mut kinds: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    for r in &rows {
        let sum = kinds.entry(&r.kind).or_default();
        *sum = (sum.0 + 1, sum.1 + parameters(r), sum.2 + r.bytes);
    }
    let all: usize = rows.iter().map(parameters).sum();
    let bytes: usize = rows.iter().map(|r| r.bytes).sum();
    if args.json {
        let one = |r: &Row| json!({ "name": r.name, "type": r.kind, "shape": r.shape, "bytes": r.bytes });
        let out = json!({
            "format": format,
            "metadata": Value::Object(notes.into_iter().collect()),
            "tensors": rows.iter().map(one).collect::<Vec<_>>(),
            "parameters": all,
            "bytes": bytes,
        });
        writeln!(terminal.out, "{out}")?;
        return Ok(());
    }
    writeln!(terminal.out, "{}: {format}", args.file.display())?;
    for (name, value) in &notes {
        writeln!(terminal.out, "  {name} = {}", short(value))?;
    }
    let text = |r: &Row| {
        let shape: Vec<String> = r.shape.iter().map(usize::to_string).collect();
        vec![r.name.clone(), r.kind.clone(), shape.join("×"), parameters(r).to_string(), r.bytes.to_string()]
    };
    let lines: Vec<Vec<String>> = rows.iter().map(text).collect();
    write!(terminal.out, "\n{}\n", table(&["tensor", "type", "shape", "parameters", "bytes"], &lines))?;
    let mut sums: Vec<Vec<String>> = kinds
        .iter()
        .map(|(kind, (n, parameters, bytes))| {
            vec![kind.to_string(), n.to_string(), parameters.to_string(), bytes.to_string()]
        })
        .collect();
    sums.push(vec!["all".into(), rows.len().to_string(), all.to_string(), bytes.to_string()]);
    write!(terminal.out, "{}", table(&["type", "tensors", "parameters", "bytes"], &sums))?;
    writeln!(
        terminal.out,
        "\nas f32, for training and for devices other than the CPU: {} bytes",
        all.saturating_mul(4)
    )?;
    Ok(())
}

/// Writes a value in one line, shortened.
fn short(value: &Value) -> String {
    let text = match value {
        Value::Array(items) if items.len() > 8 => {
            let first: Vec<String> = items.iter().take(4).map(Value::to_string).collect();
            format!("[{}, … {} in total]", first.join(", "), items.len())
        }
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) if !matches!(value, Value::Array(_)) => format!("{}…", &text[..at]),
        _ => text,
    }
}

type FileContents = (String, Vec<(String, Value)>, Vec<Row>);

fn of_gguf(args: &InspectArgs) -> Done<FileContents> {
    let file = gguf::Reader::open(&args.file)?;
    let notes = file.metadata().iter().map(|(name, value)| (name.to_string(), plain(value))).collect();
    let row = |t: &gguf::Info| Row {
        name: t.name.clone(),
        kind: t.format.name().to_string(),
        shape: t.shape.to_vec(),
        bytes: t.bytes,
    };
    Ok(("GGUF".to_string(), notes, file.tensors().iter().map(row).collect()))
}

/// Converts a metadata value to JSON.
fn plain(value: &gguf::Value) -> Value {
    match value {
        gguf::Value::Array(_, items) => Value::Array(items.iter().map(plain).collect()),
        gguf::Value::Bool(b) => json!(b),
        gguf::Value::U64(n) => json!(n),
        gguf::Value::F32(x) => json!(x),
        gguf::Value::F64(x) => json!(x),
        gguf::Value::String(s) => json!(s),
        other => json!(other.integer()),
    }
}

fn of_safetensors(args: &InspectArgs) -> Done<FileContents> {
    let file = safetensors::Reader::open(&args.file)?;
    let notes = file.notes().map(|(name, text)| (name.to_string(), json!(text))).collect();
    let mut rows = Vec::new();
    for name in file.names() {
        let aval = file.aval(&name)?;
        let shape = aval.shape.to_vec();
        let bytes = shape.iter().product::<usize>() * aval.dtype.size();
        rows.push(Row { name, kind: aval.dtype.to_string(), shape, bytes });
    }
    Ok(("safetensors".to_string(), notes, rows))
}
