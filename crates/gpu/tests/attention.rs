//! Compares kernels of attention on a software adapter with the reference, and tests when attention is a region.

use crate::common::{Variant, attention, attention_as, attention_with, limits, planned};
use crate::kernels::{check, with_limits};
use gradus_compile::Step;
use gradus_gpu::{Barriers, Limits};
use gradus_ir::Op;
use gradus_ir::transform::vjp;

/// If barriers are cheap, attention with a multiple of four features and enough rows has tiles of scores in shared memory.
/// Otherwise threads share rows; with 70 heads each thread has a row of its own.
#[test]
fn attention_with_gradients() {
    for (sizes, causal) in [
        ([4, 300, 300, 4], false),
        ([8, 250, 130, 5], true),
        ([70, 1000, 9, 4], false),
        ([3, 350, 70, 64], true),
        ([16, 64, 96, 20], false),
        ([8, 128, 33, 40], true),
    ] {
        let forward = attention(sizes, causal);
        check(&format!("attention {sizes:?}"), &forward, 1.0);
        let backward = vjp(&forward, &[0, 1, 2]).expect("a gradient");
        check(&format!("gradients of attention {sizes:?}"), &backward, 1.0);
    }
}

#[test]
fn variants_of_attention() {
    let sizes = [6, 180, 200, 12];
    for (group, window, softcap) in
        [(3, None, None), (1, Some(40), None), (1, None, Some(0.5)), (2, Some(70), Some(2.0))]
    {
        let variant = Variant { causal: true, group, window, softcap };
        let forward = attention_with("scaled_dot_product_attention", sizes, &variant);
        check(&format!("{variant:?}"), &forward, 1.0);
        let backward = vjp(&forward, &[0, 1, 2]).expect("a gradient");
        check(&format!("gradients of {variant:?}"), &backward, 1.0);
    }
}

/// Scores have 1.4 MB, but a binding has 1 MiB. Attention as a region runs, also its gradients, because it does not store
/// the scores. As products it is rejected at compilation because of the size of the scores.
#[test]
fn attention_whose_scores_exceed_a_binding() {
    let sizes = [4, 300, 300, 4];
    for barriers in [Barriers::Cheap, Barriers::Expensive] {
        let small = Limits { binding: 1 << 20, ..limits(barriers) };
        let region = vjp(&attention(sizes, true), &[0, 1, 2]).expect("a gradient");
        with_limits(&region, &small, 4.0);
        let products = vjp(&attention_as("products", sizes, true), &[0, 1, 2]).expect("a gradient");
        let why = planned(&products, &small).expect_err("a refusal").to_string();
        assert!(why.contains("1440000 bytes"), "{why}");
    }
}

/// Attention of medium size is faster as products with the scores in memory. With more scores, with few keys or with a
/// window, it runs as a region.
#[test]
fn regions_of_attention() {
    for (sizes, region) in
        [([16, 1024, 1024, 64], false), ([16, 4096, 4096, 64], true), ([64, 128, 128, 32], true)]
    {
        for name in ["scaled_dot_product_attention", "products"] {
            let plan = planned(
                &attention_as(name, sizes, false),
                &Limits { binding: 2 << 30, ..limits(Barriers::Cheap) },
            )
            .expect("a plan");
            let claimed =
                plan.steps.iter().any(|s| matches!(s, Step::Routine(r) if matches!(r.op, Op::Call(_))));
            assert_eq!(claimed, region && name != "products", "{name} {sizes:?}");
        }
    }
}
