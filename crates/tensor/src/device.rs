//! Devices by name: where tensors are, how they get there, and where new ones are made.

use crate::apply::apply1;
use crate::data::Data;
use crate::execute::row_major;
use crate::tensor::{Inner, Tensor};
use gradus_cpu::Cpu;
use gradus_device::{by_id, by_name};
use gradus_ir::ops::movement::Reshape;
use gradus_ir::{DType, Error, Result};
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

/// Bytes of the largest operand that may be on the CPU beside a compiled function on another device: a complex number, or
/// the state of a generator.
const MOST_TAKEN_ALONG: usize = 16;

thread_local! {
    /// Where this thread makes tensors that have no operands.
    static DEFAULT: Cell<u16> = const { Cell::new(HOST) };
}

impl Device {
    /// The processor that the program itself runs on.
    pub const CPU: Device = Device(HOST);

    /// The device with this name, which is opened on first use: `cpu`, or a kind of device with a number, such as
    /// `wgpu:0`. Without a number it is the first of its kind.
    pub fn named(name: &str) -> Result<Device> {
        let (kind, index) = match name.split_once(':') {
            Some((kind, index)) => (kind, index.parse::<usize>().ok()),
            None => (name, Some(0)),
        };
        let Some(index) = index else {
            return Err(Error::device(name, "is not a name: after the colon there must be a number"));
        };
        match kind {
            "cpu" if index == 0 => Ok(Device::CPU),
            "cpu" => Err(Error::device(name, "is not there: the CPU is one device, `cpu`")),
            _ => match by_name(&format!("{kind}:{index}")).or_else(|| by_name(name)) {
                Some(device) => Ok(Device(device.id())),
                None => open(kind, index),
            },
        }
    }

    /// Adds a device of your own under a name; `make` is given its number.
    pub fn add(name: &str, make: impl FnOnce(u16) -> Arc<dyn gradus_device::Device>) -> Result<Device> {
        Ok(Device(gradus_device::add(name, make)?.id()))
    }

    pub(crate) fn id(self) -> u16 {
        self.0
    }

    /// Whether this is the CPU.
    pub fn is_cpu(self) -> bool {
        self == Device::CPU
    }

    /// The device itself.
    pub fn get(self) -> Arc<dyn gradus_device::Device> {
        by_id(self.0).unwrap_or_else(|| Arc::new(Cpu))
    }

    /// Its name.
    pub fn name(self) -> String {
        self.get().name().to_string()
    }

    /// Makes tensors without operands here from now on, on this thread; returns where they were made before.
    pub fn set_default(self) -> Device {
        Device(DEFAULT.replace(self.0))
    }

    /// Runs a function that makes tensors without operands here.
    pub fn with<R>(self, f: impl FnOnce() -> R) -> R {
        let _back = self.enter();
        f()
    }

    /// As [`with`](Device::with), for as long as the guard lives: in a closure the caller's line would be lost.
    pub(crate) fn enter(self) -> Back {
        Back(self.set_default())
    }

    /// Waits until all that was queued here is done.
    pub fn finish(self) -> Result<()> {
        self.get().finish().wait().map(|_| ())
    }

    /// Whether tensors of a dtype can be here, or what to do instead.
    pub(crate) fn takes(self, dtype: DType) -> Result<()> {
        let device = self.get();
        if device.profile().dtypes.contains(&dtype) {
            return Ok(());
        }
        let narrow = if dtype.is_complex() { DType::C64 } else { DType::F32 };
        let why = format!("has no {dtype}; convert the tensor to {narrow} first");
        Err(Error::device(device.name(), why))
    }
}

/// Restores the default device when it goes.
pub(crate) struct Back(Device);

impl Drop for Back {
    fn drop(&mut self) {
        self.0.set_default();
    }
}

/// Where this thread makes tensors that have no operands.
impl Default for Device {
    fn default() -> Device {
        Device(DEFAULT.get())
    }
}

/// Opens a device by its kind and number.
#[cfg(feature = "wgpu")]
fn open(kind: &str, index: usize) -> Result<Device> {
    if kind != "wgpu" {
        return Err(unknown(kind));
    }
    let name = format!("wgpu:{index}");
    Ok(Device(gradus_device::open(&name, |id| gradus_wgpu::open(index, id, Arc::new(Cpu)))?.id()))
}

/// Opens a device by its kind and number.
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

