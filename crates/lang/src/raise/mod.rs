//! Raising: writes any graph as equations. Index algebra becomes index algebra, ops with a name in the language become
//! calls, and all others are written as the graph of one op.

mod arrays;
mod control;
mod draft;
mod forms;
mod function;
mod linear;
mod numbers;
mod rounds;
mod rules;
mod time;

use crate::builtin::find;
use crate::program::Program;
use crate::syntax::ast::{Index, Kind, Name, Place, Statement};
use crate::syntax::source::Span;
use draft::Drafts;
use gradus_ir::graph::Id;
use gradus_ir::ops::Form;
use gradus_ir::{Class, DType, Graph, Result};
use std::collections::{BTreeSet, HashMap};

/// The way in which an axis of a tensor is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    /// Along an axis of the value.
    Axis(usize),
    /// At a fixed position.
    At(i64),
}

/// The source of a value.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// One number for all elements, with its dtype if it must be stated.
    Number(f64, Option<DType>),
    /// A tensor of the program, with how each of its axes is read; it is repeated along axes of the value that none
    /// reads.
    Tensor(Name, Vec<Source>),
}

/// A value of the graph as the program reads it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) base: Base,
    /// The index class of each axis; classes are joined when axes are combined.
    pub(crate) kinds: Vec<usize>,
    /// The time step at which the tensor is read, if it has time after its other indices.
    pub(crate) when: Option<Index>,
}

impl View {
    /// Returns a tensor by its name.
    pub(crate) fn named(name: Name, kinds: Vec<usize>, when: Option<Index>) -> View {
        View { base: Base::Tensor(name, (0..kinds.len()).map(Source::Axis).collect()), kinds, when }
    }

    /// Returns the value with axes of other kinds; `source_of` returns the source that replaces an axis.
    pub(crate) fn with_axes(&self, kinds: Vec<usize>, source_of: impl Fn(usize) -> Source) -> View {
        let replaced = |s: &Source| match s {
            Source::Axis(axis) => source_of(*axis),
            Source::At(index) => Source::At(*index),
        };
        let base = match &self.base {
            Base::Number(x, dtype) => Base::Number(*x, *dtype),
            Base::Tensor(name, sources) => Base::Tensor(name.clone(), sources.iter().map(replaced).collect()),
        };
        View { base, kinds, when: self.when.clone() }
    }

    /// Returns the time index at which it is read.
    pub(crate) fn time_place(&self) -> Option<Place> {
        self.when.clone().map(|index| Place { index, dotted: false, span: Span::default() })
    }

    /// Returns true if an axis is read at all.
    pub(crate) fn reads(&self, axis: usize) -> bool {
        matches!(&self.base, Base::Tensor(_, sources) if sources.contains(&Source::Axis(axis)))
    }

    /// Returns true for a tensor with all its axes in order.
    pub(crate) fn is_plain(&self) -> bool {
        let in_order = |sources: &[Source]| sources.iter().enumerate().all(|(i, s)| *s == Source::Axis(i));
        matches!(&self.base, Base::Tensor(_, sources) if sources.len() == self.kinds.len() && in_order(sources))
    }
}

