//! `gradus run`: computes the values of a program, prints them, and writes files.

use crate::args::{InputArgs, RunArgs};
use crate::inputs::Ready;
use crate::open::Opened;
use crate::{Done, Failure, Terminal, open, show};
use gradus::files::{self, json, tokens::Tokens};
use gradus::lang::ast::{Expr, Kind, Name};
use gradus::lang::{Diagnostic, Facts, Faults, Program, Settings, Span};
use gradus::{DType, Tensor};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// A file to write: its path, and the name of its tensor.
struct Sink<'a> {
    path: PathBuf,
    name: Name,
    /// If set, only this number of the largest elements is written.
    top: Option<usize>,
    value: &'a Expr,
}

pub(crate) fn run(args: &RunArgs, terminal: &mut Terminal<'_>) -> Done {
    args.on.device()?.with(|| on_device(args, terminal))
}

fn on_device(args: &RunArgs, terminal: &mut Terminal<'_>) -> Done {
    let opened = open::program_for(&args.file, &args.given, &args.only, terminal)?;
    let program = &opened.program;
    let shown = wanted(&opened, &args.only, &args.given)?;
    let sinks = match &args.out {
        Some(out) => sinks(program, out, &shown)?,
        // Paths that can never be written are reported even without `--out`.
        None => sinks(program, Path::new("out"), &[]).map(|_| Vec::new())?,
    };
    let mut all = shown.clone();
    for sink in &sinks {
        if !all.contains(&sink.name) {
            all.push(sink.name.clone());
        }
    }
    let ready = args.given.ready(&opened, &all)?;
    // A name that an input or a file defines already has its value.
    let listed = listed(program, &shown, &ready)?;
    let written = |n: &Name| args.out.is_some() || sinks.iter().any(|s| s.name == *n);
    let computed: Vec<Name> = all
        .iter()
        .filter(|n| !ready.inputs.contains_key(*n) || has_equations(program, n))
        .filter(|n| !listed.contains_key(*n) || written(n))
        .cloned()
        .collect();
    open::note_single_step(program, &ready, terminal)?;
    let mut values = program.run(&ready.inputs, &ready.settings, &computed)?;
    for (name, t) in &ready.inputs {
        values.entry(name.clone()).or_insert_with(|| t.clone());
    }
    let values_of = |names: &[Name]| -> Vec<(Name, Tensor)> {
        names.iter().filter_map(|n| Some((n.clone(), values.get(n)?.clone()))).collect()
    };
    if let Some(out) = &args.out {
        write(program, &opened.folder, out, &values_of(&shown), &sinks, &values)?;
    }
    let symbols = program.symbols(&ready.settings);
    let shown = show::Values { program, symbols: &symbols, names: &shown, values: &values, facts: &listed };
    match args.json {
        true => writeln!(terminal.out, "{}", shown.json()?)?,
        false => write!(terminal.out, "{}", shown.text()?)?,
    }
    if args.out.is_none() && !program.sinks.is_empty() {
        let n = program.sinks.len();
        let files = if n == 1 { "a file".to_string() } else { format!("{n} files") };
        writeln!(terminal.err, "note: the program writes {files}, which needs --out DIR")?;
    }
    Ok(())
}

/// Relations with more elements than this are listed as facts instead of Boolean tensors.
const MAX_DENSE: usize = 1 << 22;

/// Returns the facts of relations that are shown as lists: relations over symbols, and large ones.
fn listed(program: &Program, shown: &[Name], ready: &Ready) -> Done<BTreeMap<Name, Facts>> {
    let symbols = program.symbols(&ready.settings);
    let named = |n: &Name, rank: usize| (0..rank).any(|p| symbols.of(n, p).is_some());
    let large = |n: &Name| program.relation_size(n, &ready.settings).is_some_and(|n| n > MAX_DENSE);
    let is_listed = |n: &&Name| {
        let own = program.definition(n).filter(|d| d.relation && !ready.inputs.contains_key(*n));
        own.is_some_and(|d| named(n, d.rank) || large(n))
    };
    let names: Vec<Name> = shown.iter().filter(is_listed).cloned().collect();
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let given = ready.inputs.keys().cloned().collect();
    Ok(program.facts(&ready.settings, &given, &names)?)
}

