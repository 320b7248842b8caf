//! Core: equations in which nothing depends on the line around an expression. Every inner sum is a `Reduce`, every call
//! has its function, its axes and the name whose temperature it uses, and choices have one form. `elaborate` makes Core
//! from the surface tree; evaluation reads nothing else.
//!
//! Within an equation the name of an index is its identity. A `Product` multiplies and never sums. What the left side
//! lacks is combined by the equation's reduction after the guard.

use crate::builtin::{Callee, Mixes};
use crate::elaborate::scope::{Names, distinct, keys, place_keys};
use crate::syntax::ast::{self, Array, Comparison, Inside, Name, Projection};
use crate::syntax::source::Span;

/// One entry between the brackets of a tensor.
pub(crate) type Index = ast::Index<Expr>;
/// An entry with its location.
pub(crate) type Place = ast::Place<Expr>;
/// A tensor read or written at its indices.
pub(crate) type Ref = ast::Ref<Expr>;

/// One term of a name: `Y[i] max= … when …`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Equation {
    /// The left side.
    pub(crate) target: Ref,
    /// Elements at which this does not hold contribute nothing.
    pub(crate) guard: Option<Expr>,
    /// The reduction over the indices that the left side lacks, and of several equations of one name.
    pub(crate) projection: Projection,
    /// The right side. In a relation, each term of a `Sum` is reduced to the left side on its own.
    pub(crate) value: Expr,
    /// If true, time on the left must be walked step by step even if the name does not depend on itself.
    pub(crate) by_step: bool,
    /// If true, the name is read from a file; then the right side is not a value.
    pub(crate) is_file: bool,
    /// The position of the equation among those of its program or function.
    pub(crate) number: usize,
    /// The span of the entire equation.
    pub(crate) span: Span,
}

/// An expression with its location. Equality ignores the location.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.kind == other.kind
    }
}

/// The kind of an expression, with its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Number(f64),
    /// A list of numbers, whose axes are those of the left side, and its location, which may be inside of `const`.
    Array(Array, Span),
    /// `const(2 K)`: a number that is known before the run.
    Known(Box<ast::Expr>),
    /// An expression without a value, with the error, unless it has been reported, and its parts.
    Invalid(Option<&'static str>, Vec<Expr>),
    Ref(Ref),
    /// A function of an index itself: `even(i)`.
    Of(Name, Callee, Name),
    Call(Box<Call>),
    /// A product without any sum.
    Product(Vec<Expr>),
    Quotient(Box<[Expr; 2]>),
    Sum(Vec<Expr>),
    Negative(Box<Expr>),
    Power(Box<[Expr; 2]>),
    Compare(Comparison, Box<[Expr; 2]>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    Not(Box<Expr>),
    /// The value of the first condition that holds, else the last one, else 0.
    Choose(Vec<[Expr; 2]>, Option<Box<Expr>>),
    /// A reduction over indices of the body. `Written` if the program has it, so that a missing index is an error.
    Reduce(Projection, Vec<Name>, Box<Expr>, Origin),
}

/// The origin of a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// `reduce(max, j) …`.
    Written,
    /// The sum over indices that appear in several factors of a product.
    Product,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

/// A call of a function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The name of the function, with a suffix for each derivative.
    pub(crate) function: Name,
    pub(crate) callee: Callee,
    pub(crate) args: Vec<Arg>,
    /// The settings by keyword, as written, without `like`.
    pub(crate) settings: Vec<(Name, ast::Expr)>,
    /// The index names in the settings as written: axes and ranges.
    pub(crate) bound: Names,
    /// The axes that the function works along. `None` if it works along none, or if the axes of its first argument are
    /// known only when that has a value: then they are the last one, or all.
    pub(crate) axes: Option<Vec<Name>>,
    /// The location of `axis=`, else of the first argument.
    pub(crate) axes_at: Span,
    /// The index with a dot on the left, if axes are open.
    pub(crate) dotted: Option<Name>,
    /// The name whose temperature counts.
    pub(crate) like: Name,
    /// The axes along which the result at one position needs its arguments at others.
    pub(crate) mixes: Mixes,
    /// For a derivative: the position of the argument that it is taken for.
    pub(crate) by: Option<usize>,
    /// If true, the call is the entire right side, so that the left side names all its axes.
    pub(crate) whole: bool,
}

impl PartialEq for Call {
    fn eq(&self, other: &Call) -> bool {
        let args = |c: &Call| c.args.iter().map(|a| a.value.clone()).collect::<Vec<_>>();
        let settings = |c: &Call| {
            let other = |s: &&(Name, ast::Expr)| c.axes.is_none() || &*s.0 != "axis";
            c.settings.iter().filter(other).cloned().collect::<Vec<_>>()
        };
        self.function == other.function
            && args(self) == args(other)
            && settings(self) == settings(other)
            && self.axes == other.axes
            && self.dotted == other.dotted
            && self.like == other.like
            && self.whole == other.whole
    }
}

