//! Finds a compiler for another target: the installed one if it has the target's standard library, else
//! Debian's, which is unpacked below the target folder and builds that library from source.

use crate::heading::heading;
use crate::workspace::{Workspace, cargo, output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable with the compiler to use instead of `RUSTC` or `rustc`.
const COMPILER: &str = "GRADUS_TARGET_RUSTC";

/// Debian's packages of a compiler with the source of its standard library. Their own libraries are added.
const PACKAGES: [&str; 3] = ["rustc-web", "rust-web-src", "libstd-rust-web-dev"];

/// A compiler, its standard library and its linker.
pub(crate) struct Toolchain {
    pub(crate) rustc: PathBuf,
    standard: Standard,
    /// The linker, if the compiler does not include one.
    linker: Option<PathBuf>,
}

/// The form in which a toolchain has the standard library for the target.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Standard {
    Built,
    Source,
}

impl Toolchain {
    /// Makes a cargo command for this target, which builds the standard library first if only its source is
    /// available.
    pub(crate) fn cargo(&self, workspace: &Workspace, verb: &str, target: &str) -> Command {
        let mut command = cargo();
        command.args([verb, "--target", target]).env("RUSTC", &self.rustc).current_dir(&workspace.root);
        if let Some(linker) = &self.linker {
            let name = target.to_uppercase().replace('-', "_");
            command.env(format!("CARGO_TARGET_{name}_LINKER"), linker);
        }
        if self.standard == Standard::Source {
            // Building the standard library is an unstable option; `RUSTC_BOOTSTRAP` allows it.
            command.args(["-Z", "build-std=std,panic_abort"]).env("RUSTC_BOOTSTRAP", "1");
        }
        command
    }
}

/// Finds a toolchain for a target, or unpacks one.
pub(crate) fn find(workspace: &Workspace, target: &str) -> Result<Toolchain, String> {
    let named = std::env::var_os(COMPILER).or_else(|| std::env::var_os("RUSTC"));
    let rustc = PathBuf::from(named.unwrap_or_else(|| "rustc".into()));
    let own = sysroot(&rustc)?;
    if let Some(standard) = standard_library(&own, target) {
        // A compiler given by the variable may lack the linker; the toolchain of this command has one.
        let linker = linker(&own).or_else(|| linker(&sysroot(Path::new("rustc")).ok()?));
        return Ok(Toolchain { rustc, standard, linker });
    }
    let folder = workspace.target.join("cross-toolchain");
    let debian = match unpacked(&folder) {
        Some(rustc) => rustc,
        None => unpack(&folder).map_err(|why| missing(&rustc, &own, target, &why))?,
    };
    let standard = standard_library(&sysroot(&debian)?, target)
        .ok_or_else(|| format!("{} has no standard library for {target}", debian.display()))?;
    // Debian's compiler has no linker for the target; the installed toolchain has one.
    Ok(Toolchain { rustc: debian, standard, linker: linker(&own) })
}

fn sysroot(rustc: &Path) -> Result<PathBuf, String> {
    let text = output(Command::new(rustc).args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&text).trim()))
}

fn standard_library(sysroot: &Path, target: &str) -> Option<Standard> {
    let rustlib = sysroot.join("lib/rustlib");
    if rustlib.join(target).join("lib").is_dir() {
        Some(Standard::Built)
    } else {
        rustlib.join("src/rust/library/std/Cargo.toml").is_file().then_some(Standard::Source)
    }
}

/// Returns the linker `rust-lld` of a toolchain.
fn linker(sysroot: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(sysroot.join("lib/rustlib")).ok()?;
    folders.flatten().map(|f| f.path().join("bin/rust-lld")).find(|path| path.is_file())
}

/// Returns the compiler that was unpacked into a folder, or `None` if there is none.
fn unpacked(folder: &Path) -> Option<PathBuf> {
    let rustc = folder.join("rustc");
    rustc.is_file().then_some(rustc)
}

