//! `cargo xtask targets`: type-checks the library for systems whose GPU interface is not Vulkan. Nothing is
//! linked or run.

use crate::heading::heading;
use crate::toolchain;
use crate::workspace::Workspace;

/// macOS (Metal) and Windows (Direct3D 12).
const TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"];

/// Checks every target; stops at the first that fails.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    for target in TARGETS {
        let toolchain = toolchain::find(workspace, target)?;
        let mut command = toolchain.cargo(workspace, "check", target);
        command.args(["--package", "gradus"]).env("CARGO_TARGET_DIR", workspace.target.join("targets"));
        heading(format_args!("cargo check --target {target} of gradus with {}", toolchain.rustc.display()));
        let status = command.status().map_err(|error| format!("cannot start cargo: {error}"))?;
        if !status.success() {
            return Err(format!("the check for {target} failed ({status})"));
        }
    }
    Ok(())
}
