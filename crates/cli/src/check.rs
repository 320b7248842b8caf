//! `gradus check`: checks a program, then compares each of its gradients with finite differences and other
//! modes.
//!
//! Every name gets one more term, an input that is zero (`Y[q0, q1] = Step_Y[q0, q1]`). The derivative for
//! that input is the gradient of the name, whether the name is an input, a constant or computed.

mod device;
mod probe;
mod slopes;

use crate::args::CheckArgs;
use crate::inputs::Ready;
use crate::{Done, Failure, Terminal, open, show};
use gradus::lang::ast::{Call, Equation, Expr, Index, Kind, Name, Place, Projection, Ref};
use gradus::lang::{Gradient, GradientOptions, Program, Span};
use gradus::{DType, Generator, Tensor};
use probe::{CONVERGED, Part, Probe};

/// Largest number of gradients that are checked one by one. If there are more, they are checked together, and
/// a group that contains a wrong gradient is halved.
const MAX_SINGLE: usize = 64;

pub(crate) fn run(args: &CheckArgs, terminal: &mut Terminal<'_>) -> Done {
    let chosen = args.on.device()?;
    let opened = open::program(&args.file, terminal)?;
    let program = &opened.program;
    let wanted: Vec<Name> = program.outputs();
    let wrt: Vec<Name> = args.wrt.iter().map(|n| n.as_str().into()).collect();
    let mut random = Random(Generator::new(args.seed));
    let mut ready = args.given.ready_in(&opened, &wanted, DType::F64, true)?;
    random.fill(program, &wanted, &mut ready)?;
    open::note_single_step(program, &ready, terminal)?;
    let equations = program.equations.len();
    // Differences are inaccurate unless fixpoints have converged.
    ready.settings.tolerance.get_or_insert(CONVERGED);
    // Faults of the program itself are reported before its gradient is computed.
    program.run(&ready.inputs, &ready.settings, &wanted)?;
    writeln!(terminal.out, "{equations} equations, {} names: no errors", program.names.len())?;
    let Some((program, gradient)) = with_gradient(program, args, &mut random, &mut ready)? else {
        writeln!(terminal.out, "the program has nothing to differentiate")?;
        return device::compare_with_cpu(program, None, &ready, chosen, terminal);
    };
    open::warn(&program, &gradient.warnings, terminal);
    let given = Ready { settings: ready.settings.clone(), inputs: ready.inputs.clone() };
    let probe = Probe::new(&program, &gradient, &wrt, ready)?;
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    let exact = probe.exact(args.within);
    // Groups of gradients that are checked together, the next one last.
    let mut groups: Vec<&[Part]> = match probe.parts.len() {
        ..=MAX_SINGLE => probe.parts.chunks(1).rev().collect(),
        _ => vec![&probe.parts],
    };
    while let Some(group) = groups.pop() {
        let found = probe.errors(group, args.within, &mut random)?;
        // If some elements have no derivative, only the differences at the other elements decide.
        let kinks = found.kinks > 0;
        let right = found.difference.is_none_or(|e| e <= args.within)
            && (kinks || found.forward.is_none_or(|e| e <= exact))
            && (kinks || found.graph.is_none_or(|e| e <= exact));
        if group.len() > 1 && (kinks || !right) {
            let (first, second) = group.split_at(group.len() / 2);
            groups.extend([second, first]);
            continue;
        }
        let Some((part, last)) = group.first().zip(group.last()) else { continue };
        if !right && !wrong.contains(&part.name.to_string()) {
            wrong.push(part.name.to_string());
        }
        let shown = |e: Option<f64>| e.map_or("-".to_string(), |e| format!("{e:.1e}"));
        let verdict = match (right, probe.holds.as_ref()) {
            (false, _) => "WRONG".to_string(),
            (true, _) if found.kinks == part.gradient.numel() => "not differentiable here".to_string(),
            (true, _) if kinks => {
                format!("ok; {} of {} not differentiable here", found.kinks, part.gradient.numel())
            }
            (true, Some(f)) => {
                format!("ok; not compared with differences, which would change what `{f}` holds constant")
            }
            (true, None) if found.difference.is_none() => "ok; too curved for finite differences".to_string(),
            (true, None) => "ok".to_string(),
        };
        let shape: Vec<String> = part.gradient.shape().iter().map(usize::to_string).collect();
        let [label, shape] = match group.len() {
            1 => [part.label.clone(), shape.join("×")],
            n => [format!("{} … {}", part.label, last.label), format!("{n} together")],
        };
        let errors = [found.difference, found.forward, found.graph].map(shown);
        rows.push([vec![label, shape], errors.to_vec(), vec![verdict]].concat());
    }
    for (name, why) in &probe.skipped {
        let dashes = vec!["-".to_string(); 3];
        rows.push([vec![name.clone(), String::new()], dashes, vec![format!("skipped: {why}")]].concat());
    }
    if rows.is_empty() {
        writeln!(terminal.out, "{} depends on nothing that has a gradient", gradient.loss)?;
        return device::compare_with_cpu(&program, Some(&gradient), &given, chosen, terminal);
    }
    writeln!(
        terminal.out,
        "relative errors of the gradients of {}, compared with three other methods:\n",
        gradient.loss
    )?;
    let heading = ["gradient", "shape", "differences", "forward mode", "reverse mode", ""];
    write!(terminal.out, "{}", show::table(&heading, &rows))?;
    if probe.lowered.has_fixpoints() {
        let why = "their loops have no reverse mode to compare with; forward mode differentiates every round";
        writeln!(terminal.out, "\nfixpoints: {why}")?;
    }
    if !wrong.is_empty() {
        return Err(Failure::Run(format!("gradients are wrong: {}", wrong.join(", "))));
    }
    device::compare_with_cpu(&program, Some(&gradient), &given, chosen, terminal)
}