/// Fetches Debian's packages and unpacks them; nothing is installed.
fn unpack(folder: &Path) -> Result<PathBuf, String> {
    heading(format_args!("fetching {} into {}", PACKAGES.join(", "), folder.display()));
    let aside = folder.with_extension("part");
    let _ = std::fs::remove_dir_all(&aside);
    let failed = |error: std::io::Error| format!("{}: {error}", aside.display());
    std::fs::create_dir_all(&aside).map_err(failed)?;
    let packages = with_needed()?;
    let download = || output(Command::new("apt-get").arg("download").args(&packages).current_dir(&aside));
    if download().is_err() {
        output(Command::new("apt-get").args(["update", "-qq"]))?;
        download()?;
    }
    let root = aside.join("files");
    for file in std::fs::read_dir(&aside).map_err(failed)?.flatten().map(|f| f.path()) {
        if file.extension().is_some_and(|e| e == "deb") {
            output(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&root))?;
            std::fs::remove_file(&file).map_err(failed)?;
        }
    }
    // The compiler finds its libraries relative to this script, so the folder can be moved.
    let script = "#!/bin/sh\nhere=$(dirname \"$(readlink -f \"$0\")\")\n\
        LD_LIBRARY_PATH=$(echo \"$here\"/files/usr/lib/*-linux-gnu) exec \"$here\"/files/usr/bin/rustc \"$@\"\n";
    let rustc = aside.join("rustc");
    std::fs::write(&rustc, script).map_err(failed)?;
    output(Command::new("chmod").arg("+x").arg(&rustc))?;
    std::fs::rename(&aside, folder).map_err(failed)?;
    unpacked(folder).ok_or_else(|| "the compiler was not unpacked".to_string())
}

/// Returns the names of the packages, and of the compiler's own libraries that they depend on.
fn with_needed() -> Result<Vec<String>, String> {
    let mut all: Vec<String> = PACKAGES.iter().map(|p| p.to_string()).collect();
    let mut at = 0;
    while at < all.len() {
        let text = output(Command::new("apt-cache").args(["depends", &all[at]]))?;
        for name in needed(&String::from_utf8_lossy(&text)) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        at += 1;
    }
    Ok(all)
}

/// Returns the compiler's own libraries among the dependencies that `apt-cache depends` prints.
fn needed(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    names
        .filter(|n| n.starts_with("libstd-rust-web") || n.starts_with("libllvm"))
        .map(str::to_string)
        .collect()
}

fn missing(rustc: &Path, sysroot: &Path, target: &str, why: &str) -> String {
    format!(
        "`{}` (sysroot {}) has the standard library for {target} neither built nor as source, and Debian's compiler \
         could not be fetched ({why}). Run\n  rustup target add {target}\nor set {COMPILER} to a compiler that has it",
        rustc.display(),
        sysroot.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_standard_library_built_or_as_source() {
        let root = std::env::temp_dir().join(format!("xtask-toolchain-{}", std::process::id()));
        let library = root.join("lib/rustlib/src/rust/library/std");
        let target = "wasm32-unknown-unknown";
        assert_eq!(standard_library(&root, target), None);
        let message = missing(Path::new("rustc"), &root, target, "no apt-get");
        assert!(message.contains("rustup target add wasm32-unknown-unknown"), "{message}");
        std::fs::create_dir_all(&library).unwrap();
        assert_eq!(standard_library(&root, target), None);
        std::fs::write(library.join("Cargo.toml"), "").unwrap();
        assert_eq!(standard_library(&root, target), Some(Standard::Source));
        std::fs::create_dir_all(root.join("lib/rustlib/wasm32-unknown-unknown/lib")).unwrap();
        assert_eq!(standard_library(&root, target), Some(Standard::Built));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn adds_the_libraries_of_the_compiler() {
        let text = "libstd-rust-web-dev\n  Depends: libstd-rust-web-1.96\n  Depends: libc6\n |Depends: x\n  Breaks: libllvm1\n";
        assert_eq!(needed(text), ["libstd-rust-web-1.96"]);
    }
}
