//! Lists the devices of this machine and measures them. `device.rs` opens one by its name.

use crate::device::Device;
use gradus_device::Roofline;
use gradus_ir::Result;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Describes a device that can be opened.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The name that opens it.
    pub name: String,
    /// Adapter, driver and limits as pairs of a label and a value.
    pub facts: Vec<(String, String)>,
}

static ROOFLINES: Mutex<Option<HashMap<Device, Roofline>>> = Mutex::new(None);

#[cfg(feature = "wgpu")]
fn adapters() -> Vec<DeviceInfo> {
    let one = |a: gradus_wgpu::AdapterFacts| {
        let largest = format!("{} MiB", a.binding >> 20);
        let facts = [("adapter", a.name), ("driver", a.driver), ("backend", a.backend), ("kind", a.kind)];
        let memory = a.memory.map_or_else(|| "unknown".to_string(), |bytes| format!("{} MiB", bytes >> 20));
        let limits = [
            ("memory", memory),
            ("largest tensor", largest),
            ("bindings", a.bindings.to_string()),
            ("threads of a group", a.group.to_string()),
            ("shared memory", format!("{} KiB", a.shared >> 10)),
        ];
        let facts = facts.into_iter().chain(limits);
        DeviceInfo {
            name: format!("wgpu:{}", a.index),
            facts: facts.map(|(key, value)| (key.to_string(), value)).collect(),
        }
    };
    gradus_wgpu::adapters().into_iter().map(one).collect()
}

#[cfg(not(feature = "wgpu"))]
fn adapters() -> Vec<DeviceInfo> {
    Vec::new()
}

impl Device {
    /// Lists the devices of this machine, the CPU first. Opens none of them.
    pub fn list() -> Vec<DeviceInfo> {
        let cpu = Device::CPU.get();
        let first = DeviceInfo { name: cpu.name().to_string(), facts: cpu.facts() };
        [first].into_iter().chain(adapters()).collect()
    }

    /// Returns the measured rates of the device. Measures once per process.
    pub fn roofline(self) -> Result<Roofline> {
        let rooflines = || ROOFLINES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(roofline) = rooflines().get_or_insert_default().get(&self) {
            return Ok(*roofline);
        }
        let roofline = Roofline::measure(&*self.get())?;
        rooflines().get_or_insert_default().insert(self, roofline);
        Ok(roofline)
    }
}
