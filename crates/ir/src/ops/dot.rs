//! The contraction of two operands by axis labels.
//! Takes two operands and labels for their axes and the result's; returns the sum of products over the other labels.
//! Which contractions are matrix products is decided in `gradus-compile`.

use super::*;
use crate::{DType, Shape, op_struct};

op_struct! {
    /// `out[o] = Σ lhs[l] rhs[r]`, summed over the labels that are not in `out`. A label is one letter; within
    /// an operand labels differ; every label of `out` is in an operand. Matrix product: `ik`, `kj`, `ij`.
    pub struct Dot = "dot" {
        /// Labels of the first operand's axes.
        lhs: String,
        /// Labels of the second operand's axes.
        rhs: String,
        /// Labels of the result's axes.
        out: String,
    }
}

impl Dot {
    /// Makes a contraction from labels.
    pub fn new(lhs: impl Into<String>, rhs: impl Into<String>, out: impl Into<String>) -> Dot {
        Dot { lhs: lhs.into(), rhs: rhs.into(), out: out.into() }
    }
}

impl Primitive for Dot {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 2)?;
        if ins[0].dtype != ins[1].dtype || ins[0].dtype == DType::Bool {
            return Err(Error::dtype(ins[1].dtype, "both operands must be numbers of one dtype"));
        }
        let mut extents: Vec<(char, usize)> = Vec::new();
        for (labels, aval) in [(&self.lhs, &ins[0]), (&self.rhs, &ins[1])] {
            if labels.chars().count() != aval.rank() {
                return Err(Error::shape(
                    format!("labels `{labels}`"),
                    format!("must be {}, one per axis", aval.rank()),
                ));
            }
            for (i, label) in labels.chars().enumerate() {
                if labels.chars().take(i).any(|l| l == label) {
                    return Err(Error::value(
                        format!("label {label}"),
                        format!("occurs twice in `{labels}`"),
                    ));
                }
                match extents.iter().find(|(l, _)| *l == label) {
                    Some(&(_, d)) if d != aval.shape[i] => {
                        let why = format!("is {d} in the first operand and {} in the second", aval.shape[i]);
                        return Err(Error::shape(format!("label {label}"), why));
                    }
                    Some(_) => {}
                    None => extents.push((label, aval.shape[i])),
                }
            }
        }
        let extent = |(i, label): (usize, char)| match extents.iter().find(|(l, _)| *l == label) {
            Some(&(_, d)) if !self.out.chars().take(i).any(|l| l == label) => Ok(d),
            _ => Err(Error::value(
                format!("result label {label}"),
                "must be in an operand, and once in the result",
            )),
        };
        let shape = self.out.chars().enumerate().map(extent).collect::<Result<Shape>>()?;
        Ok(vec![ins[0].with_shape(shape)])
    }

    fn derivative(&self) -> Derivative {
        Derivative::Multilinear(Operands::All)
    }

    // Contracts the cotangent with the other operand. A label that occurs in this operand only was summed over, so
    // the result is broadcast along it.
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let (mine, other) = if operand == 0 { (&self.lhs, &self.rhs) } else { (&self.rhs, &self.lhs) };
        let reached: String = mine.chars().filter(|l| self.out.contains(*l) || other.contains(*l)).collect();
        let partner = rule.ins[1 - operand].conj_if_complex();
        let grad = ct.dot(partner, &self.out, other, &reached);
        let lost: Vec<usize> =
            mine.chars().enumerate().filter(|(_, l)| !reached.contains(*l)).map(|(i, _)| i).collect();
        Some(grad.spread(&lost, &rule.ins[operand].shape()))
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let used = |c: char| [&self.lhs, &self.rhs, &self.out].iter().any(|l| l.contains(c));
        let Some(label) = ('a'..='z').chain('A'..='Z').chain('\u{100}'..).find(|c| !used(*c)) else {
            return batch.unrolled();
        };
        let with = |i: usize, labels: &str| {
            if batch.batched[i] { format!("{label}{labels}") } else { labels.into() }
        };
        let dot = Dot::new(with(0, &self.lhs), with(1, &self.rhs), format!("{label}{}", self.out));
        batch.builder.apply(dot, batch.ins)
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Contract { lhs: self.lhs.clone(), rhs: self.rhs.clone(), out: self.out.clone() }
    }

    fn bound(&self) -> Bound {
        Bound::Terms(2.0)
    }
}

impl Sampled for Dot {
    fn samples(s: &mut Samples) {
        type Case<'a> = (&'a str, &'a [usize], &'a str, &'a [usize], &'a str);
        let cases: [Case<'_>; 9] = [
            ("ik", &[2, 3], "kj", &[3, 4], "ij"),
            ("bik", &[2, 2, 3], "bkj", &[2, 3, 2], "bij"),
            ("bik", &[2, 0, 3], "bkj", &[2, 3, 1], "bij"),
            ("ik", &[2, 0], "kj", &[0, 2], "ij"),
            ("i", &[3], "j", &[2], "ji"),
            ("i", &[3], "i", &[3], ""),
            ("", &[], "ij", &[2, 2], "ij"),
            ("ijk", &[2, 3, 2], "kl", &[2, 2], "li"),
            ("hqd", &[2, 3, 2], "hkd", &[2, 4, 2], "qhk"),
        ];
        for (lhs, a, rhs, b, out) in cases {
            let ins = [s.normal(a), s.normal(b)];
            s.case(Dot::new(lhs, rhs, out), ins);
        }
        let ins = [s.complex((-1.0, 1.0), [2, 3]), s.complex((-1.0, 1.0), [3, 2])];
        s.case(Dot::new("ik", "kj", "ij"), ins);
        let ins = [s.ints((-4, 4), [2, 3]), s.ints((-4, 4), [3, 2])];
        s.case(Dot::new("ik", "kj", "ij"), ins);
        let (x, y) = (Aval::new(DType::F64, [2, 3]), Aval::new(DType::F64, [2, 3]));
        let two = [x, y];
        s.error(Dot::new("ik", "kj", "ij"), &two, "label k is 3 in the first operand and 2 in the second");
        s.error(Dot::new("ii", "kj", "ij"), &two, "label i occurs twice in `ii`");
        s.error(Dot::new("i", "kj", "ij"), &two, "labels `i` must be 2, one per axis");
        s.error(Dot::new("ij", "ij", "k"), &two, "result label k must be in an operand");
    }
}

impl<'g> Var<'g> {
    /// Contracts with another value, by labels.
    pub fn dot(self, other: Var<'g>, lhs: &str, rhs: &str, out: &str) -> Var<'g> {
        self.builder().apply1(Dot::new(lhs, rhs, out), &[self, other])
    }
}
