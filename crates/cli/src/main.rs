//! The command `gradus`.

use gradus_cli::Terminal;
use std::process::ExitCode;

fn main() -> ExitCode {
    let code = gradus_cli::main(std::env::args_os(), &mut Terminal::of_process());
    gradus::Device::finish_all();
    ExitCode::from(code)
}