fn has_equations(program: &Program, name: &Name) -> bool {
    let own = program.definition(name).map(|d| &d.equations[..]).unwrap_or_default();
    own.iter().any(|i| program.equations[*i].file().is_none())
}

/// Returns the names in `only`, or by default the outputs of the program.
pub(crate) fn wanted(opened: &Opened, only: &[String], given: &InputArgs) -> Done<Vec<Name>> {
    let program = &opened.program;
    if only.is_empty() {
        return Ok(program.outputs());
    }
    let mut names: Vec<Name> = Vec::new();
    for name in only.iter().map(|n| Name::from(n.as_str())) {
        if !names.contains(&name) && program.definition(&name).is_some() {
            names.push(name);
        }
    }
    let absent = missing_names(program, only, &given.settings(program, DType::F32).0);
    if !absent.is_empty() {
        // Other faults are reported too. If no requested name exists, the outputs are checked.
        let meant = if names.is_empty() { program.outputs() } else { names.clone() };
        given.ready_with_faults(opened, &meant, DType::F32, false, absent)?;
    }
    Ok(names)
}

/// Faults for names in `only` that the program does not have.
pub(crate) fn missing_names(program: &Program, only: &[String], settings: &Settings) -> Vec<Diagnostic> {
    let missing = only.iter().filter(|n| program.definition(n).is_none());
    let fault = |name: &String| {
        let fault = Diagnostic::error(Span::NOWHERE, format!("the program has no tensor `{name}`"));
        let others = program.names.iter().map(|n| &**n).filter(|n| !only.iter().any(|o| o == *n));
        fault.nearest(name, others)
    };
    let faults = Faults { sources: program.sources.clone(), faults: missing.map(fault).collect() };
    crate::point_at_options(faults, settings.command.as_ref(), &["--only"]).faults
}

/// Collects the files that a program writes. Fails if a path is outside of the folder, has an unknown
/// extension, or is used twice.
fn sinks<'a>(program: &'a Program, out: &Path, shown: &[Name]) -> Done<Vec<Sink<'a>>> {
    let mut faults = Vec::new();
    let mut sinks = Vec::new();
    let mut taken: BTreeMap<PathBuf, Option<Span>> =
        shown.iter().map(|name| (out.join(format!("{name}.npy")), None)).collect();
    for (path, value, span) in &program.sinks {
        let mut refuse = |what: String, help: &str| {
            faults.push(Diagnostic::error(*span, what).help(help.to_string()));
        };
        let Some(inside) = path_inside(out, path) else {
            refuse(format!("`{path}` is outside of the output folder"), "use a relative path without `..`");
            continue;
        };
        if !matches!(
            &*files::ending(&inside),
            "npy" | "npz" | "json" | "csv" | "tsv" | "jsonl" | "safetensors"
        ) {
            let help = "files end in .npy, .npz, .json, .csv, .tsv, .jsonl or .safetensors";
            refuse(format!("`{path}` has an unknown extension"), help);
            continue;
        }
        if let Some(before) = taken.insert(inside.clone(), Some(*span)) {
            let fault = match before {
                Some(first) => {
                    Diagnostic::error(*span, format!("`{path}` is written twice")).and(first, "first here")
                }
                None => Diagnostic::error(*span, format!("`{path}` is also the file of a printed value")),
            };
            faults.push(fault.help("give the file another name"));
            continue;
        }
        match sink_value(value) {
            Some((name, top)) => sinks.push(Sink { path: inside, name, top, value }),
            None => refuse(
                "`topk` in an output needs a tensor and a number `k`".into(),
                "write \"out.jsonl\" = topk(Y[i], k=5)",
            ),
        }
    }
    if faults.is_empty() {
        Ok(sinks)
    } else {
        Err(Faults { sources: program.sources.clone(), faults }.into())
    }
}

