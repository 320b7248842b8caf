//! Every check of every sample of the catalog, family by family, so that a failure names its op.

use gradus_ir::ops::pointwise;
use gradus_testkit::catalog::{check_catalog, names};

macro_rules! families {
    ($($family:ident: [$($name:literal),*];)*) => {
        $(
            #[test]
            fn $family() {
                passes(&[$($name),*]);
            }
        )*

        /// A new structural op fails here until it is in a family.
        #[test]
        fn every_structural_op_is_in_a_family() {
            let known = [$($($name),*),*];
            let is_pointwise = |n: &str| pointwise::find(n).is_some();
            let lost: Vec<&str> = names().into_iter().filter(|n| !known.contains(n) && !is_pointwise(n)).collect();
            assert!(lost.is_empty(), "in no family: {lost:?}");
            let unknown: Vec<&str> = known.into_iter().filter(|n| !names().contains(n)).collect();
            assert!(unknown.is_empty(), "not in the catalog: {unknown:?}");
        }
    };
}

families! {
    sources: ["constant", "iota", "random_bits"];
    conversions: ["cast", "bitcast", "re", "im", "conj", "complex"];
    choices: ["select", "stop_gradient", "barrier"];
    movements: ["reshape", "permute", "broadcast", "slice", "flip", "pad", "concat"];
    reductions: ["sum", "prod", "max", "min", "argmax", "argmin"];
    running: ["cumulate"];
    contractions: ["dot", "conv", "windows", "fold"];
    indices: ["take", "scatter", "sort"];
    systems: ["solve", "triangular_solve", "lu", "det", "adjugate", "slogdet"];
    factorisations: ["cholesky", "qr", "svd", "pinv"];
    spectra: ["eigh", "eig", "fft"];
    regions: ["call", "switch", "scan", "while"];
}

#[test]
fn pointwise_ops() {
    let ops: Vec<&str> = pointwise::all().map(|r| r.name).collect();
    passes(&ops);
}

/// Walks op by op and sums up, so that all failures show at once and each under its op.
fn passes(names: &[&str]) {
    let mut failed = Vec::new();
    for name in names {
        let report = check_catalog(|n| n == *name);
        println!("{name}: {report}");
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
