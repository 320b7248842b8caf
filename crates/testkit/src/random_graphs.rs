//! Random graphs of several catalog ops, generated from numbers: compositions find errors that single ops do
//! not.
//!
//! Graphs contain scans, loops with a condition and switches, whose bodies are generated in the same way.
//! A [`Recipe`] is a list of numbers, so that a failing one can be shortened and kept. Values are evaluated
//! while the graph grows, and large or non-finite ones are left out, so that graphs stay well conditioned.

use crate::random::Random;
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::call::Call;
use gradus_ir::ops::conv::Conv;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::dot::Dot;
use gradus_ir::ops::index::{Scatter, Take};
use gradus_ir::ops::movement::{Concat, Flip, Pad, Permute, Reshape, Slice};
use gradus_ir::ops::pointwise::cast::Cast;
use gradus_ir::ops::pointwise::{self, Pointwise};
use gradus_ir::ops::reduce::{Max, Min, Prod, Sum};
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::select::Select;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::switch::Switch;
use gradus_ir::ops::while_loop::While;
use gradus_ir::ops::window::Windows;
use gradus_ir::ops::{Combine, complex};
use gradus_ir::{Aval, DType, Graph, Literal, Op, Result, Shape, reference};
use std::sync::Arc;

/// Largest magnitude of a value that is kept.
const LARGEST: f64 = 8.0;
/// Largest number of elements of a value that is kept.
const ELEMENTS: usize = 64;

/// Pointwise ops that are smooth on all reals and do not grow fast.
const SMOOTH_OPS: &[&str] = &[
    "add",
    "sub",
    "mul",
    "neg",
    "exp",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "softplus",
    "erf",
    "erfc",
    "atan",
    "expm1",
    "asinh",
    "square",
    "logaddexp",
    "silu",
];

/// Numbers that determine a graph.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Seeds the inputs and constants.
    pub seed: u64,
    /// Four numbers for each op: its kind, its two operands, and its attributes.
    pub steps: Vec<[u16; 4]>,
    /// If true, uses smooth ops only.
    pub smooth: bool,
}

/// A graph and a point to check it at.
#[derive(Clone, Debug)]
pub struct Grown {
    /// The graph.
    pub graph: Graph,
    /// Its inputs.
    pub inputs: Vec<Literal>,
}

struct Grower<'g> {
    b: &'g Builder,
    random: Random,
    values: Vec<(Var<'g>, Literal)>,
    smooth: bool,
    /// If true, the graph is the body of another op.
    nested: bool,
    /// The dtype of its floats.
    dtype: DType,
}

impl Recipe {
    /// Builds the graph of this recipe.
    pub fn grow(&self) -> Result<Grown> {
        self.grow_in(DType::F64)
    }

    /// Builds the graph of this recipe over floats of a dtype, for devices without `f64`.
    pub fn grow_in(&self, dtype: DType) -> Result<Grown> {
        let b = Builder::new();
        let mut random = Random::new(self.seed);
        let mut inputs = Vec::new();
        let mut values = Vec::new();
        for name in ["x", "y", "z"].iter().take(2 + random.below(2)) {
            let aval = Aval::new(dtype, shape(&mut random));
            let n = aval.shape.numel();
            let data: Vec<f64> = (0..n).map(|_| 2.0 * random.unit() - 1.0).collect();
            let value = Literal::new(aval.clone(), data)?.rounded();
            inputs.push(value.clone());
            values.push((b.input(name, aval), value));
        }
        let mut grower = Grower { b: &b, random, values, smooth: self.smooth, nested: false, dtype };
        self.steps.iter().for_each(|step| grower.step(*step));
        let last = grower.values.len() - 1;
        let outs = [last, last * 2 / 3, last / 3].map(|i| grower.values[i].0);
        Ok(Grown { graph: b.finish(&outs)?, inputs })
    }
}

/// Returns a random shape of up to three axes, mostly of extents 1 to 3, sometimes 0.
fn shape(random: &mut Random) -> Shape {
    (0..random.below(4)).map(|_| [0, 1, 1, 2, 2, 2, 3, 3, 3, 3][random.below(10)]).collect()
}

