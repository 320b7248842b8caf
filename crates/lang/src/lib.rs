//! The equation language: programs of tensor equations, parsed, checked, run, and differentiated into programs.
#![forbid(unsafe_code)]

pub mod ast;
mod builtin;
mod core;
mod diagnostic;
mod elaborate;
mod eval;
mod format;
mod given;
mod gradient;
mod limit;
mod named;
mod names;
mod order;
mod parse;
mod print;
mod program;
mod raise;
mod relations;
mod rules;
mod run;
mod scope;
mod solve;
mod source;
mod time;
mod token;
mod verdict;
mod written;

pub use builtin::{ABSENT, Family, aliases, builtins, families};
pub use diagnostic::{Diagnostic, Result, Severity};
pub use format::format;
pub use gradient::{Gradient, GradientOptions};
pub use parse::parse_query;
pub use program::{Definition, Faults, File, Loader, Local, NoImports, Param, Program, Unsound};
pub use raise::raise;
pub use relations::{Column, Facts, Symbols, Table, Tables};
pub use run::{Lowered, Settings};
pub use source::{Source, Span};
