//! `gradus explain`: the cost of every equation on its own, and of the program as one plan.

mod code;
mod invariant;
mod unfolded;

use crate::args::ExplainArgs;
use crate::inputs::avals;
use crate::{Done, Terminal, open, run, show};
use gradus::files::atomic;
use gradus::ir::ops::Form;
use gradus::lang::ast::{Equation, Expr, Index, Kind, Name, Place, Ref};
use gradus::lang::{Faults, Lowered, Program, Settings};
use gradus::{Aval, Compiled, DType, Graph, Tensor, compile_graph};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use unfolded::{Repeated, Rounds, Unfolded, is_closure};

/// Number of runs of a plan; the shortest time counts.
const RUNS: usize = 5;

pub(crate) fn run(args: &ExplainArgs, terminal: &mut Terminal<'_>) -> Done {
    if args.core {
        let opened = open::program(&args.file, terminal)?;
        write!(terminal.out, "{}", opened.program.core())?;
        return Ok(());
    }
    args.on.device()?.with(|| on_device(args, terminal))
}

fn on_device(args: &ExplainArgs, terminal: &mut Terminal<'_>) -> Done {
    let opened = open::program_for(&args.file, &args.given, &args.only, terminal)?;
    let program = &opened.program;
    let wanted = run::wanted(&opened, &args.only, &args.given)?;
    let ready = args.given.ready(&opened, &wanted)?;
    let needed = program.needed(&wanted);
    // Values of all needed names, so that equations can be run one by one.
    let computed: Vec<Name> = needed.iter().filter(|n| !ready.inputs.contains_key(*n)).cloned().collect();
    let mut values = program.run(&ready.inputs, &ready.settings, &computed)?;
    values.extend(ready.inputs.iter().map(|(n, t)| (n.clone(), t.clone())));
    let steps = program.time_steps(&avals(&ready.inputs), &ready.settings)?;
    for (name, t) in &mut values {
        if let Some(d) = program.definition(name)
            && let Some(axis) = d.time
            && (!ready.inputs.contains_key(name) || program.is_state(name))
        {
            *t = at_all_steps(t, axis as isize, d.rank, steps);
        }
    }
    let unfolded = Unfolded::new(program, &values, &ready)?;
    let (lowered, inputs) = unfolded.lowered(&wanted)?;
    if let Some(path) = &args.svg {
        let picture = if args.ops {
            let options = gradus::draw::Options { wrt: None, order: args.order };
            gradus::draw::svg_with(&lowered.named_graph()?, &options)?
        } else {
            let drawn: Vec<Name> = program.names.iter().filter(|n| needed.contains(*n)).cloned().collect();
            gradus::draw::svg_of_program(program, &drawn, |n| values.get(n).and_then(Tensor::aval))
        };
        atomic::write(path, &[picture.as_bytes()])?;
    }
    if let Some(path) = &args.profile {
        let ins: Vec<&Tensor> = lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
        let compiled = lowered.compiled()?;
        // Warms the caches before the timeline is recorded.
        fastest(&compiled, &ins)?;
        atomic::write(path, &[compiled.timeline(&ins)?.trace().as_bytes()])?;
    }
    if let Some(dialect) = args.kernels {
        return code::kernels(&lowered.named_graph()?, &lowered, dialect, terminal);
    }
    if args.asm {
        return code::instructions(&lowered.compiled()?, terminal);
    }
    let rounds = if has_open_loop(&lowered.graph) { unfolded.rounds(&needed)? } else { HashMap::new() };
    let source = program.sources.first().map_or("", |s| &s.text);
    let ends: Vec<usize> = source.match_indices('\n').map(|m| m.0).collect();
    let mut lines = Vec::new();
    for e in program.equations.iter().filter(|e| needed.contains(&e.target.name)) {
        if e.file().is_none() {
            // The equation of a state's first value is computed once.
            let is_first = e.target.places.iter().any(|p| matches!(p.index, Index::Step(_)));
            let rounds = rounds.get(&e.target.name).filter(|_| !is_first);
            let line = Line::new(program, e, &values, &settings_of(e, &ready.settings, steps), rounds)?;
            lines.push(Line { line: ends.partition_point(|end| *end < e.span.start as usize) + 1, ..line });
        }
    }
    let whole = Cost::of(&lowered, &inputs)?;
    match args.json {
        true => {
            let equations: Vec<Value> = lines.iter().map(Line::json).collect();
            writeln!(terminal.out, "{}", json!({"equations": equations, "program": whole.json()}))?;
        }
        false => write!(terminal.out, "{}{}", text(&lines, &whole), of_device(args, &lowered, &inputs)?)?,
    }
    Ok(())
}

