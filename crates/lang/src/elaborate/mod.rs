//! Elaboration: from equations whose names are resolved to Core. Decides where sums close, which axes calls work along,
//! and which calls choose between their arguments. Sizes and dtypes are inferred later, by evaluation.
//!
//! An index that is not on the left is summed at the smallest expression that contains all its appearances, except that
//! terms of a sum which all close it are summed each on its own (`scope`). `keep` are the indices that the surroundings
//! of an expression use.

mod ask;
mod block;
mod bounded;
mod collect;
pub(crate) mod core;
mod domains;
mod dots;
mod free;
mod groups;
mod library;
mod mixed;
mod positions;
mod print;
mod reductions;
mod resolve;
pub(crate) mod scope;
mod stratify;
mod surface;
mod symbols;
mod text;
pub(crate) mod time;

pub(crate) use domains::{Domains, list_of};
pub(crate) use groups::{Equations, Group, Solved};
pub(crate) use mixed::is_ambiguous;
pub(crate) use resolve::number;

use self::core::{Arg, Call, Expr, Kind, Origin};
use crate::builtin::{self, Base, Callee, Setting, Shape, literal};
use crate::elaborate::scope::{
    Names, Terms, axis_order, bound_by, distinct, kept_by, kept_by_each, key, keys, occurrences, place_keys,
};
use crate::program::Program;
use crate::syntax::ast;
use crate::syntax::ast::{Equation, Function, Name, Projection};
use crate::syntax::diagnostic::Faults;
use crate::syntax::indices::moving;
use std::collections::HashMap;

/// A program in Core.
pub(crate) struct Core<'a> {
    /// The program; declarations of sizes, times and parameters are read there.
    pub(crate) program: &'a Program,
    /// The equations, by their positions in the program.
    pub(crate) equations: Vec<core::Equation>,
    /// The equations of each function.
    functions: HashMap<Name, Vec<core::Equation>>,
}

impl<'a> Core<'a> {
    pub(crate) fn new(program: &'a Program) -> Core<'a> {
        let body = |f: &Function| elaborate_all(&f.body, program);
        Core {
            program,
            equations: elaborate_all(&program.equations, program),
            functions: program.functions.iter().map(|(name, f)| (name.clone(), body(f))).collect(),
        }
    }

    /// Returns the equations of a function.
    pub(crate) fn body(&self, function: &str) -> &[core::Equation] {
        self.functions.get(function).map_or(&[], |body| body)
    }
}

pub(crate) fn elaborate_all(equations: &[Equation], program: &Program) -> Vec<core::Equation> {
    let one = |(number, e): (usize, &Equation)| Elaborate::new(program, e).equation(number);
    equations.iter().enumerate().map(one).collect()
}

/// An equation being elaborated.
pub(crate) struct Elaborate<'a> {
    program: &'a Program,
    equation: &'a Equation,
    left: Vec<Name>,
    /// The time on the left.
    time: Option<&'a Name>,
    /// If true, functions work within one step, where time is not one of their axes.
    by_step: bool,
}