/// The device on which an op on these operands runs. One element of the CPU may stand beside tensors of another device.
#[inline]
pub(crate) fn device_of<'a>(ins: impl IntoIterator<Item = &'a Data> + Clone) -> Result<Device> {
    let other = ins.clone().into_iter().find(|d| d.storage.device() != HOST);
    let Some(device) = other.map(Data::device) else { return Ok(Device::CPU) };
    let stranger = |d: &&Data| d.device() != device && !(d.device().is_cpu() && d.is_one_number());
    match ins.into_iter().find(stranger) {
        None => Ok(device),
        Some(d) => Err(mixed(device, d.device())),
    }
}

/// The error of operands on two devices, in PyTorch's words.
pub(crate) fn mixed(one: Device, other: Device) -> Error {
    let why = format!(
        "are not the same. Expected all tensors to be on the same device, but found at least two devices, {one} and {other}!"
    );
    Error::value("the devices", why)
}

impl Data {
    pub(crate) fn device(&self) -> Device {
        Device(self.storage.device())
    }

    /// Whether the elements are in the memory of the CPU.
    #[inline(always)]
    pub(crate) fn is_host(&self) -> bool {
        self.storage.device() == HOST
    }

    /// Whether this is on the CPU and so little that a run on another device takes it along.
    pub(crate) fn is_small_on_host(&self) -> bool {
        self.is_host() && self.aval.shape.numel() * self.aval.dtype.size() <= MOST_TAKEN_ALONG
    }

    /// Whether this is at most one element, once or repeated.
    fn is_one_number(&self) -> bool {
        match &self.strides {
            None => self.aval.shape.numel() <= 1,
            Some(strides) => strides.iter().all(|s| *s == 0),
        }
    }

    /// The same elements in the memory of another device. Repeated elements stay repeated.
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
            None => return Err(Error::verify("a read gave memory of another device")),
        };
        let moved = Data::row_major(storage, &once.aval);
        if once.aval.shape == self.aval.shape {
            return Ok(moved);
        }
        let strides = moved.repeating(&self.aval.shape, self.strides.as_deref());
        Ok(moved.with_layout(&self.aval.shape, strides, 0))
    }

    /// The strides with which these elements, each once, give the shape of data that repeats them.
    fn repeating(&self, shape: &[usize], strides: Option<&[i64]>) -> Vec<i64> {
        let Some(strides) = strides else { return self.strides() };
        if self.aval.rank() == 0 {
            return vec![0; shape.len()];
        }
        let own = self.strides();
        strides.iter().zip(own).map(|(s, own)| if *s == 0 { 0 } else { own }).collect()
    }
}

/// Bytes of another device's storage, waited for.
pub(crate) fn read(storage: &Storage, at: Range<usize>) -> Result<Storage> {
    let mut all = Device(storage.device()).get().read(&[(storage, at)]).wait()?;
    all.pop().ok_or_else(|| Error::verify("a read gave nothing"))
}

impl Tensor {
    /// Where the elements are. What is being traced has no device yet and counts as the CPU's.
    pub fn device(&self) -> Device {
        match &*self.0 {
            Inner::Data(d, _) => d.device(),
            Inner::Cell(c) => c.device(),
            _ => Device::CPU,
        }
    }

    /// The same values on a device. Gradients flow back to the device that they came from.
    ///
    /// In a trace this is the tensor itself: a graph runs on one device, that of its operands.
    #[track_caller]
    pub fn to(&self, device: Device) -> Tensor {
        let place = std::panic::Location::caller();
        if self.is_traced() || self.error().is_some() || self.device() == device {
            return self.clone();
        }
        // A leaf has no recorded call behind it. A view of it does.
        let recorded = self.requires_grad() && crate::tape::is_grad_enabled();
        let source = match recorded && self.is_cell() {
            true => apply1(Reshape { shape: self.shape() }, &[self]),
            false => self.clone(),
        };
        let moved = source.concrete().and_then(|d| d.to(device));
        match (moved, &*source.0) {
            (Ok(data), Inner::Data(_, edge)) if recorded => Tensor::new(Inner::Data(data, edge.clone())),
            (Ok(data), _) => Tensor::data(data),
            (Err(e), _) => Tensor::failed(e.or_at(place)),
        }
    }

    /// Moves a cell's value to a device. Its gradient moves along.
    #[track_caller]
    pub fn move_(&self, device: Device) -> Result<()> {
        let place = std::panic::Location::caller();
        let Some(cell) = self.check()?.as_cell() else {
            return Err(
                Error::value("a move in place", "acts on a cell (`cell`, `requires_grad_`)").at(place)
            );
        };
        cell.move_to(device).map_err(|e| e.or_at(place))
    }
}