/// Describes how the device runs the program: the dispatches and host steps of a GPU, and with `--measure` the time of each
/// step compared with the peak rates.
fn of_device(args: &ExplainArgs, lowered: &Lowered, inputs: &BTreeMap<Name, Tensor>) -> Done<String> {
    let ins: Vec<&Tensor> = lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
    let compiled = lowered.compiled()?;
    let mut text = String::new();
    if !compiled.device().is_cpu() {
        let _ = write!(text, "\non {}: {}", compiled.device(), compiled.explain());
    }
    if args.measure {
        // Warms the caches before the times are measured.
        fastest(&compiled, &ins)?;
        let _ = write!(text, "\n{}", compiled.profile(&ins)?);
    }
    Ok(text)
}

/// Returns true if a graph has a loop whose number of rounds depends on values.
fn has_open_loop(graph: &Graph) -> bool {
    graph.nodes().iter().any(|node| {
        let ins: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
        match node.op.def().form(&ins) {
            _ if is_closure(&node.op) => true,
            Form::While(_) => true,
            Form::Region(body) => has_open_loop(&body),
            Form::Switch(branches) => branches.iter().any(|b| has_open_loop(b)),
            Form::Scan(scan) => has_open_loop(&scan.body),
            _ => false,
        }
    })
}

/// Returns a tensor with a slice for every step. Its values do not matter: costs depend on sizes.
fn at_all_steps(t: &Tensor, axis: isize, rank: usize, steps: usize) -> Tensor {
    let step = if t.rank() < rank { t.unsqueeze(axis) } else { t.narrow(axis, 0, t.dim(axis).min(1)) };
    let mut extents = step.shape().to_vec();
    extents[axis as usize] = steps;
    step.expand(extents).contiguous()
}

/// Makes a program of the single equation `e`, whose target is replaced by `target`.
fn single_equation(
    program: &Program,
    e: &Equation,
    target: Ref,
    values: &BTreeMap<Name, Tensor>,
) -> Result<Program, Faults> {
    // Other terms of the program may determine the size of an index that this equation leaves open.
    let mut axes = program.axes.clone();
    let extents = values.get(&e.target.name).map(|t| t.shape().to_vec()).unwrap_or_default();
    for (place, n) in e.target.places.iter().zip(extents) {
        if let Index::Named(name, 0) = &place.index {
            axes.entry(name.clone()).or_insert((Kind::Number(n as f64).bare(), place.span));
        }
    }
    let around = Program {
        sources: program.sources.clone(),
        functions: program.functions.clone(),
        axes,
        params: program.params.clone(),
        ..Program::default()
    };
    around.extended(&[Equation { target, ..e.clone() }])
}

/// The cost of a run.
struct Cost {
    flops: u64,
    bytes: u64,
    time: Duration,
    steps: Vec<String>,
    arena: usize,
    /// Contractions in the order of computation, with their FLOPs.
    order: Vec<(String, u64)>,
}

impl Cost {
    fn of(lowered: &Lowered, inputs: &BTreeMap<Name, Tensor>) -> Done<Cost> {
        let ins: Vec<&Tensor> = lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
        Ok(Cost { order: order(&lowered.graph.inlined()?), ..Cost::of_plan(&lowered.compiled()?, &ins)? })
    }

    fn of_plan(compiled: &Compiled, ins: &[&Tensor]) -> Done<Cost> {
        let measured = compiled.measured(ins)?;
        Ok(Cost {
            flops: measured.flops,
            bytes: measured.bytes,
            time: fastest(compiled, ins)?,
            steps: compiled.steps(),
            arena: compiled.arena(),
            order: Vec::new(),
        })
    }

