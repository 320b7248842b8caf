//! Makes random graphs that are large enough for every pass of the compiler, with a bound on rounding errors.
//!
//! All values stay within -1 and 1, and no step increases the largest error of its operands, so errors only add. Another
//! order of sums changes a result by at most the roundings of the steps. Every step reports its number of roundings.

use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::movement::Concat;
use gradus_ir::ops::reduce::Max;
use gradus_ir::{Aval, DType, Graph, Literal, Shape};

/// Numbers of rows and columns. Each pair leads to a transformation that the others do not have: attention with sliced
/// scores, sums along columns of values that exceed every cache, rows in parts, reductions in two passes, incomplete
/// vectors.
pub(crate) const SHAPES: [[usize; 2]; 8] =
    [[768, 64], [64, 500], [256, 257], [3, 9000], [4096, 257], [1024, 128], [16, 4001], [2048, 48]];

/// Largest number of multiplications of a product, because the reference is slow.
const MAX_TERMS: usize = 1 << 25;
/// Number of heads of attention.
const HEADS: usize = 8;
/// Largest number of roundings of a few operations and functions, on the device and in the reference together.
pub(crate) const FEW: usize = 24;

/// A graph with inputs for it.
pub(crate) struct Grown {
    pub(crate) graph: Graph,
    /// The same graph with every step's value as an additional output.
    pub(crate) open: Graph,
    pub(crate) inputs: Vec<Literal>,
    /// Largest allowed difference between its outputs and those of the reference.
    pub(crate) bound: f64,
}

/// A random number generator with a fixed sequence for each seed (splitmix).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % n as u64) as usize
    }

    /// Returns a number within -1 and 1.
    pub(crate) fn number(&mut self) -> f64 {
        self.below(1 << 20) as f64 / (1 << 19) as f64 - 1.0
    }
}

/// A value and the number of roundings from the operands to it.
type Made<'g> = (Var<'g>, usize);

struct Grower<'g> {
    random: Random,
    shape: Shape,
    /// A matrix that maps columns to columns: half of a value plus a small part of every other. `None` if products would
    /// be too large.
    weight: Option<Var<'g>>,
    values: Vec<Var<'g>>,
    /// Some results of reductions.
    reduced: Vec<Var<'g>>,
}

/// Makes the graph of a seed.
pub(crate) fn grow(dtype: DType, seed: u64) -> Grown {
    let g = Builder::new();
    let mut random = Random(seed);
    let shape: Shape = SHAPES[seed as usize % SHAPES.len()].into();
    let products = shape.numel() * shape[1] <= MAX_TERMS;
    let columns = if products { shape[1] } else { 1 };
    let types = [shape.clone(), shape.clone(), [columns, columns].into()].map(|s| Aval::new(dtype, s));
    let given: Vec<Var<'_>> = types.iter().map(|t| g.input("x", t.clone())).collect();
    let part = 0.5 / columns as f64;
    let weight = |i: usize, x: f64| if i / columns == i % columns { 0.5 } else { part * x };
    let mut literal = |t: &Aval, of: &dyn Fn(usize, f64) -> f64| {
        let data = (0..t.shape.numel()).map(|i| of(i, random.number())).collect();
        Literal::floats(dtype, &t.shape, data).unwrap().rounded()
    };
    let inputs =
        vec![literal(&types[0], &|_, x| x), literal(&types[1], &|_, x| x), literal(&types[2], &weight)];
    let (weight, values) = (products.then_some(given[2]), given[..2].to_vec());
    let mut grower = Grower { random, shape, weight, values, reduced: Vec::new() };
    let mut roundings = FEW;
    for _ in 0..4 + grower.random.below(10) {
        let (value, more) = grower.step();
        grower.values.push(value);
        roundings += more;
    }
    let Grower { mut random, values, reduced, .. } = grower;
    let n = values.len();
    let mut outputs = vec![values[n - 1], values[n - 1 - random.below(4)], values[random.below(n)]];
    outputs.extend(reduced.into_iter().take(2));
    let graph = g.finish(&outputs).unwrap();
    outputs.extend(values);
    Grown { graph, open: g.finish(&outputs).unwrap(), inputs, bound: roundings as f64 * dtype.epsilon() }
}

