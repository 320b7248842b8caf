//! Branches and loops: values and gradients of closures, checkpoints, bounds, batches, invalid bodies.

use gradus_tensor::{Keep, ScanOptions, Tensor, cond, grad, scan, switch, trace, vmap, while_loop};

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().unwrap()
}

fn assert_close(found: &[f64], right: &[f64]) {
    assert_eq!(found.len(), right.len(), "{found:?} {right:?}");
    for (a, b) in found.iter().zip(right) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{found:?} is not {right:?}");
    }
}

#[test]
fn only_the_chosen_branch_counts() {
    let w = Tensor::from(3.0).requires_grad_();
    let x = Tensor::from(2.0).requires_grad_();
    let f = |p: bool| cond(&Tensor::from(p), &[&x], |x| &x[0] * &w, |x| x[0].square()).unwrap().remove(0);
    assert_eq!((f(true).item::<f64>().unwrap(), f(false).item::<f64>().unwrap()), (6.0, 4.0));
    f(true).backward().unwrap();
    assert_eq!((f64s(&x.grad().unwrap()), f64s(&w.grad().unwrap())), (vec![3.0], vec![2.0]));
    // A batch of predicates selects; a NaN of the branch not taken stays out.
    let p = Tensor::from([true, false, true]);
    let xs = Tensor::from([4.0, -1.0, 9.0]);
    let root = |p: &Tensor, x: &Tensor| cond(p, &[x], |x| x[0].sqrt(), |x| -&x[0]).unwrap().remove(0);
    let all = vmap(&[&p, &xs], &[Some(0), Some(0)], |v| root(&v[0], &v[1])).unwrap();
    assert_eq!(f64s(&all[0]), [2.0, 1.0, 3.0]);
    let grads =
        vmap(&[&p, &xs], &[Some(0), Some(0)], |v| grad(&[&v[1]], |x| root(&v[0], &x[0])).unwrap()).unwrap();
    assert_close(&f64s(&grads[0]), &[0.25, -1.0, 1.0 / 6.0]);
    let third = switch(
        &Tensor::from(2i64),
        &[&x],
        &[&|x| vec![x[0].clone()], &|x| vec![&x[0] * 2.0], &|x| vec![&x[0] * 3.0]],
    );
    assert_eq!(f64s(&third.unwrap()[0]), [6.0]);
    let e =
        cond(&Tensor::from(true), &[&x], |x| x[0].clone(), |x| x[0].unsqueeze(0)).unwrap_err().to_string();
    assert!(e.contains("all branches must give the same types") && e.contains("control.rs"), "{e}");
}

#[test]
fn a_branch_that_is_not_taken_adds_exactly_0_to_gradients_of_a_batch() {
    // The derivative of the branch not taken is NaN or infinite, and the operand `w` is shared by the batch.
    let w = Tensor::from(0.0);
    let each = |x: &Tensor, w: &Tensor| {
        let yes = |v: &[Tensor]| (&v[0] + 1.0).sqrt() + v[1].sqrt() * (&v[0] + 1.0).log();
        cond(&x.gt(0.0), &[x, w], yes, |v| v[0].pow(3.0) + &v[1] * 2.0).unwrap().remove(0)
    };
    let xs = Tensor::from([-2.0, -2.0, -3.0]);
    let f = |v: &[Tensor]| {
        vmap(&[&v[0], &v[1]], &[Some(0), None], |v| each(&v[0], &v[1])).unwrap().remove(0).sum(())
    };
    let grads = grad(&[&xs, &w], |v| f(v)).unwrap();
    assert_close(&f64s(&grads[0]), &[12.0, 12.0, 27.0]);
    assert_close(&f64s(&grads[1]), &[6.0]);
    let one = Tensor::from([1.0, 0.0, -1.0]);
    let (_, t) = gradus_tensor::jvp(&[&xs, &w], &[&one, &Tensor::from(1.0)], |v| f(v)).unwrap();
    assert_close(&f64s(&t[0]), &[12.0 - 27.0 + 6.0]);
    // The second derivative of x³ is 6 x: reverse over reverse, and forward over reverse.
    let first = |v: &[Tensor]| grad(&[&v[0]], |v| f(&[v[0].clone(), w.clone()])).unwrap().remove(0);
    let second = grad(&[&xs], |v| first(v).sum(())).unwrap();
    assert_close(&f64s(&second[0]), &[-12.0, -12.0, -18.0]);
    let (_, t) = gradus_tensor::jvp(&[&xs], &[&one], |v| first(v)).unwrap();
    assert_close(&f64s(&t[0]), &[-12.0, 0.0, 18.0]);
    // Three branches: the middle one, and an index out of range on both sides.
    let choose = |k: &Tensor, x: &Tensor| {
        let (low, high) = (|v: &[Tensor]| vec![v[0].sqrt()], |v: &[Tensor]| vec![v[0].log()]);
        switch(k, &[x], &[&low, &|v| vec![v[0].square()], &high]).unwrap().remove(0)
    };
    let (k, x) = (Tensor::from([-5i64, 0, 1, 2, 9]), Tensor::from([4.0, 4.0, -3.0, 2.0, 2.0]));
    let sum = |v: &[Tensor]| {
        vmap(&[&k, &v[0]], &[Some(0), Some(0)], |v| choose(&v[0], &v[1])).unwrap().remove(0).sum(())
    };
    assert_close(&f64s(&grad(&[&x], |v| sum(v)).unwrap()[0]), &[0.25, 0.25, -6.0, 0.5, 0.5]);
}

