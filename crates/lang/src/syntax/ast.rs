//! The syntax tree of programs: the output of the parser and the input of the printer.

use crate::syntax::source::Span;
use std::sync::Arc;

/// A name of a tensor, an index or a function.
pub type Name = Arc<str>;

/// One entry between the brackets of `A[…]`. `E` is the type of expressions: those of the surface tree, or of Core.
#[derive(Clone, Debug, PartialEq)]
pub enum Index<E = Expr> {
    /// `i`, `p'`, `i+1`.
    Named(Name, i64),
    /// Virtual time: `*t`, `*t+1`.
    Time(Name, i64),
    /// A fixed time step: `*0` is the first, `*-1` the last.
    Step(i64),
    /// A fixed position: `0`, `-1`.
    At(i64),
    /// A symbol, `"ann"`, and its number in the domain of the position; -1 before domains are known.
    Symbol(Name, i64),
    /// A range with optional start, end and stride: `0:2`, `1::2`, `-2:`. Its axis is named by the text of the range,
    /// or explicitly: `s=0:2`. The bounds are boxed because ranges are rare and would make every `Index` larger.
    Slice(Option<Name>, Box<[Option<i64>; 3]>),
    /// Index arithmetic: `i+k`, `2*i`, `s*i+d*k-1`.
    Affine(Box<Affine>),
    /// An expression whose values are positions: `Idx[i]`. Before names are looked up, also index arithmetic.
    Computed(Box<E>),
}

/// An expression that can appear between the brackets of a tensor.
pub(crate) trait Inside {
    /// Returns the text without spaces around operators: `Idx[i]+1`.
    fn compact(&self) -> String;
    /// Returns the names of its indices, in order of appearance.
    fn index_names(&self) -> Vec<Name>;
}

/// A sum of indices with integer factors. Factors and the offset consist of numbers and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Affine {
    /// Factor and index of each term; an index has one term.
    pub terms: Vec<(Expr, Name)>,
    /// The constant term.
    pub offset: Expr,
}

/// An index, its location in the text, and whether it marks the equation's default axis (`p'.`).
#[derive(Clone, Debug)]
pub struct Place<E = Expr> {
    /// The index.
    pub index: Index<E>,
    /// If true, a dot follows.
    pub dotted: bool,
    /// Location in the source.
    pub span: Span,
}

impl<E: PartialEq> PartialEq for Place<E> {
    fn eq(&self, other: &Place<E>) -> bool {
        (&self.index, self.dotted) == (&other.index, other.dotted)
    }
}

impl<E> Index<E> {
    /// Returns the position of a constant index: 2 for `A[2]`, and the number of a symbol.
    pub fn constant(&self) -> Option<i64> {
        match self {
            Index::At(at) | Index::Symbol(_, at) => Some(*at),
            _ => None,
        }
    }

    /// Returns true if positions are computed, by index arithmetic or by an expression.
    pub(crate) fn is_arithmetic(&self) -> bool {
        matches!(self, Index::Affine(_) | Index::Computed(_))
    }
}

impl<E> Ref<E> {
    /// Returns the expressions among the indices.
    pub(crate) fn computed(&self) -> impl Iterator<Item = &E> {
        self.places.iter().filter_map(|p| if let Index::Computed(e) = &p.index { Some(&**e) } else { None })
    }

    /// Returns a copy with `f` applied to the expressions among the indices.
    pub(crate) fn map_computed<F>(&self, f: &mut impl FnMut(&E) -> F) -> Ref<F> {
        let mut place = |p: &Place<E>| {
            let index = match &p.index {
                Index::Named(name, by) => Index::Named(name.clone(), *by),
                Index::Time(name, by) => Index::Time(name.clone(), *by),
                Index::Step(at) => Index::Step(*at),
                Index::At(at) => Index::At(*at),
                Index::Symbol(name, at) => Index::Symbol(name.clone(), *at),
                Index::Slice(name, range) => Index::Slice(name.clone(), range.clone()),
                Index::Affine(sum) => Index::Affine(sum.clone()),
                Index::Computed(e) => Index::Computed(Box::new(f(e))),
            };
            Place { index, dotted: p.dotted, span: p.span }
        };
        let places = self.places.iter().map(&mut place).collect();
        Ref { name: self.name.clone(), places, relation: self.relation, span: self.span }
    }

    /// Applies `f` in place to the expressions among the indices.
    pub(crate) fn change_computed(&mut self, f: &mut impl FnMut(&mut E)) {
        for place in &mut self.places {
            if let Index::Computed(e) = &mut place.index {
                f(e);
            }
        }
    }
}

impl<E> Place<E> {
    /// Makes a plain index without offset or dot.
    pub fn named(name: &Name) -> Place<E> {
        Place { index: Index::Named(name.clone(), 0), dotted: false, span: Span::default() }
    }
}

