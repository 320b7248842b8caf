//! The interface of devices: memory, running [`Plan`]s, and limits. A device contains no code for specific ops.
//!
//! A backend implements the [`Device`] trait. [`Executable`] is a plan prepared for a device. The table of open devices
//! gives each one its number, which every [`Storage`](gradus_mem::Storage) carries.

#![forbid(unsafe_code)]

mod device;
mod pending;
mod roofline;
mod table;

pub use device::{
    Argument, Code, CodeBody, Device, Done, Executable, Request, Sink, Statistics, memory_error,
};
pub use gradus_compile::{Plan, Profile, Text, Work};
pub use pending::{Pending, Reading};
pub use roofline::Roofline;
pub use table::{add, by_id, by_name, finish_all, is_any_open, open};