    /// Computes the cost of an equation that is computed in every round of a loop. `moves` returns true for
    /// inputs that change between rounds. Parts that do not depend on such inputs are computed once. Also
    /// returns the number of rounds, if any part is repeated.
    fn of_rounds(
        lowered: &Lowered,
        inputs: &BTreeMap<Name, Tensor>,
        rounds: &Rounds,
        moves: impl Fn(&Name) -> bool,
    ) -> Done<(Cost, Option<Repeated>)> {
        let Repeated::Rounds(count) = rounds.repeated else {
            return Ok((Cost::of(lowered, inputs)?, Some(rounds.repeated)));
        };
        let moving: Vec<bool> = lowered.inputs.iter().map(moves).collect();
        if !moving.contains(&true) {
            return Ok((Cost::of(lowered, inputs)?, None));
        }
        let own: Vec<usize> = (0..lowered.outputs.len()).collect();
        let graph = lowered.graph.with_outputs(&own)?;
        let order = order(&graph.inlined()?);
        let mut ins: Vec<&Tensor> = lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
        let Some((before, round)) = invariant::split_invariant(&graph, &moving)? else {
            let cost = Cost::of_plan(&lowered.compiled()?, &ins)?.times(count);
            return Ok((Cost { order, ..cost }, Some(rounds.repeated)));
        };
        let before = compile_graph(&Arc::new(before))?;
        let once = Cost::of_plan(&before, &ins)?;
        let kept = before.run(&ins)?;
        ins.extend(&kept);
        let each = Cost::of_plan(&compile_graph(&Arc::new(round))?, &ins)?.times(count);
        let cost = Cost {
            flops: once.flops + each.flops,
            bytes: once.bytes + each.bytes,
            time: once.time + each.time,
            steps: [once.steps, each.steps].concat(),
            arena: once.arena.max(each.arena),
            order,
        };
        Ok((cost, Some(rounds.repeated)))
    }

    /// Multiplies the cost by `n`, the number of runs.
    fn times(mut self, n: u64) -> Cost {
        self.flops *= n;
        self.bytes *= n;
        self.time = self.time.mul_f64(n as f64);
        self
    }

    fn json(&self) -> Value {
        json!({
            "flops": self.flops,
            "bytes": self.bytes,
            "seconds": self.time.as_secs_f64(),
            "kernels": self.steps,
            "arena": self.arena,
        })
    }

    /// Lists the steps of the plan; equal ones are counted, as in `2 kernel [4], product 2×3×4`.
    fn kinds(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for step in &self.steps {
            match counts.iter_mut().find(|c| c.0 == step) {
                Some(c) => c.1 += 1,
                None => counts.push((step, 1)),
            }
        }
        let one = |(name, n): &(&str, usize)| if *n == 1 { name.to_string() } else { format!("{n} {name}") };
        let each: Vec<String> = counts.iter().map(one).collect();
        if each.is_empty() { "no kernel".into() } else { each.join(", ") }
    }
}

fn fastest(compiled: &Compiled, ins: &[&Tensor]) -> Done<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        compiled.run(ins)?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

/// Returns the contractions of a graph in order, with their FLOPs.
fn order(graph: &Graph) -> Vec<(String, u64)> {
    let mut out = Vec::new();
    for node in graph.nodes() {
        let ins: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
        let Form::Contract { lhs, rhs, out: result } = node.op.def().form(&ins) else { continue };
        let mut extents: BTreeMap<char, usize> = BTreeMap::new();
        for (labels, aval) in [&lhs, &rhs].into_iter().zip(&ins) {
            extents.extend(labels.chars().zip(aval.shape.iter().copied()));
        }
        let flops = extents.values().fold(2u64, |n, e| n.saturating_mul(*e as u64));
        out.push((format!("{lhs},{rhs}->{result}"), flops));
    }
    out
}

/// An equation and its cost.
struct Line {
    text: String,
    einsum: Option<String>,
    line: usize,
    shape: Vec<usize>,
    cost: Cost,
    repeated: Option<Repeated>,
}

