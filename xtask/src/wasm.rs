//! `cargo xtask wasm`: builds the crates that run in a browser for `wasm32-unknown-unknown`.
//! Takes the toolchain as it is installed; returns an error that says what to install if it lacks the target.

use crate::workspace::{Workspace, cargo, output};
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";
/// The crates that a page needs to compile and run a program.
const PACKAGES: [&str; 4] = ["gradus-ir", "gradus-compile", "gradus-tensor", "gradus-lang"];
/// Names the compiler to use, if it is not the one that cargo finds.
const COMPILER: &str = "GRADUS_WASM_RUSTC";

/// Builds the crates, and what they need of the standard library if that comes as source.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let rustc = std::env::var_os(COMPILER).or_else(|| std::env::var_os("RUSTC"));
    let rustc = PathBuf::from(rustc.unwrap_or_else(|| "rustc".into()));
    let sysroot = output(Command::new(&rustc).args(["--print", "sysroot"]))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot).trim());
    let standard = standard_library(&sysroot).ok_or_else(|| missing(&rustc, &sysroot))?;
    let mut command = cargo();
    command.args(["build", "--target", TARGET]).env("RUSTC", &rustc).current_dir(&workspace.root);
    command.env("CARGO_TARGET_DIR", workspace.target.join("wasm"));
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    if standard == Standard::Source {
        // Only unstable options build the standard library.
        command.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC_BOOTSTRAP", "1");
    }
    println!("== cargo build --target {TARGET} of {} with {}", PACKAGES.join(", "), rustc.display());
    let status = command.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the build for {TARGET} failed ({status})")) }
}

/// In which form a toolchain has the standard library for the target.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Standard {
    Built,
    Source,
}

fn standard_library(sysroot: &Path) -> Option<Standard> {
    let rustlib = sysroot.join("lib/rustlib");
    if rustlib.join(TARGET).join("lib").is_dir() {
        Some(Standard::Built)
    } else {
        rustlib.join("src/rust/library/std/Cargo.toml").is_file().then_some(Standard::Source)
    }
}

fn missing(rustc: &Path, sysroot: &Path) -> String {
    format!(
        "`{}` (sysroot {}) has the standard library for {TARGET} neither built nor as source. Either run\n  \
         rustup target add {TARGET}\nor, on Debian, fetch rustc-web, libstd-rust-web-dev, libstd-rust-web-1.96, \
         rust-web-src and libllvm22 with\n`apt-get download`, unpack each with `dpkg -x`, and set {COMPILER} to a \
         script that starts the unpacked rustc\nwith its library folder in LD_LIBRARY_PATH",
        rustc.display(),
        sysroot.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_standard_library_built_or_as_source() {
        let root = std::env::temp_dir().join(format!("xtask-wasm-{}", std::process::id()));
        let library = root.join("lib/rustlib/src/rust/library/std");
        assert_eq!(standard_library(&root), None);
        let message = missing(Path::new("rustc"), &root);
        assert!(message.contains("rustup target add wasm32-unknown-unknown"), "{message}");
        std::fs::create_dir_all(&library).unwrap();
        assert_eq!(standard_library(&root), None);
        std::fs::write(library.join("Cargo.toml"), "").unwrap();
        assert_eq!(standard_library(&root), Some(Standard::Source));
        std::fs::create_dir_all(root.join("lib/rustlib/wasm32-unknown-unknown/lib")).unwrap();
        assert_eq!(standard_library(&root), Some(Standard::Built));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
