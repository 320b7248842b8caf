//! Contractions: linear maps, matrix and vector products, Kronecker and tensor products.

use super::each::failed;
use crate::axis::Axes;
use crate::contract::batch_labels;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::{Error, Result};

/// Returns labels for leading axes.
fn labels(count: usize) -> String {
    batch_labels().take(count).collect()
}

/// Returns an error if `x` does not have this rank.
fn check_rank(x: &Tensor, rank: usize, what: &str) -> Result<()> {
    if x.rank() == rank {
        return Ok(());
    }
    Err(Error::shape(format!("shape {}", x.shape()), format!("must have rank {rank}, as a {what} does")))
}

fn check_equal(a: usize, b: usize, what: &str) -> Result<()> {
    if a == b { Ok(()) } else { Err(Error::shape(format!("{what} {a} and {b}"), "must be equal")) }
}

/// `x · wᵀ + bias` over the last axis of `x`: `w` is `[O,I]` and the bias `[O]`, or `w` is `[I]` and the bias
/// a scalar. Dtypes are promoted.
#[track_caller]
pub fn linear(x: &Tensor, w: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let ins: Vec<&Tensor> = [x, w].into_iter().chain(bias).collect();
    if let Some(failed) = failed(&ins) {
        return failed;
    }
    let (xs, ws) = (x.shape(), w.shape());
    let check = || {
        let (Some(&inner), [.., own]) = (xs.last(), &ws[..]) else {
            return Err(Error::shape(format!("{xs} and {ws}"), "must be [..,I] and [O,I]"));
        };
        if ws.rank() > 2 || inner != *own {
            return Err(Error::shape(format!("an input {xs} and weights {ws}"), "must be [..,I] and [O,I]"));
        }
        match bias {
            Some(b) if b.shape()[..] != ws[..ws.rank() - 1] => {
                let why = format!("must be {:?}, one for each output", &ws[..ws.rank() - 1]);
                Err(Error::shape(format!("a bias of shape {}", b.shape()), why))
            }
            _ => Ok(()),
        }
    };
    if let Err(e) = check() {
        return Tensor::refuse("linear", &ins, e);
    }
    region1("linear", vec![arg("bias", bias.is_some())], &ins, |x| {
        let (lead, out) = (labels(xs.rank() - 1), if ws.rank() == 2 { "o" } else { "" });
        let y = x[0].dot_labels(&x[1], &format!("{lead}i"), &format!("{out}i"), &format!("{lead}{out}"));
        x.get(2).map_or(y.clone(), |b| y + b)
    })
}

/// `Σ x₁ᵢ wₒᵢⱼ x₂ⱼ + bias` over the last axes: `[..,I]` and `[..,J]` with weights `[O,I,J]` give `[..,O]`.
#[track_caller]
pub fn bilinear(x1: &Tensor, x2: &Tensor, w: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let ins: Vec<&Tensor> = [x1, x2, w].into_iter().chain(bias).collect();
    if let Some(failed) = failed(&ins) {
        return failed;
    }
    let (a, b, ws) = (x1.shape(), x2.shape(), w.shape());
    let fits = match (&a[..], &b[..], &ws[..]) {
        ([la @ .., i], [lb @ .., j], [o, wi, wj]) => {
            la == lb && i == wi && j == wj && bias.is_none_or(|b| b.shape()[..] == [*o])
        }
        _ => false,
    };
    if !fits {
        let e = Error::shape(
            format!("inputs {a} and {b} with weights {ws}"),
            "must be [..,I], [..,J] and [O,I,J], a bias [O]",
        );
        return Tensor::refuse("bilinear", &ins, e);
    }
    region1("bilinear", vec![arg("bias", bias.is_some())], &ins, |x| {
        let lead = labels(a.rank() - 1);
        let half = x[0].dot_labels(&x[2], &format!("{lead}i"), "oij", &format!("{lead}oj"));
        let y = half.dot_labels(&x[1], &format!("{lead}oj"), &format!("{lead}j"), &format!("{lead}o"));
        x.get(3).map_or(y.clone(), |b| y + b)
    })
}

