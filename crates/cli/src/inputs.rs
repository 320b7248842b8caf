//! Inputs of a run: tensors from files and from the command line, parameters, settings.

use crate::Done;
use crate::args::{InputArgs, Pair};
use crate::open::Opened;
use crate::train::checkpoint;
use gradus::files::safetensors::Reader;
use gradus::files::{self, Wanted, json};
use gradus::lang::ast::{Index, Name, Place};
use gradus::lang::{Diagnostic, Faults, Program, Settings, Span, Table, Unsound};
use gradus::{Aval, DType, Tensor};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Settings and inputs of a run.
pub(crate) struct Ready {
    pub(crate) settings: Settings,
    pub(crate) inputs: BTreeMap<Name, Tensor>,
}

impl InputArgs {
    /// Returns true if `--set` of this name is a tensor: an input, or the first value of a state.
    fn is_tensor(program: &Program, p: &Pair) -> bool {
        program.is_input(&p.name) || program.is_state(&p.name)
    }

    /// Returns the settings, with floats of this dtype, and the faults of the options.
    pub(crate) fn settings(&self, program: &Program, float: DType) -> (Settings, Vec<Diagnostic>) {
        let number = |p: &Pair| {
            let x = p.value.parse::<f64>().map_err(|_| "expected a number")?;
            let lossy = p.value.parse::<i64>().is_ok_and(|n| x as i64 != n);
            if lossy { Err("parameters are floats, and no float equals this integer") } else { Ok(x) }
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
        let mut faults = Vec::new();
        for p in &self.temperatures {
            let degrees =
                number(p).and_then(|x| if x.is_nan() { Err("a temperature must not be NaN") } else { Ok(x) });
            match degrees {
                Ok(x) => drop(settings.temperatures.insert(p.name.as_str().into(), x)),
                Err(why) => faults.push(option_fault("--temperature", p, why, program, &settings)),
            }
        }
        let given: Vec<&Pair> = self.set.iter().chain(&self.inputs).collect();
        for (i, p) in given.iter().enumerate() {
            if given[..i].iter().any(|before| before.name == p.name) {
                let option = if i < self.set.len() { "--set" } else { "--input" };
                let place = settings.place(&format!("{option} {}=", p.name), program);
                let fault = Diagnostic::error(place, format!("`{}` is given twice", p.name));
                faults.push(fault.about(&p.name));
            }
        }
        for p in self.set.iter().filter(|p| !Self::is_tensor(program, p)) {
            if program.params.iter().any(|(n, _)| **n == *p.name) {
                match number(p) {
                    Ok(x) => drop(settings.set.insert(p.name.as_str().into(), x)),
                    Err(why) => faults.push(option_fault("--set", p, why, program, &settings)),
                }
                continue;
            }
            let place = settings.place(&format!("--set {}=", p.name), program);
            let what = match program.definition(&p.name) {
                Some(_) => format!("`{}` is defined by an equation and cannot be set", p.name),
                None => format!("the program has no parameter or input `{}`", p.name),
            };
            let names = program.params.iter().map(|(n, _)| n).chain(program.inputs()).map(|n| &**n);
            let open = names.filter(|n| !given.iter().any(|p| p.name == **n));
            faults.push(Diagnostic::error(place, what).nearest(&p.name, open));
        }
        (settings, faults)
    }

    /// Reads settings and all inputs that the wanted names need.
    pub(crate) fn ready(&self, opened: &Opened, wanted: &[Name]) -> Done<Ready> {
        let float = if self.f64 { DType::F64 } else { DType::F32 };
        self.ready_in(opened, wanted, float, false)
    }

    /// As `ready`, with floats of this dtype. If `drawn` is true, a missing input is not a fault, because the
    /// caller draws it at random.
    pub(crate) fn ready_in(
        &self,
        opened: &Opened,
        wanted: &[Name],
        float: DType,
        drawn: bool,
    ) -> Done<Ready> {
        self.ready_with_faults(opened, wanted, float, drawn, Vec::new())
    }

    /// As `ready_in`, with faults that the caller has already found.
    pub(crate) fn ready_with_faults(
        &self,
        opened: &Opened,
        wanted: &[Name],
        float: DType,
        drawn: bool,
        wrong: Vec<Diagnostic>,
    ) -> Done<Ready> {
        let program = &opened.program;
        let (mut settings, told) = self.settings(program, float);
        let mut found = self.read(program, &opened.folder, wanted, &settings);
        settings.tables = Arc::new(std::mem::take(&mut found.tables));
        found.faults.extend(wrong.into_iter().chain(told));
        if found.faults.is_empty() {
            return Ok(Ready { settings, inputs: found.inputs });
        }
        if drawn {
            found.unread.extend(program.inputs().filter(|n| !found.inputs.contains_key(*n)).cloned());
        }
        found.faults.extend(program.faults_besides(&found.types(), &found.unread, &settings, wanted));
        found.faults.sort_by_key(Diagnostic::span);
        Err(settings.faults(program, found.faults).into())
    }

    /// Returns all faults of a program that cannot run, and of its inputs.
    pub(crate) fn faults(&self, unsound: Box<Unsound>, folder: &Path, only: &[String]) -> Faults {
        let program = unsound.program();
        let float = if self.f64 { DType::F64 } else { DType::F32 };
        // If an export does not exist, the intended outputs are unknown, so all names are checked.
        let all_exist = program.exports.iter().all(|(n, _)| program.definition(n).is_some());
        let wanted: Vec<Name> = match only.is_empty() {
            true if all_exist => program.outputs(),
            true => program.names.clone(),
            false => only
                .iter()
                .map(|n| n.as_str().into())
                .filter(|n: &Name| program.definition(n).is_some())
                .collect(),
        };
        let (mut settings, mut told) = self.settings(program, float);
        let mut found = self.read(program, folder, &wanted, &settings);
        settings.tables = Arc::new(std::mem::take(&mut found.tables));
        told.extend(crate::run::missing_names(program, only, &settings));
        let mut faults = unsound.faults_given(&found.types(), &found.unread, &settings, &wanted, told);
        faults.faults.extend(found.faults);
        faults.faults.sort_by_key(Diagnostic::span);
        faults
    }

    /// Reads all inputs that can be read, and collects faults for the others.
    fn read(&self, program: &Program, folder: &Path, wanted: &[Name], settings: &Settings) -> InputValues {
        let mut found = InputValues::default();
        for p in self.set.iter().filter(|p| Self::is_tensor(program, p)) {
            let name: Name = p.name.as_str().into();
            let unconverted = program.reads_as_given(&name);
            // `nan` and `inf` are accepted as numbers.
            match json::from_literal(&p.value, unconverted) {
                Ok(tensor) => drop(found.inputs.insert(name, tensor)),
                Err(why) => {
                    found.faults.push(option_fault("--set", p, &why, program, settings));
                    found.unread.insert(name);
                }
            }
        }
        for p in &self.inputs {
            let name: Name = p.name.as_str().into();
            let read = files::read(
                Path::new(&p.value),
                &wanted_input(program, &name, &extents(program, &name, settings)),
            );
            found.keep(name, Span::NOWHERE, read);
        }
        if let Some(run) = &self.params
            && let Err(e) = read_run_parameters(run, program, &mut found)
        {
            // The inputs that the run would have given are not reported as missing too.
            found.unread.extend(program.inputs().filter(|n| !found.inputs.contains_key(*n)).cloned());
            let place = settings.place("--params ", program);
            found.faults.push(Diagnostic::error(place, e.message()));
        }
        sources(program, folder, wanted, settings, &mut found);
        for (name, t) in &mut found.inputs {
            *t = t.to_dtype(program.input_dtype(name, t.dtype(), settings.float));
        }
        found
    }
}

/// Makes an error about the value of an option.
fn option_fault(option: &str, p: &Pair, why: &str, program: &Program, settings: &Settings) -> Diagnostic {
    let place = settings.place(&format!("{option} {}=", p.name), program);
    Diagnostic::error(place, format!("{}={}: {why}", p.name, p.value)).about(&p.name)
}

/// Inputs that were read, and faults.
#[derive(Default)]
struct InputValues {
    inputs: BTreeMap<Name, Tensor>,
    /// Relations that are given as tables.
    tables: BTreeMap<Name, Table>,
    faults: Vec<Diagnostic>,
    /// Names whose inputs could not be read.
    unread: HashSet<Name>,
}

impl InputValues {
    fn keep(&mut self, name: Name, place: Span, read: gradus::Result<Tensor>) {
        match read {
            Ok(t) => drop(self.inputs.insert(name, t)),
            Err(e) => self.fail(name, place, &e),
        }
    }

