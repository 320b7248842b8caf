//! Inputs by name, user-defined rules, and errors instead of panics.

use crate::common::{close, f64s, gradients, noise};
use gradus::autograd::Backward;
use gradus::func::linear;
use gradus::ir::ops::call::Call;
use gradus::ir::ops::{Derivative, Form, Operands, Primitive, Rule, arity};
use gradus::ir::{Op, Var, op_struct, reference, transform};
use gradus::{
    Aval, DType, Literal, Result, Tensor, apply1, autograd, cond, grad, jvp, trace, try_apply, vjp,
};
use std::sync::Arc;

/// A graph's gradient for the inputs of these names.
fn by_name(graph: &gradus::Graph, names: &[&str], point: &[&Tensor]) -> Vec<Vec<f64>> {
    let wrt: Vec<usize> = names.iter().map(|n| graph.input(n).unwrap()).collect();
    let gradient = transform::vjp(graph, &wrt).unwrap();
    let one = Literal::scalar(DType::F64, 1.0);
    let point: Vec<Literal> = point.iter().map(|t| t.to_literal().unwrap()).chain([one]).collect();
    [gradient.inlined().unwrap(), gradient]
        .map(|g| reference::evaluate(&g, &point).unwrap().iter().map(|l| l.f().to_vec()).collect())
        .into_iter()
        .reduce(|a: Vec<Vec<f64>>, b| {
            assert_eq!(a, b);
            b
        })
        .unwrap()
}

#[test]
fn fault_01_wrt_by_name() {
    // A conditional in the graph: p ? y·w : y, at y = 9.
    let (p, y, w) = (Tensor::from(true), Tensor::from(9.0), Tensor::from(4.0));
    let graph = trace(&[&p, &y, &w], |v| {
        cond(&v[0], &[&v[1], &v[2]], |v| &v[0] * &v[1], |v| v[0].clone()).unwrap().remove(0)
    })
    .unwrap();
    assert_eq!(graph.inputs().iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["x", "y", "z"]);
    assert_eq!(by_name(&graph, &["z"], &[&p, &y, &w]), [[9.0]]);
    assert_eq!(by_name(&graph, &["z", "y"], &[&p, &y, &w]), [[9.0], [4.0]]);
    // Regions: linear and relu are calls, which inlining replaces by their bodies.
    let (x, w, b) = (Tensor::from([[1.5, 2.5]]), Tensor::from([[7.0, 8.0]]), Tensor::from([0.5]));
    let graph = trace(&[&x, &w, &b], |v| linear(&v[0], &v[1], Some(&v[2])).relu().sum(())).unwrap();
    assert_eq!(by_name(&graph, &["y"], &[&x, &w, &b]), [[1.5, 2.5]]);
    assert_eq!(by_name(&graph, &["z", "x"], &[&x, &w, &b]), [vec![1.0], vec![7.0, 8.0]]);
    assert!(graph.input("w").unwrap_err().to_string().contains("it has x, y, z"));
    // Gradients of inner values.
    let leaf = x.requires_grad_();
    let inner = linear(&leaf, &w, Some(&b));
    let loss = inner.square().sum(());
    let g = autograd::grad(&[&loss], &[None], &[&inner, &leaf], Backward::default()).unwrap();
    assert_eq!(f64s(g[0].as_ref().unwrap()), [62.0]);
    assert_eq!(f64s(g[1].as_ref().unwrap()), [434.0, 496.0]);
}

op_struct! {
    /// `x³` with a forward rule and nothing else.
    pub struct Cube = "regression_cube" {}
}

impl Primitive for Cube {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, t: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        vec![t[0].map(|t| rule.ins[0] * rule.ins[0] * 3.0 * t)]
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::external(|ins| {
            let cubes: Vec<f64> = ins[0].f().iter().map(|x| x * x * x).collect();
            Ok(vec![Literal::new(ins[0].aval().clone(), cubes)?])
        })
    }
}

op_struct! {
    /// The identity, which declares a derivative of some kind and does not implement it.
    pub struct Silent = "regression_silent" {
        /// The declared kind.
        kind: i64,
    }
}

impl Primitive for Silent {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        match self.kind {
            0 => Derivative::Pointwise,
            1 => Derivative::Linear(Operands::All),
            2 => Derivative::Multilinear(Operands::All),
            3 => Derivative::Jvp,
            _ => Derivative::Structural,
        }
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::external(|ins| Ok(ins.to_vec()))
    }
}