/// A tensor with its indices, as read or written by an equation.
#[derive(Clone, Debug)]
pub struct Ref<E = Expr> {
    /// The tensor.
    pub name: Name,
    /// Its indices.
    pub places: Vec<Place<E>>,
    /// Written with parentheses: a Boolean relation.
    pub relation: bool,
    /// Location of the name.
    pub span: Span,
}

impl<E: PartialEq> PartialEq for Ref<E> {
    fn eq(&self, other: &Ref<E>) -> bool {
        (&self.name, &self.places, self.relation) == (&other.name, &other.places, other.relation)
    }
}

/// The reduction over indices that are not on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    /// Added.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The mean.
    Avg,
    /// Multiplied.
    Prod,
}

impl Projection {
    /// All reductions.
    pub const ALL: [Projection; 5] =
        [Projection::Sum, Projection::Max, Projection::Min, Projection::Avg, Projection::Prod];

    /// Returns the word of the reduction, as in `max=`.
    pub fn word(self) -> &'static str {
        match self {
            Projection::Sum => "sum",
            Projection::Max => "max",
            Projection::Min => "min",
            Projection::Avg => "avg",
            Projection::Prod => "prod",
        }
    }

    /// Returns the value of the reduction over no elements.
    pub fn of_nothing(self) -> f64 {
        match self {
            Projection::Sum => 0.0,
            Projection::Max => f64::NEG_INFINITY,
            Projection::Min => f64::INFINITY,
            Projection::Avg => f64::NAN,
            Projection::Prod => 1.0,
        }
    }

    /// Finds a reduction by its word; `mean` is another word for `avg`.
    pub fn from_word(word: &str) -> Option<Projection> {
        if word == "mean" {
            return Some(Projection::Avg);
        }
        Projection::ALL.into_iter().find(|p| p.word() == word)
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`.
    Eq,
    /// `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
}

impl Comparison {
    /// All comparisons with their signs.
    pub const SIGNS: [(Comparison, &'static str); 6] = [
        (Comparison::Eq, "=="),
        (Comparison::Ne, "!="),
        (Comparison::Lt, "<"),
        (Comparison::Le, "<="),
        (Comparison::Gt, ">"),
        (Comparison::Ge, ">="),
    ];

    /// Returns true if the comparison of two numbers holds.
    pub(crate) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Comparison::Eq => a == b,
            Comparison::Ne => a != b,
            Comparison::Lt => a < b,
            Comparison::Le => a <= b,
            Comparison::Gt => a > b,
            Comparison::Ge => a >= b,
        }
    }

    /// Returns the sign of the comparison.
    pub fn sign(self) -> &'static str {
        Comparison::SIGNS.iter().find(|(c, _)| *c == self).map_or("", |(_, s)| s)
    }
}

/// A nested list of numbers, checked to be rectangular.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The extents.
    pub shape: Vec<usize>,
    /// The numbers, row by row.
    pub numbers: Arc<[f64]>,
    /// The same numbers as exact integers, if all are integers and some are not representable as `f64`. A single such
    /// number is an array without extents.
    pub whole: Option<Arc<[i64]>>,
}

/// 2⁵³. Every integer below is exact in `f64`; a literal that parses to this value may have been 2⁵³ + 1.
pub(crate) const WHOLE_FLOATS: f64 = 9_007_199_254_740_992.0;

impl Array {
    /// Makes an array of numbers that are exact as `f64`.
    pub fn new(shape: Vec<usize>, numbers: Vec<f64>) -> Array {
        Array { shape, numbers: numbers.into(), whole: None }
    }

    /// Makes an array with large integers: `vast` lists the position and exact value of each number that
    /// `f64` cannot represent. If the array also contains a fraction, all numbers are kept as floats.
    pub fn with_digits(shape: Vec<usize>, numbers: Vec<f64>, vast: &[(usize, i64)]) -> Array {
        let small = |x: &f64| x.fract() == 0.0 && x.abs() < WHOLE_FLOATS;
        let is_whole = !vast.is_empty() && numbers.iter().filter(|x| !small(x)).count() == vast.len();
        let whole = is_whole.then(|| {
            let mut all: Vec<i64> = numbers.iter().map(|x| *x as i64).collect();
            vast.iter().for_each(|(at, n)| all[*at] = *n);
            all.into()
        });
        Array { whole, ..Array::new(shape, numbers) }
    }
}

/// An expression with its location. Equality ignores the location.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The expression.
    pub kind: Kind,
    /// Location in the source.
    pub span: Span,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.kind == other.kind
    }
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function.
    pub function: Name,
    /// The positional arguments.
    pub args: Vec<Expr>,
    /// The arguments passed by name.
    pub named: Vec<(Name, Expr)>,
}