struct Random(Generator);

impl Random {
    fn tensor(&mut self, shape: &[usize]) -> Tensor {
        self.0.randn(shape.to_vec()).to_dtype(DType::F64)
    }

    /// Draws a random direction for a tensor; complex if the tensor is.
    fn direction(&mut self, of: &Tensor) -> Tensor {
        let real = self.tensor(&of.shape());
        if of.dtype().is_complex() { real.complex(&self.tensor(&of.shape())) } else { real }
    }

    /// Draws missing inputs at random, if the sizes of all their indices are declared.
    fn fill(&mut self, program: &Program, wanted: &[Name], ready: &mut Ready) -> Done {
        let needed = program.needed(wanted);
        let numbers = program.numbers(&ready.settings.set).unwrap_or_default();
        for name in program.inputs().filter(|n| needed.contains(*n)) {
            let Some(d) = program.definition(name).filter(|_| !ready.inputs.contains_key(name)) else {
                continue;
            };
            let extents = crate::inputs::declared(program, &d.places, &numbers);
            if let Some(shape) = extents.into_iter().collect::<Option<Vec<usize>>>() {
                ready.inputs.insert(name.clone(), self.tensor(&shape));
            }
        }
        Ok(())
    }
}

/// Makes a reference to a tensor at these indices.
fn at(name: &str, places: &[Index]) -> Ref {
    let place = |index: &Index| Place { index: index.clone(), dotted: false, span: Span::default() };
    Ref {
        name: name.into(),
        places: places.iter().map(place).collect(),
        relation: false,
        span: Span::default(),
    }
}

fn tensor(name: &str, places: &[Index]) -> Expr {
    Kind::Ref(at(name, places)).bare()
}

/// Makes the indices of added equations. Skips names to which the program gives a size or a value. All other
/// index names are local to a line.
fn indices(program: &Program, rank: usize) -> Vec<Index> {
    let is_taken = |name: &Name| {
        let times = program.times.contains_key(name) || program.bounded.contains_key(name);
        times || program.axes.contains_key(name) || program.params.iter().any(|(own, _)| own == name)
    };
    let names = (0..).map(|i| Name::from(format!("q{i}"))).filter(|name| !is_taken(name));
    names.take(rank).map(|name| Index::Named(name, 0)).collect()
}

fn equation(target: Ref, mut factors: Vec<Expr>) -> Equation {
    let value = if factors.len() == 1 { factors.remove(0) } else { Kind::Product(factors).bare() };
    Equation {
        target,
        guard: None,
        projection: Projection::Sum,
        spelled: false,
        value,
        local: false,
        span: Span::default(),
    }
}

