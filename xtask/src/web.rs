//! `cargo xtask web`: builds the browser package and its page; with `--test` runs their tests in a browser.

use crate::wasm::{self, Profile};
use crate::workspace::Workspace;
use std::path::Path;
use std::process::Command;

/// Builds the module and the package around it; with `test` also runs the tests.
pub(crate) fn run(workspace: &Workspace, profile: Profile, test: bool) -> Result<(), String> {
    let module = wasm::build(workspace, profile)?;
    let web = workspace.root.join("web");
    let dist = web.join("dist");
    let failed = |error: std::io::Error| format!("{}: {error}", dist.display());
    std::fs::create_dir_all(&dist).map_err(failed)?;
    std::fs::copy(&module, dist.join("gradus.wasm")).map_err(failed)?;
    npm(&web, &["ci", "--no-audit", "--no-fund"])?;
    // A module for tests exceeds the size limit of the page, and compressing it takes minutes.
    let script =
        |name: &str| if profile == Profile::Fast { format!("{name}:plain") } else { name.to_string() };
    npm(&web, &["run", &script("build")])?;
    if test {
        npm(&web, &["run", "check"])?;
    }
    Ok(())
}

fn npm(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    println!("== npm {}", arguments.join(" "));
    let status = Command::new("npm").args(arguments).current_dir(folder).status();
    let status = status.map_err(|error| format!("cannot start npm: {error}; install Node.js"))?;
    if status.success() { Ok(()) } else { Err(format!("npm {} failed ({status})", arguments.join(" "))) }
}
