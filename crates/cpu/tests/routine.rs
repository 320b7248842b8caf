//! Compares ops that are not loop nests with the reference, at sizes that are divided into tasks, on one, two and three
//! threads.

use gradus_cpu::Pool;
use gradus_ir::literal::Data;
use gradus_ir::ops::Combine;
use gradus_ir::ops::conv::Conv;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::index::{Scatter, Take};
use gradus_ir::ops::reduce::{ArgMax, ArgMin};
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::source::RandomBits;
use gradus_ir::ops::window::Fold;
use gradus_ir::{Aval, Builder, C, Class, DType, Graph, Literal, Op, Result, Shape, Var, reference};
use std::sync::{Mutex, PoisonError};

/// Serializes tests, because they change the number of threads of the global pool.
static THREADS: Mutex<()> = Mutex::new(());

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 11
    }

    /// Returns a number in [-1, 1).
    fn float(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn below(&mut self, n: usize) -> i64 {
        (self.next() % n.max(1) as u64) as i64
    }

    /// Makes numbers. Some are equal, some are zeros of either sign, and some floats are NaN.
    fn numbers(&mut self, dtype: DType, shape: impl Into<Shape>) -> Literal {
        let aval = Aval::new(dtype, shape);
        let n = aval.shape.numel();
        let special = [0.0, -0.0, f64::NAN, f64::INFINITY, 0.5, -0.5];
        let mut one = || match self.below(8) {
            0 => special[self.below(6) as usize],
            1 => self.below(5) as f64,
            _ => self.float() * 100.0,
        };
        let data: Data = match dtype.class() {
            Class::Float => (0..n).map(|_| one()).collect::<Vec<f64>>().into(),
            Class::Complex => (0..n).map(|_| C::new(self.float(), self.float())).collect::<Vec<C>>().into(),
            _ => (0..n).map(|_| dtype.wrap(self.below(300) - 150)).collect::<Vec<i64>>().into(),
        };
        Literal::new(aval, data).expect("as many as the shape says").rounded()
    }

    fn indices(&mut self, dtype: DType, extent: usize, shape: impl Into<Shape>) -> Literal {
        let aval = Aval::new(dtype, shape);
        let all: Vec<i64> = (0..aval.shape.numel()).map(|_| self.below(extent)).collect();
        Literal::new(aval, all).expect("as many as the shape says")
    }
}

fn graph_of(op: impl Into<Op>, ins: &[Literal]) -> Graph {
    let b = Builder::new();
    let ins: Vec<Var<'_>> =
        ins.iter().enumerate().map(|(i, l)| b.input(&format!("x{i}"), l.aval().clone())).collect();
    let outs = b.apply(op, &ins);
    b.finish(&outs).expect("operands that fit")
}

/// Returns the device's results, which must be equal for each number of threads.
fn on_cpu(graph: &Graph, ins: &[Literal]) -> Result<Vec<Literal>> {
    let _alone = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let on = |threads| {
        Pool::global().set_threads(threads);
        gradus_cpu::evaluate(graph, ins)
    };
    let found = on(1);
    for threads in [2, 3] {
        match (&found, on(threads)) {
            (Ok(a), Ok(b)) => assert!(*a == b, "{threads} threads give other bits"),
            (a, b) => assert_eq!(a.is_ok(), b.is_ok(), "{threads} threads"),
        }
    }
    found
}

/// Checks that the device equals the reference bit for bit.
fn assert_exact(op: impl Into<Op>, ins: &[Literal]) {
    let graph = graph_of(op, ins);
    let expected = reference::evaluate(&graph, ins).expect("a value");
    let found = on_cpu(&graph, ins).expect("a value");
    for (k, (e, f)) in expected.iter().zip(&found).enumerate() {
        assert!(e == f, "output {k} of {graph}");
    }
}

