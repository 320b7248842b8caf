//! Tests WebGPU devices on the adapter of the machine; in CI that is lavapipe, a software Vulkan driver.

mod bounds;
mod cache;
mod common;
mod error;
mod memory;
mod plan;
mod program;
