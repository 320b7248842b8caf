//! Functions number by number, and numbers of other kinds than the program's own.

use super::draft::{Drafts, operand};
use super::forms::{Raise, call};
use super::{Base, Seen, number};
use crate::ast::{Expr, Kind, Projection};
use gradus_ir::ops::{Form, Scalar};
use gradus_ir::{Class, DType};

/// Rows that mean the same on whole numbers and truth values as on the numbers they are in a program.
const ON_ALL_NUMBERS: &[&str] = &[
    "sign",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "floor_div",
    "remainder",
    "fmod",
    "floor",
    "ceil",
    "round",
    "trunc",
    "is_nan",
    "is_inf",
    "is_finite",
];
/// Rows whose results may wrap, but not those of the largest whole numbers.
const ON_LARGE: &[&str] = &["add", "sub", "mul", "neg", "abs", "square"];
const ON_TRUTHS: &[&str] = &["and", "or", "xor", "not"];

fn is_float(dtype: DType) -> bool {
    dtype.class() == Class::Float
}

impl Drafts {
    /// A function of values of one shape, number by number.
    pub(super) fn pointwise(&mut self, function: &str, of: &[&Seen]) -> Seen {
        let kinds = of[0].kinds.clone();
        of.iter().for_each(|s| s.kinds.iter().zip(&kinds).for_each(|(a, b)| self.join(*a, *b)));
        let places: Vec<usize> = (0..kinds.len()).collect();
        let args = of.iter().map(|s| operand(s, &places)).collect();
        self.equation(kinds, Vec::new(), Projection::Sum, call(function, args, Vec::new()))
    }
}

impl Raise<'_> {
    /// Whether a conversion changes nothing, in a program whose numbers are all of one kind.
    fn is_same_number(&self) -> bool {
        let [from, to] = [self.graph.aval(self.node.ins[0]).dtype, self.node.outs[0].dtype];
        // To fewer bits it rounds or wraps.
        let wider = to.size() > from.size() && to.class() >= from.class();
        from == to || wider || from == DType::Bool || !is_float(from) && is_float(to)
    }

    pub(super) fn pointwise(&self, drafts: &mut Drafts) -> Option<Seen> {
        let dtypes = || self.node.ins.iter().map(|i| self.graph.aval(*i).dtype);
        let name = self.node.op.name();
        let exact = dtypes().all(|d| is_float(d) || d.is_complex());
        let scalar = match self.node.op.def().form(&[]) {
            Form::Pointwise(scalar) => scalar,
            _ => return None,
        };
        let [from, to] = [dtypes().next()?, self.node.outs[0].dtype];
        match scalar {
            Scalar::Row(_) if exact => {}
            // What whole numbers and truth values are compared and counted by is the same for all numbers.
            Scalar::Row(_) if ON_ALL_NUMBERS.contains(&name) => {}
            Scalar::Row(_) if from == DType::I64 && ON_LARGE.contains(&name) => {}
            Scalar::Row(_) if dtypes().all(|d| d == DType::Bool) && ON_TRUTHS.contains(&name) => {}
            Scalar::Row(_) => {
                let (kinds, e) = self.together(drafts);
                let on = vec![("as", Kind::Text(from.name().into()).bare())];
                return Some(drafts.equation(kinds, Vec::new(), Projection::Sum, call(name, e, on)));
            }
            Scalar::Cast if from.is_complex() || to.is_complex() => {
                return self.complex_cast(from, to, drafts);
            }
            Scalar::Cast if self.is_same_number() => return self.ins.first().cloned(),
            Scalar::Identity if name != "stop_gradient" => return self.ins.first().cloned(),
            _ => {}
        }
        let (kinds, mut e) = self.together(drafts);
        let two = |e: &mut Vec<Expr>| {
            let b = e.pop().unwrap_or_else(|| number(0.0));
            let a = e.pop().unwrap_or_else(|| number(0.0));
            (a, b)
        };
        let value = match name {
            "add" => Kind::Sum(e).bare(),
            "sub" => {
                let (a, b) = two(&mut e);
                Kind::Sum(vec![a, Kind::Negative(Box::new(b)).bare()]).bare()
            }
            "mul" => Kind::Product(e).bare(),
            "div" => {
                let (a, b) = two(&mut e);
                Kind::Quotient(Box::new([a, b])).bare()
            }
            "neg" => Kind::Negative(Box::new(e.pop()?)).bare(),
            "select" => call("where", e, Vec::new()),
            "and" => {
                let (a, b) = two(&mut e);
                Kind::And(Box::new([a, b])).bare()
            }
            "or" => {
                let (a, b) = two(&mut e);
                Kind::Or(Box::new([a, b])).bare()
            }
            "not" => Kind::Not(Box::new(e.pop()?)).bare(),
            "xor" => call("ne", e, Vec::new()),
            _ if matches!(scalar, Scalar::Cast) && self.node.outs[0].dtype == DType::Bool => {
                call("ne", vec![e.pop()?, number(0.0)], Vec::new())
            }
            _ if matches!(scalar, Scalar::Cast) && to == DType::I64 => call("trunc", e, Vec::new()),
            _ if matches!(scalar, Scalar::Cast) => {
                let mut named = vec![("to", Kind::Text(to.name().into()).bare())];
                if !is_float(from) {
                    named.push(("of", Kind::Text("wholes".into()).bare()));
                }
                call("cast", e, named)
            }
            "re" => call("real", e, Vec::new()),
            "im" => call("imag", e, Vec::new()),
            row => call(row, e, Vec::new()),
        };
        Some(drafts.equation(kinds, Vec::new(), Projection::Sum, value))
    }

    /// Between complex numbers and others, or complex numbers of fewer bits.
    fn complex_cast(&self, from: DType, to: DType, drafts: &mut Drafts) -> Option<Seen> {
        let [x] = self.ins else { return None };
        let zero = Seen { base: Base::Number(0.0), kinds: x.kinds.clone(), when: None };
        if !from.is_complex() {
            return Some(drafts.pointwise("complex", &[x, &zero]));
        }
        let held = |part: &str, to: &str, drafts: &mut Drafts| {
            let part = drafts.pointwise(part, &[x]);
            let places: Vec<usize> = (0..part.kinds.len()).collect();
            let to = vec![("to", Kind::Text(to.into()).bare())];
            let value = call("cast", vec![operand(&part, &places)], to);
            drafts.equation(part.kinds, Vec::new(), Projection::Sum, value)
        };
        Some(match to {
            DType::C128 => x.clone(),
            DType::C64 => {
                let [re, im] = ["real", "imag"].map(|part| held(part, "f32", drafts));
                drafts.pointwise("complex", &[&re, &im])
            }
            DType::F64 => drafts.pointwise("real", &[x]),
            to => held("real", to.name(), drafts),
        })
    }
}
