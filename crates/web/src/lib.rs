//! Gradus in a web page: tensors, transforms, training and equations, by one function that takes and returns
//! JSON.
//!
//! `PROTOCOL.md` describes requests and answers. The device `webgpu` sends its commands to the page; all
//! other code runs inside the module. On other targets than WebAssembly the crate is a library, which tests
//! use with a simulated page.

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code)]
mod abi;
mod catalog;
mod device;
mod language;
mod memory;
mod page;
mod request;
mod session;
mod train;

pub use page::{Page, set_page};

use gradus_ir::{Error, Kind};
use request::{Fault, Request};
use serde_json::{Value, json};

/// Answers a request in JSON.
pub fn call(request: &str) -> String {
    let answer = match serde_json::from_str(request) {
        Ok(value) => answer(&Request::new(value)),
        Err(e) => Err(Fault::from(Error::value("the request", e.to_string()))),
    };
    match answer {
        Ok(value) => json!({"ok": value}),
        Err(fault) => json!({"error": {"kind": fault.kind, "message": fault.message}}),
    }
    .to_string()
}

fn answer(request: &Request) -> Result<Value, Fault> {
    let verb = request.text("do")?;
    match verb.split_once('.') {
        Some(("program", verb)) => language::answer(verb, request),
        _ => match verb.as_str() {
            "catalog" => Ok(catalog::describe()),
            "op" => catalog::apply(request),
            "open" | "host" | "fault" => device::answer(&verb, request),
            "train" | "step" | "rate" | "restart" | "compile" | "run" | "explain" | "drop" | "capture" => {
                train::answer(&verb, request)
            }
            _ => session::answer(&verb, request),
        },
    }
}

/// Returns the class of an error, as the page names it.
fn kind_of(e: &Error) -> &'static str {
    match e.kind() {
        Kind::Shape { .. } | Kind::Axis { .. } => "shape",
        Kind::DType { .. } => "dtype",
        Kind::Gradient { .. } => "gradient",
        Kind::Device { .. } | Kind::Memory { .. } | Kind::Unsupported { .. } => "device",
        Kind::File { .. } => "file",
        _ => "value",
    }
}
