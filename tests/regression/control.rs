//! Loops and choices: checkpoints, parameters in bodies, several carries.

use crate::common::{checked, close, f64s, gradients, noise, second_order, types_within};
use gradus::ir::{reference, transform};
use gradus::{
    Keep, Literal, ScanOptions, Tensor, cond, grad, jvp, scan, trace, value_and_grad, vmap, while_loop,
};

const KEEPS: [Keep; 5] = [Keep::All, Keep::Every(2), Keep::Every(3), Keep::Sqrt, Keep::Recursive];

#[test]
fn fault_22_a_checkpointed_scan_passes_its_value_on() {
    let x = Tensor::from(1.0);
    for keep in KEEPS {
        let how = ScanOptions { keep, length: Some(4), ..ScanOptions::default() };
        // Doubled four times, then squared: 256, with slope 2·16·16.
        let f = |x: &[Tensor]| {
            scan(&[&x[0]], &[], how, |c, _| (vec![&c[0] * 2.0], vec![])).unwrap().0.remove(0).square()
        };
        assert_eq!(f(std::slice::from_ref(&x)).item::<f64>().unwrap(), 256.0);
        let (value, slope) = value_and_grad(&[&x], f).unwrap();
        assert_eq!((f64s(&value[0]), f64s(&slope[0])), (vec![256.0], vec![512.0]));
        assert_eq!(gradients(&[&x], f), [[512.0]]);
    }
    // Memory: with checkpoints no stack of all the carries exists in the gradient, without them one does.
    let x = noise(&[8], 1);
    let stacks = |keep: Keep| {
        let how = ScanOptions { keep, length: Some(64), ..ScanOptions::default() };
        let f = |x: &[Tensor]| {
            scan(&[&x[0]], &[], how, |c, _| (vec![c[0].sin()], vec![])).unwrap().0.remove(0).sum(())
        };
        let gradient = transform::vjp(&trace(&[&x], f).unwrap(), &[0]).unwrap();
        types_within(&gradient).iter().map(|a| a.shape.numel()).max().unwrap_or(0) / 8
    };
    assert_eq!(stacks(Keep::All), 64);
    assert_eq!(stacks(Keep::Sqrt), 8);
    assert_eq!(stacks(Keep::Every(16)), 16);
    assert_eq!(stacks(Keep::Recursive), 2);
}

#[test]
fn fault_23_a_scan_sees_parameters_around_it() {
    let two = Tensor::from(2.0).requires_grad_();
    let how = ScanOptions { length: Some(3), ..ScanOptions::default() };
    let power = |w: &Tensor| {
        scan(&[&Tensor::from(1.0)], &[], how, |c, _| (vec![&c[0] * w], vec![])).unwrap().0.remove(0)
    };
    // Eagerly, with a leaf from outside: the value is 2³, the gradient 3·2².
    let y = power(&two);
    assert_eq!(y.item::<f64>().unwrap(), 8.0);
    y.backward().unwrap();
    assert_eq!(f64s(&two.grad().unwrap()), [12.0]);
    // With an operand of an enclosing function, in all five ways.
    assert_eq!(gradients(&[&Tensor::from(2.0)], |w| power(&w[0])), [[12.0]]);
    // A leaf read by a traced function becomes an input after its own.
    let graph = trace(&[&Tensor::from(5.0)], |x| &x[0] * power(&two)).unwrap();
    let point = [Literal::scalar(gradus::DType::F64, 5.0), Literal::scalar(gradus::DType::F64, 2.0)];
    assert_eq!(reference::evaluate(&graph, &point).unwrap()[0].f(), [40.0]);
    // With checkpoints, in a batch, and to second order.
    for keep in KEEPS {
        let how = ScanOptions { keep, ..how };
        let f = |w: &[Tensor]| {
            scan(&[&Tensor::from(1.0)], &[], how, |c, _| (vec![&c[0] * &w[0]], vec![])).unwrap().0.remove(0)
        };
        second_order(&[&Tensor::from(2.0)], f);
        let ws = Tensor::from([1.0, 2.0, 3.0]);
        let slopes = vmap(&[&ws], &[Some(0)], |w| grad(&[&w[0]], f).unwrap()).unwrap();
        close(&f64s(&slopes[0]), &[3.0, 12.0, 27.0]);
    }
}

#[test]
fn fault_24_loops_and_choices_give_all_their_results() {
    // Fibonacci numbers: the loop returns both carries, and a count of another dtype.
    let fib = |a: &Tensor, b: &Tensor, bound| {
        while_loop(
            &[a, b, &Tensor::from(0i64)],
            bound,
            |c| c[2].lt(10),
            |c| [c[1].clone(), &c[0] + &c[1], &c[2] + 1i64],
        )
        .unwrap()
    };
    let (zero, one) = (Tensor::from(0.0), Tensor::from(1.0));
    for bound in [None, Some(10), Some(20)] {
        let outs = fib(&zero, &one, bound);
        assert_eq!((f64s(&outs[0]), f64s(&outs[1])), (vec![55.0], vec![89.0]));
        assert_eq!(outs[2].item::<i64>().unwrap(), 10);
        // The loop is linear in its start values. Forward mode also works without a bound.
        let (_, t) = jvp(&[&zero, &one], &[&one, &zero], |v| fib(&v[0], &v[1], bound)).unwrap();
        assert_eq!((f64s(&t[0]), f64s(&t[1])), (vec![34.0], vec![55.0]));
    }
    let g = gradients(&[&zero, &one], |v| fib(&v[0], &v[1], Some(16))[1].clone());
    assert_eq!(g, [[55.0], [89.0]]);
    let e = grad(&[&zero, &one], |v| fib(&v[0], &v[1], None)[1].clone()).unwrap_err().to_string();
    assert!(e.contains("needs a bound"), "{e}");
    // A conditional with two results runs only one branch; the other branch would fail with an index error.
    let x = Tensor::from([1.0, 2.0]);
    let far = Tensor::from([7i64]);
    let choose = |yes: bool, x: &Tensor| {
        cond(
            &Tensor::from(yes),
            &[x, &far],
            |v| [v[0].square(), v[0].sum(())],
            |v| [&v[0] * 3.0, v[0].index_select(0, &v[1]).sum(())],
        )
    };
    let outs = choose(true, &x).unwrap();
    assert_eq!((f64s(&outs[0]), f64s(&outs[1])), (vec![1.0, 4.0], vec![3.0]));
    assert!(choose(false, &x).is_err());
    let g = checked(&[&x], |x| {
        let outs = choose(true, &x[0]).unwrap();
        (&outs[0] * &outs[1]).sum(())
    });
    // (Σx²)(Σx): 2x·3 + 5.
    close(&g[0], &[11.0, 17.0]);
}
