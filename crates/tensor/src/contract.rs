//! Products of tensors: contraction by labels, matrix product, einsum.
//! Takes operands of any dtype, which are promoted; returns one contraction (`Dot`) or a region of several.
//! `einsum.rs` parses equations and chooses the order of contractions.

use crate::eager::apply::apply1;
use crate::eager::call_cache;
use crate::tensor::Tensor;
use gradus_ir::ops::dot::Dot;
use gradus_ir::{DType, Error, Result};
use std::collections::{HashMap, HashSet};

/// Largest rank of an operand that is contracted without changes. For a higher rank, `dot_labels` first drops axes of
/// extent 1, because a contraction compares all pairs of labels.
const MAX_DIRECT_RANK: usize = 16;

/// Returns labels for batch axes.
pub(crate) fn batch_labels() -> impl Iterator<Item = char> {
    ('A'..='Z').chain('\u{100}'..)
}

impl Tensor {
    /// Computes `out = Σ self · other` by axis labels; see [`Dot`]. Dtypes are promoted.
    #[track_caller]
    pub fn dot_labels(&self, other: &Tensor, lhs: &str, rhs: &str, out: &str) -> Tensor {
        let dtype = self.dtype().promote(other.dtype());
        let dtype = if dtype == DType::Bool { DType::I64 } else { dtype };
        let (a, b) = (self.to_dtype(dtype), other.to_dtype(dtype));
        // Not in a closure: there, `#[track_caller]` would lose the caller's location.
        match a.dot_reduced(&b, [lhs, rhs, out]) {
            Some(product) => product,
            None => apply1(Dot::new(lhs, rhs, out), &[&a, &b]),
        }
    }

    /// Contracts operands of high rank after dropping axes of extent 1. Of the axes of extent 0, keeps one per operand
    /// and result. The number of elements then bounds the rank. Returns `None` if no axis can be dropped, or if labels
    /// and shapes do not match.
    #[track_caller]
    fn dot_reduced(&self, other: &Tensor, labels: [&str; 3]) -> Option<Tensor> {
        if self.rank().max(other.rank()) <= MAX_DIRECT_RANK {
            return None;
        }
        let [lhs, rhs, out] = labels.map(|l| l.chars().collect::<Vec<char>>());
        let (of_a, of_b) = (self.shape(), other.shape());
        let distinct = |labels: &[char]| labels.iter().collect::<HashSet<_>>().len() == labels.len();
        if (lhs.len(), rhs.len()) != (of_a.rank(), of_b.rank())
            || ![&lhs, &rhs, &out].iter().all(|l| distinct(l))
        {
            return None;
        }
        let mut extents = HashMap::new();
        for (l, d) in lhs.iter().zip(&of_a[..]).chain(rhs.iter().zip(&of_b[..])) {
            if *extents.entry(*l).or_insert(*d) != *d {
                return None;
            }
        }
        // Keeps one axis of extent 0 per operand and result, so that an empty one stays empty.
        let empty = |labels: &[char]| labels.iter().copied().find(|l| extents.get(l) == Some(&0));
        let zeros = [empty(&out), empty(&lhs), empty(&rhs)];
        let kept = |l: &char| match extents.get(l) {
            Some(0) => zeros.contains(&Some(*l)),
            Some(1) => false,
            _ => true,
        };
        if lhs.iter().chain(&rhs).all(kept) {
            return None;
        }
        let shape = out.iter().map(|l| extents.get(l).copied()).collect::<Option<Vec<usize>>>()?;
        let names = |labels: &[char]| labels.iter().filter(|l| kept(l)).collect::<String>();
        let fewer = |t: &Tensor, labels: &[char], shape: &[usize]| {
            let axes = labels.iter().zip(shape).filter(|(l, _)| kept(l)).map(|(_, d)| *d);
            t.reshape(axes.collect::<Vec<usize>>())
        };
        let dot = Dot::new(names(&lhs), names(&rhs), names(&out));
        Some(apply1(dot, &[&fewer(self, &lhs, &of_a), &fewer(other, &rhs, &of_b)]).reshape(shape))
    }