/// Returns the program and its gradient. If the program has no loss, the randomly weighted sum of its outputs
/// is used.
fn with_gradient(
    program: &Program,
    args: &CheckArgs,
    random: &mut Random,
    ready: &mut Ready,
) -> Done<Option<(Program, Gradient)>> {
    let loss = args.loss.as_deref().map(Name::from);
    let complex =
        ready.inputs.iter().filter(|(_, t)| t.dtype().is_complex()).map(|(n, _)| n.clone()).collect();
    let wrt = args.wrt.iter().map(|n| n.as_str().into()).collect();
    let options = GradientOptions { loss: loss.clone(), wrt, complex, ..GradientOptions::default() };
    let faults = match program.gradient(&options) {
        Ok(gradient) => return Ok(Some((program.clone(), gradient))),
        Err(faults) if loss.is_some() || program.loss(&options).is_ok() => {
            return Err(
                crate::point_at_options(faults, args.given.command.as_ref(), &["--loss", "--wrt"]).into()
            );
        }
        Err(faults) => faults,
    };
    let outputs = program.outputs();
    let values = program.run(&ready.inputs, &ready.settings, &outputs)?;
    let mut lines = Vec::new();
    for (name, value) in outputs.iter().filter_map(|n| Some((n, values.get(n)?))) {
        let Some(d) = program.definition(name) else { continue };
        let parts: &[Option<&str>] = match value.dtype() {
            DType::F64 if !d.relation => &[None],
            DType::C128 => &[Some("real"), Some("imag")],
            _ => continue,
        };
        // The output of a state is its last time step.
        let own = indices(program, value.rank());
        let mut places = own.clone();
        if let Some(axis) = d.time.filter(|_| value.rank() < d.rank) {
            places.insert(axis, Index::Step(-1));
        }
        for part in parts {
            let weight = Name::from(format!("Weight_{}{name}", part.unwrap_or_default()));
            ready.inputs.insert(weight.clone(), random.tensor(&value.shape()));
            let whole = tensor(name, &places);
            let value = match part {
                Some(part) => {
                    let call = Call { function: (*part).into(), args: vec![whole], named: Vec::new() };
                    Kind::Call(Box::new(call)).bare()
                }
                None => whole,
            };
            let weight = tensor(&weight, &own);
            lines.push(equation(at("Weighted", &[]), vec![value, weight]));
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let weighted = program.extended(&lines)?;
    let options = GradientOptions { loss: Some("Weighted".into()), ..options };
    match weighted.gradient(&options) {
        Ok(gradient) => Ok(Some((weighted, gradient))),
        Err(_) => Err(faults.into()),
    }
}

/// A name whose gradient is checked, through an input or through an added term.
struct CheckedName {
    name: Name,
    label: String,
    /// The equation that selects this part of the gradient, with the time axis last.
    part: Equation,
    /// If true, the part is the first time step only.
    first: bool,
    /// The input whose derivative is compared: the name itself, or the input that `term` adds.
    step: Name,
    /// The term that adds the step to the name; `None` if the name is an input.
    term: Option<Equation>,
}

/// Returns the parts of a name's gradient to check. A name that depends on time gets a step input for each
/// time index that its equations define: `H[i,*t+1] = Step[i,t]`, `H[i,*0] = Step[i]`.
fn checked_names(program: &Program, name: &Name, gradient: &Name, ready: &Ready) -> Vec<CheckedName> {
    let Some(d) = program.definition(name) else { return Vec::new() };
    let own = indices(program, d.rank);
    // The part is named like a gradient, because only gradients may read every step of a time that ends by a
    // condition.
    let part = |k: usize| format!("Grad_Part_{k}_{name}");
    let step = |k: usize| Name::from(format!("Step_{k}_{name}"));
    let whole = equation(at(&part(0), &own), vec![tensor(gradient, &own)]);
    let plain = |step: Name, term: Option<Equation>| {
        let (name, label) = (name.clone(), gradient.to_string());
        vec![CheckedName { name, label, part: whole.clone(), first: false, step, term }]
    };
    let is_input = ready.inputs.contains_key(name);
    let Some(axis) = d.time.filter(|_| !is_input || program.is_state(name)) else {
        let term = equation(at(name, &own), vec![tensor(&step(0), &own)]);
        return if is_input { plain(name.clone(), None) } else { plain(step(0), Some(term)) };
    };
    let targets = d.equations.iter().map(|i| &program.equations[*i].target.places[axis].index);
    let mut written: Vec<Index> = Vec::new();
    for index in targets.chain(is_input.then_some(&Index::Step(0))) {
        if !written.contains(index) && !matches!(index, Index::Step(..0)) {
            written.push(index.clone());
        }
    }
    let time = written.iter().find_map(|i| if let Index::Time(t, _) = i { Some(t.clone()) } else { None });
    let time = time.unwrap_or_else(|| "t".into());
    let others: Vec<Index> = (0..d.rank).filter(|i| *i != axis).map(|i| own[i].clone()).collect();
    let laid_out = [&others[..], &[Index::Named(time.clone(), 0)]].concat();
    let with = |index: Index| {
        let mut places = own.clone();
        places[axis] = index;
        places
    };
    let one = |(k, index): (usize, Index)| {
        let (by, first) = match index {
            Index::Time(_, by) => (by, false),
            Index::Step(m) => (m, true),
            _ => (0, false),
        };
        let read = tensor(gradient, &with(Index::Time(time.clone(), by)));
        // A term of a state counts only while the condition of its time holds, unless the state is that of a gradient,
        // whose lines have no condition.
        let own = || d.equations.iter().map(|i| &program.equations[*i]);
        let holds = |go: &Name| {
            let ahead = own().filter(|e| e.target.places[axis].index == Index::Time(time.clone(), 1));
            ahead.into_iter().any(|e| e.reads().iter().any(|r| r.name == *go))
        };
        let condition = program.bounded.get(&time).filter(|(go, _)| by == 1 && holds(go));
        let read = match condition {
            Some((go, _)) => {
                let go = tensor(go, &[Index::Time(time.clone(), 0)]);
                Kind::Choose(Box::new([go, read, Kind::Number(0.0).bare()])).bare()
            }
            None => read,
        };
        let given = is_input && first;
        let steps = if first { &others } else { &laid_out };
        let term = equation(at(name, &with(index.clone())), vec![tensor(&step(k), steps)]);
        CheckedName {
            name: name.clone(),
            label: format!("{gradient} at {index}"),
            part: equation(at(&part(k), &laid_out), vec![read]),
            first,
            step: if given { name.clone() } else { step(k) },
            term: (!given).then_some(term),
        }
    };
    written.into_iter().enumerate().map(one).collect()
}
