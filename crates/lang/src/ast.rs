//! Programs as trees: what the parser makes of text, and what the printer makes text of.

use crate::source::Span;
use std::sync::Arc;

/// A name of a tensor, an index or a function.
pub type Name = Arc<str>;

/// What stands at one place between the brackets of `A[…]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `i`, `p'`, `i+1`.
    Named(Name, i64),
    /// Virtual time: `*t`, `*t+1`.
    Time(Name, i64),
    /// One moment: `*0` the first, `*-1` the last.
    Moment(i64),
    /// One place: `0`, `-1`.
    At(i64),
    /// A symbol, `"ann"`, and its number in the domain of the position; -1 before domains are known.
    Symbol(Name, i64),
    /// A range, from where to where in which steps: `0:2`, `1::2`, `-2:`; its axis is called by its own text, or by a name:
    /// `s=0:2`. They are rare, and every index would be as large as one.
    Slice(Option<Name>, Box<[Option<i64>; 3]>),
    /// Index arithmetic: `i+k`, `2*i`, `s*i+d*k-1`.
    Affine(Box<Affine>),
    /// An expression whose values are positions: `Idx[i]`. Before names are looked up, also index arithmetic.
    Computed(Box<Expr>),
}

/// A sum of indices with integer factors. Factors and the offset consist of numbers and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Affine {
    /// Factor and index of each term; an index has one term.
    pub terms: Vec<(Expr, Name)>,
    /// The constant term.
    pub offset: Expr,
}

/// An index, where it stands, and whether it is the equation's default axis (`p'.`).
#[derive(Clone, Debug)]
pub struct Place {
    /// The index.
    pub index: Index,
    /// Whether a dot follows.
    pub dotted: bool,
    /// Where.
    pub span: Span,
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        (&self.index, self.dotted) == (&other.index, other.dotted)
    }
}

impl Index {
    /// The position that a constant index stands for: `2` of `A[2]`, and the number of a symbol.
    pub fn constant(&self) -> Option<i64> {
        match self {
            Index::At(at) | Index::Symbol(_, at) => Some(*at),
            _ => None,
        }
    }

    /// Whether positions are computed: index arithmetic, or an expression.
    pub(crate) fn is_arithmetic(&self) -> bool {
        matches!(self, Index::Affine(_) | Index::Computed(_))
    }
}

impl Ref {
    /// The expressions among its indices.
    pub(crate) fn computed(&self) -> impl Iterator<Item = &Expr> {
        self.places.iter().filter_map(|p| if let Index::Computed(e) = &p.index { Some(&**e) } else { None })
    }

    /// The same with the expressions among its indices changed.
    pub(crate) fn map_computed(&self, f: &mut impl FnMut(&Expr) -> Expr) -> Ref {
        let mut out = self.clone();
        out.change_computed(&mut |e| *e = f(e));
        out
    }

    /// Changes the expressions among its indices.
    pub(crate) fn change_computed(&mut self, f: &mut impl FnMut(&mut Expr)) {
        for place in &mut self.places {
            if let Index::Computed(e) = &mut place.index {
                f(e);
            }
        }
    }
}

impl Place {
    /// A plain index.
    pub fn named(name: &Name) -> Place {
        Place { index: Index::Named(name.clone(), 0), dotted: false, span: Span::default() }
    }
}

/// A tensor with its indices.
#[derive(Clone, Debug)]
pub struct Ref {
    /// The tensor.
    pub name: Name,
    /// Its indices.
    pub places: Vec<Place>,
    /// Written with parentheses: a Boolean relation.
    pub relation: bool,
    /// Where the name stands.
    pub span: Span,
}

impl PartialEq for Ref {
    fn eq(&self, other: &Ref) -> bool {
        (&self.name, &self.places, self.relation) == (&other.name, &other.places, other.relation)
    }
}

