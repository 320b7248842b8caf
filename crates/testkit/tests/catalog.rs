//! Runs every check of every sample of the catalog, op by op, so that a failure names its op.

use gradus_ir::ops::pointwise;
use gradus_testkit::catalog::{check_catalog, names};

/// Returns the structural ops, from the catalog: a new one is checked without an entry here.
fn structural() -> Vec<&'static str> {
    names().into_iter().filter(|name| pointwise::find(name).is_none()).collect()
}

/// Tests that share the structural ops, so that they run in parallel: each checks every `PARTS`-th op.
macro_rules! parts {
    ($($test:ident = $part:literal),*) => {
        const PARTS: usize = [$($part),*].len();

        $(
            #[test]
            fn $test() {
                let own: Vec<&str> = structural().into_iter().skip($part).step_by(PARTS).collect();
                assert!(!own.is_empty());
                passes(&own);
            }
        )*
    };
}

parts! {
    structural_ops_0 = 0, structural_ops_1 = 1, structural_ops_2 = 2, structural_ops_3 = 3,
    structural_ops_4 = 4, structural_ops_5 = 5, structural_ops_6 = 6, structural_ops_7 = 7,
    structural_ops_8 = 8, structural_ops_9 = 9, structural_ops_10 = 10, structural_ops_11 = 11
}

#[test]
fn pointwise_ops() {
    let ops: Vec<&str> = pointwise::all().map(|r| r.name).collect();
    passes(&ops);
}

/// Checks the ops one by one and fails at the end, so that the message shows all failures, each with its op.
fn passes(names: &[&str]) {
    let mut failed = Vec::new();
    for name in names {
        let report = check_catalog(|n| n == *name);
        println!("{name}: {report}");
        if report.samples == 0 {
            failed.push(format!("{name} has no samples"));
        }
        if !report.failures.is_empty() {
            failed.push(format!("{name}: {report}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn names_are_distinct() {
    let mut all = names();
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count);
}
