//! Runs a graph in every way: with and without generated code, with temporaries that are overwritten before use, and on several
//! numbers of threads.

use gradus_compile::{Plan, compile};
use gradus_cpu::{Executable, PROFILE, Pool, evaluate_on};
use gradus_ir::{Aval, Graph, Literal, reference};

fn numbers(aval: &Aval, seed: usize) -> Literal {
    let one = |i: usize| ((i * 37 + seed * 101 + 11) % 257) as f64 / 128.5 - 1.0;
    Literal::floats(aval.dtype, &aval.shape, (0..aval.shape.numel()).map(one).collect()).unwrap().rounded()
}

/// Returns the plan, after checking the values.
pub(crate) fn checked(graph: &Graph, bound: f64) -> Plan {
    let inputs: Vec<Literal> = graph.input_avals().iter().enumerate().map(|(i, a)| numbers(a, i)).collect();
    let right = reference::evaluate(graph, &inputs).unwrap();
    let plan = compile(graph, &PROFILE).unwrap();
    let coded = Executable::of(plan.clone()).unwrap().poisoned();
    let interpreted = Executable::interpreted(plan.clone()).unwrap().poisoned();
    let mut first: Option<Vec<Literal>> = None;
    for threads in [1, 2, 3] {
        let pool = Pool::new(threads);
        for executable in [&coded, &interpreted] {
            let found = evaluate_on(&pool, executable, graph, &inputs).unwrap();
            for (f, r) in found.iter().zip(&right) {
                let scale = r.f().iter().fold(1.0, |m: f64, x| m.max(x.abs()));
                for (i, (a, b)) in f.f().iter().zip(r.f()).enumerate() {
                    assert!((a - b).abs() <= bound * scale, "element {i}: {a} is not {b}\n{plan}");
                }
                assert_eq!(f.i(), r.i());
            }
            assert_eq!(&found, first.get_or_insert(found.clone()), "other bits on {threads} threads");
        }
    }
    plan
}