#[test]
fn steps_that_a_loop_does_not_make_add_exactly_0_to_gradients() {
    // After the last step the root's argument is 0, where its derivative is infinite.
    let down = |x: &Tensor, w: &Tensor| {
        while_loop(&[x], Some(4), |c| c[0].gt(1.0), |c| (&c[0] - w).sqrt()).unwrap().remove(0)
    };
    let (x, w) = (Tensor::from(2.0), Tensor::from(1.0));
    let grads = grad(&[&x, &w], |v| down(&v[0], &v[1])).unwrap();
    assert_close(&[f64s(&grads[0])[0], f64s(&grads[1])[0]], &[0.5, -0.5]);
    // A batch whose elements stop after no, one and one step.
    let xs = Tensor::from([1.0, 2.0, 1.25]);
    let all = |v: &[Tensor]| {
        vmap(&[&v[0], &v[1]], &[Some(0), None], |v| down(&v[0], &v[1])).unwrap().remove(0).sum(())
    };
    let grads = grad(&[&xs, &w], |v| all(v)).unwrap();
    assert_close(&f64s(&grads[0]), &[1.0, 0.5, 1.0]);
    assert_close(&f64s(&grads[1]), &[-1.5]);
}

#[test]
fn loops_until_a_condition_fails() {
    // Newton's square root of a: forward mode through an open loop, reverse mode through a bounded one.
    let sqrt = |a: &Tensor, bound: Option<usize>| {
        let from = [&Tensor::from(1.0), &Tensor::from(0i64)];
        let go = while_loop(&from, bound, |c| c[1].lt(8), |c| [(&c[0] + a / &c[0]) * 0.5, &c[1] + 1i64]);
        go.unwrap().remove(0)
    };
    let a = Tensor::from(2.0);
    assert_close(&f64s(&sqrt(&a, None)), &[2f64.sqrt()]);
    let (_, t) = gradus_tensor::jvp(&[&a], &[&Tensor::from(1.0)], |a| sqrt(&a[0], None)).unwrap();
    assert_close(&f64s(&t[0]), &[0.5 / 2f64.sqrt()]);
    assert_close(&f64s(&grad(&[&a], |a| sqrt(&a[0], Some(10))).unwrap()[0]), &[0.5 / 2f64.sqrt()]);
    let e = grad(&[&a], |a| sqrt(&a[0], None)).unwrap_err().to_string();
    assert!(e.contains("needs a bound"), "{e}");
    // Each element of a batch stops on its own.
    let halve = |x: &Tensor| while_loop(&[x], None, |c| c[0].gt(1.0), |c| &c[0] * 0.5).unwrap().remove(0);
    let all = vmap(&[&Tensor::from([5.0, 0.5, 16.0])], &[Some(0)], |x| halve(&x[0])).unwrap();
    assert_eq!(f64s(&all[0]), [0.625, 0.5, 1.0]);
}

#[test]
fn every_choice_of_kept_carries_gives_the_same_gradients() {
    let w = Tensor::from([[0.5, -0.3], [0.2, 0.9]]);
    let xs = Tensor::from_slice(&(0..26).map(|i| (i as f64 * 0.7).sin()).collect::<Vec<_>>(), [13, 2]);
    let h0 = Tensor::from([0.1, -0.2]);
    let run = |v: &[Tensor], how: ScanOptions| {
        let (w, h0, xs) = (&v[0], &v[1], &v[2]);
        let (last, ys) = scan(&[h0], &[xs], how, |c, x| {
            let h = (w.matmul(&c[0]) + &x[0]).tanh();
            (vec![h.clone()], vec![&h * &x[0]])
        })
        .unwrap();
        last[0].square().sum(()) + ys[0].sum(())
    };
    for reverse in [false, true] {
        // The same recurrence written out.
        let unrolled = |v: &[Tensor]| {
            let (mut h, mut total) = (v[1].clone(), Tensor::from(0.0));
            for i in 0..13 {
                let x = v[2].at(if reverse { 12 - i } else { i });
                h = (v[0].matmul(&h) + &x).tanh();
                total += &(&h * &x).sum(());
            }
            h.square().sum(()) + total
        };
        let ins = [&w, &h0, &xs];
        let right = grad(&ins, unrolled).unwrap();
        let keeps = [Keep::All, Keep::Every(4), Keep::Every(5), Keep::Sqrt, Keep::Recursive];
        // Unrolled by factors that divide the length, do not divide it, equal it, or exceed it.
        let unrolled_by = [(Keep::All, 2), (Keep::All, 5), (Keep::All, 13), (Keep::All, 99), (Keep::Sqrt, 3)];
        for (keep, unroll) in keeps.map(|keep| (keep, 0)).into_iter().chain(unrolled_by) {
            let how = ScanOptions { reverse, keep, unroll, ..ScanOptions::default() };
            let (value, grads) = gradus_tensor::value_and_grad(&ins, |v| run(v, how)).unwrap();
            assert_close(&f64s(&value[0]), &f64s(&unrolled(&ins.map(|t| t.clone()))));
            for (g, r) in grads.iter().zip(&right) {
                assert_close(&f64s(g), &f64s(r));
            }
        }
    }
}

