//! WebGPU devices: runs GPU programs through wgpu, on Vulkan natively.
//!
//! [`open`] returns a [`Device`](gradus_device::Device); [`adapters`] lists the adapters that can be opened. `gradus_gpu`
//! generates the kernels and decides their order. This crate manages memory, pipelines, one in-order queue, and reads.

#![deny(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

mod cache;
mod capacity;
mod check;
mod context;
mod copy;
mod device;
mod execute;
mod floats;
mod late;
mod memory;
mod open;
mod pipeline;
mod queue;
mod read;
mod run;
mod timer;

pub use device::Gpu;
pub use open::{AdapterFacts, Options, adapter_named, adapters, open, open_gpu};