    /// Matrix product over the last two axes; the axes before them broadcast. A vector is a row vector on the left and
    /// a column vector on the right; the added axis is removed from the result.
    #[track_caller]
    pub fn matmul(&self, other: &Tensor) -> Tensor {
        for t in [self, other] {
            if t.error().is_some() {
                return t.clone();
            }
        }
        let (a, b) = (self.shape(), other.shape());
        if a.rank() == 0 || b.rank() == 0 {
            return Tensor::refuse(
                "matmul",
                &[self, other],
                Error::shape("a scalar", "is not a matrix; use `*`"),
            );
        }
        let (inner_a, inner_b) = (a[a.rank() - 1], if b.rank() == 1 { b[0] } else { b[b.rank() - 2] });
        if inner_a != inner_b {
            let what = format!("inner extents {inner_a} and {inner_b}");
            let why = "differ: the last axis of the first must equal the second-to-last of the second";
            return Tensor::refuse("matmul", &[self, other], Error::shape(what, why));
        }
        match (a.rank(), b.rank()) {
            (2, 2) => return self.product(other, ["ik", "kj", "ij"]),
            (1, 1) => return self.product(other, ["k", "k", ""]),
            (2, 1) => return self.product(other, ["ik", "k", "i"]),
            (1, 2) => return self.product(other, ["k", "kj", "j"]),
            _ => {}
        }
        // Labels of rows and columns; a vector has neither.
        let (rows, columns) = (if a.rank() == 1 { "" } else { "i" }, if b.rank() == 1 { "" } else { "j" });
        let lead_a = a[..a.rank().saturating_sub(2)].to_vec();
        let lead_b = b[..b.rank().saturating_sub(2)].to_vec();
        let batch = match gradus_ir::Shape::from(lead_a.clone()).broadcast(&lead_b.clone().into()) {
            Some(batch) => batch,
            None => {
                let what = format!("leading extents {lead_a:?} and {lead_b:?}");
                return Tensor::refuse("matmul", &[self, other], Error::shape(what, "do not broadcast"));
            }
        };
        let tail = |s: &[usize]| s[s.len().saturating_sub(2)..].to_vec();
        // A batch axis is labelled on each operand that has it. An axis of extent 1 that broadcasts is
        // dropped.
        let names: Vec<char> = batch_labels().take(batch.rank()).collect();
        let labels = |lead: &[usize]| -> (Vec<usize>, String) {
            let skip = batch.rank() - lead.len();
            lead.iter()
                .enumerate()
                .filter(|(k, d)| **d == batch[skip + k])
                .map(|(k, d)| (*d, names[skip + k]))
                .unzip()
        };
        let ((da, la), (db, lb)) = (labels(&lead_a), labels(&lead_b));
        let (x, y) = (self.reshape([da, tail(&a)].concat()), other.reshape([db, tail(&b)].concat()));
        let all: String = names.iter().collect();
        x.dot_labels(
            &y,
            &format!("{la}{rows}k"),
            &format!("{lb}k{columns}"),
            &format!("{all}{rows}{columns}"),
        )
    }

    /// Multiplies two matrices or vectors whose extents fit; the labels follow from their ranks.
    #[track_caller]
    fn product(&self, other: &Tensor, [lhs, rhs, out]: [&str; 3]) -> Tensor {
        let (name, ins) = ("matmul", [self, other]);
        if let Some(outs) = call_cache::run(name, &Vec::new(), &ins) {
            return outs.map_or_else(Tensor::failed, |mut outs| outs.swap_remove(0));
        }
        if self.dtype() == other.dtype() && self.dtype() != DType::Bool {
            call_cache::remember(name, &Vec::new(), &ins, &Dot::new(lhs, rhs, out).into());
        }
        self.dot_labels(other, lhs, rhs, out)
    }

    /// Contracts tensors by an equation such as `"bij,bjk->bik"`, in an order that keeps intermediate results
    /// small. `...` stands for leading axes that broadcast. A label twice in one term takes the diagonal.
    /// Without `->` the result has the labels that occur once, in alphabetical order.
    #[track_caller]
    pub fn einsum(equation: &str, tensors: &[&Tensor]) -> Tensor {
        Tensor::einsum_within(equation, tensors, f64::INFINITY)
    }

    /// As [`einsum`](Tensor::einsum), but returns an error if one contraction visits more than `most`
    /// combinations of indices.
    #[track_caller]
    pub fn einsum_within(equation: &str, tensors: &[&Tensor], most: f64) -> Tensor {
        for t in tensors {
            if t.error().is_some() {
                return (*t).clone();
            }
        }
        match crate::einsum::einsum(equation, tensors, most) {
            Ok(t) => t,
            Err(e) => Tensor::refuse("einsum", tensors, e),
        }
    }
}

/// Returns labels that `used` does not contain, for the axes of `...`.
pub(crate) fn spare_labels(used: &str) -> impl Iterator<Item = char> + '_ {
    ('α'..='ω').chain('Α'..='Ρ').filter(move |c| !used.contains(*c))
}

/// An operand or intermediate result with its labels.
pub(crate) type Term = (Tensor, String);

/// Takes the next spare letter. Returns an error if the equation has too many axes.
pub(crate) fn spare(labels: &mut impl Iterator<Item = char>) -> Result<char> {
    labels.next().ok_or_else(|| Error::value("the equation", "has too many axes"))
}
