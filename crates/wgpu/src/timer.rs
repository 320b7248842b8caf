//! Measures the times of dispatches by timestamps of the device, for profiles. Each dispatch is then a separate pass, so the
//! whole run takes longer than usual, but the times of the dispatches are not affected.

use crate::context::Context;
use crate::queue::{Epilogue, State};
use gradus_ir::Result;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// Largest number of dispatches of one submission that can be timed, because a query set has two timestamps for each.
pub(crate) const MAX: usize = 2048;

/// Timestamps of a submission.
pub(crate) struct Timer {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
}

impl Timer {
    /// Starts the pass of a dispatch.
    pub(crate) fn pass<'e>(
        &self,
        encoder: &'e mut wgpu::CommandEncoder,
        dispatch: usize,
    ) -> wgpu::ComputePass<'e> {
        let first = 2 * dispatch as u32;
        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                query_set: &self.set,
                beginning_of_pass_write_index: Some(first),
                end_of_pass_write_index: Some(first + 1),
            }),
        })
    }

    /// Copies the timestamps of all dispatches to memory that the host can read.
    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder, dispatches: usize) {
        if dispatches > 0 {
            encoder.resolve_query_set(&self.set, 0..2 * dispatches as u32, &self.resolved, 0);
            encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.staging, 0, 16 * dispatches as u64);
        }
    }
}

impl Context {
    /// Returns true if the device has timestamps.
    pub(crate) fn has_timer(&self) -> bool {
        self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    /// Submits the list, which has at most [`MAX`] dispatches, and returns the time of each. Unlocks the state while it waits.
    pub(crate) fn submit_timed(
        self: &Arc<Context>,
        mut state: MutexGuard<'_, State>,
    ) -> Result<Vec<Duration>> {
        let count = state.queued();
        if count == 0 {
            return Ok(Vec::new());
        }
        let bytes = 16 * count;
        let staging = self.staging(&mut state, bytes)?;
        let timer = self.call(bytes, || Timer {
            set: self.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2 * count as u32,
            }),
            resolved: self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: bytes as u64,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            staging: staging.clone(),
        })?;
        let index = self.submit(&mut state, &Epilogue::Times(&timer))?;
        drop(state);
        let stamps = self.read_staging(staging, bytes, index)?;
        let period = f64::from(self.queue.get_timestamp_period());
        let took = |pair: &[u64]| {
            let ticks = pair.last().zip(pair.first()).map_or(0, |(end, begin)| end.saturating_sub(*begin));
            Duration::from_nanos((ticks as f64 * period) as u64)
        };
        Ok(stamps.host::<u64>().unwrap_or_default().chunks_exact(2).map(took).collect())
    }
}
