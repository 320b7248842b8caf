//! Compiled training compared with the same training written eagerly.

use gradus_ir::{DType, Result};
use gradus_nn::optim::{Adam, Sgd};
use gradus_nn::{
    Clip, Forward, Linear, Module, Optimizer, Schedule, Sequential, capture, compile_forward,
    compile_training,
};
use gradus_tensor::{Generator, Reduction, ScanOptions, Tensor, checkpoint, mse_loss, scan, while_loop};

fn net() -> Sequential {
    let g = Generator::new(1);
    let net = Sequential::new().then(Linear::new(3, 8, &g)).then(Tensor::tanh).then(Linear::new(8, 2, &g));
    net.to_dtype(DType::F64).unwrap();
    net
}

fn batch(seed: u64, n: usize) -> [Tensor; 2] {
    let g = Generator::new(seed);
    [g.randn([n, 3]).to_dtype(DType::F64), g.randn([n, 2]).to_dtype(DType::F64)]
}

fn loss(m: &Sequential, b: &[Tensor]) -> Tensor {
    mse_loss(&m.forward(&b[0]), &b[1], Reduction::Mean)
}

fn weights(m: &impl Module) -> Vec<f64> {
    m.state().iter().flat_map(|(_, t)| t.to_vec::<f64>().unwrap()).collect()
}

#[track_caller]
fn assert_close(a: &[f64], b: &[f64], within: f64) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= within, "{x} is not {y}");
    }
}

fn adam(m: &Sequential) -> Optimizer {
    let adam = Adam { rate: 0.05, weight_decay: 0.01, ..Adam::default() };
    let falling = Schedule::new(|step| 1.0 / (1.0 + step as f64));
    Optimizer::new(m.parameters(), adam).clip(Clip::Norm(0.5)).schedule(falling).average(0.9)
}

#[test]
fn a_compiled_step_equals_the_eager_step() {
    let (compiled, eager) = (net(), net());
    let mut optimizer = adam(&eager);
    let [x, y] = batch(2, 4);
    let mut step = compile_training(&compiled, loss, adam(&compiled), &[&x, &y]).unwrap();
    for i in 0..10 {
        let b = batch(10 + i, 4);
        let found = step.run(&[&b[0], &b[1]]).unwrap().loss.item::<f64>().unwrap();
        let right = loss(&eager, &b);
        right.backward().unwrap();
        optimizer.step().unwrap();
        assert_close(&[found], &[right.item::<f64>().unwrap()], 1e-12);
        assert_close(&weights(&compiled), &weights(&eager), 1e-12);
    }
    assert_eq!(step.compilations(), 1);
    let averages = |o: &Optimizer| {
        let own = o.state().into_iter().filter(|(n, _)| n.starts_with("average."));
        own.flat_map(|(_, t)| t.to_vec::<f64>().unwrap()).collect::<Vec<_>>()
    };
    assert_close(&averages(step.optimizer()), &averages(&optimizer), 1e-12);
    // Swapping twice changes nothing.
    let before = weights(&compiled);
    step.optimizer().swap_average().unwrap();
    assert_close(&weights(&compiled), &averages(&optimizer), 1e-12);
    step.optimizer().swap_average().unwrap();
    assert_eq!(weights(&compiled), before);
}

#[test]
fn a_restarted_step_repeats_itself() {
    let m = net();
    let first: Vec<Tensor> = m.parameters().iter().map(|(_, p)| p.detach()).collect();
    let [x, y] = batch(2, 4);
    let mut step = compile_training(&m, loss, adam(&m), &[&x, &y]).unwrap().accumulate(2);
    let mut run = |n: usize| {
        for (value, (_, p)) in first.iter().zip(m.parameters()) {
            p.data_().set_(value).unwrap();
        }
        step.restart().unwrap();
        (0..n).for_each(|_| drop(step.run(&[&x, &y]).unwrap()));
        let state: Vec<f64> =
            step.optimizer().state().iter().flat_map(|(_, t)| t.to_vec::<f64>().unwrap()).collect();
        (weights(&m), state)
    };
    let right = run(6);
    assert_ne!(run(5), right);
    assert_eq!(run(6), right);
}

