//! Limits on the size of programs and values. Beyond these, a program is refused with an error message before it
//! exhausts the machine.

use gradus_ir::{Error, Result};
use gradus_tensor::Tensor;

/// The most elements of one value.
pub(crate) const MAX_ELEMENTS: usize = 1 << 28;
/// The maximum number of index combinations in one contraction; the product of two matrices of 10 000 × 10 000
/// elements is just below this limit.
pub(crate) const MAX_WORK: u64 = 1 << 40;
/// The most calls of its own functions that a program may make: nested calls multiply.
pub(crate) const MAX_CALLS: usize = 100_000;
/// The maximum number of ops in the graph of a function whose vjp is taken. Higher derivatives (`tanh_grad_grad`)
/// multiply the number of ops each time.
pub(crate) const MAX_OPERATIONS: usize = 1 << 16;
/// The maximum total number of elements of the relations that one `Closure` op solves. Larger groups of rules are
/// solved with tensor contractions.
pub(crate) const MAX_FACTS: usize = 1 << 26;
/// The largest number of iterations that a program may set for a fixpoint (`rounds`).
pub(crate) const MAX_ROUNDS: usize = 1_000_000;
/// The default limit on the number of steps of a virtual time that ends by a condition.
pub(crate) const MAX_STEPS: usize = 1_000_000;
/// The most `_grad` suffixes of a name: each nests one derivative on the stack.
pub(crate) const MAX_GRADS: usize = 64;

/// Returns an error if a value of these extents is too large.
pub(crate) fn fits(extents: &[usize]) -> Result<()> {
    let count = extents.iter().try_fold(1usize, |n, e| n.checked_mul(*e));
    // An empty value fits even if the product of the other extents overflows.
    if extents.contains(&0) || count.is_some_and(|n| n <= MAX_ELEMENTS) {
        return Ok(());
    }
    let each: Vec<String> = extents.iter().map(usize::to_string).collect();
    let why = format!("exceeds the limit of {MAX_ELEMENTS}");
    Err(Error::value(format!("a value of {} elements", each.join("×")), why))
}

/// Makes a tensor, unless these extents are too large.
pub(crate) fn bounded(extents: &[usize], make: impl FnOnce() -> Tensor) -> Tensor {
    fits(extents).map_or_else(Tensor::failed, |()| make())
}
