//! What an evaluation holds at a time, counted: values end where they are last read, loops keep what they are told to.

use gradus_ir::reference::{evaluate, evaluate_counted};
use gradus_ir::transform::{Unreachable, grad_with_loss};
use gradus_ir::{Graph, Literal};
use gradus_tensor::{Keep, ScanOptions, Tensor, scan, trace};

const WIDTH: usize = 512;
const BYTES: usize = WIDTH * 8;

fn point() -> Tensor {
    Tensor::from((0..WIDTH).map(|i| (i as f64 * 0.37).sin()).collect::<Vec<f64>>())
}

#[test]
fn values_end_where_they_are_last_read() {
    let x = point();
    let most = |f: fn(&Tensor) -> Tensor| {
        let graph = trace(&[&x], |x| f(&x[0])).unwrap();
        evaluate_counted(&graph, &[x.to_literal().unwrap()]).unwrap().1
    };
    // One op: its operand and its result. A chain: no more. A value read later is held meanwhile.
    assert_eq!(most(|x| x.exp()), 2 * BYTES);
    assert_eq!(most(|x| x.exp().sin().cos().tanh()), 2 * BYTES);
    assert_eq!(most(|x| x.exp().sin().cos() * x), 3 * BYTES);
    // Views by shape share their elements.
    assert_eq!(most(|x| x.reshape([2, 256]).exp().reshape([512])), 2 * BYTES);
    // A region holds what its body does, and its operands end inside it.
    let chain = |x: &Tensor| gradus_tensor::checkpoint(&[x], |x| x[0].exp().sin().cos()).unwrap().remove(0);
    let graph = trace(&[&x], |x| chain(&chain(&x[0]))).unwrap();
    assert_eq!(evaluate_counted(&graph, &[x.to_literal().unwrap()]).unwrap().1, 2 * BYTES);
}

/// The gradient of Σ h after so many steps of h ← sin(1.01 h), for h at first.
fn gradient(steps: usize, keep: Keep) -> Graph {
    let f = |h: &Tensor| {
        let how = ScanOptions { keep, length: Some(steps), ..ScanOptions::default() };
        scan(&[h], &[], how, |c, _| (vec![(&c[0] * 1.01).sin()], vec![])).unwrap().0.remove(0).sum(())
    };
    let graph = trace(&[&point()], |h| f(&h[0])).unwrap();
    grad_with_loss(&graph, graph.outputs()[0], ["x"], Unreachable::Error).unwrap()
}

fn carries_held(steps: usize, keep: Keep) -> (Vec<Literal>, usize) {
    let (outs, peak) = evaluate_counted(&gradient(steps, keep), &[point().to_literal().unwrap()]).unwrap();
    (outs, peak.div_ceil(BYTES))
}

#[test]
fn ten_thousand_steps_in_the_memory_of_a_few_hundred() {
    let (right, all) = carries_held(10_000, Keep::All);
    // The trajectory and the values of one step.
    assert!((10_000..10_020).contains(&all), "{all}");
    let (outs, sqrt) = carries_held(10_000, Keep::Sqrt);
    assert!((200..=250).contains(&sqrt), "{sqrt}");
    assert_eq!(outs, right);
    let (outs, recursive) = carries_held(10_000, Keep::Recursive);
    assert!(recursive <= 40, "{recursive}");
    assert_eq!(outs, right);
    println!("carries held: {all} all, {sqrt} sqrt, {recursive} recursive");
}

#[test]
fn recursion_holds_a_few_carries_per_doubling() {
    let held: Vec<usize> =
        [64, 128, 256, 512, 1024, 2047].iter().map(|n| carries_held(*n, Keep::Recursive).1).collect();
    for pair in held.windows(2) {
        assert!(pair[1] <= pair[0] + 3, "{held:?}");
    }
}

#[test]
fn counting_changes_nothing() {
    let graph = gradient(17, Keep::Sqrt);
    let ins = [point().to_literal().unwrap()];
    assert_eq!(evaluate(&graph, &ins).unwrap(), evaluate_counted(&graph, &ins).unwrap().0);
}