#[test]
fn other_batches_are_compiled_once() {
    let m = net();
    let [x, y] = batch(2, 4);
    let mut step = compile_training(&m, loss, adam(&m), &[&x, &y]).unwrap();
    for n in [4, 7, 4, 7, 1] {
        let [x, y] = batch(3, n);
        step.run(&[&x, &y]).unwrap();
    }
    assert_eq!((step.compilations(), step.optimizer().steps()), (3, 5));
    // Freezing compiles another program: frozen parameters stay unchanged.
    m.parameters()[0].1.set_requires_grad(false).unwrap();
    let before = m.parameters()[0].1.to_vec::<f64>().unwrap();
    step.run(&[&x, &y]).unwrap();
    assert_eq!(step.compilations(), 4);
    assert_eq!(m.parameters()[0].1.to_vec::<f64>().unwrap(), before);
    assert_ne!(m.parameters()[1].1.to_vec::<f64>().unwrap(), before);
}

#[test]
fn captures_are_returned_by_name() {
    let m = net();
    let with_capture = |m: &Sequential, b: &[Tensor]| {
        let y = m.forward(&b[0]);
        capture("prediction", &y);
        capture("error", &(&y - &b[1]));
        [mse_loss(&y, &b[1], Reduction::Mean), y.mean(())]
    };
    let [x, y] = batch(2, 4);
    let right = (m.forward(&x) - &y).to_vec::<f64>().unwrap();
    let mean = m.forward(&x).mean(()).item::<f64>().unwrap();
    let step = compile_training(&m, with_capture, adam(&m), &[&x, &y]).unwrap();
    let outcome = step.captures(&["error"]).run(&[&x, &y]).unwrap();
    assert_close(&outcome.captured("error").unwrap().to_vec::<f64>().unwrap(), &right, 1e-12);
    assert_close(&[outcome.outputs[0].item().unwrap()], &[mean], 1e-12);
    assert!(outcome.captured("prediction").is_none());
    let step = compile_training(&m, with_capture, adam(&m), &[&x, &y]).unwrap();
    let e = step.captures(&["hidden"]).run(&[&x, &y]).unwrap_err().to_string();
    assert!(e.contains("`hidden` is not captured by the loss function"), "{e}");
}

#[test]
fn accumulated_batches_are_one_large_batch() {
    let (whole, parts) = (net(), net());
    let [x, y] = batch(2, 6);
    let sgd =
        |m: &Sequential| Optimizer::new(m.parameters(), Sgd { rate: 0.1, momentum: 0.9, ..Sgd::default() });
    let mut one = compile_training(&whole, loss, sgd(&whole), &[&x, &y]).unwrap();
    let part = |i: usize| [x.narrow(0, 2 * i, 2), y.narrow(0, 2 * i, 2)];
    let [x0, y0] = part(0);
    let mut three = compile_training(&parts, loss, sgd(&parts), &[&x0, &y0]).unwrap().accumulate(3);
    for _ in 0..4 {
        one.run(&[&x, &y]).unwrap();
        for i in 0..3 {
            let [x, y] = part(i);
            three.run(&[&x, &y]).unwrap();
        }
        assert_close(&weights(&whole), &weights(&parts), 1e-12);
    }
    assert_eq!((three.optimizer().steps(), three.compilations()), (4, 2));
}

/// Compiles a step with a block whose values are recomputed in the backward pass.
#[test]
fn checkpointed_layers_train_the_same() {
    let (plain, again) = (net(), net());
    let [x, y] = batch(2, 4);
    let with_checkpoint = |m: &Sequential, b: &[Tensor]| {
        let y = checkpoint(&[&b[0]], |x| m.forward(&x[0])).map_or_else(Tensor::failed, |mut y| y.remove(0));
        mse_loss(&y, &b[1], Reduction::Mean)
    };
    let mut one = compile_training(&plain, loss, adam(&plain), &[&x, &y]).unwrap();
    let mut two = compile_training(&again, with_checkpoint, adam(&again), &[&x, &y]).unwrap();
    for _ in 0..4 {
        one.run(&[&x, &y]).unwrap();
        two.run(&[&x, &y]).unwrap();
    }
    assert_close(&weights(&plain), &weights(&again), 1e-12);
}

#[test]
fn half_precision_trains() {
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let m = net();
        m.to_dtype(dtype).unwrap();
        let [x, y] = batch(2, 16).map(|t| t.to_dtype(dtype));
        let adam = Optimizer::new(m.parameters(), Adam { rate: 0.02, eps: 1e-4, ..Adam::default() });
        let mut step = compile_training(&m, loss, adam.clip(Clip::Norm(1.0)), &[&x, &y]).unwrap();
        let mut run = || step.run(&[&x, &y]).unwrap().loss.to_dtype(DType::F64).item::<f64>().unwrap();
        let first = run();
        let last = (0..60).map(|_| run()).last().unwrap();
        assert!(last < first * 0.6, "{dtype}: from {first} to {last}");
        assert!(m.parameters().iter().all(|(_, p)| p.dtype() == dtype));
    }
}

