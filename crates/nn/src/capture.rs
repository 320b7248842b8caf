//! Intermediates by name: what a loss function points out on its way comes back from a compiled step.

use gradus_tensor::Tensor;
use std::cell::RefCell;

thread_local! {
    static CAPTURED: RefCell<Option<Vec<(String, Tensor)>>> = const { RefCell::new(None) };
}

/// Names a value, which compiled steps give back if they are asked for the name ([`Step::captures`](crate::Step::captures)).
/// Anywhere else this does nothing.
pub fn capture(name: &str, value: &Tensor) {
    CAPTURED.with(|c| {
        if let Some(all) = &mut *c.borrow_mut() {
            all.push((name.to_string(), value.clone()));
        }
    });
}

/// What a function gives, and what it captured on the way.
pub(crate) fn capturing<R>(f: impl FnOnce() -> R) -> (R, Vec<(String, Tensor)>) {
    let outer = CAPTURED.with(|c| c.replace(Some(Vec::new())));
    let result = f();
    let own = CAPTURED.with(|c| c.replace(outer));
    (result, own.unwrap_or_default())
}
