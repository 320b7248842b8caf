//! Sample calls of attention and rotary position embeddings, for the test kit.

use super::attention::{AttentionOptions, scaled_dot_product_attention as attend};

pub(super) fn samples(s: &mut super::Samples) {
    for shape in [&[2, 3][..], &[1, 2, 4], &[2, 0]] {
        let x = s.draw.normal(shape);
        s.case("softmax_seen", [x], |x| super::attention::weights(&x[0], None));
    }
    let name = "scaled_dot_product_attention";
    let plain = AttentionOptions::default;
    let ways = [
        plain(),
        AttentionOptions { causal: true, ..plain() },
        AttentionOptions { window: Some(2), ..plain() },
        AttentionOptions { scale: Some(0.3), softcap: Some(1.5), ..plain() },
        AttentionOptions { causal: true, window: Some(1), softcap: Some(20.0), ..plain() },
    ];
    let shapes: [[&[usize]; 3]; 6] = [
        [&[1, 2, 3, 2], &[1, 2, 3, 2], &[1, 2, 3, 2]],
        [&[2, 1, 2, 3], &[2, 1, 4, 3], &[2, 1, 4, 2]],
        [&[4, 2], &[3, 2], &[3, 1]],
        [&[2, 3, 1], &[1, 1, 1], &[2, 1, 1]],
        [&[1, 2, 2], &[1, 0, 2], &[1, 0, 2]],
        [&[0, 2, 2], &[0, 3, 2], &[0, 3, 2]],
    ];
    for shape in shapes {
        for options in &ways {
            let (ins, options) = (shape.map(|shape| s.draw.normal(shape)), options.clone());
            s.case(name, ins, move |x| attend(&x[0], &x[1], &x[2], &options));
        }
    }
    // Query heads in groups of two.
    for options in &ways {
        let options = AttentionOptions { enable_gqa: true, ..options.clone() };
        let ins = [s.draw.normal([2, 4, 3, 2]), s.draw.normal([2, 2, 4, 2]), s.draw.normal([1, 2, 4, 3])];
        s.case(name, ins, move |x| attend(&x[0], &x[1], &x[2], &options));
    }
    // Boolean masks, of which the third hides every key; biases that get a gradient; and a bias that hides keys by -∞.
    let qkv = [s.draw.normal([2, 2, 2]), s.draw.normal([2, 3, 2]), s.draw.normal([2, 3, 2])];
    let hide = f64::NEG_INFINITY;
    let masks = [
        s.draw.ints_of(gradus_ir::DType::Bool, (1, 2), [2, 3]),
        s.draw.bools([2, 1, 3]),
        s.draw.ints_of(gradus_ir::DType::Bool, (0, 1), [2, 3]),
        s.draw.normal([2, 3]),
        s.draw.normal([2, 1, 1]),
    ];
    let hiding = s.draw.floats([2, 3], &[0.3, hide, -0.2, hide, hide, hide]);
    for causal in [false, true] {
        let masked = move |x: &[crate::Tensor]| {
            let mask = Some(x[3].clone());
            attend(&x[0], &x[1], &x[2], &AttentionOptions { mask, causal, ..AttentionOptions::default() })
        };
        for mask in &masks {
            s.case(name, qkv.iter().chain([mask]).cloned(), masked);
        }
        s.kink(name, qkv.iter().chain([&hiding]).cloned(), masked);
    }
    for shape in [&[1, 2, 3, 4][..], &[3, 6], &[1, 2], &[0, 4], &[2, 0]] {
        let x = s.draw.normal(shape);
        s.case("rope", [x.clone()], |x| x[0].rope(10000.0, 0));
        s.case("rope", [x.clone()], |x| x[0].rope(100.0, 5));
        let positions = s.draw.ints((0, 50), [shape[shape.len() - 2]]);
        s.case("rope_at", [x.clone(), positions], |x| x[0].rope_at(&x[1], 100.0));
        let d = shape[shape.len() - 1];
        for width in [d, d / 2] {
            let angle = [s.draw.normal([shape[shape.len() - 2], width]), s.draw.normal([1, width])];
            s.case("rope_with", [x.clone()].into_iter().chain(angle), |x| x[0].rope_with(&x[1], &x[2]));
        }
    }
    let ins = [s.draw.normal([2, 2, 3, 4]), s.draw.ints((0, 9), [2, 1, 3])];
    s.case("rope_at", ins, |x| x[0].rope_at(&x[1], 100.0));
}
