//! Tests that primitives from outside the core pass every check of the catalog, and that those which break a rule
//! are rejected. `examples/user_primitive` uses some in every mode.

use gradus_ir::graph::{Builder, parse};
use gradus_ir::ops::pointwise::Pointwise;
use gradus_ir::ops::{Declared, Derivative, Form, Operands, Primitive, Rule, Samples, arity, registry};
use gradus_ir::{Aval, Class, Error, Op, Result, Var, op_struct, transform};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks;
use std::sync::Arc;

op_struct! {
    /// Sum and difference of two values: two results, by a jvp rule.
    pub struct Butterfly = "user_butterfly" {}
}

impl Primitive for Butterfly {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 2)?;
        if ins[0] != ins[1] || ins[0].dtype.class() == Class::Bool {
            return Err(Error::shape(format!("{} and {}", ins[0], ins[1]), "must be numbers of one type"));
        }
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, _rule: &Rule<'_, 'g>, t: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        match (t[0], t[1]) {
            (Some(a), Some(b)) => vec![Some(a + b), Some(a - b)],
            (Some(a), None) => vec![Some(a), Some(a)],
            (None, Some(b)) => vec![Some(b), Some(-b)],
            (None, None) => vec![None, None],
        }
    }
    fn form(&self, ins: &[Aval]) -> Form {
        let b = Builder::new();
        let (x, y) = (b.input("x", ins[0].clone()), b.input("y", ins[1].clone()));
        match b.finish(&[x + y, x - y]) {
            Ok(body) => Form::Region(Arc::new(body)),
            Err(e) => Form::external(move |_| Err(e.clone())),
        }
    }
}

/// A user's own pointwise op.
static SOFT_SIGN: Pointwise = Pointwise {
    name: "user_soft_sign",
    docs: "x / (1 + x²).",
    arity: 1,
    predicate: false,
    float: Some(|v| v[0] / (1.0 + v[0] * v[0])),
    complex: Some(|v| v[0] / (v[0] * v[0] + 1.0)),
    int: None,
    bools: false,
    constant: false,
    partials: Some(|v, _| {
        let square = v[0] * v[0];
        vec![(1.0 - square) / ((square + 1.0) * (square + 1.0))]
    }),
    domain: &[(-0.5, 0.5)],
    ulp: 4.0,
};

fn register() {
    registry::register(Butterfly::NAME, |attrs| Butterfly::from_attrs(attrs).map(Op::user));
    registry::register(SOFT_SIGN.name, |_| Some(Op::from(&SOFT_SIGN)));
}

#[test]
fn users_primitives_pass_every_check() {
    register();
    let mut s = Samples::default();
    let mut cases = Vec::new();
    for shape in [&[2, 3][..], &[], &[0], &[1]] {
        cases.push((Op::user(Butterfly {}), vec![s.normal(shape), s.normal(shape)]));
        cases.push((Op::from(&SOFT_SIGN), vec![s.uniform((-0.5, 0.5), shape)]));
        cases.push((Op::from(&SOFT_SIGN), vec![s.complex((-0.5, 0.5), shape)]));
    }
    let two = [s.complex((-1.0, 1.0), [2]), s.complex((-1.0, 1.0), [2])];
    cases.push((Op::user(Butterfly {}), two.to_vec()));
    for (op, ins) in cases {
        let graph = graph_of(&op, &ins).unwrap();
        if let Err(f) = checks::all(&graph, &ins, true) {
            panic!("{f}");
        }
        // Equal to the parsed op, not only by hash.
        let again = parse(&graph.to_string()).unwrap();
        assert_eq!(again.nodes().last().unwrap().op, op);
    }
}

#[test]
fn users_primitives_compose_with_the_catalog() {
    register();
    let b = Builder::new();
    let x = b.input("x", Aval::new(gradus_ir::DType::F64, [2, 3]));
    let y = x.exp();
    let z = b.apply(Op::user(Butterfly {}), &[b.apply1(&SOFT_SIGN, &[y]), y]);
    let graph = b.finish(&[(z[0] * z[1]).sum(&[0])]).unwrap();
    let ins = [Samples::default().uniform((-1.0, 0.5), [2, 3])];
    if let Err(f) = checks::all(&graph, &ins, true) {
        panic!("{f}");
    }
}

op_struct! {
    /// Declares more results than a linear rule can transpose.
    pub struct Twins = "user_twins" {}
}

impl Primitive for Twins {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        Ok(vec![ins[0].clone(), ins[0].clone()])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct)
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::external(|ins| Ok(vec![ins[0].clone(), ins[0].clone()]))
    }
}

/// The gradient of the second result would be lost silently.
#[test]
fn a_linear_rule_of_two_results_is_refused() {
    let graph = graph_of(&Op::user(Twins {}), &[Samples::default().normal([3])]).unwrap();
    for derived in [transform::vjp(&graph, &[0]), transform::jvp(&graph, &[0])] {
        let message = derived.unwrap_err().to_string();
        assert!(message.contains("user_twins has 2 results"), "{message}");
    }
}

op_struct! {
    /// Gives a tangent of another type than its result.
    pub struct Bent = "user_bent" {}
}

impl Primitive for Bent {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        Ok(ins.to_vec())
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, _rule: &Rule<'_, 'g>, t: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        vec![t[0].map(|t| t.sum(&[0]))]
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        Form::external(|ins| Ok(ins.to_vec()))
    }
}

#[test]
fn a_tangent_of_another_type_is_refused() {
    let graph = graph_of(&Op::user(Bent {}), &[Samples::default().normal([3])]).unwrap();
    for derived in [transform::vjp(&graph, &[0]), transform::jvp(&graph, &[0])] {
        let message = derived.unwrap_err().to_string();
        assert!(
            message.contains("the tangent of user_bent has type f64[], but its result has type f64[3]"),
            "{message}"
        );
    }
}