/// How indices that are not on the left go away.
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
    /// All of them.
    pub const ALL: [Projection; 5] =
        [Projection::Sum, Projection::Max, Projection::Min, Projection::Avg, Projection::Prod];

    /// Its word, as in `max=`.
    pub fn word(self) -> &'static str {
        match self {
            Projection::Sum => "sum",
            Projection::Max => "max",
            Projection::Min => "min",
            Projection::Avg => "avg",
            Projection::Prod => "prod",
        }
    }

    /// Its value of no elements at all.
    pub fn of_nothing(self) -> f64 {
        match self {
            Projection::Sum => 0.0,
            Projection::Max => f64::NEG_INFINITY,
            Projection::Min => f64::INFINITY,
            Projection::Avg => f64::NAN,
            Projection::Prod => 1.0,
        }
    }

    /// The one with this word.
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
    /// All of them with their signs.
    pub const SIGNS: [(Comparison, &'static str); 6] = [
        (Comparison::Eq, "=="),
        (Comparison::Ne, "!="),
        (Comparison::Lt, "<"),
        (Comparison::Le, "<="),
        (Comparison::Gt, ">"),
        (Comparison::Ge, ">="),
    ];

    /// Whether it holds for two numbers.
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

    /// Its sign.
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
    /// The same with all their digits, where they are whole and floats do not hold them. One such number alone is a list
    /// without extents.
    pub whole: Option<Arc<[i64]>>,
}

/// Up to here floats hold every whole number, and what is read as this may be the next one.
pub(crate) const WHOLE_FLOATS: f64 = 9_007_199_254_740_992.0;

impl Array {
    /// Numbers that floats hold.
    pub fn new(shape: Vec<usize>, numbers: Vec<f64>) -> Array {
        Array { shape, numbers: numbers.into(), whole: None }
    }

    /// Numbers of which some, at these places, are whole ones that floats do not hold. A fraction beside them makes floats of
    /// all.
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

/// An expression and where it stands. Equality looks at the expression alone.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The expression.
    pub kind: Kind,
    /// Where.
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
    /// What it is applied to.
    pub args: Vec<Expr>,
    /// What is given by name.
    pub named: Vec<(Name, Expr)>,
}

/// What an expression is.
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
    /// As an expression that stands nowhere.
    pub fn bare(self) -> Expr {
        Expr { kind: self, span: Span::default() }
    }

    /// As an expression at a place.
    pub fn at(self, span: Span) -> Expr {
        Expr { kind: self, span }
    }
}

impl Expr {
    /// The parts of an expression, in order.
    pub fn parts(&self) -> Vec<&Expr> {
        let mut out = Vec::new();
        self.any_part(|part| {
            out.push(part);
            false
        });
        out
    }

    /// Whether it has no parts that are expressions: a number, a tensor, a function of an index.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.kind, Kind::Number(_) | Kind::Ref(_) | Kind::Of(..))
    }

    /// Whether something holds for one of the parts; none are looked at behind it.
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

    /// The same with every part changed.
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

    /// Changes every part where it stands.
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

    /// Whether a function of an index itself stands in it.
    pub(crate) fn is_of_index(&self) -> bool {
        matches!(self.kind, Kind::Of(..)) || self.any_part(Expr::is_of_index)
    }

    /// Every tensor read, left to right, with indices as written.
    pub fn refs(&self) -> Vec<&Ref> {
        let mut out = Vec::new();
        self.any_ref(&mut |r| {
            out.push(r);
            false
        });
        out
    }

    /// Whether something holds for one of the tensors read.
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
    /// Where it holds (`when`); elsewhere it gives nothing.
    pub guard: Option<Expr>,
    /// How indices go away.
    pub projection: Projection,
    /// True for `sum=`, which always sums over time. A plain `=` could also mean one value per time step.
    pub spelled: bool,
    /// The right side.
    pub value: Expr,
    /// Whether the name is only for its neighbours (`let`).
    pub local: bool,
    /// All of it.
    pub span: Span,
}

/// `fn f(a[i], b) -> y[i] { … }`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// What it is applied to.
    pub params: Vec<Ref>,
    /// What it gives.
    pub result: Ref,
    /// Its equations.
    pub body: Vec<Equation>,
    /// Its head.
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
    /// `axis t while Go`: a time that goes on while the name holds; `axis t = 100 while Go` for at most 100 steps.
    While(Name, Option<Expr>, Name, Span),
    /// `param D: int = 8`, `const K = 3` (which nobody may change).
    Param {
        /// Its name.
        name: Name,
        /// Whether it must be a whole number.
        whole: bool,
        /// Whether it may be changed from outside.
        fixed: bool,
        /// Its value.
        value: Expr,
        /// All of it.
        span: Span,
    },
    /// A function.
    Function(Function),
    /// `import "file" as name`.
    Import(Arc<str>, Option<Name>, Span),
    /// `{ … }`: names given by `let` end with it.
    Block(Vec<Statement>, Span),
}

impl Statement {
    /// Where it stands.
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