    fn fail(&mut self, name: Name, place: Span, e: &gradus::Error) {
        self.faults.push(Diagnostic::error(place, e.message()).about(&name));
        self.unread.insert(name);
    }

    fn types(&self) -> BTreeMap<Name, Aval> {
        avals(&self.inputs)
    }
}

/// Returns the types of tensors.
pub(crate) fn avals(tensors: &BTreeMap<Name, Tensor>) -> BTreeMap<Name, Aval> {
    tensors.iter().filter_map(|(n, t)| Some((n.clone(), t.aval()?))).collect()
}

/// Reads the parameters of a run that are inputs of the program and that no other option gives.
fn read_run_parameters(run: &Path, program: &Program, found: &mut InputValues) -> gradus::Result<()> {
    let file = Reader::open(checkpoint(run))?;
    let names: HashSet<String> = file.names().into_iter().collect();
    let own = program.inputs().map(|n| (n, file.stored(n))).filter(|(_, stored)| names.contains(stored));
    let own: Vec<(&Name, String)> = own.collect();
    if own.is_empty() {
        let inputs: Vec<&str> = program.inputs().map(|n| &**n).collect();
        return Err(file.failed(match &inputs[..] {
            [] => "the program has no inputs, so it needs no parameters".to_string(),
            _ => format!(
                "contains no parameter of the program; the inputs of the program are {}",
                inputs.join(", ")
            ),
        }));
    }
    for (name, stored) in own {
        if !found.inputs.contains_key(name) && !found.unread.contains(name) {
            found.inputs.insert(name.clone(), file.tensor(&stored)?);
        }
    }
    Ok(())
}

/// Describes the input that a name needs: its rank and declared sizes.
fn wanted_input<'a>(program: &Program, name: &'a Name, extents: &'a [Option<usize>]) -> Wanted<'a> {
    let d = program.definition(name);
    // The first value of a state has no time axis.
    let rank = d.map(|d| d.rank - usize::from(d.time.is_some() && !d.equations.is_empty()));
    let exact_integers = program.reads_as_given(name);
    Wanted { name, rank, relation: d.is_some_and(|d| d.relation), extents, exact_integers }
}

/// Returns the declared sizes of a name's axes; `None` if a size is not declared.
fn extents(program: &Program, name: &str, settings: &Settings) -> Vec<Option<usize>> {
    let Some(d) = program.definition(name) else { return Vec::new() };
    declared(program, &d.places, &program.numbers(&settings.set).unwrap_or_default())
}

/// Returns the declared sizes of indices; `None` if a size is not declared.
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

/// Reads the files named by equations of needed names, except names that have other inputs. Tables of
/// relations are passed to the program unconverted, because it knows the domains of their columns.
fn sources(program: &Program, folder: &Path, wanted: &[Name], settings: &Settings, found: &mut InputValues) {
    let needed = program.needed(wanted);
    for e in &program.equations {
        let (Some(file), name) = (e.file(), &e.target.name) else { continue };
        if found.inputs.contains_key(name) || found.unread.contains(name) || !needed.contains(name) {
            continue;
        }
        let (path, at) = (folder.join(file.path), e.value.span);
        if program.definition(name).is_some_and(|d| d.relation)
            && matches!(&*files::ending(&path), "csv" | "tsv")
        {
            match crate::tables::read(&path, file.header) {
                Ok(read) => drop(found.tables.insert(name.clone(), read)),
                Err(e) => found.fail(name.clone(), at, &e),
            }
        } else {
            let read = files::read(&path, &wanted_input(program, name, &extents(program, name, settings)));
            found.keep(name.clone(), at, read);
        }
    }
}
