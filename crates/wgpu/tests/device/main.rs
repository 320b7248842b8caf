//! Tests of WebGPU devices on whatever adapter the machine has; in CI that is lavapipe, Vulkan in software.

mod cache;
mod common;
mod error;
mod memory;
mod plan;
mod program;