#[test]
fn unrolling_changes_the_program_and_nothing_else() {
    let xs = Tensor::from_slice(&(0..14).map(|i| (i as f64 * 0.7).sin()).collect::<Vec<_>>(), [7, 2]);
    let run = |xs: &Tensor, unroll: usize, reverse: bool| {
        let how = ScanOptions { unroll, reverse, ..ScanOptions::default() };
        let (last, ys) = scan(&[&xs.at(0)], &[xs], how, |c, x| {
            let h = (&c[0] * 0.5 + &x[0]).sin();
            (vec![h.clone()], vec![&h * 2.0, h.sum(())])
        })
        .unwrap();
        [last, ys].concat()
    };
    for reverse in [false, true] {
        let right = run(&xs, 1, reverse);
        for unroll in [2, 3, 6, 7, 8] {
            let found = run(&xs, unroll, reverse);
            assert_eq!(found.len(), 3);
            for (a, b) in found.iter().zip(&right) {
                assert_eq!((a.shape(), f64s(a)), (b.shape(), f64s(b)), "{unroll} {reverse}");
            }
            // Unrolled iterations and a remainder, or no loop at all.
            let graph = trace(&[&xs], |x| run(&x[0], unroll, reverse)).unwrap().inlined().unwrap();
            let sines = graph.nodes().iter().filter(|n| n.op.name() == "sin").count();
            let inner: usize = graph
                .nodes()
                .iter()
                .flat_map(|n| n.op.def().attrs())
                .flat_map(|(_, a)| a.graphs().into_iter().cloned().collect::<Vec<_>>())
                .map(|g| g.nodes().iter().filter(|n| n.op.name() == "sin").count())
                .sum();
            let right = if unroll >= 7 { (7, 0) } else { (7 % unroll, unroll) };
            assert_eq!((sines, inner), right, "{unroll}: {graph}");
        }
        // Batches of unrolled loops.
        let many = Tensor::stack(&[&xs, &(&xs * 2.0)], 0);
        let all = vmap(&[&many], &[Some(0)], |x| run(&x[0], 3, reverse)).unwrap();
        assert_close(&f64s(&all[1].at(1)), &f64s(&run(&(&xs * 2.0), 1, reverse)[1]));
    }
    let none = Tensor::zeros([0, 2]).to_dtype(gradus_ir::DType::F64);
    let how = ScanOptions { unroll: 4, ..ScanOptions::default() };
    let (last, ys) =
        scan(&[&xs.at(0)], &[&none], how, |c, x| (vec![&c[0] + &x[0]], vec![c[0].clone()])).unwrap();
    assert_eq!((f64s(&last[0]), ys[0].shape().to_vec()), (f64s(&xs.at(0)), vec![0, 2]));
}

#[test]
fn a_scan_of_no_steps_or_of_wrong_steps() {
    let h = Tensor::from([1.0]);
    let none = Tensor::zeros([0, 1]).to_dtype(gradus_ir::DType::F64);
    let (last, ys) =
        scan(&[&h], &[&none], ScanOptions::default(), |c, x| (vec![&c[0] + &x[0]], vec![c[0].clone()]))
            .unwrap();
    assert_eq!((f64s(&last[0]), ys[0].shape().to_vec()), (vec![1.0], vec![0, 1]));
    let how = ScanOptions { length: Some(5), ..ScanOptions::default() };
    let (last, _) = scan(&[&h], &[], how, |c, _| (vec![&c[0] * 2.0], vec![])).unwrap();
    assert_eq!(f64s(&last[0]), [32.0]);
    let e = scan(&[&h], &[], how, |c, _| (vec![c[0].sum(())], vec![])).unwrap_err().to_string();
    assert!(e.contains("a carry keeps its type") && e.contains("control.rs"), "{e}");
    let e = scan(&[&h], &[], how, |_, _| (vec![], vec![])).unwrap_err().to_string();
    assert!(e.contains("returns 0 carries; it must return 1"), "{e}");
}
