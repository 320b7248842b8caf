//! Which devices there are, and what they can do.

use crate::device::Device;
use gradus_device::Roof;
use gradus_ir::Result;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A device that can be opened.
#[derive(Clone, Debug)]
pub struct Found {
    /// The name that opens it.
    pub name: String,
    /// What it is: adapter, driver, limits, one fact per pair.
    pub facts: Vec<(String, String)>,
}

static ROOFS: Mutex<Option<HashMap<Device, Roof>>> = Mutex::new(None);

#[cfg(feature = "wgpu")]
fn adapters() -> Vec<Found> {
    let one = |a: gradus_wgpu::AdapterFacts| {
        let largest = format!("{} MiB", a.binding >> 20);
        let facts = [("adapter", a.name), ("driver", a.driver), ("backend", a.backend), ("kind", a.kind)];
        let facts = facts.into_iter().chain([("largest tensor", largest)]);
        Found {
            name: format!("wgpu:{}", a.index),
            facts: facts.map(|(key, value)| (key.to_string(), value)).collect(),
        }
    };
    gradus_wgpu::adapters().into_iter().map(one).collect()
}

#[cfg(not(feature = "wgpu"))]
fn adapters() -> Vec<Found> {
    Vec::new()
}

impl Device {
    /// The devices that there are, the CPU first. None is opened for that.
    pub fn list() -> Vec<Found> {
        let cpu = Device::CPU.get();
        let first = Found { name: cpu.name().to_string(), facts: cpu.facts() };
        [first].into_iter().chain(adapters()).collect()
    }

    /// What the device can do, measured once per process.
    pub fn roof(self) -> Result<Roof> {
        let roofs = || ROOFS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(roof) = roofs().get_or_insert_default().get(&self) {
            return Ok(*roof);
        }
        let roof = Roof::measure(&*self.get())?;
        roofs().get_or_insert_default().insert(self, roof);
        Ok(roof)
    }
}
