//! Raises pointwise ops and casts.

use super::draft::{Drafts, cast, operand};
use super::forms::{Raise, call};
use super::{Base, View, number};
use crate::syntax::ast::{Expr, Kind, Projection};
use gradus_ir::ops::{Form, Scalar};
use gradus_ir::{Class, DType};

impl Drafts {
    /// Writes a pointwise function of values that have one shape.
    pub(super) fn pointwise(&mut self, function: &str, of: &[&View]) -> View {
        let kinds = of[0].kinds.clone();
        of.iter().for_each(|s| s.kinds.iter().zip(&kinds).for_each(|(a, b)| self.join(*a, *b)));
        let places: Vec<usize> = (0..kinds.len()).collect();
        let args = of.iter().map(|s| operand(s, &places)).collect();
        self.equation(kinds, Vec::new(), Projection::Sum, call(function, args, Vec::new()))
    }
}

impl Raise<'_> {
    pub(super) fn pointwise(&self, drafts: &mut Drafts) -> Option<View> {
        let name = self.node.op.name();
        let scalar = match self.node.op.def().form(&[]) {
            Form::Pointwise(scalar) => scalar,
            _ => return None,
        };
        let [from, to] = [self.dtype(0), self.node.outs[0].dtype];
        match scalar {
            Scalar::Cast if from == to => return self.ins.first().cloned(),
            Scalar::Cast if from.is_complex() || to.is_complex() => {
                return self.complex_cast(from, to, drafts);
            }
            // Booleans need no cast: the language uses them as numbers of the program's float dtype.
            Scalar::Cast if from == DType::Bool && drafts.said(to).is_none() && !self.is_result() => {
                return self.ins.first().cloned();
            }
            Scalar::Identity if name != "stop_gradient" => return self.ins.first().cloned(),
            _ => {}
        }
        let (kinds, mut e) = self.together(drafts);
        let two = |e: &mut Vec<Expr>| {
            let b = e.pop().unwrap_or_else(|| number(0.0));
            let a = e.pop().unwrap_or_else(|| number(0.0));
            (a, b)
        };
        let (truths, wholes) = (from == DType::Bool, from.class() <= Class::Int);
        let value = match name {
            _ if matches!(scalar, Scalar::Cast) && to == DType::Bool => {
                call("ne", vec![e.pop()?, number(0.0)], Vec::new())
            }
            _ if matches!(scalar, Scalar::Cast) => cast(e.pop()?, to),
            "add" => Kind::Sum(e).bare(),
            "sub" => {
                let (a, b) = two(&mut e);
                Kind::Sum(vec![a, Kind::Negative(Box::new(b)).bare()]).bare()
            }
            "mul" => Kind::Product(e).bare(),
            "div" if !wholes => {
                let (a, b) = two(&mut e);
                Kind::Quotient(Box::new([a, b])).bare()
            }
            "neg" => Kind::Negative(Box::new(e.pop()?)).bare(),
            "select" => call("where", e, Vec::new()),
            "and" if truths => {
                let (a, b) = two(&mut e);
                Kind::And(Box::new([a, b])).bare()
            }
            "or" if truths => {
                let (a, b) = two(&mut e);
                Kind::Or(Box::new([a, b])).bare()
            }
            "not" if truths => Kind::Not(Box::new(e.pop()?)).bare(),
            "xor" if truths => call("ne", e, Vec::new()),
            "re" => call("real", e, Vec::new()),
            "im" => call("imag", e, Vec::new()),
            other => call(other, e, Vec::new()),
        };
        Some(drafts.equation(kinds, Vec::new(), Projection::Sum, value))
    }

    /// Returns true if the value is a result of the graph.
    fn is_result(&self) -> bool {
        self.graph.outputs().iter().any(|o| std::ptr::eq(&self.graph.nodes()[o.node as usize], self.node))
    }

    /// Raises a cast from or to a complex dtype.
    fn complex_cast(&self, from: DType, to: DType, drafts: &mut Drafts) -> Option<View> {
        let [x] = self.ins else { return None };
        let held = |part: View, from: DType, to: DType, drafts: &mut Drafts| match from == to {
            true => part,
            false => drafts.cast(&part, to),
        };
        if !from.is_complex() {
            let real = held(x.clone(), from, to.real(), drafts);
            let zero = View { base: Base::Number(0.0, None), kinds: x.kinds.clone(), when: None };
            return Some(drafts.pointwise("complex", &[&real, &zero]));
        }
        let [re, im] = ["real", "imag"].map(|part| drafts.pointwise(part, &[x]));
        let re = held(re, from.real(), to.real(), drafts);
        if !to.is_complex() {
            return Some(re);
        }
        let im = held(im, from.real(), to.real(), drafts);
        Some(drafts.pointwise("complex", &[&re, &im]))
    }
}
