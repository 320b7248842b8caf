//! The inputs that all systems share. Each number is a hash of its index.

use gradus::{Device, Tensor};

fn bits(seed: u64, i: u64) -> u64 {
    let mut z = (seed << 32).wrapping_add(i).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Makes a tensor of numbers that are uniform in `-scale..scale`.
pub(crate) fn fill(seed: u64, shape: &[usize], scale: f64) -> Tensor {
    let n: usize = shape.iter().product();
    let one = |i: usize| {
        let u = (bits(seed, i as u64) >> 40) as f64 / (1u64 << 24) as f64;
        ((2.0 * u - 1.0) * scale) as f32
    };
    Tensor::from_slice(&(0..n).map(one).collect::<Vec<f32>>(), shape).to(Device::default())
}

/// Makes a tensor of integers below `m`.
pub(crate) fn ints(seed: u64, shape: &[usize], m: u64) -> Tensor {
    let n: usize = shape.iter().product();
    let one = |i: usize| ((bits(seed, i as u64) >> 33) % m) as i64;
    Tensor::from_slice(&(0..n).map(one).collect::<Vec<i64>>(), shape).to(Device::default())
}

/// Makes a tensor of one repeated number.
pub(crate) fn full(n: usize, value: f32) -> Tensor {
    Tensor::from_slice(&vec![value; n], [n]).to(Device::default())
}
