//! Measures what a device does: bytes per second of a copy kernel, and operations per second of multiplications with
//! additions in registers. Both are found by running such kernels, so they are what programs can hope for.

use crate::context::{Context, lock};
use crate::device::{Gpu, bound};
use gradus_gpu::Module;
use gradus_ir::Result;
use std::sync::Arc;
use std::time::Instant;

/// Multiplications with additions that a thread does in one dispatch, each on four numbers.
const STEPS: u32 = 1024;
/// Threads of a workgroup.
const GROUP: u32 = 64;

/// What a device does.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Bytes read and written per second, by a large copy.
    pub bandwidth: f64,
    /// Operations on `f32` per second; a multiplication with an addition is two.
    pub flops: f64,
}

impl Gpu {
    /// Measures the device, for up to a second or two.
    pub fn measured(&self) -> Result<Measured> {
        let context = &self.context;
        // Large enough to leave the caches, small enough for any device.
        let bytes = if context.software { 16 << 20 } else { 256 << 20 };
        let bytes = bytes.min(context.binding() / 2);
        let (from, to) = {
            let mut state = lock(&context.state);
            (context.take(&mut state, bytes)?, context.take(&mut state, bytes)?)
        };
        let copy = || {
            let mut state = lock(&context.state);
            if let (Some(from), Some(to)) = (bound(from.place()), bound(to.place())) {
                let run = state.next_run();
                context.queue_copy(&mut state, from, to, bytes, run);
            }
        };
        let bandwidth = 2.0 * bytes as f64 / seconds(context, copy)?;

        let module = multiply_add();
        let pipeline = context.pipelines.prepare(&module).map_err(|fault| context.fault(fault, 0))?;
        let groups = if context.software { 64 } else { 16 << 10 };
        let groups = groups.min((elements(bytes) / GROUP).min(context.limits.groups));
        let compute = || {
            let mut state = lock(&context.state);
            if let Some((to, _)) = bound(to.place()) {
                let parameters = [1.0f32.to_ne_bytes(), 0.5f32.to_ne_bytes(), [0; 4], [0; 4]].concat();
                let run = state.next_run();
                state.dispatch(context, (&pipeline, vec![to]), &parameters, [groups, 1, 1], run);
            }
        };
        // Two operations on four numbers in each of two chains.
        let each = 2.0 * 4.0 * 2.0 * f64::from(STEPS) * f64::from(GROUP) * f64::from(groups);
        let flops = each / seconds(context, compute)?;
        Ok(Measured { bandwidth, flops })
    }
}

/// Elements of `f32`.
fn elements(bytes: usize) -> u32 {
    (bytes / 4) as u32
}

/// Seconds of one command: many are submitted at once until they take a while.
fn seconds(context: &Arc<Context>, queue: impl Fn()) -> Result<f64> {
    let run = |count: u32| -> Result<f64> {
        let start = Instant::now();
        (0..count).for_each(|_| queue());
        context.read_ranges(&[], &[], Vec::new())?;
        Ok(start.elapsed().as_secs_f64())
    };
    // The first also compiles the kernel and touches the memory.
    run(1)?;
    let mut count = 1;
    loop {
        let took = run(count)?;
        if took > 0.05 || count >= 4096 {
            return Ok((0..2)
                .map(|_| run(count))
                .collect::<Result<Vec<f64>>>()?
                .into_iter()
                .fold(took, f64::min)
                / f64::from(count));
        }
        count *= 4;
    }
}

/// A kernel that keeps two chains of `vec4` in registers.
fn multiply_add() -> Module {
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<uniform> p: vec4<f32>;
@compute @workgroup_size({GROUP})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  var x = vec4<f32>(f32(id.x), 1.0, 2.0, 3.0);
  var y = x * p.y;
  for (var i = 0u; i < {}u; i += 1u) {{
{}  }}
  let z = x + y;
  a[id.x] = z.x + z.y + z.z + z.w;
}}
",
        STEPS / 8,
        "    x = fma(x, p.yyyy, p.xxxx);\n    y = fma(y, p.yyyy, p.xxxx);\n".repeat(8)
    );
    Module { text, writable: vec![true], group: [GROUP, 1, 1] }
}
