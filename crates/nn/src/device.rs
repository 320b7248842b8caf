//! Where models live.

use gradus_ir::Error;
use std::fmt;
use std::str::FromStr;

/// What holds tensors and runs plans. There is one so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cpu")
    }
}

/// By its name; a device that is not there is an error that says which are.
impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Device, Error> {
        match name {
            "cpu" => Ok(Device::Cpu),
            _ => Err(Error::value(format!("the device {name:?}"), "is not there: models live on cpu")),
        }
    }
}
