//! The tests of the equation language, in one binary: linking many takes longer than running them.

mod branches;
mod builtins;
mod common;
mod core;
mod corpus;
mod diagnostics;
mod failures;
mod folders;
mod format;
mod fuzz;
mod gradients;
mod kinds;
mod language;
mod many;
mod names;
mod raise;
mod relations;
mod rules;
mod seed;
mod sizes;
mod times;

// Private modules, compiled here with their unit tests. Unit tests in the library would compile all of it
// twice.
#[allow(dead_code, unreachable_pub)]
#[path = "../src/rules/mod.rs"]
mod closure_of_rules;
#[allow(dead_code, unreachable_pub)]
#[path = "../src/solve/trie.rs"]
mod trie;
