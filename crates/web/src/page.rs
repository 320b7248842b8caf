//! The interface of the page that runs the module. The page executes the commands of the device, and its
//! functions can be traced.

use gradus_ir::{Error, Result};
use std::sync::OnceLock;

/// The interface of the page. `PROTOCOL.md` has the formats.
pub trait Page: Send + Sync {
    /// Passes a JSON list of commands to the executor.
    fn post(&self, commands: &str);
    /// Passes the command that writes bytes to a buffer of the executor.
    fn write(&self, buffer: u32, offset: usize, bytes: &[u8]);
    /// Calls a function of the page. Request and response are JSON.
    fn callback(&self, function: u32, request: &str) -> String;
    /// Takes over bytes that the page has allocated.
    fn take(&self, at: usize, bytes: usize) -> Vec<u8>;
    /// Passes bytes to the page; returns their address.
    fn give(&self, bytes: Vec<u8>) -> usize;
}

static PAGE: OnceLock<Box<dyn Page>> = OnceLock::new();

/// Sets the page. Only the first call has an effect.
pub fn set_page(page: Box<dyn Page>) {
    let _ = PAGE.set(page);
}

/// Returns the page.
pub(crate) fn page() -> Result<&'static dyn Page> {
    PAGE.get().map(|p| &**p).ok_or_else(|| Error::value("the module", "has no page"))
}