/// An argument, and its indices in the order of its axes.
#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub(crate) value: Expr,
    pub(crate) names: Vec<Name>,
}

impl Expr {
    /// Returns true if `f` holds for one of the parts; stops at the first such part.
    pub(crate) fn any_part<'a>(&'a self, mut f: impl FnMut(&'a Expr) -> bool) -> bool {
        match &self.kind {
            Kind::Number(_) | Kind::Array(..) | Kind::Known(_) | Kind::Of(..) => false,
            Kind::Ref(r) => r.computed().any(f),
            Kind::Product(parts) | Kind::Sum(parts) | Kind::Invalid(_, parts) => parts.iter().any(f),
            Kind::Call(call) => call.args.iter().any(|a| f(&a.value)),
            Kind::Quotient(two)
            | Kind::Power(two)
            | Kind::Compare(_, two)
            | Kind::And(two)
            | Kind::Or(two) => two.iter().any(f),
            Kind::Negative(one) | Kind::Not(one) | Kind::Reduce(_, _, one, _) => f(one),
            Kind::Choose(cases, otherwise) => cases.iter().flatten().chain(otherwise.as_deref()).any(f),
        }
    }

    /// Returns true if `f` holds for the expression or for an expression within.
    pub(crate) fn any(&self, f: &impl Fn(&Expr) -> bool) -> bool {
        f(self) || self.any_part(|part| part.any(f))
    }

    /// Returns the parts of an expression, in order.
    pub(crate) fn parts(&self) -> Vec<&Expr> {
        let mut out = Vec::new();
        self.any_part(|part| {
            out.push(part);
            false
        });
        out
    }

    /// Returns true if the expression contains a function of an index itself, such as `even(i)`.
    pub(crate) fn is_of_index(&self) -> bool {
        self.any(&|e| matches!(e.kind, Kind::Of(..)))
    }

    /// Returns true if `f` holds for one of the tensors read.
    pub(crate) fn any_ref<'a>(&'a self, f: &mut impl FnMut(&'a Ref) -> bool) -> bool {
        match &self.kind {
            Kind::Ref(r) => f(r) || self.any_part(|part| part.any_ref(f)),
            _ => self.any_part(|part| part.any_ref(f)),
        }
    }

    /// Returns every tensor read, left to right.
    pub(crate) fn refs(&self) -> Vec<&Ref> {
        let mut out = Vec::new();
        self.any_ref(&mut |r| {
            out.push(r);
            false
        });
        out
    }

    /// Returns true if an index appears in the expression, also as the axis of a call or of a reduction.
    pub(crate) fn has_index(&self, name: &Name) -> bool {
        self.any(&|e| match &e.kind {
            Kind::Ref(r) => r.places.iter().any(|p| place_keys(p).contains(name)),
            Kind::Of(_, _, index) => index == name,
            Kind::Reduce(_, axes, ..) => axes.contains(name),
            Kind::Call(call) => call.bound.contains(name),
            _ => false,
        })
    }

    /// Returns true if the index is mentioned outside of reductions over it and of calls that name it.
    pub(crate) fn has_free_index(&self, name: &Name) -> bool {
        let own = match &self.kind {
            Kind::Reduce(_, axes, ..) if axes.contains(name) => return false,
            Kind::Call(call) if call.bound.contains(name) => return false,
            Kind::Ref(r) => r.places.iter().any(|p| place_keys(p).contains(name)),
            Kind::Of(function, _, index) => index == name && &**function != "size",
            _ => false,
        };
        own || self.any_part(|part| part.has_free_index(name))
    }
}

impl Inside for Expr {
    fn compact(&self) -> String {
        self.surface().compact()
    }

    fn index_names(&self) -> Vec<Name> {
        let mut out: Vec<Name> = self.refs().into_iter().flat_map(keys).collect();
        fn of_index(e: &Expr, out: &mut Vec<Name>) {
            match &e.kind {
                Kind::Of(_, _, index) => out.push(index.clone()),
                Kind::Reduce(_, axes, ..) => out.extend(axes.iter().cloned()),
                Kind::Call(call) => out.extend(call.bound.iter().cloned()),
                _ => {}
            }
            e.any_part(|part| {
                of_index(part, out);
                false
            });
        }
        of_index(self, &mut out);
        distinct(out)
    }
}

impl Equation {
    /// Returns all tensors that the right side, the guard and computed indices on the left read.
    pub(crate) fn reads(&self) -> Vec<&Ref> {
        let mut refs = self.value.refs();
        refs.extend(self.guard.iter().flat_map(Expr::refs));
        refs.extend(self.target.computed().flat_map(Expr::refs));
        refs
    }

    /// Returns true if `f` holds for one of the tensors read.
    pub(crate) fn any_read<'a>(&'a self, f: &mut impl FnMut(&'a Ref) -> bool) -> bool {
        self.value.any_ref(f)
            || self.guard.as_ref().is_some_and(|g| g.any_ref(f))
            || self.target.computed().any(|e| e.any_ref(f))
    }
}
