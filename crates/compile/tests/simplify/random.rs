//! Tests that simplifying random graphs and their gradients keeps every bit.

use super::default;
use gradus_ir::{Graph, Literal, reference, transform};
use gradus_testkit::random_graphs::Recipe;
use proptest::prelude::*;

fn recipes() -> impl Strategy<Value = Recipe> {
    let steps = prop::collection::vec(any::<[u16; 4]>(), 5..=24);
    (any::<u64>(), steps, any::<bool>()).prop_map(|(seed, steps, smooth)| Recipe { seed, steps, smooth })
}

fn check_values(graph: &Graph, inputs: &[Literal]) -> Result<(), TestCaseError> {
    let fail = |e: gradus_ir::Error| TestCaseError::fail(e.to_string());
    let graph = graph.inlined().map_err(fail)?;
    let simple = default(&graph);
    simple.graph.verify().map_err(fail)?;
    prop_assert_eq!(simple.graph.input_avals(), graph.input_avals());
    let old = reference::evaluate(&graph, inputs).map_err(fail)?;
    let new = reference::evaluate(&simple.graph, inputs).map_err(fail)?;
    prop_assert!(old == new, "{graph}\nbecame\n{}\nby {:?}\n{old:?}\n{new:?}", simple.graph, simple.fired);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn simplifying_keeps_values(recipe in recipes()) {
        let grown = recipe.grow().unwrap();
        check_values(&grown.graph, &grown.inputs)?;
        // Evaluates the same graph also at special values: zeros of both signs, infinities, NaN.
        let odd: Vec<Literal> =
            grown.inputs.iter().enumerate().map(|(k, l)| super::filled(l.aval(), k, true)).collect();
        check_values(&grown.graph, &odd)?;
    }

    #[test]
    fn simplifying_keeps_derivatives(recipe in recipes()) {
        let grown = recipe.grow().unwrap();
        let wrt: Vec<usize> = (0..grown.inputs.len()).collect();
        let Ok(forward) = transform::jvp(&grown.graph, &wrt) else { return Ok(()) };
        let mut inputs = grown.inputs.clone();
        inputs.extend(grown.inputs.iter().cloned());
        check_values(&forward, &inputs)?;
        let Ok(backward) = transform::vjp(&grown.graph, &wrt) else { return Ok(()) };
        let types = backward.input_avals();
        let cotangents = types.iter().enumerate().skip(wrt.len()).map(|(k, a)| super::filled(a, k, false));
        let inputs: Vec<Literal> = grown.inputs.iter().cloned().chain(cotangents).collect();
        check_values(&backward, &inputs)?;
    }
}
