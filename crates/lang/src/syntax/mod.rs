//! Text and the surface tree: tokens, parser, printer and formatter, with locations and error messages.

pub mod ast;
pub(crate) mod diagnostic;
pub(crate) mod format;
pub(crate) mod indices;
pub(crate) mod limit;
pub(crate) mod names;
pub(crate) mod order;
pub(crate) mod parse;
pub(crate) mod print;
pub(crate) mod source;
pub(crate) mod token;
