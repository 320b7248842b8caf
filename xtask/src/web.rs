//! `cargo xtask web`: builds the browser package and its page; with `--test` runs their tests in a browser.

use crate::heading::heading;
use crate::wasm::{self, Profile};
use crate::workspace::Workspace;
use std::path::Path;
use std::process::Command;

/// Tests of the built package and page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tests {
    /// Builds only.
    No,
    /// Tests whose browser or command is missing are skipped.
    Possible,
    /// A missing browser or command is a failure.
    Required,
}

/// Builds the module, the package and its page. Then runs their tests, if `tests` selects any.
pub(crate) fn run(workspace: &Workspace, profile: Profile, tests: Tests) -> Result<(), String> {
    let module = wasm::build(workspace, profile)?;
    let web = workspace.root.join("web");
    let dist = web.join("dist");
    let failed = |error: std::io::Error| format!("{}: {error}", dist.display());
    std::fs::create_dir_all(&dist).map_err(failed)?;
    std::fs::copy(&module, dist.join("gradus.wasm")).map_err(failed)?;
    npm(&web, &["ci", "--no-audit", "--no-fund"], &[])?;
    // The fast module exceeds the size limit of the page, and compressing it takes minutes.
    let script =
        |name: &str| if profile == Profile::Fast { format!("{name}:plain") } else { name.to_string() };
    npm(&web, &["run", &script("build")], &[])?;
    match tests {
        Tests::No => Ok(()),
        Tests::Possible => npm(&web, &["run", "check"], &[]),
        Tests::Required => npm(&web, &["run", "check"], &[("GRADUS_ORACLES", "required")]),
    }
}

fn npm(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    heading(format_args!("npm {}", arguments.join(" ")));
    let mut npm = Command::new("npm");
    let status = npm.args(arguments).current_dir(folder).envs(environment.iter().copied()).status();
    let status = status.map_err(|error| format!("cannot start npm: {error}; install Node.js"))?;
    if status.success() { Ok(()) } else { Err(format!("npm {} failed ({status})", arguments.join(" "))) }
}
