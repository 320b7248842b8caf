//! Counts the memory that an evaluation holds at a time: values are freed after their last read, and loops
//! keep the carries that `Keep` selects.

use gradus_ir::graph::parse;
use gradus_ir::reference::{evaluate, evaluate_counted};
use gradus_ir::transform::{Unreachable, grad_with_loss};
use gradus_ir::{Graph, Literal};
use gradus_tensor::{Keep, ScanOptions, Tensor, checkpoint, grad, region1, scan, trace};

const WIDTH: usize = 512;
const BYTES: usize = WIDTH * 8;

fn point() -> Tensor {
    Tensor::from((0..WIDTH).map(|i| (i as f64 * 0.37).sin()).collect::<Vec<f64>>())
}

#[test]
fn values_are_freed_after_their_last_read() {
    let x = point();
    let most = |f: fn(&Tensor) -> Tensor| {
        let graph = trace(&[&x], |x| f(&x[0])).unwrap();
        evaluate_counted(&graph, &[x.to_literal().unwrap()]).unwrap().1
    };
    // One op holds its operand and its result, and a chain of ops holds no more. A value that is read later
    // is held until then.
    assert_eq!(most(|x| x.exp()), 2 * BYTES);
    assert_eq!(most(|x| x.exp().sin().cos().tanh()), 2 * BYTES);
    assert_eq!(most(|x| x.exp().sin().cos() * x), 3 * BYTES);
    // Reshaped values share their elements.
    assert_eq!(most(|x| x.reshape([2, 256]).exp().reshape([512])), 2 * BYTES);
    // A region holds the values of its body, which frees the operands after their last read.
    let chain = |x: &Tensor| checkpoint(&[x], |x| x[0].exp().sin().cos()).unwrap().remove(0);
    let graph = trace(&[&x], |x| chain(&chain(&x[0]))).unwrap();
    assert_eq!(evaluate_counted(&graph, &[x.to_literal().unwrap()]).unwrap().1, 2 * BYTES);
}

/// Returns the gradient of Σ h for the initial h, after `steps` steps of h ← sin(1.01 h).
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

fn count(graph: &Graph, name: &str) -> usize {
    graph.nodes().iter().filter(|n| n.op.name() == name).count()
}

/// Returns the gradient of eight blocks, each computed by `block`.
fn gradient_of_blocks(block: impl Fn(&Tensor) -> Tensor) -> Graph {
    let graph = trace(&[&point()], |x| (0..8).fold(x[0].clone(), |h, _| block(&h)).sum(())).unwrap();
    grad_with_loss(&graph, graph.outputs()[0], ["x"], Unreachable::Error).unwrap()
}

fn steps(x: &Tensor) -> Tensor {
    (0..8).fold(x.clone(), |h, _| (h * 1.1).sin())
}

#[test]
fn a_checkpoint_has_its_effect_after_inlining() {
    let plain = gradient_of_blocks(steps);
    let kept = gradient_of_blocks(|x| checkpoint(&[x], |x| steps(&x[0])).unwrap().remove(0));
    let flat = kept.inlined().unwrap();
    assert_eq!((count(&flat, "call"), count(&plain, "sin")), (0, 64));
    // Every step but the last of a block runs again: the last result is not needed.
    assert_eq!((count(&flat, "sin"), count(&flat, "cos")), (64 + 8 * 7, 64), "{flat}");
    // A region that is not a checkpoint is computed once, and its values are held.
    let merged = gradient_of_blocks(|x| region1("block", vec![], &[x], |x| steps(&x[0]))).inlined().unwrap();
    assert_eq!(count(&merged, "sin"), 64);
    let ins = [point().to_literal().unwrap()];
    let [all, few, regions] = [&plain, &flat, &merged].map(|g| evaluate_counted(g, &ins).unwrap());
    assert_eq!(all.0, few.0);
    assert_eq!(all.0, regions.0);
    let held = [all.1, few.1, regions.1].map(|bytes| bytes.div_ceil(BYTES));
    // Held are 64 values and those of one step; with checkpoints, one value per block and those of one block.
    assert!((64..72).contains(&held[0]) && (64..72).contains(&held[2]), "{held:?}");
    assert!((16..24).contains(&held[1]), "{held:?}");
    // The graph can be parsed from text, and its derivative has checkpoints again.
    assert_eq!(parse(&kept.to_string()).unwrap(), kept);
    assert!(kept.to_string().contains("remat=true"), "{kept}");
    let slope = |x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor| grad(&[x], |x| f(&x[0])).unwrap().remove(0);
    let block = |x: &Tensor| checkpoint(&[x], |x| steps(&x[0]).sum(())).unwrap().remove(0);
    let twice = slope(&point(), &|x| slope(x, &block).square().sum(()));
    let right = slope(&point(), &|x| slope(x, &|x| steps(x).sum(())).square().sum(()));
    for (a, b) in twice.to_vec::<f64>().unwrap().iter().zip(right.to_vec::<f64>().unwrap()) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
    }
}