/// The kind of an expression, with its parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number.
    Number(f64),
    /// A text.
    Text(Arc<str>),
    /// `[[1, 2], [3, 4]]`.
    Array(Array),
    /// `["i", "j"]`, `[i, j]`.
    List(Vec<Expr>),
    /// A tensor.
    Ref(Ref),
    /// A call.
    Call(Box<Call>),
    /// A function of an index itself: `even(i)`.
    Of(Name, Name),
    /// `A B`, `A * B`.
    Product(Vec<Expr>),
    /// `A / B`.
    Quotient(Box<[Expr; 2]>),
    /// `A + B - C`.
    Sum(Vec<Expr>),
    /// `-A`.
    Negative(Box<Expr>),
    /// `A ** B`.
    Power(Box<[Expr; 2]>),
    /// `A < B`.
    Compare(Comparison, Box<[Expr; 2]>),
    /// `A && B`.
    And(Box<[Expr; 2]>),
    /// `A || B`.
    Or(Box<[Expr; 2]>),
    /// `!A`.
    Not(Box<Expr>),
    /// `C ? A : B`.
    Choose(Box<[Expr; 3]>),
    /// `case { C -> A, D -> B, default -> E }`: the first condition that holds.
    Case(Vec<[Expr; 2]>, Option<Box<Expr>>),
    /// `reduce(max, j) A`.
    Reduce(Projection, Vec<Name>, Box<Expr>),
}

impl Kind {
    /// Makes an expression without a source location.
    pub fn bare(self) -> Expr {
        Expr { kind: self, span: Span::default() }
    }

    /// Makes an expression at a source location.
    pub fn at(self, span: Span) -> Expr {
        Expr { kind: self, span }
    }
}

impl Expr {
    /// Returns the parts of an expression, in order.
    pub fn parts(&self) -> Vec<&Expr> {
        let mut out = Vec::new();
        self.any_part(|part| {
            out.push(part);
            false
        });
        out
    }

    /// Returns true for a number, a function of an index, or a tensor, also one with computed indices.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.kind, Kind::Number(_) | Kind::Ref(_) | Kind::Of(..))
    }

    /// Returns true if `f` holds for one of the parts; stops at the first such part.
    pub(crate) fn any_part<'a>(&'a self, mut f: impl FnMut(&'a Expr) -> bool) -> bool {
        match &self.kind {
            Kind::Number(_) | Kind::Text(_) | Kind::Array(_) | Kind::Of(..) => false,
            Kind::Ref(r) => r.computed().any(f),
            Kind::List(parts) | Kind::Product(parts) | Kind::Sum(parts) => parts.iter().any(f),
            Kind::Call(call) => call.args.iter().any(&mut f) || call.named.iter().any(|(_, e)| f(e)),
            Kind::Quotient(two)
            | Kind::Power(two)
            | Kind::Compare(_, two)
            | Kind::And(two)
            | Kind::Or(two) => two.iter().any(f),
            Kind::Choose(three) => three.iter().any(f),
            Kind::Negative(one) | Kind::Not(one) | Kind::Reduce(_, _, one) => f(one),
            Kind::Case(cases, otherwise) => cases.iter().flatten().chain(otherwise.as_deref()).any(f),
        }
    }

    /// Returns a copy with `f` applied to every part.
    pub fn map_parts(&self, f: &mut impl FnMut(&Expr) -> Expr) -> Expr {
        let two = |two: &[Expr; 2], f: &mut dyn FnMut(&Expr) -> Expr| Box::new([f(&two[0]), f(&two[1])]);
        let kind = match &self.kind {
            Kind::Number(_) | Kind::Text(_) | Kind::Array(_) | Kind::Of(..) => self.kind.clone(),
            Kind::Ref(r) => Kind::Ref(r.map_computed(f)),
            Kind::List(parts) => Kind::List(parts.iter().map(f).collect()),
            Kind::Product(parts) => Kind::Product(parts.iter().map(f).collect()),
            Kind::Sum(parts) => Kind::Sum(parts.iter().map(f).collect()),
            Kind::Call(call) => {
                let args = call.args.iter().map(&mut *f).collect();
                let named = call.named.iter().map(|(n, e)| (n.clone(), f(e))).collect();
                Kind::Call(Box::new(Call { function: call.function.clone(), args, named }))
            }
            Kind::Quotient(parts) => Kind::Quotient(two(parts, f)),
            Kind::Power(parts) => Kind::Power(two(parts, f)),
            Kind::Compare(sign, parts) => Kind::Compare(*sign, two(parts, f)),
            Kind::And(parts) => Kind::And(two(parts, f)),
            Kind::Or(parts) => Kind::Or(two(parts, f)),
            Kind::Choose(p) => Kind::Choose(Box::new([f(&p[0]), f(&p[1]), f(&p[2])])),
            Kind::Negative(part) => Kind::Negative(Box::new(f(part))),
            Kind::Not(part) => Kind::Not(Box::new(f(part))),
            Kind::Reduce(how, names, part) => Kind::Reduce(*how, names.clone(), Box::new(f(part))),
            Kind::Case(cases, otherwise) => Kind::Case(
                cases.iter().map(|[c, v]| [f(c), f(v)]).collect(),
                otherwise.as_ref().map(|e| Box::new(f(e))),
            ),
        };
        Expr { kind, span: self.span }
    }

    /// Applies `f` to every part in place.
    pub(crate) fn change_parts(&mut self, f: &mut impl FnMut(&mut Expr)) {
        match &mut self.kind {
            Kind::Number(_) | Kind::Text(_) | Kind::Array(_) | Kind::Of(..) => {}
            Kind::Ref(r) => r.change_computed(f),
            Kind::List(parts) | Kind::Product(parts) | Kind::Sum(parts) => parts.iter_mut().for_each(f),
            Kind::Call(call) => {
                call.args.iter_mut().for_each(&mut *f);
                call.named.iter_mut().for_each(|(_, e)| f(e));
            }
            Kind::Quotient(two)
            | Kind::Power(two)
            | Kind::Compare(_, two)
            | Kind::And(two)
            | Kind::Or(two) => two.iter_mut().for_each(f),
            Kind::Choose(three) => three.iter_mut().for_each(f),
            Kind::Negative(one) | Kind::Not(one) | Kind::Reduce(_, _, one) => f(one),
            Kind::Case(cases, otherwise) => {
                cases.iter_mut().flatten().chain(otherwise.as_deref_mut()).for_each(f);
            }
        }
    }

    /// Returns every tensor read, left to right, with indices as written.
    pub fn refs(&self) -> Vec<&Ref> {
        let mut out = Vec::new();
        self.any_ref(&mut |r| {
            out.push(r);
            false
        });
        out
    }

    /// Returns true if `f` holds for one of the tensors read.
    pub(crate) fn any_ref<'a>(&'a self, f: &mut impl FnMut(&'a Ref) -> bool) -> bool {
        match &self.kind {
            Kind::Ref(r) => f(r) || self.any_part(|part| part.any_ref(f)),
            _ => self.any_part(|part| part.any_ref(f)),
        }
    }
}

