//! Linear algebra: calls of the functions that the language has for it.

use super::draft::{Drafts, operand};
use super::forms::{Raise, call};
use super::{Seen, number};
use crate::ast::{Expr, Kind, Name, Projection};
use gradus_ir::attr::Attr;

/// How the axes of a result are called.
#[derive(Clone, Copy)]
enum Axes {
    /// As those of the matrix.
    Own,
    /// By names of their own.
    New,
    /// As the columns of the matrix and those of the right side.
    Solution,
}

/// Ops, the axes of their results, and what `part=` calls each where there are several.
const CALLS: &[(&str, Axes, &[&str])] = &[
    ("cholesky", Axes::Own, &[]),
    ("pinv", Axes::New, &[]),
    ("det", Axes::New, &[]),
    ("slogdet", Axes::New, &["sign", "logabsdet"]),
    ("qr", Axes::New, &["q", "r"]),
    ("svd", Axes::New, &["u", "s", "vh"]),
    ("eigh", Axes::New, &["values", "vectors"]),
    ("solve", Axes::Solution, &[]),
    ("triangular_solve", Axes::Solution, &[]),
];

impl Raise<'_> {
    /// All results of an op of linear algebra on real numbers, if the language has it.
    pub(super) fn linear(&self, drafts: &mut Drafts) -> Option<Vec<Seen>> {
        let (name, axes, parts) = CALLS.iter().find(|c| c.0 == self.node.op.name())?;
        if !self.is_plain() || self.node.outs.len() != parts.len().max(1) {
            return None;
        }
        let ins: Vec<Seen> = self.ins.iter().map(|x| drafts.solid(x)).collect();
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

    /// The attributes that are set, by their names.
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
    /// `T[b, j, k] = solve(A[b, i, j], B[b, i, k])`.
    fn solution(&mut self, name: &str, a: &Seen, b: &Seen, named: Vec<(&str, Expr)>) -> Seen {
        let batch = a.kinds.len() - 2;
        a.kinds[..=batch].iter().zip(&b.kinds).for_each(|(a, b)| self.join(*a, *b));
        let mut left = a.kinds[..batch].to_vec();
        left.extend([a.kinds[batch + 1], b.kinds[batch + 1]]);
        let of = |last: usize| (0..batch).chain([batch + 2, last]).collect::<Vec<usize>>();
        let args = vec![operand(a, &of(batch)), operand(b, &of(batch + 1))];
        self.equation(left, vec![a.kinds[batch]], Projection::Sum, call(name, args, named))
    }
}