impl<'g> Grower<'g> {
    /// Adds an op, unless its operands do not fit or its results are too large.
    fn step(&mut self, [kind, first, second, attrs]: [u16; 4]) {
        // Chooses one of the latest values half of the time, so that graphs become deep and not only wide.
        let (count, first) = (self.values.len(), first as usize);
        let a = if first % 2 == 0 { first / 2 % count } else { count - 1 - first / 2 % count.min(3) };
        let (a, b) = (self.values[a].clone(), self.values[second as usize % count].clone());
        let attrs = attrs as usize;
        let rank = a.1.shape().rank();
        if rank == 0 || kind % 3 == 0 {
            return self.pointwise(a, b, attrs);
        }
        let axis = attrs % rank;
        match (kind / 3) % 14 {
            0 => self.movement(a, attrs),
            1 => self.reduce(a, attrs),
            2 => self.concat(a, b, axis),
            3 => self.dot(a, b, attrs),
            4 => self.index(a, axis, attrs),
            5 => self.running(a, axis, attrs),
            6 => self.choice(a, b),
            7 => self.region(a, b, attrs),
            8 => self.windows(a, attrs),
            9 => self.complex(a, b),
            10 => self.convolution(a, b, attrs),
            11 => self.scan(a, b, attrs),
            12 => self.repeat(a, b, attrs),
            _ => self.switch(a, b, attrs),
        }
    }

