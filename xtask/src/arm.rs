//! `cargo xtask arm`: tests the CPU device on 64-bit ARM by emulation.

use crate::heading::heading;
use crate::workspace::{Workspace, cargo, output};
use std::path::Path;
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const NEEDS: &str = "`cargo xtask arm` needs `qemu-aarch64` (qemu-user), `aarch64-linux-gnu-gcc` and \
    `rustup target add aarch64-unknown-linux-gnu`";

/// Runs the tests of code that touches memory and instructions, and the comparison of the device with the
/// reference.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    // The folder above that of `libc.so` is the system root, from which qemu loads shared libraries.
    let libc = output(Command::new(LINKER).arg("-print-file-name=libc.so"))
        .map_err(|error| format!("{error}; {NEEDS}"))?;
    let libc = String::from_utf8_lossy(&libc);
    let root = Path::new(libc.trim()).ancestors().nth(2).unwrap_or(Path::new(""));
    let runner = format!("qemu-aarch64 -L {}", root.display());
    for tests in [
        "--package gradus-mem --package gradus-cpu --tests",
        "--package gradus-testkit --test tests -- cpu:: random_graphs::",
    ] {
        let arguments = format!("test --target {TARGET} {tests}");
        heading(format_args!("cargo {arguments}"));
        let status = cargo()
            .args(arguments.split(' '))
            .current_dir(&workspace.root)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", &runner)
            .status()
            .map_err(|error| format!("cannot start cargo: {error}"))?;
        if !status.success() {
            return Err(format!("`cargo {arguments}` failed ({status}); {NEEDS}"));
        }
    }
    Ok(())
}
