//! The command `gradus`.

use gradus_cli::Terminal;
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(gradus_cli::main(std::env::args_os(), &mut Terminal::of_process()))
}
