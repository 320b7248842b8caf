//! Repository tasks. `cargo xtask tidy` checks the laws of the tree, `cargo xtask test` runs every test.

#![forbid(unsafe_code)]

mod arm;
mod arrows;
mod memory;
mod python;
mod suite;
mod tidy;
mod tree;
mod workspace;

use std::process::ExitCode;
use workspace::Workspace;

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  tidy    check the laws of the repository that the compiler does not know
  test    run every check and test there is, cheapest first
  memory  run the crates that touch raw memory under Miri and AddressSanitizer (nightly toolchain), no part of `test`
  arm     run the CPU device's tests on 64-bit ARM, emulated by qemu-aarch64, no part of `test`
  python  build the Python package's wheel and run its tests, a part of `test`
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let task: fn(&Workspace) -> Result<(), String> = match arguments[..] {
        [] | ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        ["tidy"] => tidy::run,
        ["test"] => suite::run,
        ["memory"] => memory::run,
        ["arm"] => arm::run,
        ["python"] => python::run,
        _ => {
            eprintln!("xtask: unknown command `{}`\n\n{USAGE}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match Workspace::load().and_then(|workspace| task(&workspace)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
