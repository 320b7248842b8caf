//! Repository tasks. `cargo xtask tidy` checks the rules of the repository, `cargo xtask test` runs every
//! test.

#![forbid(unsafe_code)]

mod arm;
mod arrows;
mod docs;
mod heading;
mod memory;
mod mutants;
mod python;
mod suite;
mod swiftshader;
mod targets;
mod tidy;
mod toolchain;
mod tree;
mod wasm;
mod web;
mod workspace;

use std::process::ExitCode;
use workspace::Workspace;

/// Options of `cargo xtask test`.
pub(crate) struct Options {
    /// Install the packages that tests compare with, and fail if a comparison is skipped.
    pub(crate) oracles: bool,
    /// Run the long forms of tests that have a short one.
    pub(crate) full: bool,
    /// Test the browser package and its page in Chromium, and fail if that is not possible.
    pub(crate) browser: bool,
}

/// A command, ready to run.
type Task = Box<dyn Fn(&Workspace) -> Result<(), String>>;

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  tidy    check rules of the repository that the compiler does not check
  test    run every check and test, cheapest first
            --oracles  install PyTorch and the other packages that tests compare with; a skipped comparison is a failure
            --full     all samples of the test kit and all random graphs, instead of their short forms
            --browser  also test the browser package and its page in Chromium, which takes about 10 minutes
  docs    build the book into target/book, with its pictures and the op reference, a part of `test`
  memory  run the crates that touch raw memory under Miri and AddressSanitizer (nightly toolchain), not part of `test`
  arm     run the CPU device's tests on 64-bit ARM, emulated by qemu-aarch64, not part of `test`
  mutants change the source in small ways and report changes that no test detects, not part of `test` (needs
          cargo-mutants)
            [K/N]      mutants K, K + N, K + 2 N … (by default 1/100, about 50 of them)
  swiftshader
          run the tests of WebGPU devices on Chromium's software driver, not part of `test`
  targets type-check the library for macOS and Windows, not part of `test`
  wasm    build the WebAssembly module of the browser package, not part of `test`
  web     build the module, the browser package and its page, not part of `test` (needs Node.js)
            --test     run the tests of the package and of the page in Chromium
            --fast     with --test: a module that is built in a fraction of the time, larger and slower
  python  build the Python package's wheel and run its tests, a part of `test` [--oracles]
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let has = |option: &str| arguments.contains(&option);
    let options = Options { oracles: has("--oracles"), full: has("--full"), browser: has("--browser") };
    let task: Task = match arguments[..] {
        [] | ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        ["tidy"] => Box::new(tidy::run),
        ["test", ref rest @ ..] if rest.iter().all(|r| ["--oracles", "--full", "--browser"].contains(r)) => {
            Box::new(move |workspace| suite::run(workspace, &options))
        }
        ["docs"] => Box::new(docs::run),
        ["memory"] => Box::new(memory::run),
        ["arm"] => Box::new(arm::run),
        ["mutants"] => Box::new(|workspace| mutants::run(workspace, None)),
        ["mutants", shard] => {
            let shard = shard.to_owned();
            Box::new(move |workspace| mutants::run(workspace, Some(&shard)))
        }
        ["swiftshader"] => Box::new(swiftshader::run),
        ["targets"] => Box::new(targets::run),
        ["wasm"] => Box::new(wasm::run),
        ["web"] => Box::new(|workspace| web::run(workspace, wasm::Profile::Small, web::Tests::No)),
        ["web", "--test"] => {
            Box::new(|workspace| web::run(workspace, wasm::Profile::Small, web::Tests::Possible))
        }
        ["web", "--test", "--fast"] => {
            Box::new(|workspace| web::run(workspace, wasm::Profile::Fast, web::Tests::Possible))
        }
        ["python"] | ["python", "--oracles"] => {
            Box::new(move |workspace| python::run(workspace, options.oracles))
        }
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
