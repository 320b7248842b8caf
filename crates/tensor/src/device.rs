//! Opens devices by name, moves tensors between them, and keeps the default device of each thread.
//! `execute.rs` chooses the device of an operation by `device_of`; `gradus_device` defines the interface of a
//! device.

use crate::data::Data;
use crate::eager::apply::apply1;
use crate::eager::execute::row_major;
use crate::tensor::{Inner, Tensor};
use gradus_cpu::Cpu;
use gradus_device::{by_id, by_name};
use gradus_ir::ops::movement::Reshape;
use gradus_ir::{DType, Error, Kind, Result, Term, message};
use gradus_mem::{HOST, Storage};
use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

/// A device that holds tensors and runs programs: the CPU, or one that was opened by its name.
///
/// ```
/// use gradus_tensor::{Device, Tensor};
/// let x = Tensor::from([1.0f32, 2.0]);
/// assert_eq!(x.device(), Device::CPU);
/// assert!(Device::named("toaster").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device(u16);

/// Largest CPU operand that a compiled function on another device accepts, in bytes: a complex number, or the
/// state of a generator. The device copies it at each run.
const MAX_FROM_HOST: usize = 16;

thread_local! {
    /// Device on which this thread creates tensors.
    static DEFAULT: Cell<u16> = const { Cell::new(HOST) };
}

impl Device {
    /// The processor that runs this program.
    pub const CPU: Device = Device(HOST);

    /// Returns the device with this name and opens it on first use. A name is `cpu`, or a kind with a number,
    /// such as `wgpu:0`. The default number is 0. Instead of a number, `wgpu` takes a part of the name of an
    /// adapter or of its driver, such as `wgpu:nvidia`.
    pub fn named(name: &str) -> Result<Device> {
        let (kind, index) = match name.split_once(':') {
            Some((kind, index)) => match index.parse::<usize>() {
                Ok(index) => (kind, index),
                Err(_) => match by_name(name) {
                    Some(device) => return Ok(Device(device.id())),
                    None => (kind, adapter_named(kind, name, index)?),
                },
            },
            None => (name, 0),
        };
        match kind {
            "cpu" if index == 0 => Ok(Device::CPU),
            "cpu" => Err(Error::device(name, "does not exist: the CPU is one device, `cpu`")),
            _ => match by_name(&format!("{kind}:{index}")).or_else(|| by_name(name)) {
                Some(device) => Ok(Device(device.id())),
                None => open(kind, index),
            },
        }
    }

    /// Adds a user-defined device under a name. `make` receives the number that its storages must carry.
    pub fn add(name: &str, make: impl FnOnce(u16) -> Arc<dyn gradus_device::Device>) -> Result<Device> {
        Ok(Device(gradus_device::add(name, make)?.id()))
    }

    pub(crate) fn id(self) -> u16 {
        self.0
    }

    /// Returns true if this is the CPU.
    pub fn is_cpu(self) -> bool {
        self == Device::CPU
    }

    /// Returns the implementation of the device.
    pub fn get(self) -> Arc<dyn gradus_device::Device> {
        by_id(self.0).unwrap_or_else(|| Arc::new(Cpu))
    }

    /// Returns the name.
    pub fn name(self) -> String {
        self.get().name().to_string()
    }

    /// Makes this the device on which the current thread creates tensors. Returns the previous one.
    pub fn set_default(self) -> Device {
        Device(DEFAULT.replace(self.0))
    }

    /// Runs a function with this device as the default of the current thread.
    pub fn with<R>(self, f: impl FnOnce() -> R) -> R {
        let _back = self.enter();
        f()
    }

    /// Makes this the default device until the guard is dropped. Use it instead of [`with`](Device::with)
    /// where errors must name the caller's line, which closures hide.
    pub(crate) fn enter(self) -> DefaultDeviceGuard {
        DefaultDeviceGuard(self.set_default())
    }

    /// Waits until the device has finished all queued work.
    pub fn finish(self) -> Result<()> {
        self.get().finish().wait().map(|_| ())
    }

