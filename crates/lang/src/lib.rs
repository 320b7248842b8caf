//! The equation language: programs of tensor equations, parsed, checked, run, and differentiated into programs.
#![forbid(unsafe_code)]

// Each folder imports only earlier ones: syntax, program, rules, builtin, elaborate, check, differentiate, solve, lower, raise,
// run. `tests/folders.rs` checks this.
mod builtin;
mod check;
mod differentiate;
mod elaborate;
mod lower;
mod program;
mod raise;
mod rules;
mod run;
mod solve;
mod syntax;

pub use builtin::{ABSENT, Family, aliases, builtins, families};
pub use check::Settings;
pub use differentiate::{Gradient, GradientOptions};
pub use program::{
    Column, Definition, Faults, File, Loader, Local, NoImports, Param, Program, Table, Tables,
};
pub use raise::raise;
pub use run::{Lowered, Unsound};
pub use solve::{Facts, Symbols};
pub use syntax::ast;
pub use syntax::diagnostic::{Diagnostic, Result, Severity};
pub use syntax::format::format;
pub use syntax::parse::parse_query;
pub use syntax::source::{Source, Span};
