//! Measures a handle and a small storage in nanoseconds: the lower bound of every eager operation.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use gradus_mem::{Handle, Storage};

/// Returns the shortest time per call of several runs, in nanoseconds; noise only increases times.
fn least(mut f: impl FnMut()) -> f64 {
    const CALLS: u32 = 1_000_000;
    let run = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| f());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..15).map(run).fold(f64::INFINITY, f64::min)
}

fn report(what: &str, f: impl FnMut()) {
    println!("{what:38} {:6.1} ns", least(f));
}

fn main() {
    let value = black_box([7u64; 25]);
    let shared = Handle::new(value);
    let small = [1.0f32; 8];
    let large = [1.0f32; 256];

    report("Handle::new of 200 bytes + drop", || drop(black_box(Handle::new(value))));
    report("Arc::new of 200 bytes + drop", || drop(black_box(Arc::new(value))));
    report("Handle::clone + drop", || drop(black_box(shared.clone())));
    report("Storage::from_slice of 8 f32 + drop", || {
        drop(black_box(Storage::from_slice(black_box(&small))));
    });
    report("Storage::from_slice of 256 f32 + drop", || {
        drop(black_box(Storage::from_slice(black_box(&large))));
    });
    report("Storage::zeroed of 32 bytes + drop", || {
        drop(black_box(Storage::zeroed(black_box(32))));
    });
}
