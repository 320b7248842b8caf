//! `cargo xtask wasm`: builds the WebAssembly module of the browser package, optimised for size.
//! `toolchain.rs` finds a compiler that has the target.

mod toolchain;

use crate::workspace::{Workspace, cargo};
use std::path::PathBuf;
use toolchain::{Standard, Toolchain};

/// The target of the build.
const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the module; returns its path.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf, String> {
    let Toolchain { rustc, standard, linker } = toolchain::find(workspace)?;
    let target = workspace.target.join("wasm");
    let mut command = cargo();
    command.args(["build", "--package", "gradus-web", "--profile", "web", "--target", TARGET]);
    command.env("RUSTC", &rustc).env("CARGO_TARGET_DIR", &target).current_dir(&workspace.root);
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-C target-feature=+simd128");
    if let Some(linker) = linker {
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
    if standard == Standard::Source {
        // Building the standard library needs unstable options.
        command.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC_BOOTSTRAP", "1");
    }
    println!("== cargo build --target {TARGET} of gradus-web with {}", rustc.display());
    let status = command.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err(format!("the build for {TARGET} failed ({status})"));
    }
    Ok(target.join(TARGET).join("web/gradus_web.wasm"))
}

/// Builds the module and prints its size.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let module = build(workspace)?;
    let bytes = std::fs::metadata(&module).map_err(|error| format!("{}: {error}", module.display()))?.len();
    println!("{}: {bytes} bytes", module.display());
    Ok(())
}
