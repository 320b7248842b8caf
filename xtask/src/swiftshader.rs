//! `cargo xtask swiftshader`: tests WebGPU devices on SwiftShader, Chromium's software driver for Vulkan.

use crate::heading::heading;
use crate::workspace::{Workspace, cargo};
use std::path::PathBuf;

/// The driver's description in Debian's package `chromium`.
const INSTALLED: &str = "/usr/lib/chromium/vk_swiftshader_icd.json";
const NEEDS: &str =
    "it needs SwiftShader: install Chromium, or name the driver's ICD file in `GRADUS_SWIFTSHADER`";

/// Runs the tests of kernels and of the device with SwiftShader as the only driver.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let file = std::env::var_os("GRADUS_SWIFTSHADER").map_or_else(|| PathBuf::from(INSTALLED), PathBuf::from);
    if !file.is_file() {
        return Err(format!("{} does not exist; {NEEDS}", file.display()));
    }
    // Without an adapter the tests would be skipped, and this command would test nothing.
    for tests in [
        "--package gradus-gpu --test tests -- kernels:: attention:: catalog::",
        "--package gradus-wgpu --tests",
    ] {
        let arguments = format!("test {tests}");
        heading(format_args!("cargo {arguments}"));
        let status = cargo()
            .args(arguments.split(' '))
            .current_dir(&workspace.root)
            .env("VK_DRIVER_FILES", &file)
            .env("WGPU_BACKEND", "vulkan")
            .env("GRADUS_ADAPTER", "swiftshader")
            .status()
            .map_err(|error| format!("cannot start cargo: {error}"))?;
        if !status.success() {
            return Err(format!("`cargo {arguments}` failed on SwiftShader ({status})"));
        }
    }
    Ok(())
}
