//! Contractions, convolutions and folds, by their definitions.

use super::combine::Combined;
use super::strides::{Offsets, strides};
use crate::literal::Data;
use crate::ops::{Combine, Window};
use crate::{Aval, C, Literal, stop};

/// Terms of a sum between two looks at whether the result is still wanted.
const ASK_EVERY: usize = 1 << 14;

/// Products that can be summed.
trait Product: Combined {
    fn times(self, other: Self) -> Self;
}

impl Product for f64 {
    fn times(self, other: f64) -> f64 {
        self * other
    }
}

impl Product for C {
    fn times(self, other: C) -> C {
        self * other
    }
}

impl Product for i64 {
    fn times(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }
}

fn add<T: Combined>(a: T, b: T) -> T {
    T::combine(Combine::Sum, a, b)
}

fn dispatch(x: &Literal, y: &Literal, f: impl Contraction) -> Data {
    match (x.data(), y.data()) {
        (Data::F(a), Data::F(b)) => f.run(a.as_slice(), b.as_slice()).into(),
        (Data::C(a), Data::C(b)) => f.run(a.as_slice(), b.as_slice()).into(),
        _ => f.run(x.i(), y.i()).into(),
    }
}

/// A routine generic in its elements.
trait Contraction {
    fn run<T: Product>(self, a: &[T], b: &[T]) -> Vec<T>;
}

struct Labelled {
    outer: Vec<(i64, i64)>,
    inner: Vec<(i64, i64)>,
}

impl Contraction for Labelled {
    fn run<T: Product>(self, a: &[T], b: &[T]) -> Vec<T> {
        let one = |&(oa, ob): &(i64, i64)| {
            let term = |&(ia, ib): &(i64, i64)| a[(oa + ia) as usize].times(b[(ob + ib) as usize]);
            let parts = self.inner.chunks(ASK_EVERY).take_while(|_| !stop::wanted());
            parts.flatten().map(term).fold(T::default(), add)
        };
        let mut out: Vec<T> = self.outer.iter().take_while(|_| !stop::wanted()).map(one).collect();
        out.resize(self.outer.len(), T::default()); // as many as the type says, also if it was left early
        out
    }
}

pub(super) fn contract(x: &Literal, y: &Literal, lhs: &str, rhs: &str, out: &str) -> Data {
    let extent = |l: char| {
        let of = |labels: &str, lit: &Literal| labels.chars().position(|m| m == l).map(|i| lit.shape()[i]);
        of(lhs, x).or_else(|| of(rhs, y)).unwrap_or(1)
    };
    let (xs, ys) = (strides(x.shape()), strides(y.shape()));
    let stride = |labels: &str, s: &[i64], l: char| labels.chars().position(|m| m == l).map_or(0, |i| s[i]);
    let walk = |labels: Vec<char>| -> Vec<(i64, i64)> {
        let extents: Vec<usize> = labels.iter().map(|&l| extent(l)).collect();
        let a: Vec<i64> = labels.iter().map(|&l| stride(lhs, &xs, l)).collect();
        let b: Vec<i64> = labels.iter().map(|&l| stride(rhs, &ys, l)).collect();
        Offsets::new(&extents, &a, 0).zip(Offsets::new(&extents, &b, 0)).collect()
    };
    let mut summed: Vec<char> = Vec::new();
    for l in lhs.chars().chain(rhs.chars()) {
        if !out.contains(l) && !summed.contains(&l) {
            summed.push(l);
        }
    }
    dispatch(x, y, Labelled { outer: walk(out.chars().collect()), inner: walk(summed) })
}

/// For every result place, the pairs of window place and operand place that meet there.
struct Grouped {
    /// N, G, C, O.
    extents: [usize; 4],
    operand: usize,
    window: usize,
    meet: Vec<Vec<(usize, usize)>>,
}

impl Contraction for Grouped {
    fn run<T: Product>(self, x: &[T], w: &[T]) -> Vec<T> {
        let [n, g, c, o] = self.extents;
        let mut out = Vec::with_capacity(n * g * o * self.meet.len());
        for (ni, gi, oi) in (0..n).flat_map(|n| (0..g).flat_map(move |g| (0..o).map(move |o| (n, g, o)))) {
            for meet in &self.meet {
                let mut sum = T::default();
                if stop::wanted() {
                    out.push(sum); // not wanted, but as many as the type says
                    continue;
                }
                for ci in 0..c {
                    let xs = &x[((ni * g + gi) * c + ci) * self.operand..];
                    let ws = &w[((gi * o + oi) * c + ci) * self.window..];
                    for &(k, s) in meet {
                        sum = add(sum, xs[s].times(ws[k]));
                    }
                }
                out.push(sum);
            }
        }
        out
    }
}

/// All indices of an index space.
fn indices(extents: &[usize]) -> Vec<Vec<usize>> {
    let own = strides(extents);
    let n: usize = extents.iter().product();
    let index = |i: usize| (0..extents.len()).map(|a| (i / own[a] as usize) % extents[a]).collect();
    (0..n).map(index).collect()
}

pub(super) fn convolve(x: &Literal, w: &Literal, win: &Window, out: &Aval) -> Data {
    let (xs, ws, ys) = (&x.shape()[3..], &w.shape()[3..], &out.shape[3..]);
    let own = strides(xs);
    let places = indices(ws);
    // Where window place k at result place p reads, if that is an element and not a zero between or outside.
    let source = |p: &[usize], k: &[usize]| {
        let mut at = 0;
        for a in 0..p.len() {
            let pos = (p[a] * win.stride[a] + k[a] * win.window_dilation[a]) as i64 - win.low[a];
            let base = win.base_dilation[a] as i64;
            if pos < 0 || pos % base != 0 || pos / base >= xs[a] as i64 {
                return None;
            }
            at += pos / base * own[a];
        }
        Some(at as usize)
    };
    let meet = indices(ys)
        .iter()
        .map(|p| places.iter().enumerate().filter_map(|(k, place)| Some((k, source(p, place)?))).collect())
        .collect();
    let extents = [x.shape()[0], x.shape()[1], x.shape()[2], w.shape()[1]];
    let (operand, window) = (xs.iter().product(), ws.iter().product());
    dispatch(x, w, Grouped { extents, operand, window, meet })
}

pub(super) fn fold(x: &Literal, win: &Window, out: &Aval) -> Data {
    let n = win.size.len();
    let lead = x.shape().rank() - 2 * n;
    let own = strides(&out.shape);
    let along = |i: usize, step: usize| own[lead + i] * step as i64;
    let mut steps: Vec<i64> = own[..lead].to_vec();
    steps.extend((0..n).map(|i| along(i, win.stride[i])));
    steps.extend((0..n).map(|i| along(i, win.window_dilation[i])));
    let targets = Offsets::new(x.shape(), &steps, 0);
    fn go<T: Combined>(v: &[T], targets: Offsets<'_>, n: usize) -> Vec<T> {
        let mut sums = vec![T::default(); n];
        v.iter().zip(targets).for_each(|(x, at)| sums[at as usize] = add(sums[at as usize], *x));
        sums
    }
    let total = out.shape.numel();
    match x.data() {
        Data::F(v) => go(v, targets, total).into(),
        Data::C(v) => go(v, targets, total).into(),
        Data::I(v) => go(v, targets, total).into(),
    }
}
