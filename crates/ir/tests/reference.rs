//! Tests of the reference's long computations: those composed of short ones, and those that can be stopped.

use gradus_ir::ops::fft::Fft;
use gradus_ir::ops::linalg::Svd;
use gradus_ir::{Aval, Builder, C, DType, Literal, reference, stop};
use std::cell::Cell;
use std::f64::consts::TAU;

thread_local! {
    /// Number of polls for a stop request.
    static POLLS: Cell<usize> = const { Cell::new(0) };
}

/// A transform this long is composed of transforms of its rows and columns.
#[test]
fn long_transforms_agree_with_their_definition() {
    let n = 24_000;
    let x: Vec<C> = (0..n).map(|i| C::new((0.7 * i as f64).sin(), ((i * i) % 97) as f64 / 97.0)).collect();
    for inverse in [false, true] {
        let b = Builder::new();
        let aval = Aval::new(DType::C128, [n]);
        let y = b.apply1(Fft { axis: 0, inverse }, &[b.input("x", aval.clone())]);
        let graph = b.finish(&[y]).unwrap();
        let result = reference::evaluate(&graph, &[Literal::new(aval, x.clone()).unwrap()]).unwrap();
        let result = result[0].c();
        let sign = if inverse { 1.0 } else { -1.0 };
        for k in [0, 1, 7, 151, 12_003, n - 1] {
            let turned = |i: usize| C::from_polar(1.0, sign * TAU * ((i * k) % n) as f64 / n as f64);
            let expected: C = x.iter().enumerate().map(|(i, z)| *z * turned(i)).sum();
            assert!((result[k] - expected).norm() < 1e-8, "{inverse} {k}: {} and {expected}", result[k]);
        }
    }
}

#[test]
fn a_singular_value_decomposition_polls_in_every_sweep() {
    let n = 64;
    let elements = (0..n * n).map(|i| ((i * i) % 101) as f64 / 101.0).collect();
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F64, [n, n]));
    let graph = b.finish(&b.apply(Svd {}, &[x])).unwrap();
    let x = Literal::floats(DType::F64, [n, n], elements).unwrap();
    stop::set_callback(|| {
        POLLS.set(POLLS.get() + 1);
        false
    });
    reference::evaluate(&graph, &[x]).unwrap();
    // A sweep polls at least 160 times, and this matrix needs more than six sweeps.
    assert!(POLLS.get() > n * n / 4, "{} polls", POLLS.get());
}
