//! Compares matrix products on every instruction set of this machine with a simple product in `f64`.

use gradus_cpu::gemm::{Operand, Output, Pack, Panel, Problem, Real, Strided, Tile};
use gradus_cpu::{Isa, Pool};
use half::bf16;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

/// Element types of the tests.
trait Number: Real + Into<f64> + PartialEq + Debug + Default + Send + Sync {
    const EPSILON: f64;
    fn of(x: f64) -> Self;
}

impl Number for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    fn of(x: f64) -> f32 {
        x as f32
    }
}

impl Number for f64 {
    const EPSILON: f64 = f64::EPSILON;
    fn of(x: f64) -> f64 {
        x
    }
}

/// Products are summed in `f32`, so the bounds are those of `f32` sums.
impl Number for bf16 {
    const EPSILON: f64 = f32::EPSILON as f64;
    fn of(x: f64) -> bf16 {
        bf16::from_f64(x)
    }
}

/// A small generator of values in [-1, 1) that differ in every bit.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 / (1u64 << 53) as f64) * 2.0 - 1.0
    }

    fn numbers<T: Number>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| T::of(self.next())).collect()
    }
}

/// Memory layout of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    /// Contiguous along k.
    Depth,
    /// Contiguous across lanes.
    Lane,
    /// Contiguous along k, and every lane starts at a cache line.
    Lines,
    /// Every third element along k, with lanes further apart.
    Sparse,
    /// Contiguous along k, with lanes from the last to the first.
    Backwards,
    /// Contiguous along k, and shared by the batch.
    Shared,
    /// Packed by a [`Pack`].
    Packed,
}

const LAYOUTS: [Layout; 7] = [
    Layout::Depth,
    Layout::Lane,
    Layout::Lines,
    Layout::Sparse,
    Layout::Backwards,
    Layout::Shared,
    Layout::Packed,
];

/// An operand with its memory.
struct Matrix<T> {
    data: Vec<T>,
    first: usize,
    batch: isize,
    lane: isize,
    depth: isize,
    layout: Layout,
}

impl<T: Number> Matrix<T> {
    fn new(random: &mut Random, layout: Layout, batch: usize, lanes: usize, steps: usize) -> Matrix<T> {
        let (lane, depth) = match layout {
            Layout::Depth | Layout::Backwards | Layout::Shared => (steps + 3, 1),
            Layout::Lane | Layout::Packed => (1, lanes + 5),
            Layout::Lines => (steps.next_multiple_of(64), 1),
            Layout::Sparse => (3 * steps + 1, 3),
        };
        let one = (lane * lanes + depth * steps + 1).next_multiple_of(64);
        let data: Vec<T> = random.numbers(64 + if layout == Layout::Shared { one } else { one * batch });
        let stride = if layout == Layout::Shared { 0 } else { one as isize };
        let (lane, depth) = (lane as isize, depth as isize);
        match layout {
            Layout::Backwards => {
                let first = lanes.saturating_sub(1) * lane as usize;
                Matrix { data, first, batch: stride, lane: -lane, depth, layout }
            }
            Layout::Lines => {
                let first = data.as_ptr().align_offset(64);
                Matrix { data, first, batch: stride, lane, depth, layout }
            }
            _ => Matrix { data, first: 0, batch: stride, lane, depth, layout },
        }
    }

    fn get(&self, batch: usize, lane: usize, depth: usize) -> T {
        let offset = batch as isize * self.batch + lane as isize * self.lane + depth as isize * self.depth;
        self.data[(self.first as isize + offset) as usize]
    }

    fn operand(&self) -> Operand<'_, T> {
        if self.layout == Layout::Packed {
            return Operand::Packed(self);
        }
        let data = self.data[self.first.min(self.data.len())..].as_ptr();
        Operand::Strided(Strided { data, batch: self.batch, lane: self.lane, depth: self.depth })
    }
}

