//! `cargo xtask wasm`: builds the WebAssembly module of the browser package, optimised for size.
//! `toolchain.rs` finds a compiler that has the target.

use crate::heading::heading;
use crate::toolchain;
use crate::workspace::Workspace;
use std::path::PathBuf;

const TARGET: &str = "wasm32-unknown-unknown";

/// Optimisation of the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Profile {
    /// For users: optimised for size.
    Small,
    /// For tests: less optimised, and built in a fraction of the time.
    Fast,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Profile::Small => "web",
            Profile::Fast => "web-fast",
        }
    }
}

/// Builds the module; returns its path.
pub(crate) fn build(workspace: &Workspace, profile: Profile) -> Result<PathBuf, String> {
    let toolchain = toolchain::find(workspace, TARGET)?;
    let target = workspace.target.join("wasm");
    let mut command = toolchain.cargo(workspace, "build", TARGET);
    command.args(["--package", "gradus-web", "--profile", profile.name()]).env("CARGO_TARGET_DIR", &target);
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-C target-feature=+simd128");
    heading(format_args!("cargo build --target {TARGET} of gradus-web with {}", toolchain.rustc.display()));
    let status = command.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err(format!("the build for {TARGET} failed ({status})"));
    }
    Ok(target.join(TARGET).join(profile.name()).join("gradus_web.wasm"))
}

/// Builds the module and prints its size.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let module = build(workspace, Profile::Small)?;
    let bytes = std::fs::metadata(&module).map_err(|error| format!("{}: {error}", module.display()))?.len();
    println!("{}: {bytes} bytes", module.display());
    Ok(())
}
