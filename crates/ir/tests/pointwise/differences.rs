//! Compares forward mode with finite differences, reverse mode with forward mode, and narrow dtypes with wide ones.

use super::{avals, elements, evaluate, graph_of, joined};
use gradus_ir::literal::Data;
use gradus_ir::ops::{self, Sample, Samples};
use gradus_ir::transform::{jvp, vjp};
use gradus_ir::{Aval, C, Class, DType, Graph, Literal, Op};

/// Returns the indices of the inputs that carry derivatives.
fn differentiable(avals: &[Aval]) -> Vec<usize> {
    (0..avals.len()).filter(|&i| avals[i].dtype.is_differentiable()).collect()
}

fn random(s: &mut Samples, aval: &Aval) -> Literal {
    match aval.dtype.class() {
        Class::Complex => s.complex((-1.0, 1.0), &aval.shape[..]),
        _ => s.uniform((-1.0, 1.0), &aval.shape[..]),
    }
}

/// Returns the terms of the real inner product of two lists of values.
fn inner(a: &[Literal], b: &[Literal]) -> Vec<f64> {
    assert_eq!(avals(a), avals(b));
    let pairs = a.iter().flat_map(elements).zip(b.iter().flat_map(elements));
    pairs.map(|(a, b)| (a.conj() * b).re).collect()
}

/// Returns `x + h t`.
fn moved(x: &Literal, h: f64, t: &Literal) -> Literal {
    let data: Data = match (x.data(), t.data()) {
        (Data::F(x), Data::F(t)) => x.iter().zip(&**t).map(|(x, t)| x + h * t).collect::<Vec<f64>>().into(),
        (Data::C(x), Data::C(t)) => x.iter().zip(&**t).map(|(x, t)| x + t * h).collect::<Vec<C>>().into(),
        _ => panic!("only floats and complex numbers move"),
    };
    Literal::new(x.aval().clone(), data).unwrap()
}

/// Computes the derivative of all outputs along the tangents by central differences, extrapolated twice.
fn difference(graph: &Graph, ins: &[Literal], wrt: &[usize], ts: &[Literal]) -> Vec<C> {
    let at = |h: f64| {
        let mut ins = ins.to_vec();
        wrt.iter().zip(ts).for_each(|(&i, t)| ins[i] = moved(&ins[i], h, t));
        evaluate(graph, &ins).iter().flat_map(elements).collect::<Vec<C>>()
    };
    let central =
        |h: f64| at(h).into_iter().zip(at(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<C>>();
    let better = |fine: Vec<C>, coarse: &[C], k: f64| -> Vec<C> {
        fine.into_iter().zip(coarse).map(|(f, c)| (f * k - c) / (k - 1.0)).collect()
    };
    let steps = [central(4e-3), central(2e-3), central(1e-3)];
    let once = better(steps[1].clone(), &steps[0], 4.0);
    better(better(steps[2].clone(), &steps[1], 4.0), &once, 16.0)
}

/// Compares forward mode with finite differences, and reverse mode with forward mode.
fn check(what: &str, graph: &Graph, ins: &[Literal], s: &mut Samples) {
    let (from, to) = (graph.input_avals(), graph.output_avals());
    let wrt = differentiable(&from);
    let ts: Vec<Literal> = wrt.iter().map(|&i| random(s, &from[i])).collect();
    let cts: Vec<Literal> = differentiable(&to).iter().map(|&k| random(s, &to[k])).collect();
    let forward = evaluate(&jvp(graph, &wrt).unwrap(), &joined(ins, &ts));
    let tangents = &forward[to.len()..];
    let grads = evaluate(&vjp(graph, &wrt).unwrap(), &joined(ins, &cts));
    assert_eq!(avals(&grads), avals(&ts), "{what}: a gradient has the type of its operand");
    if cts.is_empty() {
        assert!(grads.iter().flat_map(elements).all(|g| g == C::ZERO), "{what}: a predicate has no gradient");
        return;
    }
    let slopes = tangents.iter().flat_map(elements);
    for (k, (t, d)) in slopes.zip(difference(graph, ins, &wrt, &ts)).enumerate() {
        let error = (t - d).norm() / d.norm().max(1.0);
        assert!(error < 1e-10, "{what}: element {k} has tangent {t}, difference {d}, error {error:e}");
    }
    let (ahead, back) = (inner(&cts, tangents), inner(&grads, &ts));
    let scale: f64 = ahead.iter().chain(&back).map(|x| x.abs()).sum();
    let gap = (ahead.iter().sum::<f64>() - back.iter().sum::<f64>()).abs();
    assert!(gap <= 1e-12 * scale, "{what}: forward and reverse differ by {gap:e} of {scale:e}");
}

fn cases() -> impl Iterator<Item = Sample> {
    ops::samples().cases.into_iter().filter(|s| matches!(s.op, Op::Map(_)))
}

#[test]
fn derivatives_agree_with_differences_and_each_other_to_third_order() {
    let mut s = Samples::default();
    let mut checked = 0;
    for sample in cases() {
        let (mut graph, mut ins) = (graph_of(&sample.op, &avals(&sample.ins)), sample.ins);
        let wrt = differentiable(&graph.input_avals());
        if wrt.is_empty() {
            continue;
        }
        for order in 1..=3 {
            check(&format!("order {order} of {}({:?})", sample.op.name(), avals(&ins)), &graph, &ins, &mut s);
            graph = vjp(&graph, &wrt).unwrap();
            let extra = graph.input_avals().split_off(ins.len());
            ins.extend(extra.iter().map(|a| random(&mut s, a)));
        }
        checked += 1;
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn derivatives_keep_the_dtype_and_agree_with_f64() {
    for sample in cases().filter(|s| !s.ins.is_empty()) {
        let narrow: &[DType] = match sample.ins[0].dtype() {
            DType::F64 => &[DType::F32, DType::BF16, DType::F16],
            DType::C128 => &[DType::C64],
            _ => continue,
        };
        for &dtype in narrow {
            let ins: Vec<Literal> = sample.ins.iter().map(|l| l.cast(dtype)).collect();
            let wide: Vec<Literal> = ins.iter().zip(&sample.ins).map(|(l, w)| l.cast(w.dtype())).collect();
            let grads = |ins: &[Literal]| {
                let graph = graph_of(&sample.op, &avals(ins));
                let back = vjp(&graph, &differentiable(&graph.input_avals())).unwrap();
                let one = |a: &Aval| {
                    Literal::ints(DType::Bool, a.shape.clone(), vec![1; a.shape.numel()])
                        .unwrap()
                        .cast(a.dtype)
                };
                let cts: Vec<Literal> = back.input_avals()[ins.len()..].iter().map(one).collect();
                evaluate(&back, &joined(ins, &cts))
            };
            let (got, want) = (grads(&ins), grads(&wide));
            assert_eq!(avals(&got), avals(&ins), "{}", sample.op.name());
            for (g, w) in got.iter().flat_map(elements).zip(want.iter().flat_map(elements)) {
                let error = (g - w).norm() / w.norm().max(1.0);
                assert!(error <= 4.0 * dtype.epsilon(), "{} {dtype}: {g} and {w}", sample.op.name());
            }
        }
    }
}
