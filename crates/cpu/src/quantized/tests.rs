//! Compares the kernels of every instruction set with `gradus_ir::format`, which defines the formats.

use super::int8::Product;
use super::*;
use gradus_ir::format::Parts;
use gradus_mem::FileMap;

/// Returns pseudorandom bytes with the bits outside of `mask` cleared.
fn bytes(count: usize, mask: u8) -> Vec<u8> {
    let mut state = 1u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 & mask
    };
    (0..count).map(next).collect()
}

/// A mask that clears the highest bit of the exponent of an `f16`, so that it is neither infinite nor NaN.
const FINITE: u8 = 0xbf;

fn quantized() -> impl Iterator<Item = Format> {
    Format::all().filter(|f| f.has_integers())
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
            // SAFETY: `data` has `blocks` blocks, `found` has space for their values, and the processor has the
            // instruction set.
            unsafe { (kernels(*isa).unpack)(format, data.as_ptr(), blocks, found.as_mut_ptr()) };
            let bits =
                |v: &[f32]| v.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&right), "{isa:?} {}", format.name());
        }
    }
}

#[test]
fn products_of_few_rows_equal_those_of_unpacked_weights() {
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
                // SAFETY: the vectors have the sizes in `weights` and `rows`; the processor has the instruction set.
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
        // SAFETY: the vectors have the sizes in `weights` and `rows`, and results do not overlap.
        unsafe { dot(Pool::global(), &weights, rows) };
        y
    };
    let together = run(0, 8);
    for row in 0..8 {
        assert_eq!(run(row, 1), together[row * outputs..][..outputs], "row {row}");
    }
}

/// Returns the values of activations after the rounding of `int8::dot`.
fn rounded(x: &[f32]) -> Vec<f64> {
    let block = |x: &[f32]| {
        let scale = x.iter().fold(0f32, |m, x| m.max(x.abs())) / 127.0;
        x.iter().map(|x| f64::from((x / scale).round_ties_even()) * f64::from(scale)).collect::<Vec<_>>()
    };
    x.chunks(32).flat_map(block).collect()
}

/// Returns the ways to compute products of integers: `None` is `int8::dot`, an instruction set is its code without VNNI.
fn ways() -> impl Iterator<Item = Option<Isa>> {
    [None].into_iter().chain(Isa::available().iter().filter(|isa| **isa <= Isa::Avx2).copied().map(Some))
}

/// Computes products of integers in one of the [`ways`].
fn integer_products(products: &[Product], way: Option<Isa>) {
    // SAFETY: the tests make vectors of the sizes in each `Product`.
    unsafe {
        match way {
            None => int8::dot(Pool::global(), products),
            Some(isa) => int8::dot_with(Pool::global(), products, isa),
        }
    }
}

#[test]
fn integer_products_equal_those_of_rounded_activations() {
    for (format, way) in quantized().flat_map(|format| ways().map(move |way| (format, way))) {
        // Widths with and without an incomplete piece of 128, of one panel and of several. Outputs for a part of a task and for
        // several tasks.
        for (outputs, blocks) in [(7, 1), (32, 4), (37, 18), (70, 5), (33, 22)] {
            let width = (blocks * 32usize).next_multiple_of(format.block_elements());
            let data = bytes(outputs * format.bytes_of(width).unwrap_or(0), FINITE);
            let mut values = vec![0f32; outputs * width];
            format.dequantize(&data, &mut values);
            let sizes = sizes(format, &data);
            let weights = Weights { format, data: data.as_ptr(), rows: outputs, width };
            // Activations of both signs, and of one sign, whose sums are large.
            for (count, low) in [(1, 1.0), (2, 0.0), (5, 0.0), (8, 1.0), (23, 0.0)] {
                let x: Vec<f32> =
                    (0..count * width).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - low).collect();
                let mut y = vec![f32::NAN; count * outputs];
                let rows = Rows { x: x.as_ptr(), y: y.as_mut_ptr(), count };
                integer_products(&[Product { weights, rows }], way);
                let x = rounded(&x);
                for (i, y) in y.iter().enumerate() {
                    let (row, output) = (i / outputs, i % outputs);
                    let (x, w) = (&x[row * width..][..width], output * width..(output + 1) * width);
                    let sum: f64 = x.iter().zip(&values[w.clone()]).map(|(x, w)| x * f64::from(*w)).sum();
                    let size: f64 = x.iter().zip(&sizes[w]).map(|(x, size)| x.abs() * size).sum();
                    let far = (f64::from(*y) - sum).abs();
                    // Products of tiny scales are subnormal, so errors below the smallest normal number are allowed.
                    let least = f64::from(f32::MIN_POSITIVE);
                    assert!(
                        far <= 1e-6 * size + least,
                        "{} {way:?} {width} {count}: {y} is not {sum}",
                        format.name()
                    );
                }
            }
        }
    }
}

/// Returns `|scale · q| + |offset|` of each weight. Errors are relative to this size, because a weight with an offset is the
/// difference of larger numbers.
fn sizes(format: Format, data: &[u8]) -> Vec<f64> {
    let mut parts = Parts::new();
    let block = |block: &[u8]| {
        format.unpack(block, &mut parts);
        let size = |i: usize| {
            let offset = if parts.has_offsets { parts.offsets[i / parts.group].abs() } else { 0.0 };
            f64::from((f32::from(parts.q[i]) * parts.scales[i / parts.group]).abs() + offset)
        };
        (0..format.block_elements()).map(size).collect::<Vec<_>>()
    };
    data.chunks(format.block_bytes()).flat_map(block).collect()
}

