//! What a program is given: tensors from files and from the command line, parameters, settings.

use crate::args::{Given, Pair};
use crate::open::Opened;
use crate::{Done, Failure};
use gradus::files::{self, Wanted, json, table::Facts};
use gradus::lang::ast::{Index, Kind, Name, Place};
use gradus::lang::{Diagnostic, Faults, Program, Settings};
use gradus::{DType, Tensor};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Settings and inputs of a run.
pub(crate) struct Ready {
    pub(crate) settings: Settings,
    pub(crate) inputs: BTreeMap<Name, Tensor>,
}

impl Given {
    /// Whether `--set` gives a tensor: an input, or the start of a state.
    fn is_tensor(program: &Program, p: &Pair) -> bool {
        program.is_input(&p.name) || program.is_state(&p.name)
    }

    /// The settings alone, with numbers of this dtype.
    pub(crate) fn settings(&self, program: &Program, float: DType) -> Done<Settings> {
        let number = |p: &Pair| {
            let failed = |why: &str| Failure::Usage(format!("{}={}: {why}", p.name, p.value));
            let x = p.value.parse::<f64>().map_err(|_| failed("expected a number"))?;
            let lossy = p.value.parse::<i64>().is_ok_and(|n| x as i64 != n);
            if lossy { Err(failed("a parameter is a float, and none is this number")) } else { Ok(x) }
        };
        let mut settings = Settings {
            float,
            steps: self.steps,
            tolerance: self.tolerance,
            allow_unconverged: self.allow_unconverged,
            command: self.command.clone(),
            ..Settings::default()
        };
        if let Some(rounds) = self.rounds {
            settings.rounds = rounds;
        }
        for p in &self.temperatures {
            let degrees = number(p)?;
            if degrees.is_nan() {
                return Err(Failure::Usage(format!("{}={}: a temperature is a number", p.name, p.value)));
            }
            settings.temperatures.insert(p.name.as_str().into(), degrees);
        }
        let mut faults = Vec::new();
        let given: Vec<&Pair> = self.set.iter().chain(&self.inputs).collect();
        for (i, p) in given.iter().enumerate() {
            if given[..i].iter().any(|before| before.name == p.name) {
                let option = if i < self.set.len() { "--set" } else { "--input" };
                let place = settings.place(&format!("{option} {}=", p.name), program);
                faults.push(Diagnostic::error(place, format!("`{}` is given twice", p.name)));
            }
        }
        for p in self.set.iter().filter(|p| !Self::is_tensor(program, p)) {
            if program.params.iter().any(|(n, _)| **n == *p.name) {
                settings.set.insert(p.name.as_str().into(), number(p)?);
                continue;
            }
            let place = settings.place(&format!("--set {}=", p.name), program);
            let what = match program.definition(&p.name) {
                Some(_) => format!("`{}` has an equation and cannot be set", p.name),
                None => format!("there is no parameter or input `{}` to set", p.name),
            };
            let names = program.params.iter().map(|(n, _)| n).chain(program.inputs()).map(|n| &**n);
            let open = names.filter(|n| !given.iter().any(|p| p.name == **n));
            faults.push(Diagnostic::error(place, what).nearest(&p.name, open));
        }
        if faults.is_empty() { Ok(settings) } else { Err(settings.faults(program, faults).into()) }
    }

    /// Everything that these names of a program need.
    pub(crate) fn ready(&self, opened: &Opened, wanted: &[Name]) -> Done<Ready> {
        let float = if self.f64 { DType::F64 } else { DType::F32 };
        self.ready_in(opened, wanted, float)
    }

    /// The same with numbers of this dtype.
    pub(crate) fn ready_in(&self, opened: &Opened, wanted: &[Name], float: DType) -> Done<Ready> {
        let program = &opened.program;
        let settings = self.settings(program, float)?;
        let mut inputs = BTreeMap::new();
        for p in self.set.iter().filter(|p| Self::is_tensor(program, p)) {
            let name: Name = p.name.as_str().into();
            let whole = program.reads_as_given(&name);
            inputs.insert(name, tensor(p, whole)?);
        }
        for p in &self.inputs {
            let name: Name = p.name.as_str().into();
            inputs.insert(
                name.clone(),
                files::read(
                    Path::new(&p.value),
                    &asked(program, &name, &extents(program, &name, &settings)),
                )?,
            );
        }
        sources(opened, wanted, &settings, &mut inputs)?;
        for (name, t) in &mut inputs {
            *t = t.to_dtype(program.input_dtype(name, t.dtype(), float));
        }
        Ok(Ready { settings, inputs })
    }
}

/// The tensor of `--set NAME=[1, 2]`; `nan` and `inf` are numbers here.
fn tensor(p: &Pair, whole: bool) -> Done<Tensor> {
    let failed = |why: String| Failure::Usage(format!("{}={}: {why}", p.name, p.value));
    json::from_literal(&p.value, whole).map_err(failed)
}

fn asked<'a>(program: &Program, name: &'a Name, extents: &'a [Option<usize>]) -> Wanted<'a> {
    let d = program.definition(name);
    // A start that is given to a state has no axis for time.
    let rank = d.map(|d| d.rank - usize::from(d.time.is_some() && !d.equations.is_empty()));
    let whole = program.reads_as_given(name);
    Wanted { name, rank, relation: d.is_some_and(|d| d.relation), extents, whole }
}

/// The declared sizes of a name's axes.
fn extents(program: &Program, name: &str, settings: &Settings) -> Vec<Option<usize>> {
    let Some(d) = program.definition(name) else { return Vec::new() };
    declared(program, &d.places, &program.numbers(&settings.set).unwrap_or_default())
}

/// The declared sizes of indices.
pub(crate) fn declared(
    program: &Program,
    places: &[Place],
    numbers: &HashMap<Name, f64>,
) -> Vec<Option<usize>> {
    let size = |place: &Place| match &place.index {
        Index::Named(name, _) => program.size(name, numbers),
        _ => None,
    };
    places.iter().map(size).collect()
}

/// Reads the files that needed names are given by, except those that were given otherwise. All facts speak of one domain:
/// axes of relations that have no declared size have that of the largest number in any of the files.
fn sources(
    opened: &Opened,
    wanted: &[Name],
    settings: &Settings,
    inputs: &mut BTreeMap<Name, Tensor>,
) -> Done {
    let program = &opened.program;
    let needed = program.needed(wanted);
    let mut facts: HashMap<Name, Facts> = HashMap::new();
    for e in &program.equations {
        let (Kind::Text(text), name) = (&e.value.kind, &e.target.name) else { continue };
        if inputs.contains_key(name) || !needed.contains(name) {
            continue;
        }
        let path: PathBuf = opened.folder.join(&**text);
        let at = |failure: gradus::Error| {
            let why = crate::first_line(&failure.to_string());
            Failure::Program(Faults {
                sources: program.sources.clone(),
                faults: vec![Diagnostic::error(e.value.span, why)],
            })
        };
        if program.definition(name).is_some_and(|d| d.relation)
            && matches!(&*files::ending(&path), "csv" | "tsv")
        {
            facts.insert(name.clone(), Facts::read(&path).map_err(at)?);
        } else {
            let tensor =
                files::read(&path, &asked(program, name, &extents(program, name, settings))).map_err(at)?;
            inputs.insert(name.clone(), tensor);
        }
    }
    let domain = facts.values().map(Facts::domain).max().unwrap_or(0);
    for (name, facts) in facts {
        let tensor = facts.tensor(&extents(program, &name, settings), domain)?;
        inputs.insert(name, tensor);
    }
    Ok(())
}