/// Writes a graph as a program. Inputs keep their names if possible; outputs get these names.
pub fn raise(graph: &Graph, outputs: &[&str]) -> Result<String> {
    let mut taken: BTreeSet<Name> = BTreeSet::new();
    let mut drafts = Drafts::new(float_of(graph));
    let mut given = Vec::new();
    let wanted: Vec<Name> = (0..graph.outputs().len())
        .map(|i| match outputs.get(i) {
            Some(name) => unused(name, &mut taken),
            None if graph.outputs().len() == 1 => unused("Out", &mut taken),
            None => unused(&format!("Out{i}"), &mut taken),
        })
        .collect();
    for (name, id) in graph.inputs() {
        let name = unused(&not_reserved(name), &mut taken);
        let extents = &graph.aval(*id).shape;
        let kinds: Vec<usize> = extents.iter().map(|n| drafts.kind(*n)).collect();
        given.push(View::named(name, kinds, None));
    }
    drafts.taken = taken;
    let inputs: Vec<Name> = given.iter().filter_map(|s| s.name().cloned()).collect();
    let kept = |dtype: DType, drafts: &Drafts| {
        let kept = matches!(dtype, DType::Bool | DType::I64) || dtype.is_complex();
        kept || drafts.said(dtype).is_none()
    };
    for (view, (_, id)) in given.iter_mut().zip(graph.inputs()) {
        let dtype = graph.aval(*id).dtype;
        if !kept(dtype, &drafts) {
            *view = drafts.cast(view, dtype);
        }
    }
    let results = forms::walk(graph, &given, &mut drafts)?;
    let mut names: HashMap<Name, Name> = HashMap::new();
    for ((view, id), out) in results.into_iter().zip(graph.outputs()).zip(&wanted) {
        // Booleans may have become numbers on the way.
        let truth = graph.aval(*id).dtype == DType::Bool;
        let view = if truth && !drafts.is_truth(&view) { drafts.cast(&view, DType::Bool) } else { view };
        match view.name() {
            Some(own)
                if view.is_plain()
                    && view.when.is_none()
                    && !inputs.contains(own)
                    && !names.contains_key(own) =>
            {
                names.insert(own.clone(), out.clone());
            }
            _ => drafts.copy(&view, out.clone(), None),
        }
    }
    let results = wanted.iter().cloned().chain(names.keys().cloned()).collect();
    drafts.drafts = function::needed(&drafts.drafts, results).0;
    let mut text = String::new();
    for statement in drafts.finish(&names) {
        text.push_str(&format!("{statement}\n"));
    }
    let exports = wanted.iter().map(|n| (n.clone(), Span::default())).collect();
    if !wanted.is_empty() {
        text.push_str(&format!("{}\n", Statement::Export(exports)));
    }
    Ok(text)
}

impl View {
    fn name(&self) -> Option<&Name> {
        match &self.base {
            Base::Tensor(name, _) => Some(name),
            Base::Number(..) => None,
        }
    }
}

/// Returns the dtype of a graph's floats, if there is only one: the program then need not state it.
fn float_of(graph: &Graph) -> Option<DType> {
    fn note(graph: &Graph, found: &mut Vec<DType>) {
        for node in graph.nodes() {
            found.extend(node.outs.iter().map(|a| a.dtype.real()).filter(|d| d.class() == Class::Float));
            let avals: Vec<_> = node.ins.iter().map(|i| graph.aval(*i).clone()).collect();
            match node.op.def().form(&avals) {
                Form::Region(body) => note(&body, found),
                Form::Switch(branches) => branches.iter().for_each(|b| note(b, found)),
                Form::Scan(scan) => note(&scan.body, found),
                Form::While(repeat) => {
                    note(&repeat.condition, found);
                    note(&repeat.body, found);
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    note(graph, &mut found);
    let one = found.first().copied().filter(|d| matches!(d, DType::F32 | DType::F64));
    one.filter(|one| found.iter().all(|d| d == one))
}

/// Words with a meaning of their own in programs.
const RESERVED: &[&str] = &[
    "as", "axis", "case", "const", "def", "default", "export", "false", "fn", "import", "inf", "let",
    "param", "reduce", "true", "when", "while",
];

/// Changes the name of an input that programs would read as a word of the language or as a builtin.
fn not_reserved(name: &str) -> String {
    let is_reserved = RESERVED.contains(&name) || find(name, &Program::default()).is_some();
    if is_reserved { format!("{name}_") } else { name.to_string() }
}

/// Returns a similar name that the language can parse and that is not taken.
fn unused(like: &str, taken: &mut BTreeSet<Name>) -> Name {
    let clean: String = like.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let starts = !clean.starts_with(|c: char| c.is_ascii_digit()) && clean.contains(|c: char| c != '_');
    let base = if starts { clean } else { format!("T{clean}") };
    let mut name = Name::from(base.as_str());
    let mut n = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{n}").into();
        n += 1;
    }
    name
}

/// Values by node and result.
pub(crate) type Known = HashMap<Id, View>;

/// Returns a number as an expression. Infinities and NaN have no digits, so they are quotients by 0.
pub(crate) fn number(x: f64) -> crate::syntax::ast::Expr {
    if x.is_finite() {
        return Kind::Number(x).bare();
    }
    let above = if x.is_nan() { 0.0 } else { x.signum() };
    let above = match above < 0.0 {
        true => Kind::Negative(Box::new(Kind::Number(-above).bare())),
        false => Kind::Number(above),
    };
    Kind::Quotient(Box::new([above.bare(), Kind::Number(0.0).bare()])).bare()
}
