//! `cargo xtask tidy`: checks rules of the repository that the compiler does not check.
//!
//! A rule is a function from the tree to its violations; `RULES` lists those that are enabled.

mod book;
mod catalog;
mod documents;
mod layout;
pub(crate) mod mask;
mod modules;
mod openings;
mod retired;
mod safety;
mod words;

use crate::arrows;
use crate::tree::{Tree, Violation};
use crate::workspace::Workspace;

const RULES: &[fn(&Tree) -> Vec<Violation>] = &[
    arrows::check,
    layout::module_docs,
    layout::length,
    modules::tests,
    modules::unit_tests,
    words::forbidden,
    words::panics,
    words::machine_paths,
    openings::openings,
    retired::retired,
    safety::confined,
    safety::reasons,
    safety::invariants,
    catalog::unlisted,
    catalog::matches,
    book::complete,
    documents::present,
    documents::links,
];

/// Prints every violation as `path:line: rule: advice`, and fails if there is one.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let tree = Tree::read(workspace)?;
    let mut found: Vec<Violation> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    found.sort();
    for violation in &found {
        println!("{violation}");
    }
    match found.len() {
        0 => Ok(()),
        1 => Err("tidy found 1 violation".to_owned()),
        many => Err(format!("tidy found {many} violations")),
    }
}