    /// Adds an op and keeps its real results. Returns the first result, or `None` if the operands do not fit
    /// or a result is too large.
    fn keep(&mut self, op: impl Into<Op>, operands: &[(Var<'g>, Literal)]) -> Option<(Var<'g>, Literal)> {
        let op = op.into();
        let (vars, literals): (Vec<Var<'g>>, Vec<Literal>) = operands.iter().cloned().unzip();
        let values = reference::apply(&op, &literals).ok()?;
        let small = |value: &Literal| {
            value.f().iter().all(|x| x.abs() <= LARGEST)
                && value.c().iter().all(|z| z.norm() <= LARGEST)
                && value.data().len() <= ELEMENTS
        };
        if !values.iter().all(small) {
            return None;
        }
        let results: Vec<_> = self.b.try_apply(op, &vars).ok()?.into_iter().zip(values).collect();
        let real = results.iter().filter(|(_, value)| value.dtype() == self.dtype).cloned();
        // The first result comes last: later steps prefer recent values.
        self.values.extend(real.rev());
        results.into_iter().next()
    }

    fn constant(&mut self, value: Literal) -> (Var<'g>, Literal) {
        (self.b.constant(value.clone()), value)
    }

    /// Broadcasts a value to a shape; if that is not possible, broadcasts its sum.
    fn fit(&mut self, x: (Var<'g>, Literal), like: &Shape) -> Option<(Var<'g>, Literal)> {
        let all: Vec<usize> = (0..x.1.shape().rank()).collect();
        let x = match x.1.shape().broadcast(like) {
            Some(shape) if shape == *like => x,
            _ => self.keep(Sum { axes: all }, &[x])?,
        };
        if x.1.shape() == like {
            return Some(x);
        }
        self.keep(gradus_ir::ops::movement::Broadcast { shape: like.clone() }, &[x])
    }

    fn pointwise(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal), attrs: usize) {
        let smooth = self.smooth;
        let fits = |r: &&'static Pointwise| {
            let plain = r.domain.is_empty() && r.float.is_some() && r.partials.is_some() && r.arity <= 2;
            if smooth { SMOOTH_OPS.contains(&r.name) } else { plain }
        };
        let ops: Vec<&'static Pointwise> = pointwise::all().filter(fits).collect();
        let op = ops[attrs % ops.len()];
        let shape = a.1.shape().clone();
        let mut operands = vec![a];
        if op.arity == 2 {
            match self.fit(b, &shape) {
                Some(b) => operands.push(b),
                None => return,
            }
        }
        self.keep(op, &operands);
    }

    fn movement(&mut self, a: (Var<'g>, Literal), attrs: usize) {
        let shape = a.1.shape().clone();
        let (rank, axis) = (shape.rank(), attrs % shape.rank());
        let op: Op = match (attrs / 4) % 5 {
            0 => Permute { axes: (0..rank).map(|i| (i + 1 + axis) % rank).collect() }.into(),
            1 => Flip { axes: vec![axis] }.into(),
            2 => {
                let start: Vec<usize> = shape.iter().map(|&d| attrs % (d + 1)).collect();
                let step: Vec<usize> = shape.iter().map(|&d| 1 + attrs % (d + 1)).collect();
                Slice { start, stop: shape.to_vec(), step }.into()
            }
            3 => {
                let low = (0..rank).map(|i| ((attrs >> i) % 4) as i64 - 1).collect();
                let high = (0..rank).map(|i| ((attrs >> (i + 2)) % 3) as i64 - 1).collect();
                Pad { low, high, interior: (0..rank).map(|i| (attrs >> i) % 2).collect() }.into()
            }
            _ => Reshape { shape: [shape[rank - 1], shape[..rank - 1].iter().product()].into() }.into(),
        };
        self.keep(op, &[a]);
    }

    fn reduce(&mut self, a: (Var<'g>, Literal), attrs: usize) {
        let rank = a.1.shape().rank();
        let axes: Vec<usize> = (0..rank).filter(|i| attrs >> i & 1 == 1).collect();
        let op: Op = match (attrs / 8) % if self.smooth { 2 } else { 4 } {
            0 => Sum { axes }.into(),
            1 => Prod { axes }.into(),
            2 => Max { axes }.into(),
            _ => Min { axes }.into(),
        };
        self.keep(op, &[a]);
    }

    fn concat(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal), axis: usize) {
        let shape = a.1.shape().clone();
        if let Some(b) = self.fit(b, &shape) {
            self.keep(Concat { axis }, &[a.clone(), b, a]);
        }
    }

    /// Contracts two values. Axes of equal extents share a label; `attrs` selects the labels of the result.
    fn dot(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal), attrs: usize) {
        let lhs: String = "abc".chars().take(a.1.shape().rank()).collect();
        let mut rhs = String::new();
        for (i, d) in b.1.shape().iter().enumerate() {
            let shared = lhs.chars().enumerate().find(|(j, l)| a.1.shape()[*j] == *d && !rhs.contains(*l));
            rhs.push(shared.map_or_else(|| ['x', 'y', 'z'][i % 3], |(_, l)| l));
        }
        let mut labels: Vec<char> = lhs.chars().chain(rhs.chars()).collect();
        labels.sort_unstable();
        labels.dedup();
        let shift = attrs % labels.len().max(1);
        labels.rotate_left(shift);
        let out: String =
            labels.iter().enumerate().filter(|(i, _)| attrs >> i & 1 == 0).map(|(_, l)| l).collect();
        self.keep(Dot::new(lhs, rhs, out), &[a, b]);
    }

    fn index(&mut self, a: (Var<'g>, Literal), axis: usize, attrs: usize) {
        let shape = a.1.shape().clone();
        if shape[axis] == 0 {
            return;
        }
        let at: Vec<i64> = (0..1 + attrs % 3).map(|_| self.random.below(shape[axis]) as i64).collect();
        let Ok(at) = Literal::ints(DType::I64, [at.len()], at) else { return };
        let at = self.constant(at);
        let taken = self.keep(Take { axis }, &[a.clone(), at.clone()]);
        let kinds = [Some(Combine::Sum), None, Some(Combine::Max), Some(Combine::Min)];
        let combine = kinds[(attrs / 3) % if self.smooth { 2 } else { 4 }];
        if let Some(updates) = taken {
            self.keep(Scatter { axis, combine }, &[a, at, updates]);
        }
    }

    fn running(&mut self, a: (Var<'g>, Literal), axis: usize, attrs: usize) {
        let combines = [Combine::Sum, Combine::Prod, Combine::LogSumExp, Combine::Max, Combine::Min];
        let reverse = attrs & 1 == 1;
        let kind = (attrs / 2) % if self.smooth { 3 } else { 6 };
        match combines.get(kind) {
            Some(&combine) => self.keep(Cumulate { combine, axis, reverse }, &[a]),
            None => {
                let n = a.1.shape()[axis];
                let first = (attrs.is_multiple_of(5) && n > 1).then(|| 1 + attrs % (n - 1));
                self.keep(Sort { axis, descending: reverse, first }, &[a])
            }
        };
    }

    fn choice(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal)) {
        let shape = a.1.shape().clone();
        let Some(b) = self.fit(b, &shape) else { return };
        let mask = self.random.literal(&Aval::new(DType::Bool, shape));
        // With a condition computed from the values, the result would jump where they cross.
        let mask = match self.smooth {
            true => Some(self.constant(mask)),
            false => self.keep(&pointwise::compare::gt, &[a.clone(), b.clone()]),
        };
        if let Some(mask) = mask {
            self.keep(Select {}, &[mask, a, b]);
        }
    }

    /// Adds a region over the two values, whose body is generated in the same way.
    fn region(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal), attrs: usize) {
        if self.nested && !attrs.is_multiple_of(4) {
            return;
        }
        let inner = Builder::new();
        let vars = [inner.input("a", a.1.aval().clone()), inner.input("b", b.1.aval().clone())];
        let values = vars.into_iter().zip([a.1.clone(), b.1.clone()]).collect();
        let (random, smooth, dtype) = (Random::new(attrs as u64), self.smooth, self.dtype);
        let mut grower = Grower { b: &inner, random, values, smooth, nested: true, dtype };
        for _ in 0..3 {
            let step = [0; 4].map(|_: i32| grower.random.bits() as u16);
            grower.step(step);
        }
        let (last, middle) = (grower.values.len() - 1, grower.values.len() / 2);
        let outs = [grower.values[last].0, grower.values[middle].0];
        if let Ok(body) = inner.finish(&outs) {
            self.keep(Call::new("region", vec![], Arc::new(body)), &[a, b]);
        }
    }

    fn windows(&mut self, a: (Var<'g>, Literal), attrs: usize) {
        let op = Windows {
            size: vec![1 + attrs % 2],
            stride: vec![1 + attrs / 2 % 2],
            dilation: vec![1 + attrs / 4 % 2],
        };
        self.keep(op, &[a]);
    }

    /// Converts to complex numbers and back.
    fn complex(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal)) {
        let shape = a.1.shape().clone();
        let Some(b) = self.fit(b, &shape) else { return };
        let Some(z) = self.keep(complex::Complex {}, &[a.clone(), b]) else { return };
        let Some(square) = self.keep(&pointwise::arith::mul, &[z.clone(), z.clone()]) else { return };
        let Some(conjugate) = self.keep(complex::Conj {}, &[square]) else { return };
        let Some(product) = self.keep(&pointwise::arith::mul, &[conjugate, z]) else { return };
        self.keep(complex::Re {}, std::slice::from_ref(&product));
        self.keep(complex::Im {}, &[product]);
    }

    /// Convolves one value along its last axis with another as window.
    fn convolution(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal), attrs: usize) {
        let image = |l: &Literal| -> Shape {
            let last = l.shape().last().copied().unwrap_or(1);
            [1, 1, l.data().len().checked_div(last).unwrap_or(0), last].into()
        };
        let (x, mut w) = (image(&a.1), image(&b.1));
        if x[2] != w[2] && x[2] > 0 && w.numel() % x[2] == 0 {
            w = [1, 1, x[2], w.numel() / x[2]].into();
        }
        let conv = Conv {
            stride: vec![1 + attrs % 2],
            low: vec![(attrs / 2 % 4) as i64 - 1],
            high: vec![(attrs / 8 % 4) as i64 - 1],
            base_dilation: vec![1 + attrs / 32 % 2],
            window_dilation: vec![1 + attrs / 64 % 2],
        };
        let Some(x) = self.keep(Reshape { shape: x }, &[a]) else { return };
        let Some(w) = self.keep(Reshape { shape: w }, &[b]) else { return };
        self.keep(conv, &[x, w]);
    }

    /// Makes a graph over the operands. Its results are the tanh of its last value, with the extents `like`,
    /// and another value.
    fn body(&mut self, operands: &[Literal], like: &Shape, attrs: usize) -> Option<Graph> {
        let inner = Builder::new();
        let names = ["a", "b", "c"];
        let vars = names.iter().zip(operands).map(|(name, value)| inner.input(name, value.aval().clone()));
        let values = vars.zip(operands.iter().cloned()).collect();
        let (random, smooth, dtype) = (Random::new(attrs as u64), self.smooth, self.dtype);
        let mut grower = Grower { b: &inner, random, values, smooth, nested: true, dtype };
        for _ in 0..3 {
            let step = [0; 4].map(|_: i32| grower.random.bits() as u16);
            grower.step(step);
        }
        let (last, middle) = (grower.values.last()?.clone(), grower.values.len() / 2);
        let fitted = grower.fit(last, like)?;
        let bounded = grower.keep(pointwise::all().find(|op| op.name == "tanh")?, &[fitted])?;
        inner.finish(&[bounded.0, grower.values[middle].0]).ok()
    }

    /// Returns true if no further body may be added: inside of another body, in three of four cases.
    fn too_deep(&self, attrs: usize) -> bool {
        self.nested && !attrs.is_multiple_of(4)
    }

    /// Adds a scan over the first axis of one value. The other value is shared, and is the initial carry.
    fn scan(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal), attrs: usize) {
        let (length, slice) = (a.1.shape()[0], Shape::from(&a.1.shape()[1..]));
        let carry = if self.too_deep(attrs) { None } else { self.fit(b.clone(), &slice) };
        let Some(carry) = carry else { return };
        let element = self.random.literal(&Aval::new(self.dtype, slice.clone()));
        let Some(body) = self.body(&[b.1.clone(), carry.1.clone(), element], &slice, attrs) else { return };
        let scan = Scan { body: Arc::new(body), shared: 1, carries: 1, length, reverse: attrs & 1 == 1 };
        self.keep(scan, &[b, carry, a]);
    }

