//! What this machine can do: operations per second in products, bytes per second from memory.

use crate::executable::Executable;
use gradus_device::Argument;
use crate::pool::Pool;
use gradus_ir::{Aval, Builder, DType};
use gradus_mem::Storage;
use std::sync::OnceLock;
use std::time::Instant;

/// The most that a kernel can reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// Operations of `f32` per second.
    pub flops: f64,
    /// Bytes per second, reading and writing.
    pub bytes: f64,
}

impl Roof {
    /// Measured once per process with our own kernels, on all threads: a product of matrices that stay in the cache,
    /// and a sum of arrays that do not.
    pub fn measured() -> Roof {
        static ROOF: OnceLock<Roof> = OnceLock::new();
        *ROOF.get_or_init(|| Roof { flops: product().unwrap_or(1e9), bytes: stream().unwrap_or(1e9) })
    }
}

/// The best of a few runs, in seconds.
fn best(executable: &Executable, sizes: &[usize]) -> Option<f64> {
    let storages: Vec<Storage> = sizes.iter().map(|n| Storage::zeroed(n * 4)).collect::<Option<_>>()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let mut arguments: Vec<Argument> =
            storages.iter().map(|s| Argument { storage: s.clone(), offset: 0 }).collect();
        let start = Instant::now();
        executable.run(Pool::global(), &mut arguments).ok()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Some(best)
}

fn product() -> Option<f64> {
    const N: usize = 512;
    let b = Builder::new();
    let aval = || Aval::new(DType::F32, [N, N]);
    let (x, y) = (b.input("x", aval()), b.input("y", aval()));
    let graph = b.finish(&[x.dot(y, "ik", "kj", "ij")]).ok()?;
    let seconds = best(&Executable::new(&graph).ok()?, &[N * N, N * N])?;
    Some(2.0 * (N * N * N) as f64 / seconds)
}

fn stream() -> Option<f64> {
    const N: usize = 16 << 20;
    let b = Builder::new();
    let aval = || Aval::new(DType::F32, [N]);
    let (x, y) = (b.input("x", aval()), b.input("y", aval()));
    let graph = b.finish(&[x + y]).ok()?;
    let seconds = best(&Executable::new(&graph).ok()?, &[N, N])?;
    Some(12.0 * N as f64 / seconds)
}