#[test]
fn fault_33_one_rule_serves_both_modes_and_none_is_an_error() {
    let x = Tensor::from([2.0, -1.0]);
    // Only a forward rule: reverse mode transposes it, to any order.
    let cube = |x: &Tensor| apply1(Op::user(Cube {}), &[x]);
    assert_eq!(gradients(&[&x], |x| cube(&x[0]).sum(())), [[12.0, 3.0]]);
    let h = gradus::hessian(&x, |x| cube(x).sum(())).unwrap();
    assert_eq!(f64s(&h), [12.0, 0.0, 0.0, -6.0]);
    // Only a reverse rule of a region, three times the derivative: forward mode transposes the rule instead
    // of differentiating the body.
    let body = Arc::new(trace(&[&x], |x| x[0].exp()).unwrap());
    let own = trace(&[&x, &x, &x], |v| &v[1] * &v[2] * 3.0).unwrap();
    let call = Op::from(Call::new("own_exp", vec![], body).with_grad(Arc::new(own)));
    let g = grad(&[&x], |x| apply1(call.clone(), &[&x[0]]).sum(())).unwrap();
    close(&f64s(&g[0]), &[3.0 * 2f64.exp(), 3.0 * (-1f64).exp()]);
    let (_, t) = jvp(&[&x], &[&Tensor::from([1.0, 10.0])], |x| apply1(call.clone(), &[&x[0]])).unwrap();
    close(&f64s(&t[0]), &[3.0 * 2f64.exp(), 30.0 * (-1f64).exp()]);
    // A rule that is declared and not implemented is an error that names the op, never a zero.
    for kind in 0..5 {
        let silent = |x: &Tensor| apply1(Op::user(Silent { kind }), &[x]);
        assert_eq!(f64s(&silent(&x)), f64s(&x));
        let e = grad(&[&x], |x| silent(&x[0]).sum(())).unwrap_err().to_string();
        assert!(e.contains("regression_silent"), "{kind}: {e}");
        // A linear op is its own forward rule.
        let forward = jvp(&[&x], &[&x], |x| silent(&x[0]));
        match kind {
            1 | 2 => assert_eq!(f64s(&forward.unwrap().1[0]), f64s(&x)),
            _ => assert!(forward.unwrap_err().to_string().contains("regression_silent"), "{kind}"),
        }
        let leaf = x.requires_grad_();
        let y = try_apply(Op::user(Silent { kind }), &[&leaf]).and_then(|y| y[0].sum(()).backward());
        assert!(y.unwrap_err().to_string().contains("regression_silent"), "{kind}");
    }
}

#[test]
fn fault_36_errors_not_panics() {
    let (x, n) = (noise(&[2, 3], 1), Tensor::from([1i64, 2]));
    let refused = |found: gradus::Error, parts: &[&str]| {
        let text = found.to_string();
        parts.iter().for_each(|p| assert!(text.contains(p), "{text:?} lacks {p:?}"));
    };
    // The loss is not a real scalar, or there is none.
    refused(grad(&[&x], |x| x[0].tanh()).unwrap_err(), &["real scalar", "f64[2,3]", "graphs.rs"]);
    refused(grad(&[&x], |x| x[0].sum(()).complex(0.0)).unwrap_err(), &["real scalar"]);
    refused(grad(&[&x], |_| Vec::<Tensor>::new()).unwrap_err(), &["real scalar", "nothing"]);
    refused(grad(&[&x], |_| n.sum(())).unwrap_err(), &["real scalar", "i64[]", "graphs.rs"]);
    // All inputs are integers.
    refused(grad(&[&n], |n| n[0].sum(())).unwrap_err(), &["[i64[2]] have no derivatives", "graphs.rs"]);
    refused(x.requires_grad_().tanh().backward().unwrap_err(), &["needs a seed"]);
    refused(x.tanh().sum(()).backward().unwrap_err(), &["requires gradients"]);
    // Inputs that do not exist or are not differentiable.
    let graph = trace(&[&x, &n], |v| v[0].sum(()) * v[1].sum(()).to_dtype(DType::F64)).unwrap();
    refused(transform::vjp(&graph, &[1]).unwrap_err(), &["`y`", "i64[2]", "only float and complex"]);
    refused(transform::vjp(&graph, &[2]).unwrap_err(), &["input number 2", "has 2"]);
    refused(transform::jvp(&graph, &[7]).unwrap_err(), &["input number 7"]);
    // Wrong ranks, shapes and counts, also inside a traced function; the message has the source location.
    let bad = |x: &[Tensor]| x[0].matmul(&x[0]).sum(());
    refused(grad(&[&x], bad).unwrap_err(), &["[2,3]", "graphs.rs"]);
    refused(bad(std::slice::from_ref(&x)).check().unwrap_err(), &["[2,3]", "graphs.rs"]);
    refused(x.softmax(2).check().unwrap_err(), &["axis 2", "graphs.rs"]);
    refused(grad(&[&x], |x| x[0].sum(5)).unwrap_err(), &["axis 5"]);
    refused(jvp(&[&x], &[&n], |x| x[0].exp()).unwrap_err(), &["must be [f64[2,3]]"]);
    let (_, pull) = vjp(&[&x], |x| x[0].exp()).unwrap();
    refused(pull(&[]).unwrap_err(), &["must be [f64[2,3]]"]);
    refused(gradus::vmap(&[&x], &[Some(2)], |x| x[0].exp()).unwrap_err(), &["axis 2"]);
    refused(reference::evaluate(&graph, &[]).unwrap_err(), &["must be"]);
    // The error of a failed operand is the first one.
    refused(grad(&[&x.softmax(9)], |x| x[0].sum(())).unwrap_err(), &["axis 9"]);
}