impl<'a> Elaborate<'a> {
    pub(crate) fn new(program: &'a Program, equation: &'a Equation) -> Elaborate<'a> {
        let time = moving(&equation.target.places).map(|t| t.0);
        let by_step = program.is_step_by_step(equation);
        Elaborate { program, equation, left: keys(&equation.target), time, by_step }
    }

    /// Returns the equation in Core, at its position among those of its program.
    pub(crate) fn equation(&self, number: usize) -> core::Equation {
        let e = self.equation;
        let keep: Names = self.left.iter().cloned().collect();
        let around = keep.union(&occurrences(&e.value)).cloned().collect();
        let value = match &e.value.kind {
            // Each term is summed on its own, as those of a tensor are, which are equations of their own.
            ast::Kind::Sum(terms) if e.target.relation => {
                let terms = terms.iter().map(|t| self.right_side(t, &keep)).collect();
                Kind::Sum(terms).at(e.value.span)
            }
            _ => self.right_side(&e.value, &keep),
        };
        core::Equation {
            target: self.reference(&e.target),
            guard: e.guard.as_ref().map(|g| self.expr(g, &around)),
            projection: e.projection,
            value,
            by_step: self.by_step,
            is_file: e.file().is_some(),
            number,
            span: e.span,
        }
    }

    /// Elaborates a right side, whose outermost product the equation's reduction covers.
    fn right_side(&self, e: &ast::Expr, keep: &Names) -> Expr {
        let mut keep = keep.clone();
        keep.extend(self.equation.guard.iter().flat_map(occurrences));
        let sums = self.equation.projection == Projection::Sum;
        let mut out = match &e.kind {
            ast::Kind::Product(factors) if sums && self.equation.guard.is_none() => {
                self.product(factors, &keep).at(e.span)
            }
            _ if sums => self.expr(e, &keep),
            _ => self.unsummed(e, &keep),
        };
        if let Kind::Call(call) = &mut out.kind {
            call.whole = matches!(e.kind, ast::Kind::Call(_));
        }
        out
    }

    /// Elaborates the outermost part of a right side under a reduction other than a sum: its product is not
    /// summed.
    fn unsummed(&self, e: &ast::Expr, keep: &Names) -> Expr {
        match &e.kind {
            // A sum as one value is a product of one factor.
            ast::Kind::Product(factors) if factors.len() == 1 => {
                Kind::Product(vec![self.unsummed(&factors[0], keep)]).at(e.span)
            }
            ast::Kind::Product(factors) => self.product(factors, keep).at(e.span),
            ast::Kind::Negative(one) => Kind::Negative(Box::new(self.unsummed(one, keep))).at(e.span),
            // The reduction is over the indices that terms share: `Loss avg= A[n] B[n] + C[n] D[n]`.
            ast::Kind::Sum(terms) => {
                let terms = terms.iter().zip(kept_by_each(keep, terms)).map(|(t, keep)| self.expr(t, &keep));
                Kind::Sum(terms.collect()).at(e.span)
            }
            ast::Kind::Quotient(two) => {
                let over = self.unsummed(&two[0], &kept_by(keep, &two[..], &two[0]));
                let under = self.expr(&two[1], &kept_by(keep, &two[..], &two[1]));
                Kind::Quotient(Box::new([over, under])).at(e.span)
            }
            _ => self.expr(e, keep),
        }
    }

    fn product(&self, factors: &[ast::Expr], keep: &Names) -> Kind {
        Kind::Product(
            factors.iter().zip(&kept_by_each(keep, factors)).map(|(f, keep)| self.expr(f, keep)).collect(),
        )
    }

    /// Returns the indices that a product sums over: those of several factors, except for kept ones.
    fn summed(&self, factors: &[ast::Expr], keep: &Names) -> Vec<Name> {
        let around = kept_by_each(keep, factors);
        let own: Vec<Vec<Name>> =
            factors.iter().zip(&around).map(|(f, keep)| axis_order(f, keep, self.program)).collect();
        let several = |n: &Name| own.iter().filter(|names| names.contains(n)).count() > 1;
        distinct(own.iter().flatten().filter(|n| !keep.contains(n) && several(n)).cloned())
    }

    pub(crate) fn expr(&self, e: &ast::Expr, keep: &Names) -> Expr {
        let two = |two: &[ast::Expr; 2]| {
            let mut kept = kept_by_each(keep, two).into_iter();
            let mut part = |e: &ast::Expr| self.expr(e, &kept.next().unwrap_or_default());
            let first = part(&two[0]);
            Box::new([first, part(&two[1])])
        };
        let kind = match &e.kind {
            ast::Kind::Number(x) => Kind::Number(*x),
            ast::Kind::Text(_) => Kind::Invalid(Some("a text is not a value here"), Vec::new()),
            ast::Kind::List(names) => {
                let names = names.iter().map(|n| self.expr(n, keep)).collect();
                Kind::Invalid(Some("a list of names is not a value"), names)
            }
            ast::Kind::Array(array) => Kind::Array(array.clone(), e.span),
            ast::Kind::Ref(r) => Kind::Ref(self.reference(r)),
            ast::Kind::Of(function, index) => match builtin::find(function, self.program) {
                Some(callee) => Kind::Of(function.clone(), callee, index.clone()),
                None => Kind::Invalid(None, Vec::new()),
            },
            ast::Kind::Call(call) => return self.call(call, e, keep),
            ast::Kind::Product(factors) => {
                let product = self.product(factors, keep);
                match self.summed(factors, keep) {
                    none if none.is_empty() => product,
                    summed => {
                        let body = Box::new(product.at(e.span));
                        Kind::Reduce(Projection::Sum, summed, body, Origin::Product)
                    }
                }
            }
            ast::Kind::Quotient(parts) => Kind::Quotient(two(parts)),
            ast::Kind::Sum(terms) => {
                let keep = Terms::new(keep, terms, self.program).keep;
                Kind::Sum(terms.iter().map(|t| self.expr(t, &keep)).collect())
            }
            ast::Kind::Negative(one) => Kind::Negative(Box::new(self.expr(one, keep))),
            ast::Kind::Power(parts) => Kind::Power(two(parts)),
            ast::Kind::Compare(sign, parts) => Kind::Compare(*sign, two(parts)),
            ast::Kind::And(parts) => Kind::And(two(parts)),
            ast::Kind::Or(parts) => Kind::Or(two(parts)),
            ast::Kind::Not(one) => Kind::Not(Box::new(self.expr(one, keep))),
            ast::Kind::Choose(three) => {
                let kept = kept_by_each(keep, &three[..]);
                let part = |i: usize| self.expr(&three[i], &kept[i]);
                Kind::Choose(vec![[part(0), part(1)]], Some(Box::new(part(2))))
            }
            ast::Kind::Case(cases, otherwise) => {
                let kept = kept_by_each(keep, &e.parts().into_iter().cloned().collect::<Vec<_>>());
                let case = |(i, [c, v]): (usize, &[ast::Expr; 2])| {
                    [self.expr(c, &kept[2 * i]), self.expr(v, &kept[2 * i + 1])]
                };
                let last = |e: &ast::Expr| Box::new(self.expr(e, &kept[2 * cases.len()]));
                Kind::Choose(cases.iter().enumerate().map(case).collect(), otherwise.as_deref().map(last))
            }
            ast::Kind::Reduce(how, axes, body) => {
                let mut around = keep.clone();
                around.extend(axes.iter().cloned());
                Kind::Reduce(*how, axes.clone(), Box::new(self.expr(body, &around)), Origin::Written)
            }
        };
        kind.at(e.span)
    }

    pub(crate) fn reference(&self, r: &ast::Ref) -> core::Ref {
        let mut kept = r.places.iter().filter(|p| matches!(p.index, ast::Index::Computed(_))).map(place_keys);
        r.map_computed(&mut |e| self.expr(e, &kept.next().unwrap_or_default().into_iter().collect()))
    }

    fn call(&self, call: &ast::Call, e: &ast::Expr, keep: &Names) -> Expr {
        if &*call.function == "const" {
            return match call.args.first() {
                Some(ast::Expr { kind: ast::Kind::Array(array), span }) => {
                    Kind::Array(array.clone(), *span).at(e.span)
                }
                Some(number) => Kind::Known(Box::new(number.clone())).at(e.span),
                None => {
                    Kind::Invalid(Some("`const` needs a number or a list of numbers"), Vec::new()).at(e.span)
                }
            };
        }
        if let Some(choice) = builtin::choice(call, self.program) {
            return self.expr(&choice.at(e.span), keep);
        }
        let Some(callee) = builtin::find(&call.function, self.program) else {
            return Kind::Invalid(None, Vec::new()).at(e.span);
        };
        let bound = bound_by(call);
        let mut around = keep.clone();
        around.extend(bound.iter().cloned());
        let argument = |(arg, keep): (&ast::Expr, Names)| {
            let mut names = axis_order(arg, &keep, self.program);
            names.retain(|n| !self.by_step || Some(n) != self.time);
            Arg { value: self.expr(arg, &keep), names }
        };
        let args: Vec<Arg> = call.args.iter().zip(kept_by_each(&around, &call.args)).map(argument).collect();
        let mut settings = call.named.clone();
        let like = settings.iter().position(|(k, v)| &**k == "like" && matches!(v.kind, ast::Kind::Text(_)));
        let like = match like.map(|at| settings.remove(at).1.kind) {
            Some(ast::Kind::Text(name)) => name,
            _ => self.equation.target.name.clone(),
        };
        let axes = self.axes(&callee, call, args.first());
        let axis = settings.iter().position(|(k, _)| &**k == "axis");
        let axes_at = axis.map(|at| settings[at].1.span).or(call.args.first().map(|a| a.span));
        let dotted = self.equation.target.places.iter().find(|p| p.dotted).and_then(key);
        let names = |arg: &ast::Expr| {
            let own = call.args.iter().position(|a| std::ptr::eq(a, arg));
            own.map(|at| args[at].names.clone()).unwrap_or_default()
        };
        let mixes = callee.mixes(call, bound.clone(), &names);
        let by = (callee.order > 0).then(|| builtin::differentiated(&callee, call)).flatten();
        Kind::Call(Box::new(Call {
            function: call.function.clone(),
            settings,
            bound,
            dotted: dotted.filter(|_| axes.is_none() && callee.shape().has_axes()),
            axes,
            axes_at: axes_at.unwrap_or_default(),
            like,
            mixes,
            by,
            whole: false,
            callee,
            args,
        }))
        .at(e.span)
    }

    /// Returns the axes of a call: those of `axis=`, else the dotted index, else the last of the first
    /// argument. A reduction without either is over all of them.
    fn axes(&self, callee: &Callee, call: &ast::Call, first: Option<&Arg>) -> Option<Vec<Name>> {
        let given = call.named.iter().find(|(k, _)| &**k == "axis").map(|(_, v)| v);
        let shape = callee.shape();
        let works = shape.has_axes() || shape == Shape::Positional && given.is_some();
        let first = first.filter(|_| works)?;
        // A line that is not walked step by step may be computed for all steps at once, with time as an axis.
        let timed = first.names.iter().any(|n| Some(n) == self.time);
        let known = !timed && !takes_names_from_left(&first.value);
        let one = |s: &Setting| match s {
            Setting::Word(name) => Some(name.clone()),
            Setting::Number(x) if known && x.fract() == 0.0 => {
                let n = first.names.len() as f64;
                let at = if *x < 0.0 { *x + n } else { *x };
                (0.0..n).contains(&at).then(|| first.names[at as usize].clone())
            }
            _ => None,
        };
        if let Some(given) = given {
            return match literal(given)? {
                Setting::List(all) => all.iter().map(one).collect(),
                s => one(&s).map(|name| vec![name]),
            };
        }
        if !known {
            return None;
        }
        let dotted = self.equation.target.places.iter().find(|p| p.dotted).and_then(key);
        let dotted = dotted.filter(|d| first.names.contains(d));
        match (dotted, shape) {
            (Some(d), _) => Some(vec![d]),
            (None, Shape::Reduce) => Some(first.names.clone()).filter(|names| !names.is_empty()),
            (None, _) => first.names.last().map(|last| vec![last.clone()]),
        }
    }
}

