//! `gradus query`: prints rows of a relation or elements of a tensor.

use crate::args::QueryArgs;
use crate::inputs::Ready;
use crate::show::Cell;
use crate::{Done, Failure, Terminal, open, show};
use gradus::files::json;
use gradus::lang::ast::{Expr, Index, Kind, Name};
use gradus::lang::{Diagnostic, Faults, Program, Source, Span, Symbols, parse_query};
use gradus::{DType, Tensor};

/// One argument of a query: a number or a symbol to match, or a name to bind.
enum Part {
    At(i64),
    Symbol(Name),
    Bind(Name),
}

pub(crate) fn run(args: &QueryArgs, terminal: &mut Terminal<'_>) -> Done {
    let opened = open::program(&args.file, terminal)?;
    let (name, parts) = parse(&opened.program, &args.query)?;
    let wanted = [name.clone()];
    let ready = args.given.ready(&opened, &wanted)?;
    open::note_single_step(&opened.program, &ready, terminal)?;
    let symbols = opened.program.symbols(&ready.settings);
    let parts = resolve_symbols(&args.query, &name, parts, &symbols)?;
    if let Some(answer) = by_facts(&opened.program, &name, &parts, &ready)? {
        let text = if args.json { answer.json(&name, &symbols) } else { answer.text(&name, &symbols) };
        write!(terminal.out, "{text}")?;
        return Ok(());
    }
    let value = match ready.inputs.get(&name) {
        Some(value) => value.clone(),
        None => opened
            .program
            .run(&ready.inputs, &ready.settings, &wanted)?
            .remove(&name)
            .ok_or_else(|| Failure::Run(format!("`{name}` has no value")))?,
    };
    let answer = rows(&args.query, &name, &parts, &value)?;
    let text = if args.json { answer.json(&name, &symbols) } else { answer.text(&name, &symbols) };
    write!(terminal.out, "{text}")?;
    Ok(())
}

/// Replaces symbols by their numbers.
fn resolve_symbols(query: &str, name: &Name, parts: Vec<Part>, symbols: &Symbols) -> Done<Vec<Part>> {
    let number = |(position, part): (usize, Part)| match part {
        Part::Symbol(symbol) => {
            let code = symbols.code(name, position, &symbol).map_err(|fault| query_fault(query, fault))?;
            Ok(Part::At(i64::from(code)))
        }
        part => Ok(part),
    };
    parts.into_iter().enumerate().map(number).collect()
}

/// Answers from facts, and computes only those that the query needs. Returns `None` unless the name is a
/// relation solved over tuples.
fn by_facts(program: &Program, name: &Name, parts: &[Part], ready: &Ready) -> Done<Option<Answer>> {
    if !program.definition(name).is_some_and(|d| d.relation) || ready.inputs.contains_key(name) {
        return Ok(None);
    }
    // Negative numbers and numbers out of range are handled by the tensor path.
    let inside = |p: usize, at: i64| {
        let n = program.position_size(name, p, &ready.settings)?;
        u32::try_from(at).ok().filter(|x| (*x as usize) < n)
    };
    let mut goal = Vec::with_capacity(parts.len());
    for (p, part) in parts.iter().enumerate() {
        goal.push(match part {
            Part::At(at) => match inside(p, *at) {
                Some(x) => Some(x),
                None => return Ok(None),
            },
            _ => None,
        });
    }
    let given = ready.inputs.keys().cloned().collect();
    let Some(facts) = program.facts_matching(&ready.settings, &given, name, &goal)? else { return Ok(None) };
    let mut names: Vec<(Name, usize)> = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        if let Part::Bind(n) = part
            && !names.iter().any(|(m, _)| m == n)
        {
            names.push((n.clone(), p));
        }
    }
    let shape = vec![usize::MAX; parts.len()];
    let mut rows = Vec::new();
    let none: [&[u32]; 1] = [&[]];
    let tuples = facts.tuples.chunks_exact(facts.width.max(1));
    for tuple in tuples.chain(none.into_iter().filter(|_| facts.width == 0 && facts.holds)) {
        let at: Vec<usize> = tuple.iter().map(|x| *x as usize).collect();
        rows.extend(bindings(parts, &names, &at, &shape).map(|row| (row, "true".to_string())));
    }
    Ok(Some(Answer { names, rows, truth: true }))
}

fn query_fault(query: &str, fault: Diagnostic) -> Failure {
    Failure::UsageAt(Faults { sources: vec![Source::new("query", query)], faults: vec![fault] })
}