/// The layers are wider than the tiles of `bf16` products, and not a multiple of them.
#[test]
fn losses_in_bf16_are_near_those_in_f32() {
    let trained = |dtype: DType| -> Vec<f64> {
        let g = Generator::new(3);
        let m = Sequential::new()
            .then(Linear::new(70, 100, &g))
            .then(Tensor::tanh)
            .then(Linear::new(100, 37, &g));
        let data = [g.randn([50, 70]), g.randn([50, 37])];
        // Both start from the same values.
        m.to_dtype(DType::BF16).unwrap();
        m.to_dtype(dtype).unwrap();
        let [x, y] = data.map(|t| t.to_dtype(DType::BF16).to_dtype(dtype));
        let sgd = Optimizer::new(m.parameters(), Sgd { rate: 2.0, ..Sgd::default() });
        let mut step = compile_training(&m, loss, sgd, &[&x, &y]).unwrap();
        let mut run = || step.run(&[&x, &y]).unwrap().loss.to_dtype(DType::F64).item::<f64>().unwrap();
        (0..12).map(|_| run()).collect()
    };
    let (narrow, wide) = (trained(DType::BF16), trained(DType::F32));
    assert!(wide[11] < 0.7 * wide[0], "{wide:?}");
    for (narrow, wide) in narrow.iter().zip(&wide) {
        assert!((narrow - wide).abs() < wide / 128.0, "{narrow} is not {wide}");
    }
}

#[test]
fn a_forward_executable_shares_the_parameters() {
    let m = net();
    let [x, y] = batch(2, 4);
    let mut step = compile_training(&m, loss, adam(&m), &[&x, &y]).unwrap();
    let tested = compile_forward(&m, loss);
    let loss_of = || -> Result<f64> { tested.run(&[&x, &y])?[0].item::<f64>() };
    for _ in 0..3 {
        // A step returns the loss before its update.
        let before = loss_of().unwrap();
        assert_close(&[step.run(&[&x, &y]).unwrap().loss.item().unwrap()], &[before], 1e-12);
        assert!(loss_of().unwrap() < before);
    }
}

#[test]
fn the_first_value_that_is_not_finite_is_named() {
    let m = net();
    let risky = |m: &Sequential, b: &[Tensor]| {
        // Where the second field is 0, the logarithm is infinite and its gradient NaN.
        let y = (m.forward(&b[0]).square() * &b[1]).log();
        (y.softmax(-1) * &y).sum(())
    };
    let [x, y] = batch(2, 4);
    let mut step = compile_training(&m, risky, adam(&m), &[&x, &y]).unwrap().check_finite();
    step.run(&[&x, &y.square()]).unwrap();
    let before = (weights(&m), step.optimizer().steps());
    let run =
        |step: &mut gradus_nn::Step<'_>, x: &Tensor, y: &Tensor| step.run(&[x, y]).unwrap_err().to_string();
    let e = run(&mut step, &x, &y.zeros_like());
    assert!(e.contains("`log` made an infinity (f64[4,2] from f64[4,2]), in `value_and_grad`"), "{e}");
    let e = run(&mut step, &x, &(-y.square()));
    assert!(e.contains("`log` made NaN (f64[4,2] from f64[4,2])"), "{e}");
    let e = run(&mut step, &(&x * f64::NAN), &y);
    assert!(e.contains("field 0 of the batch (f64[4,3]) was not finite before the step"), "{e}");
    assert_eq!((weights(&m), step.optimizer().steps()), before);
    let bias = m.parameters()[1].1.data_();
    bias.set_(&(&bias * f64::INFINITY)).unwrap();
    let e = run(&mut step, &x, &y.square());
    assert!(e.contains("`model.0.bias` (f64[8]) was not finite before the step"), "{e}");
}

#[test]
fn a_failed_run_changes_nothing() {
    let m = net();
    let [x, y] = batch(2, 4);
    let mut step = compile_training(&m, loss, adam(&m), &[&x, &y]).unwrap();
    let before = weights(&m);
    assert!(step.run(&[&x]).is_err());
    assert!(step.run(&[&x, &batch(2, 3)[1]]).is_err());
    assert_eq!((weights(&m), step.optimizer().steps()), (before, 0));
    let e = adam(&m).step().unwrap_err().to_string();
    assert!(e.contains("no parameter has a gradient"), "{e}");
}

