//! Tests that compilation returns the error of a requested stop at every poll.

use crate::device::PROFILE;
use gradus_compile::compile;
use gradus_ir::graph::Builder;
use gradus_ir::transform::vjp;
use gradus_ir::{Aval, DType, Kind, stop};
use std::cell::Cell;

thread_local! {
    /// Number of polls that do not request a stop, before the first that does.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[test]
fn every_poll_can_stop_compilation() {
    stop::set_callback(|| LEFT.replace(LEFT.get().wrapping_sub(1)) == 0);
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F64, [8, 96, 96]));
    let w = b.input("w", Aval::new(DType::F64, [8, 96, 96]));
    let scores = x.dot(w, "bik", "bjk", "bij").exp();
    let shares = scores / scores.sum(&[2]).reshape([8, 96, 1]).broadcast_to(&scores.shape());
    let y = shares.dot(x, "bij", "bjk", "bik").tanh() + x;
    let graph = vjp(&b.finish(&[y]).unwrap(), &[0, 1]).unwrap();
    let whole = compile(&graph, &PROFILE).unwrap().to_string();
    let mut asked = 0;
    let plan = loop {
        LEFT.set(asked);
        match compile(&graph, &PROFILE) {
            Ok(plan) => break plan,
            Err(e) => assert!(matches!(e.kind(), Kind::Interrupted), "asked {asked} times: {e}"),
        }
        asked += 1;
    };
    LEFT.set(usize::MAX);
    assert!(asked > 100, "asked {asked} times");
    assert_eq!(plan.to_string(), whole);
}