/// Returns true if some axes of a value may be named by the left side of its equation.
fn takes_names_from_left(e: &Expr) -> bool {
    e.any(&|e| match &e.kind {
        Kind::Array(..) | Kind::Invalid(..) => true,
        Kind::Call(call) => match &call.callee.base {
            Base::Pointwise(_) => false,
            Base::Table(b) => {
                matches!(b.shape, Shape::Resize | Shape::Grow | Shape::Positional | Shape::Part)
            }
            Base::User(_) => true,
        },
        _ => false,
    })
}

impl Kind {
    /// Makes an expression at a source location.
    pub(crate) fn at(self, span: crate::syntax::source::Span) -> Expr {
        Expr { kind: self, span }
    }
}

impl Program {
    /// Resolves names again after equations were added.
    pub(crate) fn again(mut self) -> std::result::Result<Program, Faults> {
        let mut faults = Vec::new();
        self.definitions.clear();
        self.names.clear();
        self.resolve(&mut faults);
        if faults.is_empty() { Ok(self) } else { Err(Faults { sources: self.sources, faults }) }
    }

    /// Returns the program with further equations, checked again.
    pub fn extended(&self, equations: &[Equation]) -> Result<Program, Faults> {
        let mut out = self.clone();
        // These lines summed over time in the original program, so they still do.
        out.equations.iter_mut().for_each(Equation::spell_out);
        out.equations.extend(equations.iter().cloned());
        out.again()
    }
}