/// Parses a query: the name of the tensor, and its arguments.
fn parse(program: &Program, query: &str) -> Done<(Name, Vec<Part>)> {
    let source = Source::new("query", query);
    let expr =
        parse_query(&source).map_err(|faults| Failure::UsageAt(Faults { sources: vec![source], faults }))?;
    let not_a_query = || {
        let what = "a query must be a tensor with its indices, such as Anc(1, x) or Probs[0, o]";
        query_fault(query, Diagnostic::error(expr.span, what))
    };
    let (name, parts): (Name, Option<Vec<Part>>) = match &expr.kind {
        Kind::Ref(r) => {
            let part = |i: &Index| match i {
                Index::Named(name, 0) => Some(Part::Bind(name.clone())),
                Index::At(at) => Some(Part::At(*at)),
                Index::Symbol(symbol, _) => Some(Part::Symbol(symbol.clone())),
                _ => None,
            };
            (r.name.clone(), r.places.iter().map(|p| part(&p.index)).collect())
        }
        Kind::Call(call) if call.named.is_empty() => {
            let part = |e: &Expr| match &e.kind {
                Kind::Ref(r) if r.places.is_empty() => Some(Part::Bind(r.name.clone())),
                Kind::Text(symbol) => Some(Part::Symbol(symbol.clone())),
                Kind::Number(x) if x.fract() == 0.0 && x.abs() < 9e15 => Some(Part::At(*x as i64)),
                _ => None,
            };
            (call.function.clone(), call.args.iter().map(part).collect())
        }
        _ => return Err(not_a_query()),
    };
    let parts = parts.ok_or_else(not_a_query)?;
    let Some(d) = program.definition(&name) else {
        let what = format!("the program has no tensor `{name}`");
        let fault = Diagnostic::error(expr.span, what).nearest(&name, program.names.iter().map(|n| &**n));
        return Err(query_fault(query, fault));
    };
    // Without a time index, the query is about the last time step.
    if parts.len() != d.rank && !(d.time.is_some() && parts.len() + 1 == d.rank) {
        let what = format!("`{name}` has {} indices, but the query has {}", d.rank, parts.len());
        return Err(query_fault(query, Diagnostic::error(expr.span, what).about(&name)));
    }
    Ok((name, parts))
}

/// The result of a query.
struct Answer {
    /// The bound names, each with its first position.
    names: Vec<(Name, usize)>,
    /// The indices to which the names are bound, with the value there.
    rows: Vec<(Vec<usize>, String)>,
    truth: bool,
}

fn rows(query: &str, name: &Name, parts: &[Part], value: &Tensor) -> Done<Answer> {
    let truth = value.dtype() == DType::Bool;
    let shape = value.shape().to_vec();
    if shape.len() != parts.len() {
        let what =
            format!("`{name}` has shape {} here, but the query has {} indices", value.shape(), parts.len());
        return Err(query_fault(query, Diagnostic::error(Span::default(), what).about(name)));
    }
    let mut names: Vec<(Name, usize)> = Vec::new();
    for (position, (part, n)) in parts.iter().zip(&shape).enumerate() {
        match part {
            Part::At(at) if !(-(*n as i64)..*n as i64).contains(at) => {
                let what =
                    format!("index {at} is out of range for `{name}`, whose axis {position} has size {n}");
                return Err(query_fault(query, Diagnostic::error(Span::default(), what).about(name)));
            }
            Part::Bind(name) if !names.iter().any(|(n, _)| n == name) => names.push((name.clone(), position)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    let mut at = vec![0usize; shape.len()];
    for x in json::items(value)? {
        if (!truth || x == "true")
            && let Some(row) = bindings(parts, &names, &at, &shape)
        {
            found.push((row, x));
        }
        for axis in (0..shape.len()).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
    Ok(Answer { names, rows: found, truth })
}

/// Returns the indices to which names are bound at the element `at`; `None` if the element does not match the
/// query.
fn bindings(parts: &[Part], names: &[(Name, usize)], at: &[usize], shape: &[usize]) -> Option<Vec<usize>> {
    let mut row: Vec<Option<usize>> = vec![None; names.len()];
    for ((part, i), n) in parts.iter().zip(at).zip(shape) {
        match part {
            Part::At(held) => {
                let held = if *held < 0 { held.saturating_add_unsigned(*n as u64) } else { *held };
                if held != *i as i64 {
                    return None;
                }
            }
            Part::Symbol(_) => return None,
            Part::Bind(name) => {
                let own = row.get_mut(names.iter().position(|(m, _)| m == name)?)?;
                if own.is_some_and(|before| before != *i) {
                    return None;
                }
                *own = Some(*i);
            }
        }
    }
    row.into_iter().collect()
}

impl Answer {
    fn text(&self, name: &str, symbols: &Symbols) -> String {
        if self.names.is_empty() {
            return match (self.truth, self.rows.first()) {
                (true, row) => if row.is_some() { "yes\n" } else { "no\n" }.to_string(),
                (false, Some((_, x))) => format!("{}\n", x.trim_matches('"')),
                (false, None) => String::new(),
            };
        }
        let mut heading: Vec<&str> = self.names.iter().map(|(n, _)| &**n).collect();
        if !self.truth {
            heading.push("value");
        }
        let row = |(bound, x): &(Vec<usize>, String)| {
            let value = (!self.truth).then(|| x.trim_matches('"').to_string());
            let cell = |((_, p), at): (&(Name, usize), &usize)| Cell::new(symbols, name, *p, *at).text();
            self.names.iter().zip(bound).map(cell).chain(value).collect::<Vec<_>>()
        };
        show::table(&heading, &self.rows.iter().map(row).collect::<Vec<_>>())
    }

    /// Writes the rows as a JSON list of objects, or a single value if the query binds no names.
    fn json(&self, name: &str, symbols: &Symbols) -> String {
        let value = |x: &str| serde_json::from_str(x).unwrap_or(serde_json::Value::Null);
        if self.names.is_empty() {
            let one = match (self.truth, self.rows.first()) {
                (true, row) => row.is_some().into(),
                (false, row) => row.map_or(serde_json::Value::Null, |r| value(&r.1)),
            };
            return format!("{one}\n");
        }
        let row = |(bound, x): &(Vec<usize>, String)| {
            let mut object = serde_json::Map::new();
            for ((n, p), i) in self.names.iter().zip(bound) {
                object.insert(n.to_string(), Cell::new(symbols, name, *p, *i).json());
            }
            if !self.truth {
                object.insert(name.to_string(), value(x));
            }
            serde_json::Value::Object(object)
        };
        format!("{}\n", serde_json::Value::Array(self.rows.iter().map(row).collect()))
    }
}
