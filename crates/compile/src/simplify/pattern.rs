//! Rewrite rules given as two terms: a pattern to match and its replacement. Takes a node; returns the replacement if
//! the node matches. The rules themselves are in `algebra.rs`.

use super::{Expr, PartialGraph};
use gradus_ir::graph::{Id, Node};
use gradus_ir::ops::pointwise::Pointwise;
use gradus_ir::ops::pointwise::table::{add, and, eq, mul, ne, or, xor};
use gradus_ir::ops::select::Select;
use gradus_ir::ops::{Map, Op};
use gradus_ir::{Class, DType};

/// A rule that is expressed by a pattern.
pub(super) struct PatternRule {
    pub(super) name: &'static str,
    pub(super) exact: bool,
    pub(super) law: &'static str,
    /// The term to match.
    pub(super) pattern: Term,
    /// Returns true for the dtypes for which the law holds; see [`deciding_dtype`].
    pub(super) dtypes: fn(DType) -> bool,
    /// The replacement.
    pub(super) replacement: Term,
}

/// A term. A pattern is a term to match; a replacement is a term to build.
pub(super) enum Term {
    /// Any value. Terms with the same number match the same value.
    Any(usize),
    /// A constant with the same element at every index. Floats are compared by their bits: 0 is not -0.
    Num(f64),
    /// A pointwise op applied to terms.
    Apply(&'static Pointwise, &'static [Term]),
    /// A `select` of terms: condition, value if true, value if false.
    Choose(&'static [Term]),
}

pub(super) const X: Term = Term::Any(0);
pub(super) const Y: Term = Term::Any(1);
pub(super) const Z: Term = Term::Any(2);
pub(super) const C: Term = Term::Any(3);

/// The ops whose operands can be exchanged without changing a bit of the result. `maximum` is not among them: of 0 and
/// -0 it returns the first operand.
static COMMUTATIVE: [&Pointwise; 7] = [&add, &mul, &and, &or, &xor, &eq, &ne];

/// The value that each number in `Term::Any` is bound to.
type Bound = [Option<Id>; 4];

impl PatternRule {
    pub(super) fn rewrite(&self, graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
        let mut bound = Bound::default();
        let applies = matches_term(&self.pattern, graph, node, &mut bound)
            && (self.dtypes)(deciding_dtype(graph, node)?);
        applies.then(|| build(&self.replacement, node, &bound)).flatten()
    }
}

/// Returns the dtype that decides whether a rule applies: that of the first operand, or of the branches of a selection.
fn deciding_dtype(graph: &PartialGraph<'_>, node: &Node) -> Option<DType> {
    let at = matches!(node.op, Op::Select(_)) as usize;
    node.ins.get(at).map(|id| graph.aval(*id).dtype)
}

/// Returns true if a node matches a term. Records in `bound` the values that `Term::Any` matches. After a failed match,
/// `bound` is unspecified.
fn matches_term(term: &Term, graph: &PartialGraph<'_>, node: &Node, bound: &mut Bound) -> bool {
    match (term, &node.op) {
        (Term::Apply(op, terms), Op::Map(Map(own))) if std::ptr::eq(*op, *own) => {
            let before = *bound;
            if all(terms.iter(), graph, &node.ins, bound) {
                return true;
            }
            *bound = before;
            COMMUTATIVE.iter().any(|c| std::ptr::eq(*c, *op))
                && all(terms.iter().rev(), graph, &node.ins, bound)
        }
        (Term::Choose(terms), Op::Select(_)) => all(terms.iter(), graph, &node.ins, bound),
        _ => false,
    }
}

fn all(
    terms: impl Iterator<Item = &'static Term>,
    graph: &PartialGraph<'_>,
    ins: &[Id],
    bound: &mut Bound,
) -> bool {
    terms.zip(ins).all(|(term, &id)| match term {
        Term::Any(i) => *bound[*i].get_or_insert(id) == id,
        Term::Num(v) => graph.splat(id).is_some_and(|s| match graph.aval(id).dtype.class() {
            Class::Float => s.to_bits() == v.to_bits(),
            _ => s == *v,
        }),
        _ => matches_term(term, graph, graph.node(id), bound),
    })
}

/// Builds a replacement from the values that were matched.
fn build(term: &Term, node: &Node, bound: &Bound) -> Option<Expr> {
    let parts = |terms: &[Term]| terms.iter().map(|t| build(t, node, bound)).collect::<Option<Vec<Expr>>>();
    Some(match term {
        Term::Any(i) => Expr::Value(bound[*i]?),
        Term::Num(v) => Expr::full(&node.outs[0], *v),
        Term::Apply(op, terms) => Expr::apply(*op, parts(terms)?),
        Term::Choose(terms) => Expr::apply(Select {}, parts(terms)?),
    })
}
