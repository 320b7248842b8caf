//! WebGPU devices.
