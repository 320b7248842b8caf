//! Checks random compositions of catalog ops.

use gradus_testkit::random::Random;
use gradus_testkit::random_graphs::Recipe;
use gradus_testkit::{checks, extent};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Runs a quarter of `PROPTEST_CASES` (by default 64) in a full run, a sixteenth in the short form. Failing
/// recipes are kept next to this file and tried first in the next run.
fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::Direct("tests/random_graphs.proptest-regressions");
    let usual = ProptestConfig::default();
    let part = if extent::full() { 4 } else { 16 };
    ProptestConfig { cases: usual.cases / part, failure_persistence: Some(Box::new(kept)), ..usual }
}

fn recipes(smooth: bool) -> impl Strategy<Value = Recipe> {
    let steps = prop::collection::vec(any::<[u16; 4]>(), 5..=20);
    (any::<u64>(), steps).prop_map(move |(seed, steps)| Recipe { seed, steps, smooth })
}

fn holds(recipe: &Recipe) -> Result<(), TestCaseError> {
    let grown = recipe.grow().map_err(|e| TestCaseError::fail(e.to_string()))?;
    let (graph, inputs, smooth) = (&grown.graph, &grown.inputs, recipe.smooth);
    let all: [checks::Check; 6] =
        [checks::types, checks::text, checks::jvp, checks::adjoint, checks::second, checks::batch];
    let outcome = all.iter().try_for_each(|check| check(graph, inputs, smooth));
    outcome.map_err(|f| TestCaseError::fail(f.of(checks::describe(graph, inputs)).to_string()))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn smooth_graphs(recipe in recipes(true)) {
        holds(&recipe)?;
    }

    #[test]
    fn graphs_with_kinks(recipe in recipes(false)) {
        holds(&recipe)?;
    }
}

/// Tests that a fixed set of recipes contains every kind of control flow.
#[test]
fn graphs_contain_control_flow() {
    let mut random = Random::new(7);
    let mut found = [0; 3];
    for seed in 0..60 {
        let steps = (0..20).map(|_| [0; 4].map(|_: i32| random.bits() as u16)).collect();
        let grown = Recipe { seed, steps, smooth: seed % 2 == 0 }.grow().expect("a graph");
        for (count, name) in found.iter_mut().zip(["scan", "while", "switch"]) {
            *count += grown.graph.nodes().iter().filter(|node| node.op.name() == name).count();
        }
    }
    assert!(found.iter().all(|&count| count >= 5), "scans, loops and switches: {found:?}");
}
