//! How large things may become. Beyond, a program is refused with words instead of taking the machine along.

use gradus_ir::{Error, Result};
use gradus_tensor::Tensor;

/// How many elements one value may have.
pub(crate) const MOST_ELEMENTS: usize = 1 << 28;
/// How many combinations of indices one contraction may run over: a product of matrices of ten thousand rows.
pub(crate) const MOST_WORK: u64 = 1 << 40;
/// How many calls of its own functions a program may make: calls of calls grow fast.
pub(crate) const MOST_CALLS: usize = 100_000;
/// How many operations a function may have to be differentiated once more: derivatives of derivatives (`tanh_grad_grad`)
/// grow by a factor each time.
pub(crate) const MOST_OPERATIONS: usize = 1 << 16;
/// How many places the relations of rules may have together to be looked at fact by fact.
pub(crate) const MOST_FACTS: usize = 1 << 26;
/// How many rounds a fixpoint may be allowed.
pub(crate) const MOST_ROUNDS: usize = 1_000_000;
/// How many steps a time may take that ends by a condition, unless it is said.
pub(crate) const MOST_STEPS: usize = 1_000_000;
/// How many times `_grad` may follow a name: so deep derivatives nest on the stack.
pub(crate) const MOST_GRADS: usize = 64;

/// Whether a value of these extents may be.
pub(crate) fn fits(extents: &[usize]) -> Result<()> {
    let count = extents.iter().try_fold(1usize, |n, e| n.checked_mul(*e));
    // Whatever the other extents are, nothing is no element at all.
    if extents.contains(&0) || count.is_some_and(|n| n <= MOST_ELEMENTS) {
        return Ok(());
    }
    let each: Vec<String> = extents.iter().map(usize::to_string).collect();
    let why = format!("has more elements than the {MOST_ELEMENTS} that are allowed");
    Err(Error::value(format!("a value of {} places", each.join("×")), why))
}

/// A tensor of these extents, unless they are too large.
pub(crate) fn bounded(extents: &[usize], make: impl FnOnce() -> Tensor) -> Tensor {
    fits(extents).map_or_else(Tensor::failed, |()| make())
}
