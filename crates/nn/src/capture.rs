//! Captures intermediates by name: values that a loss function names are returned by a compiled step.

use gradus_tensor::Tensor;
use std::cell::RefCell;

thread_local! {
    static CAPTURED: RefCell<Option<Vec<(String, Tensor)>>> = const { RefCell::new(None) };
}

/// Names a value. Compiled steps return it if the name was requested
/// ([`Step::captures`](crate::Step::captures)). Has no effect elsewhere.
pub fn capture(name: &str, value: &Tensor) {
    CAPTURED.with(|c| {
        if let Some(all) = &mut *c.borrow_mut() {
            all.push((name.to_string(), value.clone()));
        }
    });
}

/// Runs a function. Returns its result, and the values it captured.
pub(crate) fn record_captures<R>(f: impl FnOnce() -> R) -> (R, Vec<(String, Tensor)>) {
    let outer = CAPTURED.with(|c| c.replace(Some(Vec::new())));
    let result = f();
    let own = CAPTURED.with(|c| c.replace(outer));
    (result, own.unwrap_or_default())
}
