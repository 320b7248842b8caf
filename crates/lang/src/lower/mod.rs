//! Lowering: Core to a graph. `eval` evaluates one equation, `solver` all of them in dependency order.

mod before;
pub(crate) mod eval;
pub(crate) mod solver;
mod verdict;
