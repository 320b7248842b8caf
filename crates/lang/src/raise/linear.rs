//! Raises linear algebra to calls of the language's functions.

use super::draft::{Drafts, operand};
use super::forms::{Raise, call};
use super::function::axis_called;
use super::{View, number};
use crate::syntax::ast::{Expr, Kind, Name, Projection};
use gradus_ir::attr::Attr;

/// The names of the axes of a result.
#[derive(Clone, Copy)]
enum Axes {
    /// Those of the matrix.
    Own,
    /// New names.
    New,
    /// The columns of the matrix, then those of the right side.
    Solution,
}

/// Ops, the axis names of their results, and the value of `part=` for each result if there are several.
const CALLS: &[(&str, Axes, &[&str])] = &[
    ("cholesky", Axes::Own, &[]),
    ("pinv", Axes::New, &[]),
    ("det", Axes::New, &[]),
    ("adjugate", Axes::Own, &[]),
    ("lu", Axes::New, &["packed", "rows"]),
    ("slogdet", Axes::New, &["sign", "logabsdet"]),
    ("qr", Axes::New, &["q", "r"]),
    ("svd", Axes::New, &["u", "s", "vh"]),
    ("eigh", Axes::New, &["values", "vectors"]),
    ("solve", Axes::Solution, &[]),
    ("triangular_solve", Axes::Solution, &[]),
];

impl Raise<'_> {
    /// Returns all results of an op of linear algebra, if the language has the function.
    pub(super) fn linear(&self, drafts: &mut Drafts) -> Option<Vec<View>> {
        let (name, axes, parts) = CALLS.iter().find(|c| c.0 == self.node.op.name())?;
        let mut ins: Vec<View> = self.ins.iter().map(|x| drafts.solid(x)).collect();
        // The function conjugates a matrix that it transposes; the op does not.
        if *name == "triangular_solve" && !self.is_real() && self.truths().iter().any(|t| t.0 == "transpose")
        {
            ins[0] = drafts.pointwise("conj", &[&ins[0]]);
        }
        let result = |(k, aval): (usize, &gradus_ir::Aval), drafts: &mut Drafts| {
            let part = parts.get(k).map(|part| ("part", Kind::Text(Name::from(*part)).bare()));
            let named: Vec<(&str, Expr)> = part.into_iter().chain(self.truths()).collect();
            match (axes, &ins[..]) {
                (Axes::Solution, [a, b]) => Some(drafts.solution(name, a, b, named)),
                (Axes::Own, [x]) => {
                    let value = call(name, vec![operand(x, &places(0, x.kinds.len()))], named);
                    Some(drafts.equation(x.kinds.clone(), Vec::new(), Projection::Sum, value))
                }
                (_, [x]) => {
                    let batch = x.kinds.len().checked_sub(2)?;
                    let mut left = x.kinds[..batch].to_vec();
                    left.extend(aval.shape[batch..].iter().map(|n| drafts.kind(*n)));
                    let own: Vec<usize> = (0..batch).chain([left.len(), left.len() + 1]).collect();
                    let value = call(name, vec![operand(x, &own)], named);
                    Some(drafts.equation(left, x.kinds[batch..].to_vec(), Projection::Sum, value))
                }
                _ => None,
            }
        };
        self.node.outs.iter().enumerate().map(|out| result(out, drafts)).collect()
    }

    /// Raises `fft` and `eig`, whose results are complex, to one call per real or imaginary part.
    pub(super) fn spectra(&self, drafts: &mut Drafts) -> Option<Vec<View>> {
        let [x] = self.ins else { return None };
        let x = drafts.solid(x);
        let attrs = self.node.op.def().attrs();
        let attr = |key: &str| attrs.iter().find(|(k, _)| *k == key).map(|(_, a)| a);
        if self.node.op.name() == "fft" {
            let (Attr::Int(axis), inverse) =
                (attr("axis")?, matches!(attr("inverse"), Some(Attr::Bool(true))))
            else {
                return None;
            };
            let parts = ["real", "imag"].map(|p| drafts.pointwise(p, &[&x]));
            let own = places(0, x.kinds.len());
            let one = |part: &str, drafts: &mut Drafts| {
                let args = parts.iter().map(|p| operand(p, &own)).collect();
                let mut named = vec![axis_called(*axis as usize), ("part", Kind::Text(part.into()).bare())];
                if inverse {
                    named.push(("norm", Kind::Text("forward".into()).bare()));
                }
                let value = call(if inverse { "ifft" } else { "fft" }, args, named);
                drafts.equation(x.kinds.clone(), Vec::new(), Projection::Sum, value)
            };
            let [re, im] = ["real", "imag"].map(|p| one(p, drafts));
            return Some(vec![drafts.pointwise("complex", &[&re, &im])]);
        }
        if self.node.op.name() != "eig" {
            return None;
        }
        let batch = x.kinds.len().checked_sub(2)?;
        let mut results = Vec::new();
        for (k, [re, im]) in [["real", "imag"], ["vectors_real", "vectors_imag"]].into_iter().enumerate() {
            let mut left = x.kinds[..batch].to_vec();
            left.extend(self.node.outs[k].shape[batch..].iter().map(|n| drafts.kind(*n)));
            let own: Vec<usize> = (0..batch).chain([left.len(), left.len() + 1]).collect();
            let [re, im] = [re, im].map(|part| {
                let value =
                    call("eig", vec![operand(&x, &own)], vec![("part", Kind::Text(part.into()).bare())]);
                drafts.equation(left.clone(), x.kinds[batch..].to_vec(), Projection::Sum, value)
            });
            results.push(drafts.pointwise("complex", &[&re, &im]));
        }
        Some(results)
    }

    /// Returns the Boolean attributes that are true, as settings.
    fn truths(&self) -> Vec<(&'static str, Expr)> {
        let all = self.node.op.def().attrs();
        let set = all.into_iter().filter(|(_, a)| matches!(a, Attr::Bool(true)));
        set.map(|(name, _)| (name, number(1.0))).collect()
    }
}

fn places(from: usize, count: usize) -> Vec<usize> {
    (from..from + count).collect()
}

impl Drafts {
    /// Writes `T[b, j, k] = solve(A[b, i, j], B[b, i, k])`.
    fn solution(&mut self, name: &str, a: &View, b: &View, named: Vec<(&str, Expr)>) -> View {
        let batch = a.kinds.len() - 2;
        a.kinds[..=batch].iter().zip(&b.kinds).for_each(|(a, b)| self.join(*a, *b));
        let mut left = a.kinds[..batch].to_vec();
        left.extend([a.kinds[batch + 1], b.kinds[batch + 1]]);
        let of = |last: usize| (0..batch).chain([batch + 2, last]).collect::<Vec<usize>>();
        let args = vec![operand(a, &of(batch)), operand(b, &of(batch + 1))];
        self.equation(left, vec![a.kinds[batch]], Projection::Sum, call(name, args, named))
    }
}
