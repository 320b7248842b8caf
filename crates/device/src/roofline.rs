//! Measures the roofline of a device: the rate of operations in matrix products, and the memory bandwidth.

use crate::device::{Argument, Device, Request};
use gradus_compile::Text;
use gradus_ir::{Aval, Builder, DType, Graph, Result};
use gradus_mem::Storage;
use std::time::Instant;

/// The highest rates that kernels reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Operations of `f32` per second.
    pub flops: f64,
    /// Bytes read and written per second.
    pub bytes: f64,
}

/// Shortest measurement, in seconds: long enough to make the wait for the device negligible.
const LONG: f64 = 0.02;

impl Roofline {
    /// Measures a device with a matrix product and a sum of arrays too large for a cache.
    pub fn measure(device: &dyn Device) -> Result<Roofline> {
        let mut n = 512;
        let mut seconds = time(device, &product(n)?, n * n)?;
        // A small product does not occupy a fast device, so a larger one is measured.
        if seconds < 1e-3 {
            n = 2048;
            seconds = time(device, &product(n)?, n * n)?;
        }
        let long = 16 << 20;
        let stream = time(device, &sum(long)?, long)?;
        Ok(Roofline { flops: 2.0 * (n * n * n) as f64 / seconds, bytes: 12.0 * long as f64 / stream })
    }
}

/// Returns the seconds of one run on two arrays of `numel` zeros: the shortest of several measurements.
fn time(device: &dyn Device, graph: &Graph, numel: usize) -> Result<f64> {
    let request = Request { layouts: &[], keeps: &[], text: Text::Special };
    let ready = device.program(graph, &request)?;
    let zeros = vec![0; numel * 4];
    let storages = [device.upload(&zeros)?, device.upload(&zeros)?];
    let run = |times: usize| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..times {
            let argument = |storage: &Storage| Argument { storage: storage.clone(), offset: 0 };
            ready.run(&mut storages.iter().map(argument).collect(), None)?;
        }
        device.finish().wait()?;
        Ok(start.elapsed().as_secs_f64() / times as f64)
    };
    let first = run(1)?.min(run(1)?);
    let times = ((LONG / first) as usize).clamp(1, 256);
    Ok(run(times)?.min(run(times)?).min(run(times)?))
}

fn product(n: usize) -> Result<Graph> {
    let b = Builder::new();
    let aval = || Aval::new(DType::F32, [n, n]);
    let (x, y) = (b.input("x", aval()), b.input("y", aval()));
    b.finish(&[x.dot(y, "ik", "kj", "ij")])
}

fn sum(n: usize) -> Result<Graph> {
    let b = Builder::new();
    let aval = || Aval::new(DType::F32, [n]);
    let (x, y) = (b.input("x", aval()), b.input("y", aval()));
    b.finish(&[x + y])
}