impl<'g> Grower<'g> {
    fn step(&mut self) -> Made<'g> {
        let n = self.values.len();
        // Chooses one of the latest values half of the time, so that graphs become deep.
        let back = if self.random.below(2) == 0 { n } else { n.min(3) };
        let a = self.values[n - 1 - self.random.below(back)];
        let b = self.values[self.random.below(n)];
        match self.random.below(18) {
            0 => ((a + b) * 0.5, FEW),
            1 => (a * b * 0.5, FEW),
            2 => (a.tanh(), FEW),
            3 => ((-(a * a)).exp(), FEW),
            4 => self.subtract_mean(a, b),
            5 => self.scale_by_mean(a, b),
            6 => self.by_both(a, b),
            7 => self.by_all(a, b),
            8 => self.exp_below_maximum(a, b),
            9 => self.softmax(a),
            10 => self.linear(a, b),
            11 => self.correlated(a, b),
            12 | 13 => self.attention(a, b),
            14 => self.add_index(a),
            _ => self.moved(a, b),
        }
    }

    /// Permutes elements, and combines them with the original ones half of the time.
    fn moved(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let moved = match self.random.below(4) {
            0 => a.flip(&[self.random.below(2)]),
            1 => self.shifted(a),
            2 => self.exchanged(a, b),
            _ => a.reshape([self.shape[1], self.shape[0]]).permute(&[1, 0]),
        };
        if self.random.below(2) == 0 { (moved, 0) } else { ((a + moved) * 0.5, FEW) }
    }

    /// Returns the means along an axis, broadcast to every element, and the number of roundings.
    fn mean(&mut self, a: Var<'g>, axis: usize) -> Made<'g> {
        let mean = a.sum(&[axis]) * (1.0 / self.shape[axis] as f64);
        if self.random.below(3) == 0 {
            self.reduced.push(mean);
        }
        // Sums along rows are computed as 64 partial sums, sums along columns possibly as one.
        let terms = if axis == 1 { self.shape[1] / 64 + 64 } else { self.shape[0] };
        (mean.spread(&[axis], &self.shape), terms + FEW)
    }

    /// Subtracts the means of the rows of `a` from `b`, and takes half.
    fn subtract_mean(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let (mean, roundings) = self.mean(a, 1);
        ((b - mean) * 0.5, roundings)
    }

    /// Multiplies `b` by the means of the columns of `a`, adds `a`, and takes a quarter.
    fn scale_by_mean(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let (mean, roundings) = self.mean(a, 0);
        ((b * mean + a) * 0.25, roundings)
    }

    /// Normalizes by means of rows and of columns.
    fn by_both(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let ((row, some), (column, more)) = (self.mean(a, 1), self.mean(b, 0));
        ((row.tanh() * column + a) * 0.25, some + more)
    }

    /// Normalizes by the mean of all.
    fn by_all(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let mean = a.sum(&[0, 1]) * (1.0 / self.shape.numel() as f64);
        ((b + mean.spread(&[0, 1], &self.shape)) * 0.5, self.shape[0] + self.shape[1] + FEW)
    }

    /// Multiplies `b` by the exponentials of the differences of `a` from the largest element of its row, and takes a quarter.
    fn exp_below_maximum(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let top = a.builder().apply1(Max { axes: vec![1] }, &[a]).spread(&[1], &self.shape);
        ((a - top).exp() * b * 0.25, FEW)
    }

    /// Returns a scaled softmax. The operands are within -1 and 1, so no weight exceeds e² times the mean weight.
    fn softmax(&mut self, a: Var<'g>) -> Made<'g> {
        let columns = self.shape[1];
        (shares(a) * (columns as f64 / 16.0), columns / 64 + 64 + FEW)
    }

    /// Returns a product and ops after it, which may include another product.
    fn linear(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let Some(weight) = self.weight else { return self.subtract_mean(b, a) };
        let times = |x: Var<'g>| x.dot(weight, "ik", "kj", "ij");
        let product = times(a);
        let made = match self.random.below(4) {
            0 => product,
            1 => product.tanh(),
            2 => (product + b) * 0.5,
            _ => times(product),
        };
        (made, 2 * self.shape[1] + FEW)
    }

    /// Returns a product that is summed along rows and used in another product.
    fn correlated(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let [rows, columns] = [self.shape[0], self.shape[1]];
        if self.weight.is_none() {
            return self.scale_by_mean(b, a);
        }
        let inner = (a.dot(b, "ij", "ik", "jk") * (1.0 / rows as f64)).tanh();
        let outer = a.dot(inner, "ik", "kj", "ij") * (1.0 / columns as f64);
        // Scales by 1/4, because there are three operands of slope 1, one of which is used twice.
        ((outer + b) * 0.25, rows + columns + FEW)
    }

    /// Returns attention. Every head has some of the rows, which attend to each other.
    fn attention(&mut self, a: Var<'g>, b: Var<'g>) -> Made<'g> {
        let [rows, columns] = [self.shape[0], self.shape[1]];
        if self.weight.is_none() || rows % HEADS != 0 {
            return self.softmax(b);
        }
        // Half of the time, masks by position, which a slice can compute only from its index.
        let seen = match self.random.below(6) {
            0 => self.shifted(b),
            1 => self.exchanged(a, b),
            2 => self.add_index(b).0,
            _ => b,
        };
        let heads = |x: Var<'g>| x.reshape([HEADS, rows / HEADS, columns]);
        let scores = heads(a).dot(heads(seen), "bik", "bjk", "bij") * (0.25 / columns as f64);
        let taken = shares(scores).dot(heads(a), "bij", "bjk", "bik");
        (taken.reshape(&self.shape[..]) * 0.5, columns + 2 * rows / HEADS + 2 * FEW)
    }

    /// Shifts by some rows or columns, and fills with zeros.
    fn shifted(&mut self, a: Var<'g>) -> Var<'g> {
        let (axis, by) = (self.random.below(2), 1 + self.random.below(3));
        let (mut low, mut high) = (vec![0; 2], vec![0; 2]);
        let zeros = if self.random.below(2) == 0 { &mut low } else { &mut high };
        zeros[axis] = by as i64;
        a.slice_axis(axis, by, self.shape[axis]).pad(low, high, vec![0; 2])
    }

    /// Concatenates the front of one value and the back of the other.
    fn exchanged(&mut self, a: Var<'g>, b: Var<'g>) -> Var<'g> {
        let axis = self.random.below(2);
        let (half, end) = (self.shape[axis] / 2, self.shape[axis]);
        let parts = [b.slice_axis(axis, half, end), a.slice_axis(axis, 0, half)];
        a.builder().apply1(Concat { axis }, &parts)
    }

    /// Adds to `a` the indices along an axis, divided by the extent, and takes half.
    fn add_index(&mut self, a: Var<'g>) -> Made<'g> {
        let axis = self.random.below(2);
        let at = a.builder().iota(a.dtype(), &self.shape, axis);
        ((a + at * (1.0 / self.shape[axis] as f64)) * 0.5, FEW)
    }
}

/// Returns the softmax along the last axis.
pub(crate) fn shares(x: Var<'_>) -> Var<'_> {
    let (shape, last) = (x.shape(), x.rank() - 1);
    let top = x.builder().apply1(Max { axes: vec![last] }, &[x]).spread(&[last], &shape);
    let e = (x - top).exp();
    e / e.sum(&[last]).spread(&[last], &shape)
}