#[test]
fn a_parameter_that_the_loss_does_not_use_has_gradient_zero() {
    let half = |m: &Sequential, b: &[Tensor]| (b[0].matmul(&m.parameters()[0].1.t())).square().mean(());
    let (compiled, eager) = (net(), net());
    let [x, y] = batch(2, 4);
    let mut step = compile_training(&compiled, half, adam(&compiled), &[&x, &y]).unwrap();
    let mut optimizer = adam(&eager);
    for _ in 0..3 {
        step.run(&[&x, &y]).unwrap();
        half(&eager, std::slice::from_ref(&x)).backward().unwrap();
        optimizer.step().unwrap();
    }
    assert_close(&weights(&compiled), &weights(&eager), 1e-12);
}

#[test]
fn a_parameter_is_in_one_group() {
    let m = net();
    let [x, y] = batch(2, 4);
    let twice = || adam(&m).group(m.parameters(), Sgd::default());
    let e = compile_training(&m, loss, twice(), &[&x, &y]).err().unwrap().to_string();
    assert!(e.contains("0.weight is in two groups"), "{e}");
    loss(&m, &[x, y]).backward().unwrap();
    assert!(twice().step().is_err());
    // Averages also cover groups that are added later.
    let [first, rest @ ..] = &m.parameters()[..] else { panic!() };
    let one =
        Optimizer::new(vec![first.clone()], Sgd::default()).average(0.5).group(rest.to_vec(), Sgd::default());
    assert_eq!(one.state().iter().filter(|(n, _)| n.starts_with("average.")).count(), 4);
}

/// The error names the loop with its step and the op inside, for any of its results.
#[test]
fn values_in_a_loop_that_are_not_finite_are_named_with_their_step() {
    let m = net();
    // The fourth of six steps takes the logarithm of 0; later values are infinite, and NaN through their
    // gradients.
    let risky = |stack: bool, reverse: bool| {
        move |m: &Sequential, b: &[Tensor]| {
            let how = ScanOptions { reverse, ..ScanOptions::default() };
            let (last, all) = scan(&[&m.forward(&b[0]).sum(())], &[&b[1]], how, |c, x| {
                let next = &c[0] * 0.5 + x[0].log();
                (vec![next.clone()], vec![next])
            })
            .unwrap();
            if stack { all[0].sum(()) } else { last[0].clone() }
        }
    };
    let x = batch(2, 4)[0].clone();
    for (stack, reverse) in [(true, false), (false, false), (true, true), (false, true)] {
        let xs = Tensor::from([1.0f64, 1.0, 1.0, 0.0, 1.0, 1.0]);
        let step = compile_training(&m, risky(stack, reverse), adam(&m), &[&x, &xs]).unwrap();
        let e = step.check_finite().run(&[&x, &xs]).unwrap_err().to_string();
        let number = if reverse { 3 } else { 4 };
        assert!(
            e.contains(&format!(
                "`log` made an infinity (f64[] from f64[]), in step {number} of 6, in `scan`"
            )),
            "{e}"
        );
    }
    let bounded = |m: &Sequential, b: &[Tensor]| {
        let first = m.forward(&b[0]).sum(()) * 0.0 + 3.0;
        let out = while_loop(
            &[&first],
            Some(8),
            |c| c[0].gt(-2.5),
            |c| vec![(&c[0] - 1.0).log() * 0.0 + &c[0] - 1.0],
        );
        out.unwrap().remove(0)
    };
    let mut step = compile_training(&m, bounded, adam(&m), &[&x]).unwrap().check_finite();
    let e = step.run(&[&x]).unwrap_err().to_string();
    // 3, 2, 1 and then the logarithm of 0, times 0.
    assert!(e.contains("`log` made an infinity (f64[] from f64[]), in step 3 of "), "{e}");
}

#[test]
fn a_step_that_would_train_nothing_is_an_error() {
    let (m, [x, y]) = (net(), batch(2, 4));
    let mut step = compile_training(&m, loss, adam(&m), &[&x, &y]).unwrap();
    step.run(&[&x, &y]).unwrap();
    let before = weights(&m);
    m.freeze(true).unwrap();
    let e = step.run(&[&x, &y]).err().unwrap().to_string();
    assert!(e.contains("needs a parameter to train") && e.contains("frozen"), "{e}");
    assert_eq!(weights(&m), before);
    m.freeze(false).unwrap();
    step.run(&[&x, &y]).unwrap();
    assert_ne!(weights(&m), before);
}
