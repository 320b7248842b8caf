//! Laws as patterns: a term to find and a term to put in its place.

use super::{Expr, Seen};
use gradus_ir::graph::{Id, Node};
use gradus_ir::ops::pointwise::Pointwise;
use gradus_ir::ops::pointwise::table::{add, and, eq, mul, ne, or, xor};
use gradus_ir::ops::select::Select;
use gradus_ir::ops::{Map, Op};
use gradus_ir::{Class, DType};

/// A law that a pattern can say.
pub(super) struct Law {
    pub(super) name: &'static str,
    pub(super) exact: bool,
    pub(super) law: &'static str,
    pub(super) find: Term,
    /// Which dtypes of the first operand it holds for.
    pub(super) on: fn(DType) -> bool,
    pub(super) put: Term,
}

/// A term: in what is found, what must be there; in what is put, what to build.
pub(super) enum Term {
    /// Any value; the same number is the same value.
    Any(usize),
    /// A constant of one value everywhere. Floats by their bits: 0 is not -0.
    Num(f64),
    /// A row of the table.
    Apply(&'static Pointwise, &'static [Term]),
    /// A choice.
    Choose(&'static [Term]),
}

pub(super) const X: Term = Term::Any(0);
pub(super) const Y: Term = Term::Any(1);
pub(super) const Z: Term = Term::Any(2);
pub(super) const C: Term = Term::Any(3);

/// Rows whose operands may be exchanged without changing a bit. Not `maximum`: of two zeros it gives the first.
static EITHER_WAY: [&Pointwise; 7] = [&add, &mul, &and, &or, &xor, &eq, &ne];

type Bound = [Option<Id>; 4];

impl Law {
    pub(super) fn rewrite(&self, seen: &Seen<'_>, node: &Node) -> Option<Expr> {
        let mut bound = Bound::default();
        let found = found(&self.find, seen, node, &mut bound) && (self.on)(class_giver(seen, node)?);
        found.then(|| put(&self.put, node, &bound)).flatten()
    }
}

/// The dtype that a law is about: that of the first operand, or of the branches of a choice.
fn class_giver(seen: &Seen<'_>, node: &Node) -> Option<DType> {
    let at = matches!(node.op, Op::Select(_)) as usize;
    node.ins.get(at).map(|id| seen.aval(*id).dtype)
}

fn found(term: &Term, seen: &Seen<'_>, node: &Node, bound: &mut Bound) -> bool {
    match (term, &node.op) {
        (Term::Apply(row, terms), Op::Map(Map(own))) if std::ptr::eq(*row, *own) => {
            let before = *bound;
            if all(terms.iter(), seen, &node.ins, bound) {
                return true;
            }
            *bound = before;
            EITHER_WAY.iter().any(|r| std::ptr::eq(*r, *row))
                && all(terms.iter().rev(), seen, &node.ins, bound)
        }
        (Term::Choose(terms), Op::Select(_)) => all(terms.iter(), seen, &node.ins, bound),
        _ => false,
    }
}

fn all(terms: impl Iterator<Item = &'static Term>, seen: &Seen<'_>, ins: &[Id], bound: &mut Bound) -> bool {
    terms.zip(ins).all(|(term, &id)| match term {
        Term::Any(i) => *bound[*i].get_or_insert(id) == id,
        Term::Num(v) => seen.splat(id).is_some_and(|s| match seen.aval(id).dtype.class() {
            Class::Float => s.to_bits() == v.to_bits(),
            _ => s == *v,
        }),
        _ => found(term, seen, seen.node(id), bound),
    })
}

fn put(term: &Term, node: &Node, bound: &Bound) -> Option<Expr> {
    let parts = |terms: &[Term]| terms.iter().map(|t| put(t, node, bound)).collect::<Option<Vec<Expr>>>();
    Some(match term {
        Term::Any(i) => Expr::Is(bound[*i]?),
        Term::Num(v) => Expr::full(&node.outs[0], *v),
        Term::Apply(row, terms) => Expr::of(*row, parts(terms)?),
        Term::Choose(terms) => Expr::of(Select {}, parts(terms)?),
    })
}
