//! Gradient hooks: functions that receive the gradient of a tensor in a backward pass and may replace it.
//! `backward.rs` and `leaves.rs` call them; `cell.rs` and `tape.rs` store them.

use crate::eager::tape::lock;
use crate::tensor::{Inner, Tensor};
use gradus_ir::{Error, Result, message};
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

type Function = dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync;

/// An object that a hook's function refers to, for a garbage collector that looks for cycles through hooks.
pub type Payload = Arc<dyn Any + Send + Sync>;

/// A hook function with a flag that is true until the hook is removed.
#[derive(Clone)]
pub(crate) struct Hook {
    function: Arc<Function>,
    active: Arc<AtomicBool>,
    payload: Option<Payload>,
}

/// Number of hooks added to leaves, plus the number of hooks removed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Returns a counter that changes when a hook of a leaf is added or a hook is removed.
pub fn hooks_changed() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// A handle of a hook, which can remove it.
pub struct HookHandle(Arc<AtomicBool>);

impl HookHandle {
    /// Removes the hook: it is not called again.
    pub fn remove(&self) {
        self.0.store(false, Ordering::Relaxed);
        CHANGES.fetch_add(1, Ordering::Relaxed);
    }
}

/// Passes a gradient through hooks, in the order of registration.
pub(crate) fn run_hooks<'h>(hooks: impl Iterator<Item = &'h Hook>, mut gradient: Tensor) -> Result<Tensor> {
    for hook in hooks.filter(|h| h.active.load(Ordering::Relaxed)) {
        let Some(new) = (hook.function)(&gradient)? else { continue };
        if new.check()?.aval() != gradient.aval() {
            let why = message!("does not fit: the gradient is ", gradient.aval());
            let e = Error::shape(message!("a hook's result of type ", new.aval()), why);
            return Err(e.in_op("register_hook", &[]));
        }
        gradient = new;
    }
    Ok(gradient)
}

impl Tensor {
    /// Returns addresses that identify the active hooks of this leaf.
    pub fn hooks(&self) -> Vec<usize> {
        let hooks = self.as_cell().map_or_else(Vec::new, |cell| cell.hooks());
        let active = hooks.iter().filter(|h| h.active.load(Ordering::Relaxed));
        active.map(|h| Arc::as_ptr(&h.active) as usize).collect()
    }

    /// Returns the name of the operation that produced this tensor, if it was recorded.
    pub fn made_by(&self) -> Option<String> {
        match &*self.0 {
            Inner::Data(_, Some(edge)) => Some(edge.node.plan.name.to_string()),
            _ => None,
        }
    }

    /// Calls `f` with the gradient of this tensor in every backward pass that reaches it. A returned tensor
    /// replaces the gradient. For a leaf, `f` receives the complete gradient of a pass, before it is added.
    ///
    /// ```
    /// use gradus_tensor::{All, Tensor};
    /// let x = Tensor::from([1.0f32, 2.0]).requires_grad_();
    /// let y = &x * 3.0;
    /// y.register_hook(|g| Ok(Some(g * 10.0))).unwrap();
    /// y.sum(All).backward().unwrap();
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [30.0, 30.0]);
    /// ```
    #[track_caller]
    pub fn register_hook(
        &self,
        function: impl Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> Result<HookHandle> {
        self.register_hook_with(None, function)
    }

    /// Calls `visit` with the payload of each hook that only this handle keeps alive. Skips hooks that
    /// another tensor or recorded operation keeps alive, and tensors that another thread has locked.
    pub fn visit_own_hooks(&self, visit: &mut dyn FnMut(&Payload)) {
        if !self.0.is_unique() {
            return;
        }
        match &*self.0 {
            Inner::Data(_, Some(edge)) if edge.node.is_unique() => {
                if let Ok(state) = edge.node.state.try_lock() {
                    let hooks = state.watched.iter().flat_map(|w| &w.hooks);
                    hooks.filter_map(|(_, hook)| hook.payload.as_ref()).for_each(visit);
                }
            }
            Inner::Cell(cell) => {
                cell.visit_unshared_hooks(&mut |hook| hook.payload.iter().for_each(&mut *visit))
            }
            _ => {}
        }
    }

    /// As [`register_hook`](Tensor::register_hook), with the object that the function refers to.
    #[track_caller]
    pub fn register_hook_with(
        &self,
        payload: Option<Payload>,
        function: impl Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> Result<HookHandle> {
        let active = Arc::new(AtomicBool::new(true));
        let hook = Hook { function: Arc::new(function), active: active.clone(), payload };
        match &*self.check()?.0 {
            Inner::Data(_, Some(edge)) => {
                lock(&edge.node.state).watched.get_or_insert_default().hooks.push((edge.out, hook));
            }
            Inner::Cell(cell) if cell.requires_grad() => {
                cell.hook(hook);
                CHANGES.fetch_add(1, Ordering::Relaxed);
            }
            Inner::Node(n) if n.requires_grad() => n.hook(hook),
            _ => {
                let why = "a hook needs a tensor that requires gradients";
                return Err(Error::gradient(why).at(Location::caller()));
            }
        }
        Ok(HookHandle(active))
    }
}