/// Checks that the device returns the same error as the reference.
fn assert_refused(op: impl Into<Op>, ins: &[Literal]) {
    let graph = graph_of(op, ins);
    let expected = reference::evaluate(&graph, ins).expect_err("refused");
    // Compares the first lines, because the reference adds a line with the location of its caller.
    let words = |e: gradus_ir::Error| e.to_string().lines().next().map(str::to_string);
    assert_eq!(words(on_cpu(&graph, ins).expect_err("refused")), words(expected));
}

#[test]
fn take_copies_slices() {
    let mut r = Random(1);
    for dtype in DType::ALL {
        for (shape, axis, index) in [
            (&[300, 70][..], 0, &[40, 50][..]),
            (&[5, 90, 3], 1, &[2000]),
            (&[70000], 0, &[50, 1000]),
            (&[4, 1, 9], 1, &[0, 3]),
            (&[0, 3, 2], 1, &[4]),
            (&[6, 2], 0, &[]),
        ] {
            let x = r.numbers(dtype, shape);
            for of in [DType::I64, DType::I32] {
                let index = r.indices(of, shape[axis], index);
                assert_exact(Take { axis }, &[x.clone(), index]);
            }
        }
    }
}

#[test]
fn an_index_out_of_range_is_refused() {
    let mut r = Random(2);
    let x = r.numbers(DType::F32, [4, 3]);
    for index in [4, -1, i64::MAX, i64::MIN] {
        let index = Literal::new(Aval::new(DType::I64, [3]), vec![0, index, 7]).expect("three");
        assert_refused(Take { axis: 0 }, &[x.clone(), index.clone()]);
        let updates = r.numbers(DType::F32, [3, 3]);
        assert_refused(Scatter { axis: 0, combine: Some(Combine::Sum) }, &[x.clone(), index, updates]);
    }
    let none = r.numbers(DType::F32, [0, 3]);
    assert_refused(Take { axis: 0 }, &[none, r.indices(DType::U8, 1, [1])]);
}

#[test]
fn scatter_combines_in_order() {
    let mut r = Random(3);
    for dtype in DType::ALL {
        for combine in [None, Some(Combine::Sum), Some(Combine::Max), Some(Combine::Min)] {
            if combine.is_some_and(|c| !c.takes(dtype)) {
                continue;
            }
            // Few slices with many updates, many slices with few updates, no axes before or after the indexed one, and no
            // updates.
            for (shape, axis, count) in [
                (&[7, 130][..], 0, 400),
                (&[3, 50, 67], 1, 30),
                (&[40000], 0, 9000),
                (&[2, 30, 1], 1, 5),
                (&[4, 0], 0, 3),
                (&[5, 2], 0, 0),
            ] {
                let base = r.numbers(dtype, shape);
                let index = r.indices(DType::I64, shape[axis], [count]);
                let mut extents = shape.to_vec();
                extents[axis] = count;
                let updates = r.numbers(dtype, extents);
                assert_exact(Scatter { axis, combine }, &[base, index, updates]);
            }
        }
    }
}

/// Tests many updates of single elements: unsorted, sorted, and sorted except for the first or the last.
#[test]
fn many_updates_of_elements() {
    let mut r = Random(7);
    let (extent, count) = (100_000, 50_000);
    let any = r.indices(DType::I64, extent, [count]);
    let mut rising = any.i().to_vec();
    rising.sort_unstable();
    let (mut first, mut last) = (rising.clone(), rising.clone());
    first[0] = extent as i64 - 1;
    last[count - 1] = 0;
    for dtype in [DType::F32, DType::BF16, DType::I64] {
        let (base, updates) = (r.numbers(dtype, [extent]), r.numbers(dtype, [count]));
        for index in [any.i(), &rising, &first, &last] {
            let index = Literal::new(any.aval().clone(), index.to_vec()).expect("as many");
            let ins = [base.clone(), index, updates.clone()];
            assert_exact(Scatter { axis: 0, combine: Some(Combine::Sum) }, &ins);
            assert_exact(Scatter { axis: 0, combine: None }, &ins);
        }
    }
    last[count - 2] = extent as i64;
    let index = Literal::new(any.aval().clone(), last).expect("as many");
    let ins = [r.numbers(DType::F32, [extent]), index, r.numbers(DType::F32, [count])];
    assert_refused(Scatter { axis: 0, combine: Some(Combine::Sum) }, &ins);
    assert_refused(Take { axis: 0 }, &ins[..2]);
}