#[test]
fn a_row_of_integer_products_has_the_same_bits_alone_and_among_others() {
    for (format, way) in quantized().flat_map(|format| ways().map(move |way| (format, way))) {
        let (outputs, width) = (40, 576usize.next_multiple_of(format.block_elements()));
        let data = bytes(outputs * format.bytes_of(width).unwrap_or(0), FINITE);
        let weights = Weights { format, data: data.as_ptr(), rows: outputs, width };
        let x: Vec<f32> = (0..23 * width).map(|i| (i as f32 * 0.37).sin()).collect();
        let run = |from: usize, count: usize| {
            let mut y = vec![0f32; count * outputs];
            let rows = Rows { x: x[from * width..].as_ptr(), y: y.as_mut_ptr(), count };
            integer_products(&[Product { weights, rows }], way);
            y
        };
        let together = run(0, 23);
        for (row, count) in [(0, 1), (5, 3), (9, 4), (20, 1), (2, 17)] {
            assert_eq!(
                run(row, count),
                together[row * outputs..][..count * outputs],
                "{} {way:?} {row}",
                format.name()
            );
        }
    }
}

#[test]
fn activations_that_are_not_finite_give_nan() {
    let format = Format::Q8_0;
    let data = bytes(2 * format.bytes_of(64).unwrap_or(0), FINITE);
    let weights = Weights { format, data: data.as_ptr(), rows: 2, width: 64 };
    for (bad, way) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY]
        .into_iter()
        .flat_map(|bad| ways().map(move |way| (bad, way)))
    {
        let mut x = [0.5f32; 128];
        x[40] = bad;
        let mut y = [0f32; 4];
        let rows = Rows { x: x.as_ptr(), y: y.as_mut_ptr(), count: 2 };
        integer_products(&[Product { weights, rows }], way);
        assert!(
            y[0].is_nan() && y[1].is_nan() && y[2].is_finite() && y[3].is_finite(),
            "{bad} {way:?}: {y:?}"
        );
    }
}

#[test]
fn products_computed_together_have_the_bits_of_separate_ones() {
    for format in quantized() {
        let width = 288usize.next_multiple_of(format.block_elements());
        for count in [1, 3, 9] {
            let x: Vec<f32> = (0..count * width).map(|i| (i as f32 * 0.37).sin()).collect();
            // Numbers of outputs with and without an incomplete last task.
            let outputs = [7, 64, 33, 1];
            let data = outputs.map(|n| bytes(n * format.bytes_of(width).unwrap_or(0), FINITE));
            let run = |numbers: &[usize]| {
                let mut y: Vec<Vec<f32>> =
                    numbers.iter().map(|i| vec![f32::NAN; count * outputs[*i]]).collect();
                let product = |(i, y): (&usize, &mut Vec<f32>)| Product {
                    weights: Weights { format, data: data[*i].as_ptr(), rows: outputs[*i], width },
                    rows: Rows { x: x.as_ptr(), y: y.as_mut_ptr(), count },
                };
                let products: Vec<Product> = numbers.iter().zip(&mut y).map(product).collect();
                // SAFETY: the vectors have the sizes in `weights` and `rows`, and results do not overlap.
                unsafe { int8::dot(Pool::global(), &products) };
                y
            };
            let together = run(&[0, 1, 2, 3]);
            for (i, y) in together.iter().enumerate() {
                assert_eq!(run(&[i])[0], *y, "{} {count} {i}", format.name());
            }
        }
    }
}

#[test]
fn weights_of_a_file_have_the_bits_of_weights_in_memory() {
    let path = std::env::temp_dir().join(format!("gradus-interleaved-{}", std::process::id()));
    for format in quantized() {
        // Weights are copied in interleaved order if the number of outputs is a multiple of 16.
        for (outputs, blocks) in [(16, 1), (48, 18), (64, 5), (23, 4)] {
            let width = (blocks * 32usize).next_multiple_of(format.block_elements());
            let data = bytes(outputs * format.bytes_of(width).unwrap_or(0), FINITE);
            std::fs::write(&path, &data).expect("a file");
            let file = FileMap::open(&path).expect("a map");
            for count in [1, 2, 7, 8, 9, 23] {
                let x: Vec<f32> = (0..count * width).map(|i| (i as f32 * 0.37).sin()).collect();
                let run = |data: &[u8]| {
                    let mut y = vec![f32::NAN; count * outputs];
                    let weights = Weights { format, data: data.as_ptr(), rows: outputs, width };
                    let rows = Rows { x: x.as_ptr(), y: y.as_mut_ptr(), count };
                    integer_products(&[Product { weights, rows }], None);
                    y
                };
                assert_eq!(run(&file), run(&data), "{} {outputs} {width} {count}", format.name());
            }
            let copied = gradus_mem::copy_of(file.as_ptr()).is_some();
            let wanted = int8::has_interleaved_copy(format) && outputs.is_multiple_of(16);
            assert_eq!(copied, wanted, "{} {outputs}", format.name());
            assert_eq!(*file, data[..], "the pages of the file are read again");
        }
    }
    std::fs::remove_file(&path).expect("removed");
}
