//! Kernels of every instruction set, compared with the meaning of the formats.

use super::*;

/// Bytes by a generator, without the bits outside of `mask`.
fn bytes(count: usize, mask: u8) -> Vec<u8> {
    let mut state = 1u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 & mask
    };
    (0..count).map(next).collect()
}

/// Without the highest bit of the exponent: no half is infinite or NaN.
const FINITE: u8 = 0xbf;

fn quantized() -> impl Iterator<Item = Format> {
    Format::all().filter(|f| f.is_quantized())
}

#[test]
fn every_instruction_set_unpacks_the_same_bits() {
    for format in quantized() {
        let blocks = 5;
        let data = bytes(blocks * format.block_bytes(), 0xff);
        let mut right = vec![0f32; blocks * format.block_elements()];
        format.dequantize(&data, &mut right);
        for isa in Isa::available() {
            let mut found = vec![f32::NAN; right.len()];
            // SAFETY: there are as many blocks and results as stated, and the processor has the instruction set.
            unsafe { (kernels(*isa).unpack)(format, data.as_ptr(), blocks, found.as_mut_ptr()) };
            let bits =
                |v: &[f32]| v.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&right), "{isa:?} {}", format.name());
        }
    }
}

#[test]
fn products_of_few_rows_are_those_of_the_values() {
    for format in quantized() {
        let (outputs, width) = (7, 3 * format.block_elements());
        let data = bytes(outputs * format.bytes_of(width).unwrap_or(0), FINITE);
        let mut values = vec![0f32; outputs * width];
        format.dequantize(&data, &mut values);
        let weights = Weights { format, data: data.as_ptr(), rows: outputs, width };
        for isa in Isa::available() {
            for count in [1, 2, 3, 8, 13] {
                let x: Vec<f32> =
                    (0..count * width).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).collect();
                let mut y = vec![f32::NAN; count * outputs];
                let rows = Rows { x: x.as_ptr(), y: y.as_mut_ptr(), count };
                // SAFETY: weights, activations and results are as large as stated; the processor has the instructions.
                unsafe { (kernels(*isa).dot)(&weights, rows, 0, outputs) };
                for (i, y) in y.iter().enumerate() {
                    let (row, output) = (i / outputs, i % outputs);
                    let terms = (0..width)
                        .map(|k| f64::from(x[row * width + k]) * f64::from(values[output * width + k]));
                    let (sum, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                    let far = (f64::from(*y) - sum).abs();
                    assert!(far <= 1e-6 * size, "{isa:?} {} {count}: {y} is not {sum}", format.name());
                }
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_among_others() {
    let (outputs, width, format) = (9, 576, Format::Q4_1);
    let data = bytes(outputs * format.bytes_of(width).unwrap_or(0), FINITE);
    let weights = Weights { format, data: data.as_ptr(), rows: outputs, width };
    let x: Vec<f32> = (0..8 * width).map(|i| (i as f32 * 0.37).sin()).collect();
    let run = |from: usize, count: usize| {
        let mut y = vec![0f32; count * outputs];
        let rows = Rows { x: x[from * width..].as_ptr(), y: y.as_mut_ptr(), count };
        // SAFETY: weights, activations and results are as large as stated.
        unsafe { dot(Pool::global(), &weights, rows) };
        y
    };
    let together = run(0, 8);
    for row in 0..8 {
        assert_eq!(run(row, 1), together[row * outputs..][..outputs], "row {row}");
    }
}

/// Activations rounded to multiples of their scale, and rounded as `int8::dot` does.
fn rounded(x: &[f32]) -> Vec<f64> {
    let block = |x: &[f32]| {
        let scale = x.iter().fold(0f32, |m, x| m.max(x.abs())) / 127.0;
        x.iter().map(|x| f64::from((x / scale).round_ties_even()) * f64::from(scale)).collect::<Vec<_>>()
    };
    x.chunks(32).flat_map(block).collect()
}

#[test]
fn integer_products_are_those_of_rounded_activations() {
    for format in quantized() {
        // Widths of complete pieces of 128 and of others, of one panel and of several; outputs of a part of a task and of several.
        for (outputs, blocks) in [(7, 1), (32, 4), (37, 18), (70, 5), (33, 22)] {
            let width = (blocks * 32usize).next_multiple_of(format.block_elements());
            let data = bytes(outputs * format.bytes_of(width).unwrap_or(0), FINITE);
            let mut values = vec![0f32; outputs * width];
            format.dequantize(&data, &mut values);
            let weights = Weights { format, data: data.as_ptr(), rows: outputs, width };
            for count in [1, 2, 5, 8, 23] {
                let x: Vec<f32> =
                    (0..count * width).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).collect();
                let mut y = vec![f32::NAN; count * outputs];
                let rows = Rows { x: x.as_ptr(), y: y.as_mut_ptr(), count };
                // SAFETY: weights, activations and results are as large as stated.
                unsafe { int8::dot(Pool::global(), &weights, rows) };
                let x = rounded(&x);
                for (i, y) in y.iter().enumerate() {
                    let (row, output) = (i / outputs, i % outputs);
                    let terms =
                        (0..width).map(|k| x[row * width + k] * f64::from(values[output * width + k]));
                    let (sum, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                    let far = (f64::from(*y) - sum).abs();
                    assert!(far <= 1e-5 * size, "{} {width} {count}: {y} is not {sum}", format.name());
                }
            }
        }
    }
}

#[test]
fn a_row_of_integer_products_has_the_same_bits_alone_and_among_others() {
    let (outputs, width, format) = (40, 576, Format::Q4_1);
    let data = bytes(outputs * format.bytes_of(width).unwrap_or(0), FINITE);
    let weights = Weights { format, data: data.as_ptr(), rows: outputs, width };
    let x: Vec<f32> = (0..11 * width).map(|i| (i as f32 * 0.37).sin()).collect();
    let run = |from: usize, count: usize| {
        let mut y = vec![0f32; count * outputs];
        let rows = Rows { x: x[from * width..].as_ptr(), y: y.as_mut_ptr(), count };
        // SAFETY: weights, activations and results are as large as stated.
        unsafe { int8::dot(Pool::global(), &weights, rows) };
        y
    };
    let together = run(0, 11);
    for row in 0..11 {
        assert_eq!(run(row, 1), together[row * outputs..][..outputs], "row {row}");
    }
}

#[test]
fn activations_that_are_not_finite_give_nan() {
    let format = Format::Q8_0;
    let data = bytes(2 * format.bytes_of(64).unwrap_or(0), FINITE);
    let weights = Weights { format, data: data.as_ptr(), rows: 2, width: 64 };
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut x = [0.5f32; 128];
        x[40] = bad;
        let mut y = [0f32; 4];
        // SAFETY: weights, activations and results are as large as stated.
        unsafe { int8::dot(Pool::global(), &weights, Rows { x: x.as_ptr(), y: y.as_mut_ptr(), count: 2 }) };
        assert!(y[0].is_nan() && y[1].is_nan() && y[2].is_finite() && y[3].is_finite(), "{bad}: {y:?}");
    }
}
