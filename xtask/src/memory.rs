//! `cargo xtask memory`: tests the crates that touch raw memory under tools that check every access.

use crate::heading::heading;
use crate::workspace::Workspace;
use std::process::Command;

/// Feature that returns blocks to the system at once, so that a use after free is detected.
const UNPOOLED: &str = "gradus-mem/unpooled";

/// Runs `mem` under Miri, and the code that computes on its blocks under AddressSanitizer. Generated code is
/// not instrumented; its accesses are checked when it is generated.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    nightly(workspace, &["miri", "test", "--package", "gradus-mem", "--tests"], &[])?;
    nightly(workspace, &["miri", "test", "--package", "gradus-mem", "--tests", "--features", UNPOOLED], &[])?;
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let packages = ["test", "--package", "gradus-mem", "--package", "gradus-cpu", "--tests"];
    let asan = [&packages[..], &["--features", UNPOOLED, "--target", &target]].concat();
    nightly(
        workspace,
        &asan,
        &[
            ("RUSTFLAGS", "-Zsanitizer=address"),
            ("ASAN_OPTIONS", "detect_leaks=0:allocator_may_return_null=1"),
        ],
    )
}

fn nightly(workspace: &Workspace, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    heading(format_args!("cargo +nightly {}", arguments.join(" ")));
    let status = Command::new("rustup")
        .args(["run", "nightly", "cargo"])
        .args(arguments)
        .current_dir(&workspace.root)
        .env("CARGO_TARGET_DIR", workspace.target.join("memory"))
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .envs(environment.iter().copied())
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .status()
        .map_err(|error| format!("cannot start rustup: {error}"))?;
    let needs = "needs `rustup toolchain install nightly --component miri --component rust-src`";
    if status.success() {
        Ok(())
    } else {
        Err(format!("`cargo {}` failed ({status}); it {needs}", arguments.join(" ")))
    }
}
