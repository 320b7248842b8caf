//! Compares factorisations of larger matrices with the reference, which uses other algorithms.

use gradus_cpu::evaluate;
use gradus_ir::literal::Data;
use gradus_ir::ops::linalg::*;
use gradus_ir::{Aval, Builder, C, DType, Graph, Literal, Op, Var, reference};

struct Random(u64);

impl Random {
    /// Returns a number in [-1, 1).
    fn float(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Makes matrices with distinct, well separated singular values and eigenvalues.
    fn matrices(&mut self, dtype: DType, shape: &[usize]) -> Literal {
        let aval = Aval::new(dtype, shape);
        let [.., m, n] = shape[..] else { panic!("a matrix has two axes") };
        let diagonal = |k: usize| match (k / n % m, k % n) {
            (i, j) if i == j => 3.0 + i as f64,
            _ => 0.0,
        };
        let count = aval.shape.numel();
        let data: Data = match dtype.is_complex() {
            true => {
                let one = |k| C::new(0.2 * self.float() + diagonal(k), 0.2 * self.float());
                (0..count).map(one).collect::<Vec<C>>().into()
            }
            false => (0..count).map(|k| 0.3 * self.float() + diagonal(k)).collect::<Vec<f64>>().into(),
        };
        Literal::new(aval, data).expect("as many as the shape says").rounded()
    }
}

fn graph(op: impl Into<Op>, ins: &[Literal]) -> Graph {
    let b = Builder::new();
    let vars: Vec<Var<'_>> =
        (0..ins.len()).map(|i| b.input(&format!("x{i}"), ins[i].aval().clone())).collect();
    let outs = b.apply(op.into(), &vars);
    b.finish(&outs).expect("a valid graph")
}

fn constant(dtype: DType, shape: [usize; 2], value: f64) -> Literal {
    let n = shape[0] * shape[1];
    let data: Data = match dtype.is_complex() {
        true => vec![C::new(value, 0.0); n].into(),
        false => vec![value; n].into(),
    };
    Literal::new(Aval::new(dtype, shape), data).expect("as many as the shape says")
}

fn parts(l: &Literal) -> Vec<f64> {
    match l.data() {
        Data::F(v) => v.to_vec(),
        Data::I(v) => v.iter().map(|x| *x as f64).collect(),
        Data::C(v) => v.iter().flat_map(|z| [z.re, z.im]).collect(),
    }
}

/// Returns the largest of some eigenvalues or singular values, divided by the smallest distance of two of them. If
/// `with_zero` is true, distances from 0 count too. Errors of eigenvectors and singular vectors are proportional to this
/// number.
fn sensitivity(values: &Literal, with_zero: bool) -> f64 {
    let all: Vec<C> = match values.data() {
        Data::C(v) => v.to_vec(),
        _ => parts(values).into_iter().map(C::from).collect(),
    };
    let of_matrix = |values: &[C]| {
        let mut ends = values.to_vec();
        ends.extend(with_zero.then_some(C::default()));
        let distances = (0..ends.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let smallest = distances.map(|(i, j)| (ends[i] - ends[j]).norm()).fold(f64::MAX, f64::min);
        let largest = values.iter().map(|x| x.norm()).fold(0.0, f64::max);
        if smallest > 0.0 { (largest / smallest).max(1.0) } else { 1.0 }
    };
    let count = values.shape().last().copied().unwrap_or(1);
    all.chunks(count).map(of_matrix).fold(1.0, f64::max)
}

/// Compares the results of an op with those of the reference, relative to the largest element of each result. The
/// bound of vectors is multiplied by their [`sensitivity`].
#[track_caller]
fn assert_equals_reference(op: impl Into<Op>, ins: &[Literal]) {
    let op = op.into();
    let name = format!("{} of {}", op.name(), ins[0].aval());
    let found = evaluate(&graph(op.clone(), ins), ins).unwrap_or_else(|e| panic!("{name}: {e}"));
    let right = reference::apply(&op, ins).expect("the reference evaluates it");
    let [.., rows, cols] = ins[0].shape()[..] else { panic!("a matrix has two axes") };
    // The index of the result with the values, and the sensitivity of the other results.
    let (values, factor) = match op.name() {
        "eigh" | "eig" => (Some(0), sensitivity(&right[0], false)),
        "svd" => (Some(1), sensitivity(&right[1], rows != cols)),
        _ => (None, 1.0),
    };
    for (i, (found, right)) in found.iter().zip(&right).enumerate() {
        assert_eq!(found.aval(), right.aval(), "{name}, result {i}");
        let (found, right) = (parts(found), parts(right));
        let largest = right.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        let factor = if values == Some(i) { 1.0 } else { factor };
        let bound = 64.0 * ins[0].dtype().epsilon() * largest * factor;
        for (k, (found, right)) in found.iter().zip(&right).enumerate() {
            let same = found == right || (found - right).abs() <= bound;
            assert!(same, "{name}, result {i}, element {k}: {found}, not {right}");
        }
    }
}

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::C64, DType::C128];

#[test]
fn square_matrices() {
    let mut random = Random(1);
    for dtype in DTYPES {
        for shape in [&[16, 16][..], &[33, 33], &[2, 20, 20]] {
            let a = random.matrices(dtype, shape);
            assert_equals_reference(Cholesky {}, std::slice::from_ref(&a));
            assert_equals_reference(Eigh {}, std::slice::from_ref(&a));
            assert_equals_reference(Slogdet {}, std::slice::from_ref(&a));
            // The determinant of a matrix of 33 rows exceeds the range of `f32`.
            if shape[shape.len() - 1] < 33 {
                assert_equals_reference(Det {}, std::slice::from_ref(&a));
            }
            if dtype.is_complex() {
                assert_equals_reference(Eig {}, &[a]);
            }
        }
    }
}

#[test]
fn rectangular_matrices() {
    let mut random = Random(2);
    for dtype in DTYPES {
        for shape in [&[16, 16][..], &[40, 17], &[17, 40], &[2, 18, 16]] {
            let a = random.matrices(dtype, shape);
            assert_equals_reference(Lu {}, std::slice::from_ref(&a));
            assert_equals_reference(Qr { reflected: false }, std::slice::from_ref(&a));
            assert_equals_reference(Qr { reflected: true }, std::slice::from_ref(&a));
            assert_equals_reference(Svd {}, std::slice::from_ref(&a));
            assert_equals_reference(Pinv {}, &[a]);
        }
    }
}

#[test]
fn systems() {
    let mut random = Random(3);
    for dtype in DTYPES {
        for (a, b) in [(&[16, 16][..], &[16, 3][..]), (&[37, 37], &[37, 1]), (&[2, 20, 20], &[2, 20, 4])] {
            let (a, b) = (random.matrices(dtype, a), random.matrices(dtype, b));
            assert_equals_reference(Solve {}, &[a.clone(), b.clone()]);
            for k in 0..8 {
                let [lower, transpose, unit] = [0, 1, 2].map(|b| k >> b & 1 == 1);
                assert_equals_reference(TriangularSolve { lower, transpose, unit }, &[a.clone(), b.clone()]);
            }
        }
    }
}

/// Tests matrices of rank 1 and 0, for which the rank threshold of `f32` must be that of `f32` and not of `f64`.
#[test]
fn matrices_without_full_rank() {
    for dtype in DTYPES {
        let ones = constant(dtype, [20, 16], 0.5);
        assert_equals_reference(Pinv {}, &[ones]);
        assert_equals_reference(Lu {}, &[constant(dtype, [20, 17], 0.5)]);
        assert_equals_reference(Lu {}, &[constant(dtype, [16, 20], 0.0)]);
        assert_equals_reference(Det {}, &[constant(dtype, [18, 18], 2.0)]);
        let zeros = constant(dtype, [16, 16], 0.0);
        assert_equals_reference(Eigh {}, std::slice::from_ref(&zeros));
        assert_equals_reference(Det {}, std::slice::from_ref(&zeros));
        assert_equals_reference(Slogdet {}, &[zeros]);
    }
}

#[test]
fn errors_equal_those_of_the_reference() {
    let mut random = Random(4);
    let mut singular = random.matrices(DType::F64, &[2, 18, 18]).f().to_vec();
    singular[18 * 18 + 5 * 18..18 * 18 + 6 * 18].fill(0.0);
    let a = Literal::new(Aval::new(DType::F64, [2, 18, 18]), singular).unwrap();
    let b = random.matrices(DType::F64, &[2, 18, 1]);
    let negative = constant(DType::F64, [17, 17], -1.0);
    let infinite = constant(DType::F64, [17, 17], f64::INFINITY);
    let cases: [(Op, Vec<Literal>); 4] = [
        (Solve {}.into(), vec![a, b]),
        (Cholesky {}.into(), vec![negative]),
        (Svd {}.into(), vec![infinite.clone()]),
        (Eigh {}.into(), vec![infinite]),
    ];
    for (op, ins) in cases {
        let found = evaluate(&graph(op.clone(), &ins), &ins).expect_err("it has no result").to_string();
        let right = reference::apply(&op, &ins).expect_err("it has no result").to_string();
        let reason = right.lines().next().unwrap_or_default();
        assert!(found.contains(reason), "{found}\nis not\n{right}");
    }
}

/// Tests elements whose squares overflow. The reference evaluates such matrices, because it scales the elements.
#[test]
fn large_and_small_elements() {
    let mut random = Random(5);
    for (dtype, scale) in [(DType::F64, 1e300), (DType::F64, 1e-300), (DType::F32, 1e30), (DType::F32, 1e-30)]
    {
        let elements = random.matrices(dtype, &[17, 17]).f().iter().map(|x| x * scale).collect::<Vec<f64>>();
        let a = Literal::new(Aval::new(dtype, [17, 17]), elements).unwrap().rounded();
        assert_equals_reference(Svd {}, std::slice::from_ref(&a));
        assert_equals_reference(Eigh {}, &[a]);
    }
}

/// Tests matrices on which several threads work: the product of the factors must be the matrix.
#[test]
fn large_matrices() {
    let (n, mut random) = (260, Random(6));
    let a = random.matrices(DType::F64, &[n, n]);
    let b = Builder::new();
    let x = b.input("a", a.aval().clone());
    let svd = b.apply(Svd {}, &[x]);
    let back = svd[0].dot(svd[1], "ik", "k", "ik").dot(svd[2], "ik", "kj", "ij");
    let graph = b.finish(&[back]).unwrap();
    let found = evaluate(&graph, std::slice::from_ref(&a)).unwrap();
    for (found, right) in parts(&found[0]).iter().zip(parts(&a)) {
        assert!((found - right).abs() < 1e-11, "{found} is not {right}");
    }
}
