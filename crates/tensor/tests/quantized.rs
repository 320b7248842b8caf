//! Quantised tensors: values, products and gradients.

use gradus_ir::DType;
use gradus_ir::format::{Compute, Format};
use gradus_tensor::{Generator, Quantized, Tensor, compile, compile_graph, dequantize, quantized_dot, trace};
use std::sync::Arc;

/// Bytes of random weights; no half is infinite or NaN.
fn bytes(format: Format, rows: usize, blocks: usize) -> Tensor {
    let n = rows * blocks * format.block_bytes();
    let mut state = 7u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 & 0xbf
    };
    Tensor::from_slice(&(0..n).map(next).collect::<Vec<u8>>(), [rows, blocks * format.block_bytes()])
}

fn formats() -> impl Iterator<Item = Format> {
    Format::all().filter(|f| f.is_quantized())
}

/// Returns the values by the table of formats.
fn values(format: Format, bytes: &Tensor) -> Tensor {
    let data = bytes.to_vec::<u8>().unwrap();
    let width = bytes.dim(1) / format.block_bytes() * format.block_elements();
    let mut out = vec![0f32; bytes.dim(0) * width];
    format.dequantize(&data, &mut out);
    Tensor::from_slice(&out, [bytes.dim(0), width])
}

fn largest_difference(a: &Tensor, b: &Tensor) -> f64 {
    (a.to_dtype(DType::F64) - b.to_dtype(DType::F64)).abs().max(()).item().unwrap()
}

#[test]
fn values_equal_those_of_the_table() {
    for format in formats() {
        let b = bytes(format, 3, 2);
        let right = values(format, &b).to_bytes().unwrap();
        assert_eq!(dequantize(&b, format).to_bytes().unwrap(), right, "{}", format.name());
        // The body of the region, without the code of a device for it.
        let body = trace(&[&b], |x| dequantize(&x[0], format)).unwrap().inlined().unwrap();
        let found = compile_graph(&Arc::new(body)).unwrap().run(&[&b]).unwrap().remove(0);
        assert_eq!(found.to_bytes().unwrap(), right, "{} by its body", format.name());
    }
}

#[test]
fn products_equal_those_of_the_values() {
    let g = Generator::new(1);
    for format in formats() {
        let b = bytes(format, 40, 3);
        let w = values(format, &b).to_dtype(DType::F64);
        for rows in [1, 2, 7, 8, 16, 17, 70] {
            let x = g.randn([rows, w.dim(1)]);
            let right = x.to_dtype(DType::F64).matmul(&w.t());
            let size = x.to_dtype(DType::F64).abs().matmul(&w.abs().t()).max(()).item::<f64>().unwrap();
            let found = quantized_dot(&x, &b, format, Compute::F32);
            assert!(
                largest_difference(&found, &right) <= 1e-6 * size,
                "{} of {rows}: {}",
                format.name(),
                largest_difference(&found, &right)
            );
        }
    }
}

#[test]
fn activations_have_a_gradient_and_bytes_have_none() {
    let (g, format) = (Generator::new(2), Format::Q4_1);
    let b = bytes(format, 5, 2);
    let x = g.randn([3, 64]).requires_grad_();
    let seed = g.randn([3, 5]);
    (quantized_dot(&x, &b, format, Compute::F32) * &seed).sum(()).backward().unwrap();
    let right = seed.matmul(&values(format, &b));
    assert!(
        largest_difference(&x.grad().unwrap(), &right)
            < 1e-3 * right.abs().max(()).item::<f32>().unwrap() as f64
    );
}

#[test]
fn rows_are_read_by_their_numbers() {
    let format = Format::Q8_0;
    let b = bytes(format, 6, 1);
    let q = Quantized::new(&b, format).unwrap();
    assert_eq!(q.shape().to_string(), "[6,32]");
    let ids = Tensor::from_slice(&[4i64, 0, 4], [3, 1]);
    let right = values(format, &b).index_select(0, &ids.reshape([3]));
    assert_eq!(q.rows(&ids).to_vec::<f32>().unwrap(), right.to_vec::<f32>().unwrap());
}

