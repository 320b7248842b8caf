//! Hooks: functions that see the gradient of a tensor in a backward pass, and may put another in its place.

use crate::tape::lock;
use crate::tensor::{Inner, Tensor};
use gradus_ir::{Error, Result};
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

type Function = dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync;

/// An object that a hook's function refers to, for a garbage collector that looks for cycles through hooks.
pub type Payload = Arc<dyn Any + Send + Sync>;

/// A function, and whether it is still wanted.
#[derive(Clone)]
pub(crate) struct Hook {
    function: Arc<Function>,
    on: Arc<AtomicBool>,
    payload: Option<Payload>,
}

/// Counts hooks of leaves that came or went.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Moves whenever a hook of a leaf has come or a hook has gone.
pub fn hooks_changed() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// Takes a hook away again.
pub struct HookHandle(Arc<AtomicBool>);

impl HookHandle {
    /// From now on the hook is not called.
    pub fn remove(&self) {
        self.0.store(false, Ordering::Relaxed);
        CHANGES.fetch_add(1, Ordering::Relaxed);
    }
}

/// A gradient as hooks leave it, in the order in which they came.
pub(crate) fn seen_by<'h>(hooks: impl Iterator<Item = &'h Hook>, mut gradient: Tensor) -> Result<Tensor> {
    for hook in hooks.filter(|h| h.on.load(Ordering::Relaxed)) {
        let Some(new) = (hook.function)(&gradient)? else { continue };
        if new.check()?.aval() != gradient.aval() {
            let found = new.aval().map_or_else(String::new, |a| a.to_string());
            let fits = gradient.aval().map_or_else(String::new, |a| a.to_string());
            let why = format!("does not fit: the gradient is {fits}");
            let e = Error::shape(format!("a hook's result of type {found}"), why);
            return Err(e.in_op("register_hook", &[]));
        }
        gradient = new;
    }
    Ok(gradient)
}

impl Tensor {
    /// Tells apart which hooks this leaf has.
    pub fn hooks(&self) -> Vec<usize> {
        let hooks = self.as_cell().map_or_else(Vec::new, |cell| cell.hooks());
        let on = hooks.iter().filter(|h| h.on.load(Ordering::Relaxed));
        on.map(|h| Arc::as_ptr(&h.on) as usize).collect()
    }

    /// The operation that made this tensor, if it was recorded.
    pub fn made_by(&self) -> Option<String> {
        match &*self.0 {
            Inner::Data(_, Some(edge)) => Some(edge.node.plan.name.to_string()),
            _ => None,
        }
    }

    /// Calls a function with the gradient of this tensor in every backward pass that reaches it; what it gives, if
    /// anything, goes on in its place. Of a leaf it sees the whole gradient of a pass, before it is added.
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

    /// Calls `visit` with the payload of each hook that is kept alive by this handle alone, and by no other tensor or recorded
    /// operation. A hook that others keep alive, or whose tensor is in use by another thread, is passed over.
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
            Inner::Cell(cell) => cell.own_hooks(&mut |hook| hook.payload.iter().for_each(&mut *visit)),
            _ => {}
        }
    }

    /// As [`register_hook`](Tensor::register_hook), with what the function refers to.
    #[track_caller]
    pub fn register_hook_with(
        &self,
        payload: Option<Payload>,
        function: impl Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> Result<HookHandle> {
        let on = Arc::new(AtomicBool::new(true));
        let hook = Hook { function: Arc::new(function), on: on.clone(), payload };
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
                let why = "a tensor that requires no gradient has none that a hook could see";
                return Err(Error::gradient(why).at(Location::caller()));
            }
        }
        Ok(HookHandle(on))
    }
}
