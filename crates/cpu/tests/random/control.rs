//! Grows small random graphs of scans, while loops and switches, nested up to `DEPTH` deep.
//! Returns the graph, inputs for it, a bound on rounding errors and which kinds of control flow are nested in which.
//!
//! As in `grow.rs`, all values stay within -1 and 1 and no op increases the error of its operands, so errors only add. Integers
//! select branches and count iterations, so rounding never changes which ops run.

use super::grow::{FEW, Random, shares};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::movement::Concat;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::switch::Switch;
use gradus_ir::ops::while_loop::While;
use gradus_ir::{Aval, DType, Graph, Literal, Shape};
use std::sync::Arc;

/// Numbers of rows and columns: single elements, incomplete vectors, complete vectors, more than one tile of a product.
const SHAPES: [[usize; 2]; 6] = [[1, 1], [3, 5], [2, 16], [5, 33], [8, 8], [17, 4]];
/// Deepest nesting of control flow.
const DEPTH: usize = 3;
/// Largest number of iterations of a loop.
const MAX: usize = 4;
/// Number of inputs that gradients are taken of; an integer input follows them.
pub(crate) const FLOATS: usize = 3;

/// A kind of control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Scan,
    While,
    Switch,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Scan, Kind::While, Kind::Switch];
}

/// A graph of control flow with inputs for it.
pub(crate) struct Nested {
    pub(crate) graph: Graph,
    pub(crate) inputs: Vec<Literal>,
    /// Upper limit of the difference between its outputs and those of the reference.
    pub(crate) bound: f64,
    /// Upper limit of the number of ops that are executed one after the other.
    pub(crate) ops: usize,
    /// If true, every while loop has a bound on its iterations, which reverse mode needs.
    pub(crate) reversible: bool,
    /// Every control flow op, with the control flow op that contains it, if any.
    pub(crate) nesting: Vec<(Option<Kind>, Kind)>,
}

/// The values that a graph under construction can use.
struct Scope<'g> {
    b: &'g Builder,
    /// Values of the common shape.
    values: Vec<Var<'g>>,
    /// A matrix that maps columns to columns.
    weight: Var<'g>,
    /// An integer scalar that differs in every iteration of a loop.
    number: Var<'g>,
    /// The control flow op whose body this is.
    inside: Option<Kind>,
    depth: usize,
}

struct Grower {
    random: Random,
    dtype: DType,
    shape: Shape,
    reversible: bool,
    nesting: Vec<(Option<Kind>, Kind)>,
}

/// Makes the graph of a seed.
pub(crate) fn grow(dtype: DType, seed: u64) -> Nested {
    let shape: Shape = SHAPES[seed as usize % SHAPES.len()].into();
    let mut grower =
        Grower { random: Random::new(seed), dtype, shape, reversible: true, nesting: Vec::new() };
    let b = Builder::new();
    let types = grower.types();
    let ins: Vec<Var<'_>> = types.iter().map(|t| b.input("x", t.clone())).collect();
    let values = ins[..2].to_vec();
    let mut scope = Scope { b: &b, values, weight: ins[2], number: ins[3], inside: None, depth: 0 };
    let mut roundings = FEW;
    for _ in 0..2 + grower.random.below(3) {
        roundings += grower.op(&mut scope, true) + grower.op(&mut scope, false);
    }
    let last = scope.values.len() - 1;
    let outputs = [scope.values[last], scope.values[last - 1]];
    let graph = b.finish(&outputs).unwrap();
    let inputs = grower.inputs(&types);
    let Grower { reversible, nesting, .. } = grower;
    let bound = roundings as f64 * dtype.epsilon();
    Nested { graph, inputs, bound, ops: roundings / FEW, reversible, nesting }
}

impl Grower {
    /// Returns the types of two values, of the weight and of the number: the inputs of a graph and of every
    /// body.
    fn types(&self) -> Vec<Aval> {
        let value = Aval::new(self.dtype, self.shape.clone());
        let weight = Aval::new(self.dtype, [self.shape[1], self.shape[1]]);
        vec![value.clone(), value, weight, Aval::scalar(DType::I32)]
    }