#[test]
fn the_cpu_runs_a_product_as_one_step() {
    let (b, x) = (bytes(Format::Q4_0, 8, 1).cell(), Tensor::ones([1, 32]));
    let plan = compile(&[&x], |x| quantized_dot(&x[0], &b, Format::Q4_0, Compute::F32)).unwrap();
    assert_eq!(plan.steps(), ["quantized_dot"]);
    assert_eq!(plan.arena(), 0);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let b = bytes(Format::Q4_0, 2, 1);
    let refused = |t: Tensor, why: &str| {
        let e = t.check().unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    };
    refused(dequantize(&b, Format::Q4_1), "a multiple of 20 bytes");
    refused(dequantize(&b, Format::F16), "has no blocks");
    refused(dequantize(&Tensor::ones([18]), Format::Q4_0), "quantised weights are bytes");
    refused(
        quantized_dot(&Tensor::ones([2, 31]), &b, Format::Q4_0, Compute::F32),
        "must be [..,I] and [O,I]",
    );
    refused(quantized_dot(&b, &b, Format::Q4_0, Compute::F32), "activations are floats");
}

#[test]
fn integer_products_round_the_activations() {
    let g = Generator::new(5);
    for format in Format::all().filter(|f| f.is_quantized()) {
        let b = bytes(format, 40, 2);
        let width = 2 * format.block_elements();
        for rows in [1, 3, 9] {
            let x = g.randn([rows, width]);
            let found = quantized_dot(&x, &b, format, Compute::Int8);
            // The same in separate steps: blocks of 32 with a scale each, rounded to the nearest integers.
            let blocks = x.reshape([rows, width / 32, 32]);
            let scale = blocks.abs().max_keepdim(-1) / 127.0;
            let rounded = ((&blocks / &scale).round() * &scale).reshape([rows, width]).to_dtype(DType::F64);
            let values = dequantize(&b, format).to_dtype(DType::F64);
            let right = rounded.matmul(&values.t()).to_vec::<f64>().unwrap();
            let size = rounded.abs().matmul(&values.abs().t()).to_vec::<f64>().unwrap();
            for ((found, right), size) in found.to_vec::<f32>().unwrap().iter().zip(right).zip(size) {
                let far = (f64::from(*found) - right).abs();
                assert!(far <= 1e-5 * size, "{} {rows}: {found} is not {right}", format.name());
            }
        }
    }
}

#[test]
fn activations_are_rounded_to_bf16_first() {
    let g = Generator::new(8);
    for format in formats() {
        let (b, width) = (bytes(format, 11, 2), 2 * format.block_elements());
        for rows in [1, 5, 19] {
            let x = g.randn([rows, width]);
            let found = quantized_dot(&x, &b, format, Compute::Bf16);
            let rounded = x.to_dtype(DType::BF16).to_dtype(DType::F64);
            assert!(largest_difference(&rounded, &x) > 1e-4);
            let values = values(format, &b).to_dtype(DType::F64);
            let right = rounded.matmul(&values.t()).to_vec::<f64>().unwrap();
            let size = rounded.abs().matmul(&values.abs().t()).to_vec::<f64>().unwrap();
            for ((found, right), size) in found.to_vec::<f32>().unwrap().iter().zip(right).zip(size) {
                let off = (f64::from(*found) - right).abs();
                assert!(off <= 1e-6 * size, "{} {rows}: {found} is not {right}", format.name());
            }
        }
    }
}

#[test]
fn the_gradient_of_integer_products_ignores_the_rounding() {
    let (g, b) = (Generator::new(6), bytes(Format::Q4_1, 5, 3));
    let x = g.randn([2, 96]).requires_grad_();
    let seed = g.randn([2, 5]);
    (quantized_dot(&x, &b, Format::Q4_1, Compute::Int8) * &seed).sum(()).backward().unwrap();
    let right = seed.matmul(&dequantize(&b, Format::Q4_1)).to_vec::<f32>().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), right);
}