/// Contracts pairs of axes: the `k`-th of `axes_a` with the `k`-th of `axes_b`. The result has the remaining
/// axes of `a`, then those of `b`.
#[track_caller]
pub fn tensordot(a: &Tensor, b: &Tensor, axes_a: impl Axes, axes_b: impl Axes) -> Tensor {
    if let Some(failed) = failed(&[a, b]) {
        return failed;
    }
    let plan = || {
        let (of_a, of_b) = (axes_a.resolve(a.rank())?, axes_b.resolve(b.rank())?);
        check_equal(of_a.len(), of_b.len(), "numbers of axes")?;
        for (&i, &j) in of_a.iter().zip(&of_b) {
            check_equal(a.shape()[i], b.shape()[j], &format!("extents of axes {i} and {j},"))?;
        }
        Ok((of_a, of_b))
    };
    match plan() {
        Ok((of_a, of_b)) => {
            let mut names = batch_labels();
            let (mut la, mut lb) = (vec![None; a.rank()], vec![None; b.rank()]);
            for ((&i, &j), name) in of_a.iter().zip(&of_b).zip(&mut names) {
                (la[i], lb[j]) = (Some(name), Some(name));
            }
            let mut left = String::new();
            for free in la.iter_mut().chain(&mut lb).filter(|l| l.is_none()) {
                *free = names.next();
                left.extend(*free);
            }
            let joined = |labels: Vec<Option<char>>| labels.into_iter().flatten().collect::<String>();
            a.dot_labels(b, &joined(la), &joined(lb), &left)
        }
        Err(e) => Tensor::refuse("tensordot", &[a, b], e),
    }
}

