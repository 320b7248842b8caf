//! Prints the op reference of the book as Markdown, from the catalog: signature, meaning, derivative, dtypes, example.
//!
//! `cargo xtask docs` replaces `{{#ops}}` in `docs/ops.md` by the output. Meanings and partial derivatives of
//! pointwise ops are the texts of the catalog itself; every number is computed by the reference evaluator.

use gradus_ir::graph::{Builder, Graph, Var};
use gradus_ir::ops::pointwise::{self, Pointwise};
use gradus_ir::ops::{self, Derivative, Op, Operands, Sample};
use gradus_ir::{Class, DType, Literal, Result, reference, transform};
use std::collections::BTreeSet;

/// A pointwise op as its block in the catalog states it: name, operands, fields.
type Block = (&'static str, &'static str, &'static str);

/// Families of pointwise ops, in the order of the catalog.
const FAMILIES: &[(&str, &str)] = &[
    ("add", "Arithmetic"),
    ("eq", "Comparisons"),
    ("exp", "Exponentials and powers"),
    ("sin", "Trigonometric and hyperbolic functions"),
    ("erf", "Special functions"),
    ("floor", "Rounding"),
    ("and", "Logic and bits"),
];

fn main() -> Result<()> {
    let blocks = blocks();
    println!("## Pointwise ops\n");
    println!("The same function of the operands at every index. `y` is the result.\n");
    for op in pointwise::all() {
        if let Some((_, title)) = FAMILIES.iter().find(|(first, _)| *first == op.name) {
            println!("### {title}\n");
        }
        let block = blocks.iter().find(|(name, ..)| *name == op.name);
        print_pointwise(op, block)?;
    }
    println!("## Structural ops\n");
    println!("Their attributes are part of the op. Each example is a graph as `print` writes it.\n");
    let samples = ops::samples().cases;
    let mut printed = BTreeSet::new();
    for name in Op::STRUCTURAL {
        if printed.insert(*name) {
            print_structural(name, &samples)?;
        }
    }
    Ok(())
}

/// Collects the blocks of all families.
fn blocks() -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    macro_rules! collect {
        ($($(#[doc = $doc:literal])* $name:ident $args:tt -> $y:ident { $($field:tt)* })*) => {
            $(all.push((stringify!($name), stringify!($args), stringify!($($field)*)));)*
        };
    }
    gradus_ir::for_each_pointwise!(collect);
    all
}

fn print_pointwise(op: &'static Pointwise, block: Option<&Block>) -> Result<()> {
    let fields = block.map_or("", |b| b.2);
    println!("#### `{}{}`\n", op.name, block.map_or("", |b| b.1));
    println!("{}\n", op.docs.trim().replace("\n ", " "));
    let field = |name: &str| field(fields, name);
    let mut rows = Vec::new();
    if let Some(meaning) = field("float").or_else(|| field("int")) {
        rows.push(("meaning", code(&meaning)));
    }
    rows.push(("derivative", derivative_text(op, field("partials"))));
    rows.push(("dtypes", dtypes(|d| op.takes(d))));
    rows.push(("bound", format!("{} ulp from the reference", op.ulp)));
    if let Some(text) = example(op)? {
        rows.push(("example", code(&text)));
    }
    print_table(&rows);
    Ok(())
}

/// Returns the text of a field of a block, from its name to the semicolon outside brackets.
fn field(fields: &str, name: &str) -> Option<String> {
    let flat = fields.split_whitespace().collect::<Vec<_>>().join(" ");
    let at = [format!("{name}: "), format!("{name} : ")];
    let (start, key) = at.iter().filter_map(|k| Some((flat.find(k.as_str())?, k))).min()?;
    let rest = &flat[start + key.len()..];
    let mut depth = 0i32;
    let end = rest.char_indices().find(|(_, c)| {
        depth += match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        depth == 0 && *c == ';'
    });
    Some(rest[..end.map_or(rest.len(), |(i, _)| i)].trim().to_string())
}

fn derivative_text(op: &Pointwise, partials: Option<String>) -> String {
    match partials {
        Some(text) => {
            let text = text.trim_start_matches('[').trim_end_matches(']').trim().replace(", - ", ", -");
            code(text.strip_prefix("- ").map_or(text.clone(), |rest| format!("-{rest}")).as_str())
        }
        None if op.constant => "0: constant between jumps".into(),
        None => "none: the result is not a float".into(),
    }
}

/// Returns the value and the derivatives of an op at a point inside of its domain, as text.
fn example(op: &'static Pointwise) -> Result<Option<String>> {
    let at = |i: usize| {
        let (low, high) = op.domain_of(i);
        let share = [0.75, 0.625, 0.25][i.min(2)];
        ((low + (high - low) * share) * 8.0).round() / 8.0
    };
    let (dtype, points): (DType, Vec<f64>) = match op.float.is_some() {
        true => (DType::F64, (0..op.arity).map(at).collect()),
        false if op.int.is_some() => (DType::I64, [6.0, 3.0].into_iter().take(op.arity).collect()),
        false => return Ok(None),
    };
    let ins: Vec<Literal> = points
        .iter()
        .map(|p| {
            if dtype == DType::F64 {
                Literal::scalar(dtype, *p)
            } else {
                Literal::int_scalar(dtype, *p as i64)
            }
        })
        .collect();
    let graph = graph_of(&Op::from(op), &ins)?;
    let value = reference::evaluate(&graph, &ins)?;
    let arguments: Vec<String> = points.iter().map(f64::to_string).collect();
    let mut text = format!("{}({}) = {}", op.name, arguments.join(", "), number(&value[0]));
    if op.partials.is_some() && dtype == DType::F64 {
        let wrt: Vec<usize> = (0..op.arity).collect();
        let gradient = transform::vjp(&graph, &wrt)?;
        let mut with_seed = ins.clone();
        with_seed.push(Literal::scalar(dtype, 1.0));
        let slopes = reference::evaluate(&gradient, &with_seed)?;
        let slopes: Vec<String> = slopes.iter().map(number).collect();
        text += &format!(", derivative {}", slopes.join(" and "));
    }
    Ok(Some(text))
}

fn print_structural(name: &str, samples: &[Sample]) -> Result<()> {
    let of = |s: &&Sample| s.op.name() == name;
    let small = |s: &&Sample| s.ins.iter().all(|l| l.shape().numel() > 0 && l.shape().numel() <= 24);
    let sample = samples.iter().filter(of).find(small).or_else(|| samples.iter().find(of));
    println!("### `{name}`\n");
    let Some(sample) = sample else {
        println!("Has no operands: the builder makes it.\n");
        return Ok(());
    };
    let def = sample.op.def();
    println!("{}\n", def.docs().trim().replace("\n ", " "));
    let graph = graph_of(&sample.op, &sample.ins)?;
    let mut rows = Vec::new();
    let operands: Vec<String> = sample.ins.iter().map(|l| l.aval().to_string()).collect();
    let results: Vec<String> = graph.output_avals().iter().map(ToString::to_string).collect();
    rows.push(("signature", code(&format!("{name}({}) → {}", operands.join(", "), results.join(", ")))));
    let attrs: Vec<String> = def.attrs().iter().map(|(key, _)| format!("`{key}`")).collect();
    if !attrs.is_empty() {
        rows.push(("attributes", attrs.join(" ")));
    }
    rows.push(("derivative", kind_text(def.derivative())));
    if let Some(takes) = taken_dtypes(sample) {
        rows.push(("dtypes", takes));
    }
    print_table(&rows);
    let forward = graph.to_string();
    println!("```text\n{}\n```\n", forward.trim());
    let wrt: Vec<usize> = (0..sample.ins.len()).filter(|i| is_float(sample.ins[*i].dtype())).collect();
    let gradient = if wrt.is_empty() || def.derivative() == Derivative::Zero {
        None
    } else {
        transform::vjp(&graph, &wrt).ok()
    };
    match gradient {
        Some(gradient) if gradient.nodes().len() <= 24 => {
            println!("Its gradient:\n\n```text\n{}\n```\n", gradient.to_string().trim());
        }
        Some(gradient) => println!("Its gradient is a graph of {} nodes.\n", gradient.nodes().len()),
        None => {}
    }
    Ok(())
}

/// Returns the dtypes that the op accepts instead of those of the sample's floats.
fn taken_dtypes(sample: &Sample) -> Option<String> {
    let swapped = |d: DType| {
        let of = |l: &Literal| if is_float(l.dtype()) { l.aval().with_dtype(d) } else { l.aval().clone() };
        sample.ins.iter().map(of).collect::<Vec<_>>()
    };
    sample.ins.iter().any(|l| is_float(l.dtype())).then(|| dtypes(|d| sample.op.infer(&swapped(d)).is_ok()))
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype.class(), Class::Float | Class::Complex)
}

fn kind_text(kind: Derivative) -> String {
    let operands = |o: Operands| match o {
        Operands::All => "all operands".to_string(),
        Operands::Only(list) => {
            format!("operand {}", list.iter().map(usize::to_string).collect::<Vec<_>>().join(" and "))
        }
    };
    match kind {
        Derivative::Pointwise => "pointwise: a factor per operand".into(),
        Derivative::Linear(o) => {
            format!("linear in {}: forward mode is the op itself, reverse mode its transpose", operands(o))
        }
        Derivative::Multilinear(o) => {
            format!("linear in each of {}: a sum over them; the transpose of each", operands(o))
        }
        Derivative::Jvp => "a rule for tangents; reverse mode transposes it".into(),
        Derivative::LinearJvp(o) => format!("linear in {}; a rule for tangents of the others", operands(o)),
        Derivative::Structural => "that of the graphs it holds".into(),
        Derivative::Zero => "0: constant between jumps, or not a float".into(),
        Derivative::Unknown => "not known: asking for it is an error".into(),
    }
}

/// Returns a graph of one application.
fn graph_of(op: &Op, ins: &[Literal]) -> Result<Graph> {
    let builder = Builder::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    let inputs: Vec<Var<'_>> = ins
        .iter()
        .enumerate()
        .map(|(i, l)| builder.input(names.get(i).unwrap_or(&"x"), l.aval().clone()))
        .collect();
    let outputs = builder.apply(op.clone(), &inputs);
    builder.finish(&outputs)
}

fn dtypes(takes: impl Fn(DType) -> bool) -> String {
    DType::ALL
        .into_iter()
        .filter(|d| takes(*d))
        .map(|d| format!("`{}`", d.name()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Formats a number with at most six digits after the point.
fn number(l: &Literal) -> String {
    match l.dtype().class() {
        Class::Float => {
            let text = format!("{:.6}", l.f()[0]);
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
        Class::Complex => format!("{}", l.c()[0]),
        Class::Int | Class::Bool => l.i()[0].to_string(),
    }
}

/// Formats text as code in a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn print_table(rows: &[(&str, String)]) {
    println!("| | |\n|---|---|");
    for (name, value) in rows {
        println!("| {name} | {value} |");
    }
    println!();
}