/// `Y[i] = …`.
#[derive(Clone, Debug)]
pub struct Equation {
    /// The left side.
    pub target: Ref,
    /// The condition (`when`); elements at which it does not hold get no contribution from this line.
    pub guard: Option<Expr>,
    /// The reduction over indices that are not on the left.
    pub projection: Projection,
    /// True for `sum=`, which always sums over time. A plain `=` could also mean one value per time step.
    pub spelled: bool,
    /// The right side.
    pub value: Expr,
    /// If true, the name is visible in its block only (`let`).
    pub local: bool,
    /// The span of the entire equation.
    pub span: Span,
}

/// `fn f(a[i], b) -> y[i] { … }`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// The parameters.
    pub params: Vec<Ref>,
    /// The result.
    pub result: Ref,
    /// Its equations.
    pub body: Vec<Equation>,
    /// The span of the head.
    pub span: Span,
}

/// One statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// An equation.
    Equation(Equation),
    /// `"out.npy" = Y[i]`.
    Sink(Arc<str>, Expr, Span),
    /// `export A, B`.
    Export(Vec<(Name, Span)>),
    /// `axis i = 4`.
    Axis(Name, Expr, Span),
    /// `axis t while Go`: time ends when `Go` no longer holds. `axis t = 100 while Go` ends after at most 100 steps.
    While(Name, Option<Expr>, Name, Span),
    /// `param D: int = 8`, `const K = 3`; a `const` cannot be changed from outside.
    Param {
        /// Its name.
        name: Name,
        /// If true, the value must be an integer.
        whole: bool,
        /// True for `const`: the value cannot be changed from outside.
        fixed: bool,
        /// Its value.
        value: Expr,
        /// The span of the entire statement.
        span: Span,
    },
    /// A function.
    Function(Function),
    /// `import "file" as name`.
    Import(Arc<str>, Option<Name>, Span),
    /// `{ … }`: names defined by `let` inside are not visible outside.
    Block(Vec<Statement>, Span),
}

impl Statement {
    /// Location of the statement.
    pub fn span(&self) -> Span {
        match self {
            Statement::Equation(e) => e.span,
            Statement::Sink(_, _, s)
            | Statement::Axis(_, _, s)
            | Statement::While(_, _, _, s)
            | Statement::Import(_, _, s)
            | Statement::Block(_, s)
            | Statement::Param { span: s, .. } => *s,
            Statement::Export(names) => match (names.first(), names.last()) {
                (Some(a), Some(b)) => a.1.to(b.1),
                _ => Span::default(),
            },
            Statement::Function(f) => f.span,
        }
    }
}