/// Returns the tensor that a file receives, and the number of elements if it is `topk` of one. Other
/// expressions have been replaced by names before.
fn sink_value(value: &Expr) -> Option<(Name, Option<usize>)> {
    match &value.kind {
        Kind::Ref(r) => Some((r.name.clone(), None)),
        Kind::Call(call) if &*call.function == "topk" => {
            let (name, None) = sink_value(call.args.first()?)? else { return None };
            let k = match call.named.iter().find(|(key, _)| &**key == "k").map(|(_, e)| &e.kind) {
                Some(Kind::Number(x)) if x.fract() == 0.0 && *x >= 0.0 => *x as usize,
                Some(_) => return None,
                None => 5,
            };
            Some((name, Some(k)))
        }
        _ => None,
    }
}

/// Returns a path inside a folder; `None` if it would leave the folder.
fn path_inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let inside = Path::new(path).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    let named = Path::new(path).file_name().is_some() && !path.contains('\\') && !path.contains('\0');
    // `.` is removed, so that each file has one path.
    let parts = Path::new(path).components().filter(|c| matches!(c, Component::Normal(_)));
    (inside && named).then(|| folder.join(parts.collect::<PathBuf>()))
}

fn write(
    program: &Program,
    folder: &Path,
    out: &Path,
    shown: &[(Name, Tensor)],
    sinks: &[Sink<'_>],
    values: &BTreeMap<Name, Tensor>,
) -> Done {
    std::fs::create_dir_all(out).map_err(|e| Failure::Run(format!("{}: {e}", out.display())))?;
    for (name, t) in shown {
        files::write(&out.join(format!("{name}.npy")), name, t)?;
    }
    for sink in sinks {
        let Some(value) = values.get(&sink.name) else { continue };
        let value = in_order(program, &sink.name, sink.value, value);
        create_parent(out, &sink.path)?;
        match sink.top {
            Some(k) => {
                let k = k.min(value.dim(-1));
                let (top, indices) = value.topk(k, -1, true);
                match &*files::ending(&sink.path) {
                    "jsonl" => json::write_top(&sink.path, &sink.name, &top, &indices)?,
                    _ => files::write(&sink.path, &sink.name, &top)?,
                }
            }
            None => files::write(&sink.path, &sink.name, &value)?,
        }
    }
    // The vocabulary of a text is written next to the values computed from it.
    for e in &program.equations {
        let Some(file) = e.file() else { continue };
        let path = folder.join(file.path);
        if matches!(&*files::ending(&path), "txt" | "md") && values.contains_key(&e.target.name) {
            let vocabulary = out.join(format!("{}.txt", e.target.name));
            Tokens::read(&path)?.write_vocabulary(&vocabulary)?;
        }
    }
    Ok(())
}

/// Creates the folder of a file. Fails if a symbolic link leads out of the output folder.
fn create_parent(out: &Path, path: &Path) -> Done {
    let folder = path.parent().unwrap_or(out);
    std::fs::create_dir_all(folder)?;
    if !folder.canonicalize()?.starts_with(out.canonicalize()?) {
        return Err(Failure::Run(format!("{}: is outside of the output folder", path.display())));
    }
    Ok(())
}

/// Permutes the axes of a tensor to the order in which its indices are written.
fn in_order(program: &Program, name: &Name, value: &Expr, t: &Tensor) -> Tensor {
    let (Some(d), refs) = (program.definition(name), value.refs()) else { return t.clone() };
    let Some(r) = refs.first().filter(|r| r.places.len() == d.rank && d.rank == t.rank()) else {
        return t.clone();
    };
    let order: Option<Vec<isize>> = r
        .places
        .iter()
        .map(|p| d.places.iter().position(|q| q.index == p.index).map(|at| at as isize))
        .collect();
    match order {
        Some(order) if order.iter().enumerate().any(|(i, at)| i as isize != *at) => t.permute(order),
        _ => t.clone(),
    }
}