impl Line {
    fn new(
        program: &Program,
        e: &Equation,
        values: &BTreeMap<Name, Tensor>,
        settings: &Settings,
        rounds: Option<&Rounds>,
    ) -> Done<Line> {
        // The target gets another name, so that it is an input where the equation reads it. This computes one
        // round of a fixpoint.
        let name = Name::from(format!("{} of one equation", e.target.name));
        let target = Ref { name: name.clone(), ..e.target.clone() };
        // The current time step becomes an input too, because rounds change it.
        let (mut moving, mut times) = (e.clone(), BTreeMap::new());
        if let Some(time) = e.target.places.iter().find(|p| is_time(p)).filter(|_| rounds.is_some()) {
            let parts = [&mut moving.value].into_iter().chain(&mut moving.guard);
            parts.for_each(|part| *part = replace_time(part, time, settings, &mut times));
        }
        let one = single_equation(program, &moving, target, values)?;
        let reads = moving.reads();
        let value = |n: &Name| times.get(n).or_else(|| values.get(n)).cloned();
        let inputs: BTreeMap<Name, Tensor> =
            reads.iter().filter_map(|r| Some((r.name.clone(), value(&r.name)?))).collect();
        let lowered = one.lower(&avals(&inputs), settings, &[name])?;
        let shape = lowered.graph.output_avals().first().map(|a| a.shape.to_vec()).unwrap_or_default();
        let timed = |r: &Ref| r.places.iter().any(is_time);
        let (cost, repeated) = match rounds {
            Some(rounds) => Cost::of_rounds(&lowered, &inputs, rounds, |n| {
                rounds.names.contains(n) || reads.iter().any(|r| r.name == *n && timed(r))
            })?,
            None => (Cost::of(&lowered, &inputs)?, None),
        };
        Ok(Line { text: shortened(&e.to_string()), einsum: einsum(e), line: 0, shape, cost, repeated })
    }

    fn json(&self) -> Value {
        let order: Vec<Value> =
            self.cost.order.iter().map(|(c, f)| json!({"einsum": c, "flops": f})).collect();
        let mut value = self.cost.json();
        if let Some(object) = value.as_object_mut() {
            object.insert("equation".into(), json!(self.text));
            object.insert("line".into(), json!(self.line));
            object.insert("einsum".into(), json!(self.einsum));
            object.insert("order".into(), json!(order));
            object.insert("shape".into(), json!(self.shape));
            // For rules over facts the number of rounds depends on the facts.
            let rounds = match self.repeated {
                None => Some(1),
                Some(Repeated::Rounds(n)) => Some(n),
                Some(Repeated::Facts) => None,
            };
            object.insert("rounds".into(), json!(rounds));
        }
        value
    }
}

fn is_time(place: &Place) -> bool {
    matches!(place.index, Index::Time(..))
}

/// Replaces functions of time, such as `index(t)`, by tensors read at each time step; `found` receives these
/// tensors.
fn replace_time(e: &Expr, time: &Place, settings: &Settings, found: &mut BTreeMap<Name, Tensor>) -> Expr {
    let Index::Time(own, _) = &time.index else { return e.clone() };
    match &e.kind {
        Kind::Of(function, index) if index == own && &**function != "size" => {
            let name = Name::from(format!("{function} of {own}"));
            found.insert(name.clone(), Tensor::iota(DType::I64, [settings.steps.unwrap_or(1)], 0));
            let place = Place { index: Index::Time(own.clone(), 0), dotted: false, ..time.clone() };
            Kind::Ref(Ref { name, places: vec![place], relation: false, span: e.span }).at(e.span)
        }
        _ => e.map_parts(&mut |part| replace_time(part, time, settings, found)),
    }
}

