//! Computes derivatives in all modes, and compares them with each other and with finite differences.
#![allow(dead_code)] // Each test crate uses its part.

use gradus::ir::{ops::Op, reference, transform};
use gradus::{Aval, Graph, Literal, Tensor};

/// Returns the elements as `f64`.
#[track_caller]
pub(crate) fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().unwrap()
}

/// Checks that numbers are equal up to rounding.
#[track_caller]
pub(crate) fn close(found: &[f64], right: &[f64]) {
    near(found, right, 1e-11);
}

/// Checks that numbers are equal up to a tolerance, which is relative for numbers above 1.
#[track_caller]
pub(crate) fn near(found: &[f64], right: &[f64], tolerance: f64) {
    assert_eq!(found.len(), right.len(), "{found:?} is not {right:?}");
    for (a, b) in found.iter().zip(right) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{found:?} is not {right:?}");
    }
}

/// Makes a tensor of pseudo-random numbers, the same in every run. They are not kept away from 0.
pub(crate) fn noise(shape: &[usize], seed: u64) -> Tensor {
    let n: usize = shape.iter().product();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..4).for_each(|_| {
        next();
    });
    Tensor::from_slice(&(0..n).map(|_| next()).collect::<Vec<f64>>(), shape)
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    f64s(a).iter().zip(f64s(b)).map(|(x, y)| x * y).sum()
}

/// Computes the gradients of a real scalar function of `f64` tensors in five ways, which must agree: the
/// tape, the function transform, the vjp of the traced graph in the reference evaluator, that graph with its
/// regions inlined, and forward mode along a direction.
#[track_caller]
pub(crate) fn gradients(ins: &[&Tensor], f: impl Fn(&[Tensor]) -> Tensor) -> Vec<Vec<f64>> {
    let found: Vec<Vec<f64>> = gradus::grad(ins, &f).unwrap().iter().map(f64s).collect();
    let leaves: Vec<Tensor> = ins.iter().map(|t| t.requires_grad_()).collect();
    f(&leaves).backward().unwrap();
    for (leaf, right) in leaves.iter().zip(&found) {
        close(&leaf.grad().map_or_else(|| vec![0.0; right.len()], |g| f64s(&g)), right);
    }
    let graph = gradus::trace(ins, &f).unwrap();
    let vjp = transform::vjp(&graph, &(0..ins.len()).collect::<Vec<_>>()).unwrap();
    for graph in [vjp.inlined().unwrap(), vjp] {
        let one = Literal::scalar(gradus::DType::F64, 1.0);
        let point: Vec<Literal> =
            ins.iter().map(|t| t.to_literal().unwrap()).chain(std::iter::once(one)).collect();
        for (g, right) in reference::evaluate(&graph, &point).unwrap().iter().zip(&found) {
            close(g.f(), right);
        }
    }
    let along: Vec<Tensor> = ins.iter().enumerate().map(|(i, t)| noise(&t.shape(), 71 + i as u64)).collect();
    let along: Vec<&Tensor> = along.iter().collect();
    let (_, tangent) = gradus::jvp(ins, &along, &f).unwrap();
    let right: f64 =
        along.iter().zip(&found).map(|(t, g)| f64s(t).iter().zip(g).map(|(a, b)| a * b).sum::<f64>()).sum();
    close(&f64s(&tangent[0]), &[right]);
    found
}

/// Computes gradients by central differences.
pub(crate) fn differences(ins: &[&Tensor], f: impl Fn(&[Tensor]) -> Tensor) -> Vec<Vec<f64>> {
    let h = 1e-5;
    let at = |i: usize, k: usize, step: f64| {
        let mut moved: Vec<Tensor> = ins.iter().map(|t| (*t).clone()).collect();
        let mut elements = f64s(ins[i]);
        elements[k] += step;
        moved[i] = Tensor::from_slice(&elements, ins[i].shape());
        f(&moved).item::<f64>().unwrap()
    };
    let one = |i: usize| (0..ins[i].numel()).map(|k| (at(i, k, h) - at(i, k, -h)) / (2.0 * h)).collect();
    (0..ins.len()).map(one).collect()
}