    /// Adds a loop that ends by a count; in graphs with kinks, the values of the carry can end it too.
    fn repeat(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal), attrs: usize) {
        if self.too_deep(attrs) {
            return;
        }
        let Some(step) = self.body(&[b.1.clone(), a.1.clone()], a.1.shape(), attrs) else { return };
        let types = [b.1.aval().clone(), a.1.aval().clone(), Aval::scalar(DType::I64)];
        let (limit, by_value) = ((attrs / 4 % 4) as f64, !self.smooth);
        let axes: Vec<usize> = (0..a.1.shape().rank()).collect();
        let made = |outs: &dyn for<'r> Fn(&'r Builder, &[Var<'r>]) -> Vec<Var<'r>>| {
            let inner = Builder::new();
            let vars: Vec<Var<'_>> =
                ["b", "a", "n"].iter().zip(&types).map(|(n, t)| inner.input(n, t.clone())).collect();
            inner.finish(&outs(&inner, &vars)).ok().map(Arc::new)
        };
        let condition = made(&|_, v| {
            let counted = v[2].lt(v[2].full_like(limit));
            let sum = v[1].sum(&axes);
            vec![if by_value { counted.and(sum.lt(sum.full_like(0.5))) } else { counted }]
        });
        let body = made(&|inner, v| vec![inner.inline(&step, &v[..2])[0], v[2] + 1.0]);
        let (Some(condition), Some(body)) = (condition, body) else { return };
        let count = self.constant(Literal::int_scalar(DType::I64, 0));
        self.keep(While { condition, body, shared: 1, bound: 4 }, &[b, a, count]);
    }

    /// Adds a switch between two graphs over the values. In graphs with kinks, the values determine the
    /// branch.
    fn switch(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal), attrs: usize) {
        if self.too_deep(attrs) {
            return;
        }
        let like = a.1.shape().clone();
        let operands = [a.1.clone(), b.1.clone()];
        let branches: Option<Vec<Arc<Graph>>> = [attrs, attrs / 2 + 1]
            .into_iter()
            .map(|attrs| {
                let body = self.body(&operands, &like, attrs)?;
                let inner = Builder::new();
                let vars = [
                    inner.input("a", operands[0].aval().clone()),
                    inner.input("b", operands[1].aval().clone()),
                ];
                let first = inner.inline(&body, &vars)[0];
                inner.finish(&[first]).ok().map(Arc::new)
            })
            .collect();
        let index = match self.smooth {
            true => Some(self.constant(Literal::int_scalar(DType::I64, (attrs % 2) as i64))),
            false => self.comparison(a.clone(), b.clone()),
        };
        if let (Some(branches), Some(index)) = (branches, index) {
            self.keep(Switch { branches }, &[index, a, b]);
        }
    }

    /// Returns 1 if the sum of the first value exceeds that of the second, else 0.
    fn comparison(&mut self, a: (Var<'g>, Literal), b: (Var<'g>, Literal)) -> Option<(Var<'g>, Literal)> {
        let mut sums = Vec::new();
        for x in [a, b] {
            let axes = (0..x.1.shape().rank()).collect();
            sums.push(self.keep(Sum { axes }, &[x])?);
        }
        let greater = self.keep(&pointwise::compare::gt, &sums)?;
        self.keep(Cast { to: DType::I64 }, &[greater])
    }
}
