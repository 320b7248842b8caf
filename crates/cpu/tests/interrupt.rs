//! Tests that interrupted runs stop in the middle of a long step, and that the next run is not affected.

use gradus_cpu::{Executable, Pool, ask_to_stop, evaluate_on};
use gradus_ir::graph::Builder;
use gradus_ir::{Aval, DType, Kind, Literal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static STOP: AtomicBool = AtomicBool::new(false);

#[test]
fn a_long_step_stops() {
    ask_to_stop(|| STOP.load(Ordering::Relaxed));
    let n = 2048;
    let aval = Aval::new(DType::F32, [n, n]);
    let b = Builder::new();
    let x = b.input("x", aval.clone());
    let mut y = x;
    // Consecutive products: some seconds of work.
    for _ in 0..40 {
        y = b.apply1(gradus_ir::ops::dot::Dot::new("ij", "jk", "ik"), &[y, x]);
    }
    let graph = b.finish(&[y]).unwrap();
    let executable = Executable::new(&graph).unwrap();
    let ones = |v: f64| Literal::floats(DType::F32, [n, n], vec![v; n * n]).unwrap();
    STOP.store(true, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(120));
    let start = Instant::now();
    let e = evaluate_on(Pool::global(), &executable, &graph, &[ones(0.0)]).unwrap_err();
    assert!(matches!(e.kind(), Kind::Interrupted), "{e}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    STOP.store(false, Ordering::Relaxed);
    let small = Builder::new();
    let x = small.input("x", Aval::new(DType::F32, [3]));
    let graph = small.finish(&[x + x]).unwrap();
    let executable = Executable::new(&graph).unwrap();
    let three = Literal::floats(DType::F32, [3], vec![1.0, 2.0, 3.0]).unwrap();
    let out = evaluate_on(Pool::global(), &executable, &graph, &[three]).unwrap();
    assert_eq!(out[0].f(), [2.0, 4.0, 6.0]);
}