    /// Waits until all devices have finished all queued work, and ignores errors. Call this at the end of a program that
    /// does not read all results: a driver may crash if the process ends while the driver still works.
    pub fn finish_all() {
        gradus_device::finish_all();
    }

    /// Returns an error with advice if the device does not support a dtype.
    pub(crate) fn takes(self, dtype: DType) -> Result<()> {
        let device = self.get();
        if device.profile().dtypes.contains(&dtype) {
            return Ok(());
        }
        Err(Error::unsupported(device.name(), dtype))
    }
}

/// Restores the previous default device when dropped.
pub(crate) struct DefaultDeviceGuard(Device);

impl Drop for DefaultDeviceGuard {
    fn drop(&mut self) {
        self.0.set_default();
    }
}

/// Returns the device on which the current thread creates tensors.
impl Default for Device {
    fn default() -> Device {
        Device(DEFAULT.get())
    }
}

/// Returns the number of the adapter that this text names.
#[cfg(feature = "wgpu")]
fn adapter_named(kind: &str, name: &str, text: &str) -> Result<usize> {
    if kind == "wgpu" { gradus_wgpu::adapter_named(text) } else { Err(not_a_number(name)) }
}

/// Returns the number of the adapter that this text names.
#[cfg(not(feature = "wgpu"))]
fn adapter_named(_: &str, name: &str, _: &str) -> Result<usize> {
    Err(not_a_number(name))
}

fn not_a_number(name: &str) -> Error {
    Error::device(name, "is not a device name: after the colon there must be a number")
}

/// Opens device `index` of a kind.
#[cfg(feature = "wgpu")]
fn open(kind: &str, index: usize) -> Result<Device> {
    if kind != "wgpu" {
        return Err(unknown(kind));
    }
    let name = format!("wgpu:{index}");
    Ok(Device(gradus_device::open(&name, |id| gradus_wgpu::open(index, id, Arc::new(Cpu)))?.id()))
}

/// Opens device `index` of a kind.
#[cfg(not(feature = "wgpu"))]
fn open(kind: &str, _: usize) -> Result<Device> {
    match kind {
        "wgpu" => Err(Error::device(kind, "is not part of this build; build with the feature `wgpu`")),
        _ => Err(unknown(kind)),
    }
}

fn unknown(kind: &str) -> Error {
    Error::device(kind, "is not a kind of device here; there are `cpu` and `wgpu`")
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Device> {
        Device::named(name)
    }
}

/// Returns the device on which an op with these operands runs. Operands on another device may be mixed with
/// CPU operands of one element, such as numbers.
#[inline]
pub(crate) fn device_of<'a>(ins: impl IntoIterator<Item = &'a Data> + Clone) -> Result<Device> {
    let other = ins.clone().into_iter().find(|d| d.storage.device() != HOST);
    let Some(device) = other.map(Data::device) else { return Ok(Device::CPU) };
    let foreign = |d: &&Data| d.device() != device && !(d.device().is_cpu() && d.is_one_number());
    match ins.into_iter().find(foreign) {
        None => Ok(device),
        Some(d) => Err(mixed_devices(device, d.device())),
    }
}

/// Builds the error for operands on two devices.
pub(crate) fn mixed_devices(one: Device, other: Device) -> Error {
    Error::new(Kind::Devices { first: one.to_string(), second: other.to_string() })
}

impl Data {
    pub(crate) fn device(&self) -> Device {
        Device(self.storage.device())
    }

    /// Returns true if the elements are in host memory.
    #[inline(always)]
    pub(crate) fn is_host(&self) -> bool {
        self.storage.device() == HOST
    }

    /// Returns true if the elements are in host memory and take at most [`MAX_FROM_HOST`] bytes.
    pub(crate) fn is_small_on_host(&self) -> bool {
        self.is_host() && self.aval.shape.numel() * self.aval.dtype.size() <= MAX_FROM_HOST
    }

    /// Returns true if at most one element is stored, possibly broadcast.
    fn is_one_number(&self) -> bool {
        match &self.strides {
            None => self.aval.shape.numel() <= 1,
            Some(strides) => strides.iter().all(|s| *s == 0),
        }
    }

