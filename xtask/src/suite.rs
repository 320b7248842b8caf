//! `cargo xtask test`: runs every check and test, cheapest first, and stops after the first step that fails.

use crate::heading::heading;
use crate::wasm::Profile;
use crate::web::{self, Tests};
use crate::workspace::{Workspace, cargo};
use crate::{Options, docs, python, tidy};
use std::process::Command;

/// The package whose examples are programs for readers; each must run to completion.
const FACADE: &str = "gradus";

/// A program that declares ops as a user's crate does, with the facade as its only dependency.
const USER: &str = "user_primitive";

/// Instruction sets to test in addition to the best one of the processor.
const LESSER: &[&str] = if cfg!(target_arch = "x86_64") { &["portable", "avx2"] } else { &["portable"] };

/// Runs the complete suite.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), String> {
    let mut kit: Vec<(&str, &str)> = if options.full { vec![("GRADUS_KIT", "full")] } else { Vec::new() };
    step(workspace, "fmt --all --check")?;
    heading(format_args!("tidy"));
    tidy::run(workspace)?;
    let (nvrtc, weights);
    let oracles = std::thread::scope(|scope| {
        // Installed while the lints run: it mostly waits for the network and the disk.
        let oracles = options.oracles.then(|| scope.spawn(|| oracles(workspace)));
        step(workspace, "clippy --workspace --all-targets -- -D warnings")?;
        step_with(workspace, "doc --quiet --workspace --no-deps", &[("RUSTDOCFLAGS", "-D warnings")])?;
        let joined = oracles.map(|thread| thread.join().map_err(|_| "the installation panicked".to_owned()));
        joined.transpose()?.transpose()
    })?;
    if let Some(found) = oracles {
        (nvrtc, weights) = found;
        kit.extend([("GRADUS_ORACLES", "required"), ("GRADUS_NVRTC", &nvrtc), ("GRADUS_WEIGHTS", &weights)]);
    }
    // The lints above build the benchmarks; no test runs them.
    step_with(workspace, "test --no-fail-fast --workspace --exclude gradus-bench --tests", &kit)?;
    step(workspace, "test --workspace --exclude gradus-bench --doc")?; // not included in the line above
    for &isa in LESSER {
        // With all packages, so that none is rebuilt with other features; the filters select tests by their
        // modules.
        let tests = "test --quiet --workspace --exclude gradus-bench --test tests -- cpu:: executable::";
        step_with(workspace, tests, &[("GRADUS_ISA", isa)])?;
    }
    // Use the features of the tests, so that dependencies are not rebuilt.
    step(workspace, &format!("build --workspace --exclude gradus-bench --examples --bin {USER}"))?;
    for package in workspace.packages.iter().filter(|package| package.name == FACADE) {
        for example in &package.examples {
            run_example(workspace, &format!("examples/{example}"))?;
        }
    }
    run_example(workspace, USER)?;
    docs::run(workspace)?;
    python::run(workspace, options.oracles)?;
    if options.browser {
        web::run(workspace, Profile::Fast, Tests::Required)?;
    }
    heading(format_args!("all passed"));
    Ok(())
}

/// Installs the packages that tests compare with. Returns the paths of NVRTC and of the folder of weights.
fn oracles(workspace: &Workspace) -> Result<(String, String), String> {
    let python = python::environment(workspace, true)?;
    Ok((python::nvrtc(&python).unwrap_or_default(), python::weights(workspace, &python)?))
}

/// Runs a program that was built before. `cargo run` would rebuild dependencies with fewer features.
fn run_example(workspace: &Workspace, name: &str) -> Result<(), String> {
    heading(format_args!("example {name}"));
    let program = workspace.target.join("debug").join(name);
    let status = Command::new(&program).current_dir(&workspace.root).status();
    match status.map_err(|error| format!("cannot start {}: {error}", program.display()))? {
        status if status.success() => Ok(()),
        status => Err(format!("example {name} failed ({status})")),
    }
}

fn step(workspace: &Workspace, arguments: &str) -> Result<(), String> {
    step_with(workspace, arguments, &[])
}

fn step_with(workspace: &Workspace, arguments: &str, environment: &[(&str, &str)]) -> Result<(), String> {
    let set: String = environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    heading(format_args!("{set}cargo {arguments}"));
    let status = cargo()
        .args(arguments.split(' '))
        .current_dir(&workspace.root)
        .envs(environment.iter().copied())
        .env_remove("RUST_BACKTRACE") // so that messages do not depend on the environment
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`cargo {arguments}` failed ({status})")) }
}
