//! Checks of one graph at one point, each a function that returns a failure.
//!
//! | check | claim | within |
//! |---|---|---|
//! | [`types`] | the graph verifies, and evaluates to values of the types it infers | exact |
//! | [`text`] | printing and parsing returns the same graph, also for its derivatives | exact |
//! | [`jvp`] | forward mode = central differences, all operands together and each alone | 1e-7 |
//! | [`adjoint`] | `⟨c, J t⟩ = ⟨Jᵀc, t⟩`, each gradient of its operand's type | 1e-11 |
//! | [`second`] | `jvp` and `adjoint` on the vjp graph; forward over reverse = forward over forward = reverse over forward | same |
//! | [`third`] | `jvp` and `adjoint` on the jvp graph of the vjp graph, where smooth | same |
//! | [`batch`] | `vmap` over every subset of inputs = a loop; `vmap` of the vjp = the vjp of `vmap` = a loop | 1e-12 |
//! | [`dtypes`] | in every dtype the ops take, values and derivatives have the types they infer | exact |
//! | [`narrow`] | an evaluation in every dtype is within the declared bound ([`device`]) | declared |

mod batch;
mod derivative;
mod device;
mod second;
mod types;

pub use batch::batch;
pub use derivative::{adjoint, jvp};
pub use device::{Evaluator, Floats, device, device_with, dtypes, narrow};
pub use second::{second, third};
pub use types::{text, types};

use crate::Failure;
use gradus_ir::graph::literal_text;
use gradus_ir::{Aval, Graph, Literal, Result as IrResult};

/// A check of a graph at these inputs; `smooth` is true where finite differences are valid.
pub type Check = fn(&Graph, &[Literal], bool) -> Result<(), Failure>;

/// Every check with its name, cheapest first.
pub const ALL: &[(&str, Check)] = &[
    ("types", types),
    ("text", text),
    ("jvp", jvp),
    ("adjoint", adjoint),
    ("second", second),
    ("third", third),
    ("batch", batch),
    ("dtypes", dtypes),
    ("narrow", narrow),
];

/// Runs every check of a graph at these inputs, up to the first that fails.
pub fn all(graph: &Graph, inputs: &[Literal], smooth: bool) -> Result<(), Failure> {
    ALL.iter()
        .try_for_each(|(_, check)| check(graph, inputs, smooth))
        .map_err(|f| f.of(describe(graph, inputs)))
}

/// Formats the graph and its inputs for messages.
pub fn describe(graph: &Graph, inputs: &[Literal]) -> String {
    let inputs: Vec<String> = inputs.iter().map(literal_text).collect();
    format!("{graph}at {}", inputs.join(", "))
}

/// Returns the indices of the differentiable values.
fn differentiable(avals: &[Aval]) -> Vec<usize> {
    (0..avals.len()).filter(|&i| avals[i].dtype.is_differentiable()).collect()
}

/// Returns each index alone, then all of them together.
fn subsets(wrt: &[usize]) -> Vec<(Vec<usize>, Option<usize>)> {
    let mut subsets: Vec<_> = wrt.iter().map(|&i| (vec![i], Some(i))).collect();
    if wrt.len() > 1 {
        subsets.push((wrt.to_vec(), None));
    }
    subsets
}

/// Returns the largest epsilon of any float dtype in the graph: no comparison can be more precise.
fn precision(graph: &Graph) -> f64 {
    let values = graph.nodes().iter().flat_map(|n| &n.outs);
    values.map(|a| a.dtype.epsilon()).fold(f64::EPSILON, f64::max)
}

/// Returns the value of a result, or a failure of the check.
fn require<T>(check: &str, what: &str, result: IrResult<T>) -> Result<T, Failure> {
    result.map_err(|e| Failure::new(check, what, format!("error: {e}")))
}

/// Returns a failure if types are not the expected ones.
fn same_types(check: &str, what: &str, expected: &[Aval], found: &[Literal]) -> Result<(), Failure> {
    let found: Vec<Aval> = found.iter().map(|l| l.aval().clone()).collect();
    if found == expected {
        Ok(())
    } else {
        Err(Failure::new(check, format!("{what} of types {expected:?}"), format!("{found:?}")))
    }
}
