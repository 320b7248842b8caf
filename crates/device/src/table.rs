//! Holds the process-wide table of open devices, by number and by name.

use crate::device::Device;
use gradus_ir::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, RwLock};

/// Devices other than the CPU; the index is the device number minus 1. A device stays open until the process ends,
/// because storages refer to it by number.
static DEVICES: RwLock<Vec<Arc<dyn Device>>> = RwLock::new(Vec::new());

/// If true, the table has an entry.
static OPEN: AtomicBool = AtomicBool::new(false);

/// The process that opened the first device. A forked copy of a process has its memory, but not the threads of its drivers.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Returns the device with this name, or opens it: `make` receives the number of the new device.
pub fn open(name: &str, make: impl FnOnce(u16) -> Result<Arc<dyn Device>>) -> Result<Arc<dyn Device>> {
    if let Some(device) = by_name(name) {
        return Ok(device);
    }
    let mut all = DEVICES.write().unwrap_or_else(|e| e.into_inner());
    // Another thread may have opened the device since the first search.
    match find(&all, name) {
        Some(device) => Ok(device),
        None => push(&mut all, make),
    }
}

/// Adds a device that `make` returns, under this name. Returns an error if the name is in use.
pub fn add(name: &str, make: impl FnOnce(u16) -> Arc<dyn Device>) -> Result<Arc<dyn Device>> {
    let mut all = DEVICES.write().unwrap_or_else(|e| e.into_inner());
    match find(&all, name) {
        Some(_) => Err(Error::value(format!("the device {name}"), "is already open; choose another name")),
        None => push(&mut all, |id| Ok(make(id))),
    }
}

fn find(all: &[Arc<dyn Device>], name: &str) -> Option<Arc<dyn Device>> {
    all.iter().find(|d| d.name() == name).cloned()
}

/// Appends the device that `make` returns for the next number.
fn push(
    all: &mut Vec<Arc<dyn Device>>,
    make: impl FnOnce(u16) -> Result<Arc<dyn Device>>,
) -> Result<Arc<dyn Device>> {
    let id = u16::try_from(all.len() + 1).map_err(|_| {
        Error::value("another device", "cannot be opened: all 65,535 device numbers are in use")
    })?;
    let device = make(id)?;
    PROCESS.get_or_init(process_id);
    all.push(device.clone());
    OPEN.store(true, Ordering::Relaxed);
    Ok(device)
}

/// Returns true if a device other than the CPU is open.
#[inline]
pub fn is_any_open() -> bool {
    OPEN.load(Ordering::Relaxed)
}

/// Returns the open device with this number. Returns `None` for 0, which is the CPU, and for unused numbers.
pub fn by_id(id: u16) -> Option<Arc<dyn Device>> {
    let at = usize::from(id).checked_sub(1)?;
    DEVICES.read().unwrap_or_else(|e| e.into_inner()).get(at).cloned()
}

/// Returns the open device with this name. Returns `None` for the CPU, and if no device has this name.
pub fn by_name(name: &str) -> Option<Arc<dyn Device>> {
    find(&DEVICES.read().unwrap_or_else(|e| e.into_inner()), name)
}

/// Waits until all open devices have finished their work. A program calls this before it ends, because drivers whose threads
/// still work may crash while the process shuts them down. Errors are ignored: the results are no longer used.
pub fn finish_all() {
    if PROCESS.get().is_none_or(|process| *process != process_id()) {
        return;
    }
    let all = DEVICES.read().unwrap_or_else(|e| e.into_inner()).clone();
    for device in all {
        let _ = device.finish().wait();
    }
}

/// Returns the number of this process; 0 in a browser, where programs have none.
fn process_id() -> u32 {
    if cfg!(target_family = "wasm") { 0 } else { std::process::id() }
}
