//! Tests that the checks detect wrong ops, and accept correct ones.

use gradus_ir::ops::movement::Permute;
use gradus_ir::ops::{Samples, pointwise};
use gradus_ir::reference::evaluate;
use gradus_ir::{Aval, Class, DType, Literal, Op, transform};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::faults::faults;
use gradus_testkit::{checks, vector};

#[test]
fn every_fault_is_caught_by_the_expected_check() {
    let mut missed = Vec::new();
    for fault in faults() {
        let graph = graph_of(&fault.wrong, &fault.ins).expect(fault.what);
        match checks::all(&graph, &fault.ins, fault.smooth) {
            Ok(()) => missed.push(format!("{}: not caught", fault.what)),
            Err(f) if !f.check.starts_with(fault.caught) => {
                missed.push(format!("{}: caught not by {} but by {f}", fault.what, fault.caught));
            }
            Err(f) => println!("{}: {}", fault.what, f.check),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(faults().len() >= 15);
}

#[test]
fn every_correct_counterpart_passes() {
    for fault in faults() {
        let graph = graph_of(&fault.right, &fault.ins).expect(fault.what);
        if let Err(f) = checks::all(&graph, &fault.ins, fault.smooth) {
            panic!("the right version of `{}` fails {f}", fault.what);
        }
    }
}

/// The reason for random cotangents: with ones and equal extents, a permutation transposed by itself would
/// pass.
#[test]
fn ones_would_not_catch_a_permutation_transposed_by_itself() {
    let permute = Op::from(Permute { axes: vec![1, 2, 0] });
    let mut s = Samples::default();
    let (x, t) = (s.normal([2, 2, 2]), s.normal([2, 2, 2]));
    let graph = graph_of(&permute, &[x]).unwrap();
    let apply = |l: &Literal| evaluate(&graph, std::slice::from_ref(l)).unwrap();
    let by_itself = |c: &Literal| {
        let forward = vector::inner(std::slice::from_ref(c), &apply(&t)).0;
        let reverse = vector::inner(&apply(c), std::slice::from_ref(&t)).0;
        (forward - reverse).abs() < 1e-12
    };
    let ones = Literal::floats(DType::F64, [2, 2, 2], vec![1.0; 8]).unwrap();
    assert!(by_itself(&ones));
    assert!(!by_itself(&s.normal([2, 2, 2])));
}

type Change = fn(f64) -> f64;

/// Each evaluator is wrong in one way.
#[test]
fn a_wrong_device_is_caught() {
    let mut s = Samples::default();
    let cases = [
        (Op::from(&pointwise::exp::exp), vec![s.normal([2, 3])]),
        (Op::from(&pointwise::arith::maximum), vec![s.normal([2, 3]), s.normal([2, 3])]),
        (gradus_ir::ops::dot::Dot::new("ik", "kj", "ij").into(), vec![s.normal([2, 3]), s.normal([3, 2])]),
        (gradus_ir::ops::reduce::Sum { axes: vec![1] }.into(), vec![s.normal([2, 3])]),
    ];
    let changed = |change: Change| {
        move |graph: &gradus_ir::Graph, ins: &[Literal]| -> gradus_ir::Result<Vec<Literal>> {
            let one = |l: Literal| match l.dtype().class() == Class::Float {
                true => Literal::new(l.aval().clone(), l.f().iter().map(|x| change(*x)).collect::<Vec<_>>()),
                false => Ok(l),
            };
            evaluate(graph, ins)?.into_iter().map(one).collect()
        }
    };
    for (op, ins) in cases {
        let graph = graph_of(&op, &ins).unwrap();
        let check = |e: checks::Evaluator<'_>| checks::device(&graph, &ins, e).map_err(|f| f.to_string());
        assert_eq!(check(&evaluate), Ok(()), "{op:?}");
        assert_eq!(check(&changed(|x| x)), Ok(()), "{op:?}");
        let through_half: Change = |x| DType::F16.round(x);
        let wrong: [(&str, Change); 3] =
            [("half precision", through_half), ("a bias", |x| x + 1e-3), ("the other sign", |x| -x)];
        for (what, change) in wrong {
            let message = check(&changed(change)).expect_err(what);
            assert!(message.starts_with("device, in f64: device: expected output 0"), "{message}");
        }
        let narrow = |g: &gradus_ir::Graph, i: &[Literal]| {
            Ok(evaluate(g, i)?.into_iter().map(|l| l.cast(DType::F32)).collect())
        };
        assert!(check(&narrow).is_err(), "{op:?}");
        assert!(check(&|_, _| Ok(vec![])).is_err(), "{op:?}");
        assert!(check(&|_, _| Err(gradus_ir::Error::trace("lost"))).is_err(), "{op:?}");
    }
}

/// Only special values detect a device that loses NaN.
#[test]
fn a_device_that_loses_nan_is_caught() {
    let mut s = Samples::default();
    let ins = vec![s.normal([2, 3]), s.normal([2, 3])];
    let graph = graph_of(&Op::from(&pointwise::arith::maximum), &ins).unwrap();
    let lossy = |_: &gradus_ir::Graph, ins: &[Literal]| -> gradus_ir::Result<Vec<Literal>> {
        let data: Vec<f64> = ins[0].f().iter().zip(ins[1].f()).map(|(a, b)| a.max(*b)).collect();
        Ok(vec![Literal::new(ins[0].aval().clone(), data)?])
    };
    let f = checks::device(&graph, &ins, &lossy).expect_err("NaN is lost");
    assert!(f.check.contains("at special values"), "{f}");
}

/// Failures name the operand that is wrong.
#[test]
fn failures_name_the_operand() {
    let fault = faults().into_iter().find(|f| f.wrong.name() == "rule_of_one_operand").unwrap();
    let graph = graph_of(&fault.wrong, &fault.ins).unwrap();
    let f = checks::all(&graph, &fault.ins, true).unwrap_err();
    assert_eq!((f.check.as_str(), f.operand), ("jvp", Some(1)));
    assert!(f.to_string().contains("rule_of_one_operand(x0, x1)"), "{f}");
}

/// A gradient of another type than its operand is an error, also if it could be broadcast.
#[test]
fn gradients_of_another_type_are_refused() {
    let fault = faults().into_iter().find(|f| f.wrong.name() == "dropped_unbroadcast").unwrap();
    let graph = graph_of(&fault.wrong, &fault.ins).unwrap();
    assert_eq!(graph.input_avals(), [Aval::new(DType::F64, [1, 3])]);
    let message = transform::vjp(&graph, &[0]).unwrap_err().to_string();
    assert!(message.contains("the gradient of dropped_unbroadcast has type f64[4,3]"), "{message}");
}