#[test]
fn random_words_equal_the_stream() {
    for (state, n) in [([1, 2, 3, 4], 100_003), ([9, 8, u32::MAX as i64, 7], 70_000), ([0, 0, 0, 0], 0)] {
        let state = Literal::new(Aval::new(DType::U32, [4]), state.to_vec()).expect("four");
        assert_exact(RandomBits { shape: [n].into() }, &[state]);
    }
}

#[test]
fn cumulative_ops_and_positions_along_an_axis() {
    let mut r = Random(4);
    for dtype in DType::ALL {
        for (shape, axis) in [
            (&[300, 401][..], 1),
            (&[3, 500, 150], 1),
            (&[90000], 0),
            (&[5, 1, 3], 1),
            (&[0, 4], 0),
            (&[4, 0], 0),
            (&[2, 3, 5000], 0),
        ] {
            let x = r.numbers(dtype, shape);
            for combine in Combine::ALL.into_iter().filter(|c| c.takes(dtype)) {
                for reverse in [false, true] {
                    assert_exact(Cumulate { combine, axis, reverse }, std::slice::from_ref(&x));
                }
            }
            if dtype.is_complex() {
                continue;
            }
            let n = shape[axis];
            for first in [None, Some(0), Some(n.min(1)), Some(n / 40), Some(n / 9), Some(n / 2), Some(n)] {
                for descending in [false, true] {
                    assert_exact(Sort { axis, descending, first }, std::slice::from_ref(&x));
                }
            }
            if shape[axis] > 0 || shape.iter().filter(|&&e| e == 0).count() > 1 {
                assert_exact(ArgMax { axis }, std::slice::from_ref(&x));
                assert_exact(ArgMin { axis }, std::slice::from_ref(&x));
            }
        }
    }
}

/// Checks that the device differs from the reference by at most `bound · eps · Σ|terms|`, or `eps · Σ|terms|` for half
/// precision.
fn assert_near(op: impl Into<Op>, ins: &[Literal], bound: f64) {
    let graph = graph_of(op, ins);
    let expected = reference::evaluate(&graph, ins).expect("a value");
    let found = on_cpu(&graph, ins).expect("a value");
    let size = |l: &Literal| {
        let data: Vec<f64> = l.f().iter().map(|x| x.abs()).collect();
        Literal::new(l.aval().clone(), data).expect("the same elements")
    };
    let sizes: Vec<Literal> = ins.iter().map(size).collect();
    let terms = reference::evaluate(&graph, &sizes).expect("a value");
    let dtype = expected[0].dtype();
    // Half-precision floats are summed in `f32` and rounded once.
    let eps = dtype.epsilon() * if dtype.size() < 4 { 1.0 } else { bound };
    for (i, ((e, f), t)) in expected[0].f().iter().zip(found[0].f()).zip(terms[0].f()).enumerate() {
        assert!((e - f).abs() <= eps * t, "element {i}: {f}, not {e}, of {graph}");
    }
}

fn smooth(r: &mut Random, dtype: DType, shape: &[usize]) -> Literal {
    let n = shape.iter().product();
    let data: Vec<f64> = (0..n).map(|_| r.float()).collect();
    Literal::new(Aval::new(dtype, shape), data).expect("as many as the shape says").rounded()
}