    fn inputs(&mut self, types: &[Aval]) -> Vec<Literal> {
        let (columns, dtype) = (self.shape[1], self.dtype);
        let part = 0.5 / columns as f64;
        let mut floats = |t: &Aval, of: &dyn Fn(usize, f64) -> f64| {
            let data = (0..t.shape.numel()).map(|i| of(i, self.random.number())).collect();
            Literal::floats(dtype, &t.shape, data).unwrap()
        };
        // Half of a value plus a small part of every other, so that a product does not increase errors.
        let weight = |i: usize, x: f64| if i / columns == i % columns { 0.5 } else { part * x };
        let mut all =
            vec![floats(&types[0], &|_, x| x), floats(&types[1], &|_, x| x), floats(&types[2], &weight)];
        all.push(Literal::ints(DType::I32, Shape::scalar(), vec![self.random.below(4) as i64 - 1]).unwrap());
        all
    }

    /// Adds the value of one op. If `control` is true, it may be a control flow op. Returns the number of roundings.
    fn op<'g>(&mut self, scope: &mut Scope<'g>, control: bool) -> usize {
        let n = scope.values.len();
        let a = scope.values[n - 1];
        let b = scope.values[self.random.below(n)];
        let (value, roundings) = match control && scope.depth < DEPTH {
            true => match Kind::ALL[self.random.below(3)] {
                Kind::Scan => self.scan(scope, a, b),
                Kind::While => self.while_loop(scope, a, b),
                Kind::Switch => self.switch(scope, a, b),
            },
            false => self.plain(scope, a, b),
        };
        scope.values.push(value);
        roundings
    }

    fn plain<'g>(&mut self, scope: &Scope<'g>, a: Var<'g>, b: Var<'g>) -> (Var<'g>, usize) {
        let [rows, columns] = [self.shape[0], self.shape[1]];
        let mean = |x: Var<'g>, axis: usize| {
            (x.sum(&[axis]) * (1.0 / x.shape()[axis] as f64)).spread(&[axis], &x.shape())
        };
        match self.random.below(9) {
            0 => ((a + b) * 0.5, FEW),
            1 => (a * b * 0.5, FEW),
            2 => (a.tanh(), FEW),
            3 => ((-(a * a)).exp() * 0.5 + b * 0.25, FEW),
            4 => ((b - mean(a, 1)) * 0.5, columns + FEW),
            5 => ((b * mean(a, 0) + a) * 0.25, rows + FEW),
            6 => (a.dot(scope.weight, "ik", "kj", "ij"), columns + FEW),
            7 => ((shares(a) * b + a.flip(&[1])) * 0.5, columns + FEW),
            // The number selects a branch, and differs in every iteration of a loop.
            _ => {
                let axes = [0, 1];
                let number = scope.number.to(self.dtype).spread(&axes, &self.shape);
                ((a + (number * 0.5).sin() * b) * 0.25, FEW)
            }
        }
    }

    /// Makes a graph over (value, value, weight, number): its value, then the values that `more` adds.
    fn body(
        &mut self,
        scope: &Scope<'_>,
        inside: Kind,
        more: impl for<'r> Fn(&Scope<'r>) -> Vec<Var<'r>>,
    ) -> (Arc<Graph>, usize) {
        let r = Builder::new();
        let ins: Vec<Var<'_>> = self.types().iter().map(|t| r.input("x", t.clone())).collect();
        let values = ins[..2].to_vec();
        let depth = scope.depth + 1;
        let mut own = Scope { b: &r, values, weight: ins[2], number: ins[3], inside: Some(inside), depth };
        let mut roundings = 0;
        for _ in 0..1 + self.random.below(2) {
            roundings += self.op(&mut own, false);
            if self.random.below(3) > 0 {
                roundings += self.op(&mut own, true);
            }
        }
        let outputs = [vec![own.values[own.values.len() - 1]], more(&own)].concat();
        (Arc::new(r.finish(&outputs).unwrap()), roundings)
    }

    /// Returns the mean of a scan's outputs over all iterations and of its carry.
    fn scan<'g>(&mut self, scope: &Scope<'g>, a: Var<'g>, b: Var<'g>) -> (Var<'g>, usize) {
        self.nesting.push((scope.inside, Kind::Scan));
        let length = 1 + self.random.below(MAX);
        let reverse = self.random.below(2) == 0;
        let (made, roundings) =
            self.body(scope, Kind::Scan, |own| vec![own.number + 1.0, own.values[2] * 0.5]);
        // Wraps the body as the body of a scan: shared (weight), carries (value, number), one slice.
        let r = Builder::new();
        let types = self.types();
        let order = [2, 0, 3, 1];
        let ins: Vec<Var<'_>> = order.iter().map(|&k| r.input("x", types[k].clone())).collect();
        let outs = r.inline(&made, &[ins[1], ins[3], ins[0], ins[2]]);
        let body = Arc::new(r.finish(&outs).unwrap());
        let one = |x: Var<'g>| x.reshape([1, self.shape[0], self.shape[1]]);
        let slices: Vec<Var<'g>> = (0..length).map(|k| one(if k % 2 == 0 { b } else { a })).collect();
        let stack = scope.b.apply1(Concat { axis: 0 }, &slices);
        let own = Scan { body, shared: 1, carries: 2, length, reverse };
        let outs = scope.b.apply(own, &[scope.weight, a, scope.number, stack]);
        let all = outs[2].sum(&[0]) * (1.0 / length as f64);
        ((outs[0] + all) * 0.5, length * roundings + length + FEW)
    }

    /// Makes a loop that ends by a counter. Its condition also tests values, but that part is always true.
    fn while_loop<'g>(&mut self, scope: &Scope<'g>, a: Var<'g>, b: Var<'g>) -> (Var<'g>, usize) {
        self.nesting.push((scope.inside, Kind::While));
        let bounded = self.random.below(4) > 0;
        self.reversible &= bounded;
        let limit = scope.b.constant(Literal::scalar(DType::I32, self.random.below(MAX + 1) as f64));
        let (made, roundings) = self.body(scope, Kind::While, |own| vec![own.number + 1.0]);
        // Condition and body have shared operands (value, weight, limit) and carries (value, number).
        let types = self.types();
        let types = [&types[1], &types[2], &types[3], &types[0], &types[3]];
        let built = |of: &dyn for<'r> Fn(&'r Builder, &[Var<'r>]) -> Vec<Var<'r>>| {
            let r = Builder::new();
            let ins: Vec<Var<'_>> = types.iter().map(|t| r.input("x", (*t).clone())).collect();
            Arc::new(r.finish(&of(&r, &ins)).unwrap())
        };
        let body = built(&|r, v| r.inline(&made, &[v[3], v[0], v[1], v[4]]));
        let condition = built(&|_, v| {
            let squares = (v[3] * v[3]).sum(&[0, 1]);
            vec![v[4].lt(v[2]).and(squares.lt(squares.full_like(1e6)))]
        });
        // The number starts at -1 or above and only increases, so there are at most `MAX + 1` iterations.
        let bound = if bounded { MAX + 1 + self.random.below(2) } else { 0 };
        let own = While { condition, body, shared: 3, bound };
        let outs = scope.b.apply(own, &[b, scope.weight, limit, a, scope.number]);
        (outs[0], (MAX + 1) * roundings)
    }

    fn switch<'g>(&mut self, scope: &Scope<'g>, a: Var<'g>, b: Var<'g>) -> (Var<'g>, usize) {
        self.nesting.push((scope.inside, Kind::Switch));
        let mut most = 0;
        let mut branches = Vec::new();
        for _ in 0..2 + self.random.below(2) {
            let (branch, roundings) = self.body(scope, Kind::Switch, |_| vec![]);
            branches.push(branch);
            most = most.max(roundings);
        }
        let outs = scope.b.apply(Switch { branches }, &[scope.number, a, b, scope.weight, scope.number]);
        (outs[0], most)
    }
}