/// Computes gradients in all five ways, and compares them with differences.
#[track_caller]
pub(crate) fn checked(ins: &[&Tensor], f: impl Fn(&[Tensor]) -> Tensor) -> Vec<Vec<f64>> {
    let found = gradients(ins, &f);
    for (g, right) in found.iter().zip(differences(ins, &f)) {
        near(g, &right, 1e-7);
    }
    found
}

/// Checks that second derivatives by forward over reverse and by reverse over reverse agree with each other
/// and with differences of the gradient.
#[track_caller]
pub(crate) fn second_order(ins: &[&Tensor], f: impl Fn(&[Tensor]) -> Tensor) {
    let along: Vec<Tensor> = ins.iter().enumerate().map(|(i, t)| noise(&t.shape(), 5 + i as u64)).collect();
    let along: Vec<&Tensor> = along.iter().collect();
    let product = gradus::hvp(ins, &along, &f).unwrap();
    let slope = |x: &[Tensor]| {
        let grads = gradus::grad(&x.iter().collect::<Vec<_>>(), &f).unwrap();
        let terms = grads.iter().zip(&along).map(|(g, v)| (g * *v).sum(()));
        terms.reduce(|a, b| a + b).unwrap()
    };
    let reverse = gradus::grad(ins, slope).unwrap();
    for ((p, r), d) in product.iter().zip(&reverse).zip(differences(ins, slope)) {
        close(&f64s(p), &f64s(r));
        near(&f64s(p), &d, 1e-7);
    }
}

/// Checks that `vmap` over these axes equals a loop; returns the results of `vmap`.
#[track_caller]
pub(crate) fn batched(ins: &[&Tensor], axes: &[Option<isize>], f: impl Fn(&[Tensor]) -> Tensor) -> Tensor {
    let all = gradus::vmap(ins, axes, &f).unwrap().remove(0);
    for i in 0..all.dim(0) {
        let one = |(t, axis): (&&Tensor, &Option<isize>)| match axis {
            Some(axis) => t.narrow(*axis, i, 1).squeeze(*axis),
            None => (*t).clone(),
        };
        let right = f(&ins.iter().zip(axes).map(one).collect::<Vec<_>>());
        let found = all.at(i as i64);
        assert_eq!(found.shape(), right.shape());
        close(&f64s(&found), &f64s(&right));
    }
    all
}

/// Checks that ⟨vjp(c), t⟩ = ⟨c, jvp(t)⟩ for one input and one output.
#[track_caller]
pub(crate) fn adjoint(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let t = noise(&x.shape(), 17);
    let (_, push) = gradus::jvp(&[x], &[&t], |x| f(&x[0])).unwrap();
    let c = noise(&push[0].shape(), 19);
    let (_, pull) = gradus::vjp(&[x], |x| f(&x[0])).unwrap();
    close(&[dot(&pull(&[&c]).unwrap()[0], &t)], &[dot(&c, &push[0])]);
}

/// Returns the types of all values in a graph, including those in nested graphs.
pub(crate) fn types_within(graph: &Graph) -> Vec<Aval> {
    let mut all = Vec::new();
    for node in graph.nodes() {
        all.extend(node.outs.iter().cloned());
        for (_, attr) in node.op.def().attrs() {
            attr.graphs().iter().for_each(|g| all.extend(types_within(g)));
        }
    }
    all
}

/// Counts the ops of this name, including those in nested graphs.
pub(crate) fn count(graph: &Graph, name: &str) -> usize {
    let within = |op: &Op| -> usize {
        op.def().attrs().iter().flat_map(|(_, a)| a.graphs()).map(|g| count(g, name)).sum()
    };
    graph.nodes().iter().map(|n| usize::from(n.op.name() == name) + within(&n.op)).sum()
}