#[test]
fn convolutions_of_all_kinds() {
    let mut r = Random(5);
    type Case<'a> = (&'a [usize], &'a [usize], &'a [usize], &'a [i64], &'a [i64], &'a [usize], &'a [usize]);
    // Operand, window, stride, low, high, base dilation, window dilation.
    let cases: &[Case<'_>] = &[
        (&[3, 1, 5, 17, 19], &[1, 7, 5, 3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[20, 1, 3, 14, 15], &[1, 9, 3, 3, 3], &[1, 1], &[1, 1], &[1, 1], &[1, 1], &[1, 1]),
        (&[2, 1, 4, 20, 23], &[1, 8, 4, 5, 3], &[2, 3], &[2, 1], &[2, 0], &[1, 1], &[1, 1]),
        (&[2, 1, 4, 20, 23], &[1, 8, 4, 2, 3], &[1, 2], &[-2, -1], &[1, -3], &[1, 1], &[1, 1]),
        (&[2, 1, 4, 20, 23], &[1, 8, 4, 3, 3], &[1, 1], &[2, 4], &[2, 4], &[1, 1], &[2, 4]),
        // Cases as in gradients: dilated operands, windows as large as the operand, few output positions.
        (&[2, 1, 8, 9, 9], &[1, 3, 8, 3, 3], &[1, 1], &[2, 2], &[3, 2], &[2, 2], &[1, 1]),
        (&[2, 1, 8, 9, 9], &[1, 3, 8, 3, 3], &[3, 2], &[1, 2], &[3, 2], &[2, 4], &[1, 2]),
        (&[5, 1, 6, 16, 16], &[1, 11, 6, 14, 14], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[5, 1, 6, 16, 16], &[1, 11, 6, 7, 7], &[1, 1], &[1, 1], &[0, 0], &[1, 1], &[2, 2]),
        (&[6, 1, 9, 8, 8], &[1, 10, 9, 8, 8], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[6, 2, 9, 8, 3], &[2, 10, 9, 8, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        // Many channels and few outputs, with an operand not larger than the result: sums of shifted products.
        (&[3, 1, 17, 9, 10], &[1, 5, 17, 3, 3], &[1, 1], &[2, 2], &[2, 2], &[1, 1], &[1, 1]),
        (&[2, 3, 16, 11, 8], &[3, 4, 16, 3, 2], &[1, 1], &[1, 0], &[1, 1], &[1, 1], &[1, 1]),
        (&[17, 1, 16, 9, 9], &[1, 3, 16, 3, 3], &[1, 1], &[3, 4], &[1, 0], &[1, 1], &[1, 2]),
        (&[2, 1, 16, 70], &[1, 6, 16, 5], &[1], &[7], &[-3], &[1], &[1]),
        (&[2, 1, 20, 4, 5, 4], &[1, 7, 20, 2, 3, 2], &[1; 3], &[1, 1, 0], &[0, 1, 2], &[1; 3], &[1; 3]),
        // A window of one element.
        (&[4, 1, 13, 11, 10], &[1, 12, 13, 1, 1], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[4, 1, 13, 11, 10], &[1, 12, 13, 1, 1], &[2, 2], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[4, 3, 5, 3, 3], &[3, 4, 5, 1, 1], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        // Few groups, many groups, and one window per channel.
        (&[3, 4, 5, 12, 13], &[4, 6, 5, 3, 3], &[1, 1], &[1, 1], &[1, 1], &[1, 1], &[1, 1]),
        (&[2, 24, 1, 12, 13], &[24, 1, 1, 3, 3], &[1, 1], &[1, 1], &[1, 1], &[1, 1], &[1, 1]),
        (&[2, 24, 1, 12, 21], &[24, 2, 1, 3, 3], &[2, 2], &[1, 1], &[1, 1], &[1, 1], &[1, 1]),
        (&[2, 5, 2, 6, 7], &[5, 1, 2, 3, 3], &[1, 1], &[2, 1], &[2, 2], &[2, 2], &[1, 1]),
        (&[1, 24, 3, 12, 12], &[24, 1, 3, 10, 10], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[7, 20, 3, 4, 4], &[20, 5, 3, 3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        // One, three and no spatial axes.
        (&[3, 2, 4, 60], &[2, 5, 4, 7], &[1], &[3], &[3], &[1], &[1]),
        (&[3, 1, 4, 200], &[1, 5, 4, 7], &[2], &[3], &[-3], &[1], &[3]),
        (
            &[2, 1, 3, 6, 7, 8],
            &[1, 4, 3, 2, 3, 3],
            &[1, 1, 2],
            &[0, 1, 1],
            &[1, 1, 0],
            &[1, 1, 1],
            &[1, 2, 1],
        ),
        (
            &[2, 1, 3, 4, 3, 8],
            &[1, 4, 3, 2, 3, 3],
            &[1, 2, 1],
            &[1, 1, 2],
            &[1, 3, 0],
            &[2, 1, 3],
            &[1, 1, 1],
        ),
        (&[30, 2, 7], &[2, 40, 7], &[], &[], &[], &[], &[]),
        // Extents of one and zero.
        (&[1, 1, 1, 1, 1], &[1, 1, 1, 1, 1], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[2, 1, 3, 1, 9], &[1, 4, 3, 1, 3], &[1, 1], &[0, 1], &[0, 1], &[1, 1], &[1, 1]),
        (&[0, 1, 3, 5, 5], &[1, 4, 3, 3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[2, 1, 0, 5, 5], &[1, 4, 0, 3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[2, 1, 3, 5, 5], &[1, 0, 3, 3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[2, 0, 3, 5, 5], &[0, 2, 3, 3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], &[1, 1]),
        (&[2, 1, 3, 5, 0], &[1, 2, 3, 3, 3], &[1, 1], &[0, 9], &[0, 3], &[1, 1], &[1, 1]),
        (&[2, 1, 3, 0, 5], &[1, 5, 3, 3, 3], &[1, 1], &[4, 0], &[0, 0], &[1, 1], &[1, 1]),
    ];
    for (x, w, stride, low, high, base, dilation) in cases {
        let op = Conv {
            stride: stride.to_vec(),
            low: low.to_vec(),
            high: high.to_vec(),
            base_dilation: base.to_vec(),
            window_dilation: dilation.to_vec(),
        };
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::F16] {
            // The bound is that of products: the roundings of a sum of this many terms in the dtype itself.
            let terms = (w[2..].iter().product::<usize>() as f64).sqrt().max(4.0);
            assert_near(op.clone(), &[smooth(&mut r, dtype, x), smooth(&mut r, dtype, w)], terms);
        }
        assert_exact(op, &[r.numbers(DType::I32, *x), r.numbers(DType::I32, *w)]);
    }
}

#[test]
fn folds_sum_windows() {
    let mut r = Random(6);
    for dtype in DType::ALL.into_iter().filter(|d| *d != DType::Bool) {
        for (extent, size, stride, dilation, counts, lead) in [
            (&[20, 21][..], &[3, 2][..], &[1, 2][..], &[2, 1][..], &[16, 10][..], &[6, 7][..]),
            (&[500], &[4], &[4], &[1], &[125], &[90]),
            (&[7], &[3], &[2], &[1], &[3], &[]),
            (&[7], &[3], &[2], &[1], &[3], &[0, 2]),
            (&[5, 4, 6], &[2, 2, 2], &[1, 2, 2], &[1, 1, 3], &[4, 2, 2], &[3]),
        ] {
            let op = Fold {
                extent: extent.into(),
                size: size.into(),
                stride: stride.into(),
                dilation: dilation.into(),
            };
            let shape = [lead, counts, size].concat();
            assert_exact(op, &[r.numbers(dtype, shape)]);
        }
    }
}
