//! Composites with kernels of their own (attention, convolution): results and gradients on a GPU equal those
//! of the CPU.
#![cfg(feature = "wgpu")]
#![allow(clippy::unwrap_used)]

use gradus_tensor::func::conv::{ConvOptions, conv2d};
use gradus_tensor::{
    AttentionOptions, Compiled, Device, Generator, Tensor, compile, scaled_dot_product_attention, vjp,
};

/// Returns the first GPU, if there is one. Panics without a GPU if `GRADUS_ORACLES` is `required`.
fn gpu() -> Option<Device> {
    let found = Device::named("wgpu").ok();
    let required = std::env::var("GRADUS_ORACLES").is_ok_and(|v| v == "required");
    assert!(found.is_some() || !required, "GRADUS_ORACLES=required, but there is no wgpu adapter");
    found
}

/// Returns the result and the gradients of a function; `ins[0]` is the cotangent.
fn all_of(ins: &[Tensor], f: &dyn Fn(&[Tensor]) -> Tensor) -> Vec<Tensor> {
    let refs: Vec<&Tensor> = ins[1..].iter().collect();
    let (y, pull) = vjp(&refs, f).unwrap();
    [vec![y.into_iter().next().unwrap()], pull(&[&ins[0]]).unwrap()].concat()
}

fn compiled(ins: &[Tensor], f: &dyn Fn(&[Tensor]) -> Tensor) -> Compiled {
    compile(&ins.iter().collect::<Vec<_>>(), |x| all_of(x, f)).unwrap()
}

/// Compares a function on the GPU, eager and compiled, with the same function in `f64` on the CPU. Returns
/// the compiled function.
fn compare(device: Device, ins: &[Tensor], bound: f64, f: &dyn Fn(&[Tensor]) -> Tensor) -> Compiled {
    let wide: Vec<Tensor> = ins.iter().map(|t| t.to_dtype(gradus_ir::DType::F64)).collect();
    let expected = all_of(&wide, f);
    let moved: Vec<Tensor> = ins.iter().map(|t| t.to(device)).collect();
    let step = compiled(&moved, f);
    assert_eq!(step.device(), device);
    for found in [all_of(&moved, f), step.run(&moved.iter().collect::<Vec<_>>()).unwrap()] {
        for (i, (x, y)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(x.shape(), y.shape());
            let wide = x.to(Device::CPU).to_dtype(gradus_ir::DType::F64);
            let error = (&wide - y).abs().max(gradus_tensor::All).item::<f64>().unwrap();
            let size = y.abs().max(gradus_tensor::All).item::<f64>().unwrap();
            assert!(error <= bound * size, "result {i}: error {error}, largest {size}");
        }
    }
    step
}

/// Returns a cotangent, queries, keys and values.
fn operands(lead: &[usize], group: usize, [n, m, d, e]: [usize; 4]) -> Vec<Tensor> {
    let g = Generator::new(7);
    let shape = |rows: usize, width: usize, group: usize| {
        let mut all = lead.to_vec();
        *all.last_mut().unwrap() /= group;
        [all, vec![rows, width]].concat()
    };
    vec![
        g.randn(shape(n, e, 1)),
        g.randn(shape(n, d, 1)),
        g.randn(shape(m, d, group)),
        g.randn(shape(m, e, group)),
    ]
}

#[test]
fn attention_runs_as_one_step_each_way() {
    let Some(device) = gpu() else { return };
    let plain = AttentionOptions::default;
    let cases: Vec<(&[usize], usize, [usize; 4], AttentionOptions)> = vec![
        (&[2, 4], 1, [128, 128, 32, 32], AttentionOptions { causal: true, ..plain() }),
        (&[1, 16], 1, [70, 33, 16, 24], plain()),
        (&[2, 8], 4, [65, 65, 8, 8], AttentionOptions { causal: true, enable_gqa: true, ..plain() }),
        (&[8], 1, [130, 140, 5, 7], AttentionOptions { window: Some(9), ..plain() }),
        (&[4, 4], 1, [64, 64, 64, 64], AttentionOptions { softcap: Some(3.0), ..plain() }),
        (&[4, 4], 1, [64, 90, 12, 4], AttentionOptions { scale: Some(0.7), causal: true, ..plain() }),
    ];
    for (lead, group, sizes, options) in cases {
        let ins = operands(lead, group, sizes);
        let f = |x: &[Tensor]| scaled_dot_product_attention(&x[0], &x[1], &x[2], &options);
        let step = compare(device, &ins, 2e-5, &f);
        let steps = step.steps();
        let own = |name: &str| steps.iter().filter(|s| *s == name).count();
        assert_eq!(own("scaled_dot_product_attention"), 1, "{steps:?}");
        assert_eq!(own("scaled_dot_product_attention_vjp"), 1, "{steps:?}");
        // The memory that a matrix of all scores would take.
        let scores = lead.iter().product::<usize>() * sizes[0] * sizes[1] * 4;
        assert!(step.arena() < scores, "{} of {scores} bytes", step.arena());
    }
}

#[test]
fn attention_of_narrow_floats_and_with_a_mask_is_right() {
    let Some(device) = gpu() else { return };
    let narrow: Vec<Tensor> =
        operands(&[2, 8], 1, [64, 64, 16, 16]).iter().map(|t| t.to_dtype(gradus_ir::DType::BF16)).collect();
    let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
    compare(device, &narrow, 2e-2, &|x| scaled_dot_product_attention(&x[0], &x[1], &x[2], &options));
    let ins = operands(&[2, 8], 1, [64, 48, 16, 16]);
    let seen = Generator::new(3).rand([64, 48]).ge(0.3);
    let masked = |device: Device| {
        let moved: Vec<Tensor> = ins.iter().map(|t| t.to(device)).collect();
        let options = AttentionOptions { mask: Some(seen.to(device)), ..AttentionOptions::default() };
        all_of(&moved, &|x| scaled_dot_product_attention(&x[0], &x[1], &x[2], &options))
    };
    for (x, y) in masked(device).iter().zip(&masked(Device::CPU)) {
        let error = (x.to(Device::CPU) - y).abs().max(gradus_tensor::All).item::<f32>().unwrap();
        assert!(error < 1e-5, "{error}");
    }
}

#[test]
fn convolutions_and_their_gradients_are_right() {
    let Some(device) = gpu() else { return };
    let g = Generator::new(5);
    let cases: [(usize, usize, usize, usize, usize); 5] =
        [(1, 1, 0, 1, 1), (2, 4, 1, 1, 1), (3, 8, 2, 2, 1), (4, 8, 1, 1, 2), (8, 8, 1, 2, 4)];
    for (images, channels, padding, stride, groups) in cases {
        let options =
            ConvOptions { padding: padding.into(), stride: stride.into(), groups, ..ConvOptions::default() };
        let x = g.randn([images, channels, 13, 14]);
        let w = g.randn([8, channels / groups, 3, 3]);
        let y = conv2d(&x, &w, None, &options);
        let ins = [g.randn(y.shape()), x, w];
        compare(device, &ins, 1e-5, &|x| conv2d(&x[0], &x[1], None, &options));
    }
}