    /// Copies the elements to another device. Broadcast elements are copied once and stay broadcast.
    pub(crate) fn to(&self, device: Device) -> Result<Data> {
        if self.device() == device {
            return Ok(self.clone());
        }
        device.takes(self.aval.dtype)?;
        let once = row_major(&self.compact())?;
        let size = once.aval.dtype.size();
        let bytes = once.offset * size..(once.offset + once.aval.shape.numel()) * size;
        let host = if once.is_host() { once.storage.clone() } else { read(&once.storage, bytes.clone())? };
        let first = if once.is_host() { bytes.start } else { 0 };
        let storage = match host.host::<u8>() {
            _ if device.is_cpu() && !self.is_host() => host,
            Some(all) => device.get().upload(&all[first..first + bytes.len()])?,
            None => return Err(Error::verify("a read returned memory of another device")),
        };
        let moved = Data::row_major(storage, &once.aval);
        if once.aval.shape == self.aval.shape {
            return Ok(moved);
        }
        let strides = moved.repeating(&self.aval.shape, self.strides.as_deref());
        Ok(moved.with_layout(&self.aval.shape, strides, 0))
    }

    /// Returns the strides that broadcast these elements, which are stored once, to the shape of the original
    /// data.
    fn repeating(&self, shape: &[usize], strides: Option<&[i64]>) -> Vec<i64> {
        let Some(strides) = strides else { return self.strides() };
        if self.aval.rank() == 0 {
            return vec![0; shape.len()];
        }
        let own = self.strides();
        strides.iter().zip(own).map(|(s, own)| if *s == 0 { 0 } else { own }).collect()
    }
}

/// Reads bytes of another device's storage and waits for them.
pub(crate) fn read(storage: &Storage, at: Range<usize>) -> Result<Storage> {
    let mut all = Device(storage.device()).get().read(&[(storage, at)]).wait()?;
    all.pop().ok_or_else(|| Error::verify("a read returned no result"))
}

impl Tensor {
    /// Returns the device that stores the elements. A traced tensor has no elements and reports the CPU.
    pub fn device(&self) -> Device {
        match &*self.0 {
            Inner::Data(d, _) => d.device(),
            Inner::Cell(c) => c.device(),
            _ => Device::CPU,
        }
    }

    /// Copies the tensor to a device, or returns it unchanged if it is there. Gradients flow back to the
    /// original device.
    ///
    /// A traced tensor is returned unchanged: a graph runs on one device, that of its operands.
    #[track_caller]
    pub fn to(&self, device: Device) -> Tensor {
        let location = std::panic::Location::caller();
        if self.is_traced() || self.error().is_some() || self.device() == device {
            return self.clone();
        }
        // A leaf has no tape node. A view of it has one, and the copy takes over that node.
        let recorded = self.requires_grad() && crate::eager::tape::is_grad_enabled();
        let source = match recorded && self.is_cell() {
            true => apply1(Reshape { shape: self.shape() }, &[self]),
            false => self.clone(),
        };
        let moved = source.concrete().and_then(|d| d.to(device));
        match (moved, &*source.0) {
            (Ok(data), Inner::Data(_, edge)) if recorded => Tensor::new(Inner::Data(data, edge.clone())),
            (Ok(data), _) => Tensor::data(data),
            (Err(e), _) => Tensor::failed(e.or_at(location)),
        }
    }

    /// Returns a storage of the elements in row-major order, and the offset of the first byte. Copies a view
    /// first.
    pub fn row_major_storage(&self) -> Result<(Storage, usize)> {
        let data = row_major(&self.check()?.concrete()?)?;
        Ok((data.storage.clone(), data.offset * data.aval.dtype.size()))
    }

    /// Moves the value and the gradient of a cell to a device.
    #[track_caller]
    pub fn move_(&self, device: Device) -> Result<()> {
        let location = std::panic::Location::caller();
        let Some(cell) = self.check()?.as_cell() else {
            let why = message!("is possible only on ", Term::Mutable);
            return Err(Error::value("an in-place move to another device", why).at(location));
        };
        cell.move_to(device).map_err(|e| e.or_at(location))
    }
}
