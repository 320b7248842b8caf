//! Contractions, convolutions and folds, computed by their definitions.
//! Takes literals and labels or a window; returns the data of the result. Long sums poll for a stop request.

use super::combine::Combined;
use super::strides::{Offsets, strides};
use crate::literal::Data;
use crate::ops::{Combine, Window};
use crate::{Aval, C, Literal, stop};
use std::collections::{HashMap, HashSet};

/// Terms of a sum between two polls for a stop request.
const ASK_EVERY: usize = 1 << 14;

/// Elements with products that can be summed.
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

/// A routine generic in its element type.
trait Contraction {
    fn run<T: Product>(self, a: &[T], b: &[T]) -> Vec<T>;
}

/// The axes of some labels: their extents, and their strides in both operands, 0 if an operand lacks the label.
struct Axes {
    extents: Vec<usize>,
    a: Vec<i64>,
    b: Vec<i64>,
}

impl Axes {
    /// Offsets in both operands of every index, in row-major order.
    fn offsets(&self) -> impl Iterator<Item = (i64, i64)> {
        Offsets::new(&self.extents, &self.a, 0).zip(Offsets::new(&self.extents, &self.b, 0))
    }
}

struct Labelled {
    outer: Axes,
    inner: Axes,
}

impl Contraction for Labelled {
    fn run<T: Product>(self, a: &[T], b: &[T]) -> Vec<T> {
        // The result has its full length even if the loop ends early.
        let mut out = vec![T::default(); self.outer.extents.iter().product()];
        let mut inner = Vec::new();
        for (k, pair) in self.inner.offsets().enumerate() {
            if k % ASK_EVERY == 0 && stop::requested() {
                return out;
            }
            inner.push(pair);
        }
        let one = |(oa, ob): (i64, i64)| {
            let term = |&(ia, ib): &(i64, i64)| a[(oa + ia) as usize].times(b[(ob + ib) as usize]);
            let parts = inner.chunks(ASK_EVERY).take_while(|_| !stop::requested());
            parts.flatten().map(term).fold(T::default(), add)
        };
        let offsets = self.outer.offsets().take_while(|_| !stop::requested());
        out.iter_mut().zip(offsets).for_each(|(out, at)| *out = one(at));
        out
    }
}

pub(super) fn contract(x: &Literal, y: &Literal, lhs: &str, rhs: &str, out: &str) -> Data {
    // By label: the extent, and the strides in both operands.
    let mut axes: HashMap<char, (usize, i64, i64)> = HashMap::new();
    let (xs, ys) = (strides(x.shape()), strides(y.shape()));
    for (i, l) in lhs.chars().enumerate() {
        axes.insert(l, (x.shape()[i], xs[i], 0));
    }
    for (i, l) in rhs.chars().enumerate() {
        axes.entry(l).or_insert((y.shape()[i], 0, 0)).2 = ys[i];
    }
    let walk = |labels: &mut dyn Iterator<Item = char>| {
        let mut walk = Axes { extents: Vec::new(), a: Vec::new(), b: Vec::new() };
        for (extent, a, b) in labels.map(|l| axes.get(&l).copied().unwrap_or((1, 0, 0))) {
            walk.extents.push(extent);
            walk.a.push(a);
            walk.b.push(b);
        }
        walk
    };
    let mut seen: HashSet<char> = out.chars().collect();
    let summed: Vec<char> = lhs.chars().chain(rhs.chars()).filter(|l| seen.insert(*l)).collect();
    dispatch(x, y, Labelled { outer: walk(&mut out.chars()), inner: walk(&mut summed.into_iter()) })
}

/// A convolution: for every result position, the pairs of window and operand positions whose products are summed.
struct Grouped {
    /// Extents of the batch, the groups, the input channels of a group and its output channels.
    extents: [usize; 4],
    operand: usize,
    window: usize,
    pairs: Vec<Vec<(usize, usize)>>,
}

impl Contraction for Grouped {
    fn run<T: Product>(self, x: &[T], w: &[T]) -> Vec<T> {
        let [n, g, c, o] = self.extents;
        let mut out = Vec::with_capacity(n * g * o * self.pairs.len());
        for (ni, gi, oi) in (0..n).flat_map(|n| (0..g).flat_map(move |g| (0..o).map(move |o| (n, g, o)))) {
            for pairs in &self.pairs {
                let mut sum = T::default();
                if stop::requested() {
                    out.push(sum); // the values do not matter any more, but their number does
                    continue;
                }
                for ci in 0..c {
                    let xs = &x[((ni * g + gi) * c + ci) * self.operand..];
                    let ws = &w[((gi * o + oi) * c + ci) * self.window..];
                    for &(k, s) in pairs {
                        sum = add(sum, xs[s].times(ws[k]));
                    }
                }
                out.push(sum);
            }
        }
        out
    }
}

/// Returns all indices of an index space.
fn indices(extents: &[usize]) -> Vec<Vec<usize>> {
    let own = strides(extents);
    let n: usize = extents.iter().product();
    let index = |i: usize| (0..extents.len()).map(|a| (i / own[a] as usize) % extents[a]).collect();
    (0..n).map(index).collect()
}

pub(super) fn convolve(x: &Literal, w: &Literal, win: &Window, out: &Aval) -> Data {
    let (xs, ws, ys) = (&x.shape()[3..], &w.shape()[3..], &out.shape[3..]);
    let own = strides(xs);
    // Without channels or outputs there are no products, however many positions the window has.
    let is_empty = out.shape.numel() == 0 || [x, w].iter().any(|t| t.shape().contains(&0));
    let in_window = if is_empty { Vec::new() } else { indices(ws) };
    // Where element k of the window at result position p reads; `None` for a zero between elements or outside.
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
    let extents = [x.shape()[0], x.shape()[1], x.shape()[2], w.shape()[1]];
    let pairs_of = |p: &Vec<usize>| {
        in_window.iter().enumerate().filter_map(|(k, index)| Some((k, source(p, index)?))).collect()
    };
    let pairs = match is_empty {
        true if out.shape.numel() == 0 => Vec::new(),
        true => vec![Vec::new(); ys.iter().product()],
        false => indices(ys).iter().map(pairs_of).collect(),
    };
    let (operand, window) = (xs.iter().product(), ws.iter().product());
    dispatch(x, w, Grouped { extents, operand, window, pairs })
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