/// `beta · c + alpha · (a b)` of matrices, where `c` broadcasts. If `beta` is 0, `c` is not read, even if it contains
/// NaN.
#[track_caller]
pub fn addmm(c: &Tensor, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Tensor {
    if let Some(failed) = failed(&[c, a, b]) {
        return failed;
    }
    let check = || {
        check_rank(a, 2, "matrix")?;
        check_rank(b, 2, "matrix")?;
        check_equal(a.shape()[1], b.shape()[0], "inner extents")?;
        let shape = [a.shape()[0], b.shape()[1]].into();
        match c.shape().broadcast(&shape) {
            Some(s) if s == shape => Ok(()),
            _ => Err(Error::shape(format!("extents {}", c.shape()), format!("do not broadcast to {shape}"))),
        }
    };
    if let Err(e) = check() {
        return Tensor::refuse("addmm", &[c, a, b], e);
    }
    region1("addmm", vec![arg("beta", beta), arg("alpha", alpha)], &[c, a, b], |x| {
        let product = x[1].matmul(&x[2]);
        let product = if alpha == 1.0 { product } else { product * alpha };
        match beta {
            0.0 => product,
            1.0 => &x[0] + product,
            _ => &x[0] * beta + product,
        }
    })
}

impl Tensor {
    /// The Kronecker product: every element of this tensor times the entire other tensor. The tensor of lower
    /// rank gets leading axes of extent 1.
    #[track_caller]
    pub fn kron(&self, other: &Tensor) -> Tensor {
        region1("kron", vec![], &[self, other], |x| {
            let (a, b) = (x[0].shape(), x[1].shape());
            let rank = a.rank().max(b.rank());
            let fill = |s: &[usize]| [vec![1; rank - s.len()], s.to_vec()].concat();
            let (a, b) = (fill(&a), fill(&b));
            let rows: Vec<usize> = a.iter().flat_map(|&d| [d, 1]).collect();
            let columns: Vec<usize> = b.iter().flat_map(|&d| [1, d]).collect();
            let merged: Vec<usize> = a.iter().zip(&b).map(|(m, n)| m.saturating_mul(*n)).collect();
            (x[0].reshape(rows) * x[1].reshape(columns)).reshape(merged)
        })
    }

    /// The outer product of two vectors.
    #[track_caller]
    pub fn outer(&self, other: &Tensor) -> Tensor {
        self.contract("outer", other, [(1, "vector"), (1, "vector")], None, ["i", "j", "ij"])
    }

    /// The sum of products of two vectors, without conjugation.
    #[track_caller]
    pub fn dot(&self, other: &Tensor) -> Tensor {
        self.contract("dot", other, [(1, "vector"), (1, "vector")], Some((0, 0)), ["i", "i", ""])
    }

    /// The product of two matrices.
    #[track_caller]
    pub fn mm(&self, other: &Tensor) -> Tensor {
        self.contract("mm", other, [(2, "matrix"), (2, "matrix")], Some((1, 0)), ["ik", "kj", "ij"])
    }

    /// The product of a matrix with a vector.
    #[track_caller]
    pub fn mv(&self, other: &Tensor) -> Tensor {
        self.contract("mv", other, [(2, "matrix"), (1, "vector")], Some((1, 0)), ["ik", "k", "i"])
    }

    /// The products of two batches of matrices, without broadcasting.
    #[track_caller]
    pub fn bmm(&self, other: &Tensor) -> Tensor {
        let batch = "batch of matrices";
        self.contract("bmm", other, [(3, batch), (3, batch)], Some((2, 1)), ["bik", "bkj", "bij"])
    }

    /// Contracts after checking ranks and inner extents.
    #[track_caller]
    fn contract(
        &self,
        name: &str,
        other: &Tensor,
        ranks: [(usize, &str); 2],
        inner: Option<(isize, isize)>,
        [lhs, rhs, out]: [&str; 3],
    ) -> Tensor {
        if let Some(failed) = failed(&[self, other]) {
            return failed;
        }
        let check = || {
            check_rank(self, ranks[0].0, ranks[0].1)?;
            check_rank(other, ranks[1].0, ranks[1].1)?;
            inner.map_or(Ok(()), |(a, b)| check_equal(self.dim(a), other.dim(b), "inner extents"))?;
            if name == "bmm" { check_equal(self.dim(0), other.dim(0), "batch extents") } else { Ok(()) }
        };
        match check() {
            Ok(()) => self.dot_labels(other, lhs, rhs, out),
            Err(e) => Tensor::refuse(name, &[self, other], e),
        }
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    let cases: [(&[usize], &[usize], bool); 6] = [
        (&[2, 3], &[4, 3], true),
        (&[2, 2, 3], &[2, 3], false),
        (&[3], &[2, 3], true),
        (&[2, 3], &[3], true),
        (&[0, 3], &[2, 3], true),
        (&[2, 0], &[2, 0], true),
    ];
    for (x, w, bias) in cases {
        let mut ins = vec![s.draw.normal(x), s.draw.normal(w)];
        ins.extend(bias.then(|| s.draw.normal(&w[..w.len() - 1])));
        s.case("linear", ins, |x| linear(&x[0], &x[1], x.get(2)));
    }
    for bias in [false, true] {
        let mut ins = vec![s.draw.normal([2, 3]), s.draw.normal([2, 2]), s.draw.normal([4, 3, 2])];
        ins.extend(bias.then(|| s.draw.normal([4])));
        s.case("bilinear", ins, |x| bilinear(&x[0], &x[1], &x[2], x.get(3)));
    }
    let ins = [s.draw.normal([2, 3, 4]), s.draw.normal([4, 3, 2])];
    s.case("tensordot", ins, |x| tensordot(&x[0], &x[1], [1, 2], [1, 0]));
    let ins = [s.draw.normal([2, 3]), s.draw.normal([2])];
    s.case("tensordot", ins, |x| tensordot(&x[0], &x[1], [], []));
    for (beta, alpha) in [(1.0, 1.0), (0.5, -1.5), (0.0, 2.0)] {
        let ins = [s.draw.normal([4]), s.draw.normal([2, 3]), s.draw.normal([3, 4])];
        s.case("addmm", ins, move |x| addmm(&x[0], &x[1], &x[2], beta, alpha));
    }
    for (a, b) in [(&[2, 2][..], &[2, 3][..]), (&[3], &[2, 1]), (&[], &[2]), (&[0], &[2])] {
        let ins = [s.draw.normal(a), s.draw.normal(b)];
        s.case("kron", ins, |x| x[0].kron(&x[1]));
    }
    let ins = [s.draw.normal([3]), s.draw.normal([2])];
    s.case("outer", ins, |x| x[0].outer(&x[1]));
    let ins = [s.draw.normal([3]), s.draw.normal([3])];
    s.case("dot", ins, |x| x[0].dot(&x[1]));
    let ins = [s.draw.normal([2, 3]), s.draw.normal([3, 2])];
    s.case("mm", ins, |x| x[0].mm(&x[1]));
    let ins = [s.draw.normal([2, 3]), s.draw.normal([3])];
    s.case("mv", ins, |x| x[0].mv(&x[1]));
    let ins = [s.draw.normal([2, 1, 3]), s.draw.normal([2, 3, 2])];
    s.case("bmm", ins, |x| x[0].bmm(&x[1]));
}
