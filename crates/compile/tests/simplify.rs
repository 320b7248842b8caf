//! Tests that simplification removes ops, and that exact rules keep every bit.

mod cases;
mod graphs;
mod random;

use gradus_compile::{Options, Simplified, rules, simplify};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::{Aval, Class, DType, Graph, Literal, reference};

/// Numbers for which laws of real numbers do not hold: zeros of both signs, infinities, NaN and others.
const SPECIAL: [f64; 12] =
    [-0.0, f64::NAN, 0.0, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1.5, -2.0, 1.7e308, -1e-310, 3.0, 1.0];

/// Enough elements to pair every special value with every other.
const PAIRS: usize = SPECIAL.len() * SPECIAL.len();

/// Returns the elements of operand `k`. If `special` is true, two operands together have every pair of special values;
/// otherwise elements are ordinary numbers.
fn filled(aval: &Aval, k: usize, special: bool) -> Literal {
    let count = aval.shape.numel();
    let n = SPECIAL.len();
    let real = |i: usize| match special {
        true => SPECIAL[(if k == 1 { i / n } else { i + 5 * k }) % n],
        false => 2.0 * (0.7 + 1.3 * i as f64 + 2.9 * k as f64).sin(),
    };
    let int =
        |i: usize| [0, 1, -1, 7, i64::MIN, i64::MAX, 128, -129, 2, 1 << 31][(i + 3 * k + i / 10 * k) % 10];
    match aval.dtype.class() {
        Class::Float => Literal::floats(aval.dtype, &aval.shape, (0..count).map(real).collect()),
        Class::Complex => {
            let number = |i: usize| gradus_ir::C::new(real(i), real(i / n + 1));
            Literal::new(aval.clone(), (0..count).map(number).collect::<Vec<_>>()).map(Literal::rounded)
        }
        _ => Literal::ints(aval.dtype, &aval.shape, (0..count).map(int).collect()),
    }
    .unwrap()
}

fn graph(avals: &[Aval], build: impl for<'g> Fn(&[Var<'g>]) -> Vec<Var<'g>>) -> Graph {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = avals.iter().map(|a| b.input("x", a.clone())).collect();
    b.finish(&build(&ins)).unwrap()
}

fn f64s(shape: &[usize]) -> Aval {
    Aval::new(DType::F64, shape)
}

/// Returns the ops of a graph, without its inputs.
fn ops(graph: &Graph) -> String {
    let names: Vec<&str> = graph.nodes().iter().map(|n| n.op.name()).filter(|n| *n != "input").collect();
    names.join(" ")
}

/// Compares two graphs bit for bit, at special and at ordinary values.
fn same_bits(before: &Graph, after: &Graph) {
    for special in [true, false] {
        let ins: Vec<Literal> =
            before.input_avals().iter().enumerate().map(|(k, a)| filled(a, k, special)).collect();
        let (old, new) =
            (reference::evaluate(before, &ins).unwrap(), reference::evaluate(after, &ins).unwrap());
        assert!(old == new, "{before}\nbecame\n{after}\nand {old:?}\nbecame {new:?}");
    }
}

fn default(graph: &Graph) -> Simplified {
    simplify(graph, &Options::default()).unwrap()
}

#[test]
fn an_unknown_rule_is_refused() {
    let g = graph(&[f64s(&[2])], |x| vec![x[0].exp()]);
    let e = simplify(&g, &Options { also: vec!["no such rule"] }).unwrap_err();
    assert!(e.to_string().contains("the rule `no such rule` is not a rule of the simplifier"), "{e}");
}

#[test]
fn names_of_rules_are_unique() {
    let all = rules();
    for (i, rule) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|r| r.name != rule.name), "{} twice", rule.name);
        assert!(!rule.law.is_empty());
    }
}