impl<T: Number> Pack<T> for Matrix<T> {
    fn pack(&self, panel: Panel, out: &mut [T]) {
        assert_eq!(out.len(), panel.steps * panel.width);
        assert!(panel.lanes <= panel.width);
        for p in 0..panel.steps {
            for lane in 0..panel.width {
                out[p * panel.width + lane] = if lane < panel.lanes {
                    self.get(panel.batch, panel.lane + lane, panel.depth + p)
                } else {
                    T::default()
                };
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    a: Layout,
    b: Layout,
    accumulate: bool,
    /// Gap between the rows of C, in elements.
    gap: usize,
}

const PLAIN: Case =
    Case { batch: 1, m: 1, n: 1, k: 1, a: Layout::Depth, b: Layout::Lane, accumulate: false, gap: 3 };

/// Computes the case on every instruction set with 1, 2 and 3 threads, and checks all elements.
fn check<T: Number<Sum: Number>>(pools: &[Pool], case: Case) {
    let Case { batch, m, n, k, accumulate, .. } = case;
    let mut random = Random((m * 7919 + n * 104729 + k * 1299709 + batch) as u64);
    let a = Matrix::<T>::new(&mut random, case.a, batch, m, k);
    let b = Matrix::<T>::new(&mut random, case.b, batch, n, k);
    // There are gaps between the rows of C and between products. A product must not write to them.
    let (row, gap) = (n + case.gap, 7);
    let stride = m * row + gap;
    let before: Vec<T::Sum> = random.numbers(batch * stride + gap);
    let inside = |at: usize| -> Option<(usize, usize, usize)> {
        let at = at.checked_sub(gap)?;
        let (i, j) = (at % stride / row, at % stride % row);
        (i < m && j < n).then_some((at / stride, i, j))
    };
    let expected: Vec<Option<(f64, f64)>> = (0..before.len())
        .map(|at| {
            let (index, i, j) = inside(at)?;
            let start: f64 = if accumulate { before[at].into() } else { 0.0 };
            let terms = (0..k).map(|p| a.get(index, i, p).into() * b.get(index, j, p).into());
            let (sum, size) =
                terms.fold((start, start.abs()), |(sum, size), x: f64| (sum + x, size + x.abs()));
            Some((sum, (k as f64).sqrt().max(4.0) * T::EPSILON * size))
        })
        .collect();
    for &isa in Isa::available() {
        let mut first: Option<Vec<T::Sum>> = None;
        for pool in pools {
            let mut c = before.clone();
            let touched: Vec<AtomicU8> = before.iter().map(|_| AtomicU8::new(0)).collect();
            let start = c.as_mut_ptr() as usize;
            let finish = |tile: Tile<T::Sum>| {
                let at = (tile.data as usize - start) / size_of::<T::Sum>();
                assert_eq!(inside(at), Some((tile.batch, tile.row0, tile.col0)));
                assert_eq!(tile.row, row as isize);
                for i in 0..tile.rows {
                    for j in 0..tile.cols {
                        touched[at + i * row + j].fetch_add(1, SeqCst);
                        // SAFETY: only this call accesses the block.
                        unsafe {
                            let element = tile.data.add(i * row + j);
                            *element = T::Sum::of(-(*element).into());
                        }
                    }
                }
            };
            let output = Output { data: c[gap..].as_mut_ptr(), batch: stride as isize, row: row as isize };
            let problem = Problem {
                batch,
                m,
                n,
                k,
                a: a.operand(),
                b: b.operand(),
                c: output,
                accumulate,
                finish: Some(&finish),
            };
            // SAFETY: the matrices have these extents and strides, and no other thread accesses C.
            unsafe { T::gemm(pool, isa, &problem) };
            for (at, expected) in expected.iter().enumerate() {
                match expected {
                    None => {
                        assert_eq!(c[at], before[at], "{case:?} {isa:?}: written outside, at {at}");
                        assert_eq!(touched[at].load(SeqCst), 0);
                    }
                    Some((value, bound)) => {
                        let got: f64 = c[at].into();
                        assert!(
                            (-got - value).abs() <= *bound,
                            "{case:?} {isa:?} at {:?}: {} instead of {value}",
                            inside(at),
                            -got
                        );
                        assert_eq!(touched[at].load(SeqCst), 1, "{case:?} {isa:?}: finished once");
                    }
                }
            }
            match &first {
                None => first = Some(c),
                Some(first) => assert!(*first == c, "{case:?} {isa:?}: depends on threads"),
            }
        }
    }
}

fn all(cases: impl IntoIterator<Item = Case>) {
    let pools = [Pool::new(1), Pool::new(2), Pool::new(3)];
    for case in cases {
        check::<f32>(&pools, case);
        check::<f64>(&pools, case);
        check::<bf16>(&pools, case);
    }
}

#[test]
fn sizes_around_tiles() {
    const SIZES: [usize; 11] = [0, 1, 2, 7, 8, 9, 47, 48, 49, 64, 65];
    let some = |i: usize, j: usize| SIZES[(i * 5 + j * 3) % SIZES.len()];
    all(SIZES.iter().enumerate().flat_map(|(i, &m)| {
        SIZES.iter().enumerate().map(move |(j, &n)| Case {
            m,
            n,
            k: some(i, j),
            accumulate: (i + j) % 3 == 0,
            ..PLAIN
        })
    }));
}

#[test]
fn every_layout() {
    let sizes = [(9, 50, 13), (65, 63, 17), (66, 40, 64), (3, 100, 70), (100, 3, 70), (17, 5, 1)];
    all(sizes.into_iter().flat_map(|(m, n, k)| {
        LAYOUTS.into_iter().flat_map(move |a| {
            LAYOUTS.into_iter().map(move |b| Case { batch: 2, m, n, k, a, b, accumulate: k == 13, ..PLAIN })
        })
    }));
}

#[test]
fn tall_thin_and_deep() {
    let sizes = [
        (700, 3, 5),
        (3, 700, 5),
        (1, 1, 5000),
        (2, 3, 9001),
        (33, 20, 4100),
        (1, 300, 300),
        (300, 1, 300),
        (16, 130, 600),
        (520, 1, 1),
        (1, 1100, 2),
    ];
    all(sizes.into_iter().flat_map(|(m, n, k)| {
        [
            (Layout::Depth, Layout::Lane),
            (Layout::Lane, Layout::Lane),
            (Layout::Depth, Layout::Depth),
            (Layout::Lane, Layout::Depth),
        ]
        .map(|(a, b)| Case { m, n, k, a, b, accumulate: m % 2 == 0, ..PLAIN })
    }));
}

#[test]
fn columns_computed_as_rows() {
    all([(300, 1, 70), (1, 300, 70), (5000, 1, 40), (2, 1, 3)].into_iter().flat_map(|(m, n, k)| {
        LAYOUTS.map(|a| Case { batch: 2, m, n, k, a, b: Layout::Sparse, accumulate: k == 40, gap: 0 })
    }));
}

#[test]
fn many_blocks() {
    let plain = [(300, 260, 200), (130, 1100, 90), (513, 97, 400), (37, 20000, 3)];
    all(plain.map(|(m, n, k)| Case { m, n, k, ..PLAIN }));
    all([
        Case { m: 170, n: 200, k: 2085, a: Layout::Lines, ..PLAIN },
        Case { m: 270, n: 200, k: 333, a: Layout::Lane, b: Layout::Lane, ..PLAIN },
        Case { m: 270, n: 200, k: 333, a: Layout::Depth, b: Layout::Depth, accumulate: true, ..PLAIN },
        Case { m: 200, n: 270, k: 333, a: Layout::Packed, b: Layout::Packed, ..PLAIN },
    ]);
}

#[test]
fn batches() {
    all([
        Case { batch: 0, m: 3, n: 4, k: 5, ..PLAIN },
        Case { batch: 37, m: 3, n: 4, k: 5, ..PLAIN },
        Case { batch: 9, m: 33, n: 70, k: 20, b: Layout::Shared, ..PLAIN },
        Case {
            batch: 9,
            m: 33,
            n: 70,
            k: 20,
            a: Layout::Shared,
            b: Layout::Depth,
            accumulate: true,
            ..PLAIN
        },
        Case { batch: 3, m: 130, n: 140, k: 150, a: Layout::Lane, ..PLAIN },
        Case { batch: 2, m: 10, n: 12, k: 0, ..PLAIN },
    ]);
}

#[test]
fn the_transposed_problem_writes_columns() {
    let (m, n, k) = (21, 34, 13);
    let mut random = Random(1);
    let a = Matrix::<f64>::new(&mut random, Layout::Depth, 1, m, k);
    let b = Matrix::<f64>::new(&mut random, Layout::Lane, 1, n, k);
    let mut c = vec![0.0; m * n];
    let seen = Mutex::new((0, 0));
    let finish = |tile: Tile<f64>| {
        let mut seen = seen.lock().expect("no panics");
        *seen = (seen.0.max(tile.row0 + tile.rows), seen.1.max(tile.col0 + tile.cols));
    };
    let c_out = Output { data: c.as_mut_ptr(), batch: 0, row: m as isize };
    let problem = Problem {
        batch: 1,
        m,
        n,
        k,
        a: a.operand(),
        b: b.operand(),
        c: c_out,
        accumulate: false,
        finish: Some(&finish),
    };
    // SAFETY: the matrices have these extents and strides, with C stored by columns.
    unsafe { gradus_cpu::gemm::gemm(Pool::global(), &problem.transposed()) };
    for i in 0..m {
        for j in 0..n {
            let expected: f64 = (0..k).map(|p| a.get(0, i, p) * b.get(0, j, p)).sum();
            assert!((c[j * m + i] - expected).abs() < 1e-13);
        }
    }
    assert_eq!(*seen.lock().expect("no panics"), (n, m), "rows of the transposed problem are columns of C");
}