/// Returns the settings of a program that concern one equation. These are the number of steps, if the
/// equation depends on time, and the temperature of its target or of the name in `like`.
fn settings_of(e: &Equation, all: &Settings, steps: usize) -> Settings {
    fn like(e: &Expr) -> Option<&Name> {
        let own = match &e.kind {
            Kind::Call(c) => c.named.iter().find(|(k, _)| &**k == "like"),
            _ => None,
        };
        match own.map(|(_, v)| &v.kind) {
            Some(Kind::Text(name)) => Some(name),
            _ => e.parts().into_iter().find_map(like),
        }
    }
    let timed = |r: &Ref| r.places.iter().any(is_time);
    let name = like(&e.value).unwrap_or(&e.target.name);
    let temperature = all.temperatures.get(name).or_else(|| all.temperatures.get("*"));
    Settings {
        steps: (timed(&e.target) || e.reads().into_iter().any(timed)).then_some(steps),
        temperatures: temperature.map(|t| ("*".into(), *t)).into_iter().collect(),
        ..all.clone()
    }
}

/// Truncates the text of an equation to 80 characters, for long lists of numbers.
fn shortened(text: &str) -> String {
    if text.chars().count() <= 80 {
        text.to_string()
    } else {
        format!("{}…", text.chars().take(79).collect::<String>())
    }
}

/// Returns the einsum of an equation, if it is a product of tensors.
fn einsum(e: &Equation) -> Option<String> {
    let factors: Vec<&Expr> = match &e.value.kind {
        Kind::Product(factors) => factors.iter().collect(),
        _ => vec![&e.value],
    };
    let mut terms = Vec::new();
    for f in factors {
        match &f.kind {
            Kind::Ref(r) => terms.push(labels(r)?),
            Kind::Number(_) => {}
            _ => return None,
        }
    }
    terms.push(labels(&e.target)?);
    // Single letters are joined; longer names are separated by spaces.
    let separator = if terms.iter().flatten().all(|l| l.chars().count() == 1) { "" } else { " " };
    let mut spelled: Vec<String> = terms.iter().map(|t| t.join(separator)).collect();
    let left = spelled.pop()?;
    let between = if separator.is_empty() { "," } else { ", " };
    let arrow = if separator.is_empty() { "->" } else { " -> " };
    Some(format!("{}{arrow}{left}", spelled.join(between)))
}

fn labels(r: &Ref) -> Option<Vec<String>> {
    let label = |i: &Index| match i {
        Index::Named(name, 0) => Some(name.to_string()),
        _ => None,
    };
    r.places.iter().map(|p| label(&p.index)).collect()
}

fn text(lines: &[Line], whole: &Cost) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "{}: {}", line.line, line.text);
        if let Some(einsum) = line.einsum.as_ref().filter(|_| !line.cost.order.is_empty()) {
            let _ = writeln!(out, "    einsum   {einsum}");
        }
        for (i, (contraction, flops)) in line.cost.order.iter().enumerate() {
            let _ = writeln!(
                out,
                "    {}  {contraction}  {flops} FLOPs",
                if i == 0 { "order  " } else { "then   " }
            );
        }
        let _ = writeln!(
            out,
            "    {}{} FLOPs, {} bytes, {:?}, {}",
            match line.repeated {
                None => String::new(),
                Some(Repeated::Rounds(n)) => format!("{n} rounds: "),
                Some(Repeated::Facts) => "each new fact once, as bits; cost of one complete pass: ".into(),
            },
            line.cost.flops,
            line.cost.bytes,
            line.cost.time,
            line.cost.kinds()
        );
    }
    let rows: Vec<Vec<String>> = [("equations one by one", None), ("the program as one plan", Some(whole))]
        .into_iter()
        .map(|(name, cost)| {
            let sum = |f: &dyn Fn(&Cost) -> u64| match cost {
                Some(c) => f(c),
                None => lines.iter().map(|l| f(&l.cost)).sum(),
            };
            let micros = sum(&|c| c.time.as_nanos() as u64) as f64 / 1e3;
            vec![
                name.to_string(),
                sum(&|c| c.flops).to_string(),
                sum(&|c| c.bytes).to_string(),
                format!("{micros:.1}"),
                sum(&|c| c.steps.len() as u64).to_string(),
            ]
        })
        .collect();
    let _ = write!(out, "\n{}", show::table(&["", "FLOPs", "bytes", "µs", "kernels"], &rows));
    let _ = writeln!(out, "\nthe plan: {}; {} bytes of temporaries", whole.kinds(), whole.arena);
    out
}
