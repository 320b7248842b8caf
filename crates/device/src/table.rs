//! The table of open devices.

use crate::device::Device;
use gradus_ir::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

/// Devices other than the CPU, by their number less 1. A device stays open until the process ends, because storages refer
/// to it by number.
static DEVICES: RwLock<Vec<Arc<dyn Device>>> = RwLock::new(Vec::new());

/// Whether the table has an entry.
static OPEN: AtomicBool = AtomicBool::new(false);

/// Opens a device under a name, unless it is open already. `make` is given its number.
pub fn open(name: &str, make: impl FnOnce(u16) -> Result<Arc<dyn Device>>) -> Result<Arc<dyn Device>> {
    if let Some(device) = by_name(name) {
        return Ok(device);
    }
    let mut all = DEVICES.write().unwrap_or_else(|e| e.into_inner());
    // Another thread may have opened it meanwhile.
    if let Some(device) = all.iter().find(|d| d.name() == name) {
        return Ok(device.clone());
    }
    let id = u16::try_from(all.len() + 1).map_err(|_| Error::value("devices", "are at most 65,535"))?;
    let device = make(id)?;
    all.push(device.clone());
    OPEN.store(true, Ordering::Relaxed);
    Ok(device)
}

/// Adds a device of the caller's own, which gets this name.
pub fn add(name: &str, make: impl FnOnce(u16) -> Arc<dyn Device>) -> Result<Arc<dyn Device>> {
    if by_name(name).is_some() {
        return Err(Error::value(format!("the device {name}"), "is there already"));
    }
    open(name, |id| Ok(make(id)))
}

/// Whether a device other than the CPU is open.
#[inline]
pub fn is_any_open() -> bool {
    OPEN.load(Ordering::Relaxed)
}

/// The open device with this number; none for the CPU.
pub fn by_id(id: u16) -> Option<Arc<dyn Device>> {
    let at = usize::from(id).checked_sub(1)?;
    DEVICES.read().unwrap_or_else(|e| e.into_inner()).get(at).cloned()
}

/// The open device with this name; none for the CPU.
pub fn by_name(name: &str) -> Option<Arc<dyn Device>> {
    DEVICES.read().unwrap_or_else(|e| e.into_inner()).iter().find(|d| d.name() == name).cloned()
}
