//! Cells: leaves whose value can be replaced.
//!
//! Model parameters, optimizer state, running statistics and the random generator are cells. Reading a cell
//! returns its current value; later swaps do not change what was read. The version counts swaps, so that a
//! backward pass can reject a value that was replaced after it was recorded.

use crate::data::Data;
use crate::device::Device;
use crate::hook::Hook;
use crate::tensor::{Inner, Tensor};
use gradus_ir::{Aval, DType, Error, Result, Term, message};
use gradus_mem::Handle;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

/// A handle to a cell. A `detached` handle does not take part in autograd.
#[derive(Clone)]
pub(crate) struct Cell {
    shared: Handle<Shared>,
    detached: bool,
}

/// Largest value, in elements, that is processed under the cell's lock.
const MAX_UNDER_LOCK: usize = 2048;

struct Shared {
    state: Mutex<State>,
    /// Notified when a compiled step returns the value, if threads wait for it.
    returned: Condvar,
    /// Changed only while the state is locked.
    version: AtomicU64,
    requires_grad: AtomicBool,
}

struct State {
    value: Tensor,
    grad: Option<Tensor>,
    /// Boxed, because it is rarely present.
    extra: Option<Box<Extra>>,
    /// Set while a compiled step has taken the value.
    taken: Option<Taken>,
    /// Number of threads that wait for the value.
    waiting: usize,
}

/// A value that a compiled step has taken.
struct Taken {
    /// The thread of the step.
    by: ThreadId,
    aval: Aval,
    device: Device,
}

/// Properties that few cells have.
#[derive(Default)]
struct Extra {
    hooks: Vec<Hook>,
    /// Name of the input that the cell becomes in a traced graph.
    name: Option<Arc<str>>,
}

impl State {
    /// Returns true if a compiled step of another thread has taken the value.
    fn is_taken_by_other(&self) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.by != thread::current().id())
    }
}

/// A function that calls the closure it receives. The closure blocks until a value is available.
type BlockingWait = fn(&mut (dyn FnMut() + Send));

static RUN_BLOCKING: OnceLock<BlockingWait> = OnceLock::new();

/// Sets the function that threads call to wait for a cell. The function may release locks that the owner of
/// the value needs, such as Python's GIL. Only the first call has an effect.
pub fn wait_with(run_blocking: BlockingWait) {
    let _ = RUN_BLOCKING.set(run_blocking);
}

impl Cell {
    /// Creates a cell with this value.
    pub(crate) fn new(value: Tensor, requires_grad: bool) -> Cell {
        let state = State { value, grad: None, extra: None, taken: None, waiting: 0 };
        let (version, requires_grad) = (AtomicU64::new(0), AtomicBool::new(requires_grad));
        let shared = Shared { state: Mutex::new(state), returned: Condvar::new(), version, requires_grad };
        Cell { shared: Handle::new(shared), detached: false }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn aval(&self) -> Aval {
        let state = self.state();
        let known = state.taken.as_ref().map(|taken| taken.aval.clone()).or_else(|| state.value.aval());
        // A cell never holds a failure, so its value always has a type.
        known.unwrap_or_else(|| Aval::scalar(gradus_ir::DType::F32))
    }

    /// Returns the value. Waits while a compiled step of another thread has taken it.
    pub(crate) fn value(&self) -> Tensor {
        self.lock_value().value.clone()
    }

    /// Returns the value, or `None` if a compiled step of another thread has taken it.
    pub(crate) fn value_now(&self) -> Option<Tensor> {
        let state = self.state();
        (!state.is_taken_by_other()).then(|| state.value.clone())
    }

    /// Waits until no other thread has taken the value.
    pub(crate) fn wait(&self) {
        let mut wait = || {
            let mut state = self.state();
            state.waiting += 1;
            let until = self.shared.returned.wait_while(state, |state| state.is_taken_by_other());
            until.unwrap_or_else(PoisonError::into_inner).waiting -= 1;
        };
        match RUN_BLOCKING.get() {
            Some(run_blocking) => run_blocking(&mut wait),
            None => wait(),
        }
    }

    /// Calls `f` with the value as data. Passes a small value under the lock, which is faster than cloning its
    /// handle; `f` must therefore not access the cell.
    pub(crate) fn with_value<R>(&self, f: impl FnOnce(&Data) -> Option<R>) -> Option<R> {
        let state = self.state();
        let data = state.value.as_data()?;
        if data.aval.shape.numel() <= MAX_UNDER_LOCK {
            return f(data);
        }
        let value = state.value.clone();
        drop(state);
        f(value.as_data()?)
    }

    /// Returns the device of the value.
    pub(crate) fn device(&self) -> Device {
        let state = self.state();
        let taken = state.taken.as_ref().map(|taken| taken.device);
        // A cell never holds a failure, so its value always has a device.
        taken.or_else(|| state.value.as_data().map(Data::device)).unwrap_or(Device::CPU)
    }

    /// Moves the value, and its gradient, to a device.
    pub(crate) fn move_to(&self, device: Device) -> Result<()> {
        if crate::trace::is_tracing() {
            return Err(Error::trace(message!(
                Term::Cell,
                " cannot move to another device inside a traced function; move it before tracing"
            )));
        }
        loop {
            let before = self.value();
            let data = before.concrete()?.to(device)?;
            let grad = self.grad().map(|g| g.to(device));
            if let Some(e) = grad.as_ref().and_then(Tensor::error) {
                return Err(e.clone());
            }
            let mut state = self.lock_value();
            // Skips the write if a compiled step has changed the value meanwhile.
            if state.value.is_same(&before) {
                state.grad = grad;
                self.put(state, data, true);
                return Ok(());
            }
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.shared.version.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn requires_grad(&self) -> bool {
        self.shared.requires_grad.load(Ordering::Relaxed) && !self.detached
    }

    pub(crate) fn is_same(&self, other: &Cell) -> bool {
        self.shared.ptr_eq(&other.shared)
    }

    /// Returns an address that identifies the cell.
    pub(crate) fn addr(&self) -> usize {
        self.shared.addr()
    }

    pub(crate) fn detached(&self) -> Cell {
        Cell { detached: true, ..self.clone() }
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.detached
    }

    /// Returns a handle that takes part in autograd.
    pub(crate) fn attached(&self) -> Cell {
        Cell { detached: false, ..self.clone() }
    }

    pub(crate) fn grad(&self) -> Option<Tensor> {
        self.state().grad.clone()
    }

    /// Adds a hook that receives gradients before they are stored.
    pub(crate) fn hook(&self, hook: Hook) {
        self.state().extra.get_or_insert_default().hooks.push(hook);
    }

    pub(crate) fn hooks(&self) -> Vec<Hook> {
        self.state().extra.as_ref().map_or_else(Vec::new, |extra| extra.hooks.clone())
    }

    fn set_name(&self, name: &str) {
        self.state().extra.get_or_insert_default().name = Some(name.into());
    }

    pub(crate) fn name(&self) -> Option<Arc<str>> {
        self.state().extra.as_ref()?.name.clone()
    }

    /// Visits the hooks, if this is the only handle and no other thread has locked the cell.
    pub(crate) fn visit_unshared_hooks(&self, visit: &mut dyn FnMut(&Hook)) {
        if self.shared.is_unique()
            && let Ok(state) = self.shared.state.try_lock()
        {
            state.extra.iter().flat_map(|extra| &extra.hooks).for_each(visit);
        }
    }

    pub(crate) fn set_grad(&self, grad: Option<Tensor>) {
        let old = std::mem::replace(&mut self.state().grad, grad);
        drop(old); // outside the lock: dropping may free a long tape
    }

    /// Replaces the gradient if it is still `before`. Returns true if it was replaced.
    pub(crate) fn replace_grad(&self, before: Option<&Tensor>, grad: Option<Tensor>) -> bool {
        let mut state = self.state();
        let same = match (&state.grad, before) {
            (Some(now), Some(before)) => now.is_same(before),
            (now, before) => now.is_none() && before.is_none(),
        };
        if same {
            let old = std::mem::replace(&mut state.grad, grad);
            drop(state);
            drop(old);
        }
        same
    }

    /// Takes the value out of the cell, so that the cell does not share its memory. Returns `None` if another
    /// thread has taken it. Until [`put_back`](Cell::put_back), other threads that read or set the cell wait; the
    /// same thread gets an error.
    pub(crate) fn take(&self) -> Result<Option<Data>> {
        let busy = Error::value(Term::Cell, "is being updated by a compiled step");
        let mut state = self.state();
        if state.is_taken_by_other() {
            return Ok(None);
        }
        let data = state.value.concrete()?;
        let by = thread::current().id();
        state.taken = Some(Taken { by, aval: data.aval.clone(), device: data.device() });
        let shared = std::mem::replace(&mut state.value, Tensor::failed(busy));
        drop(state);
        drop(shared);
        Ok(Some(data))
    }

    /// Puts a value back into the cell after `take`. Increments the version if `changed`.
    pub(crate) fn put_back(&self, data: Data, changed: bool) {
        self.put(self.state(), data, changed);
    }

    fn put(&self, mut state: MutexGuard<'_, State>, data: Data, changed: bool) {
        self.shared.version.fetch_add(changed as u64, Ordering::Release);
        let old = std::mem::replace(&mut state.value, Tensor::data(data));
        state.taken = None;
        if state.waiting > 0 {
            self.shared.returned.notify_all();
        }
        drop(state);
        drop(old);
    }

    /// Swaps the value. The type must be the same. The new value is moved to the device of the old one.
    pub(crate) fn set(&self, value: &Tensor) -> Result<()> {
        let mut data = value.concrete()?;
        loop {
            let state = self.lock_value();
            // This is an error if a compiled step of the same thread has taken the value.
            let own = state.value.concrete()?;
            if data.aval != own.aval {
                return Err(Error::shape(
                    message!("a value of type ", &data.aval),
                    message!("cannot replace ", own.aval),
                ));
            }
            if data.device() == own.device() {
                self.put(state, data, true);
                return Ok(());
            }
            // Copies without the lock. Another thread may move the cell meanwhile.
            drop(state);
            data = data.to(own.device())?;
        }
    }

    /// Replaces the value by the one that `f` returns, under the lock. `f` must be short and must not read a
    /// cell. If `f` returns `None`, nothing changes.
    pub(crate) fn update<R>(&self, f: impl FnOnce(&Data) -> Option<(Data, R)>) -> Option<R> {
        let state = self.lock_value();
        let (data, result) = f(state.value.as_data()?)?;
        self.put(state, data, true);
        Some(result)
    }

    /// Locks the state, after waiting until no other thread has taken the value.
    fn lock_value(&self) -> MutexGuard<'_, State> {
        loop {
            let state = self.state();
            if !state.is_taken_by_other() {
                return state;
            }
            drop(state);
            self.wait();
        }
    }
}

impl Tensor {
    pub(crate) fn as_cell(&self) -> Option<&Cell> {
        if let Inner::Cell(c) = &*self.0 { Some(c) } else { None }
    }

    /// Creates a leaf with this tensor's value, which in-place operations can change.
    #[track_caller]
    pub fn cell(&self) -> Tensor {
        self.leaf(false)
    }

    /// Creates a leaf with this tensor's value, for which [`backward`](Tensor::backward) accumulates
    /// gradients.
    #[track_caller]
    pub fn requires_grad_(&self) -> Tensor {
        if !self.dtype().is_differentiable() && self.error().is_none() {
            let why =
                message!("a ", self.dtype(), " tensor cannot require gradients; only floats and complex can");
            return Tensor::refuse("requires_grad_", &[self], Error::gradient(why));
        }
        self.leaf(true)
    }

    #[track_caller]
    fn leaf(&self, requires_grad: bool) -> Tensor {
        let location = std::panic::Location::caller();
        if let (Inner::Node(n), true) = (&*self.0, requires_grad) {
            return n.leaf(self).unwrap_or_else(|e| Tensor::failed(e.or_at(location)));
        }
        match self.concrete() {
            Ok(data) => Tensor::new(Inner::Cell(Cell::new(Tensor::data(data), requires_grad))),
            Err(e) => Tensor::failed(e.or_at(location)),
        }
    }

    /// Names a cell: graphs, gradients, equations and errors call it by this name. Returns the same cell; any
    /// other tensor has no name and is returned unchanged.
    ///
    /// ```
    /// use gradus_tensor::{Tensor, trace};
    /// let w = Tensor::from([1.0, 2.0]).requires_grad_().named("w");
    /// let graph = trace(&[&Tensor::from([3.0, 4.0])], |x| &x[0] * &w)?;
    /// assert_eq!(graph.inputs()[1].0, "w");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named(&self, name: &str) -> Tensor {
        if let Some(cell) = self.as_cell() {
            cell.set_name(name);
        }
        self.clone()
    }

    /// Returns the name of a cell, if it has one.
    pub fn name(&self) -> Option<Arc<str>> {
        self.as_cell()?.name()
    }

    /// Swaps a cell's value for another of the same type. Returns an error if the tensor is not a cell.
    #[track_caller]
    pub fn set_(&self, value: &Tensor) -> Result<()> {
        self.swap(value, false)
    }

    /// As [`set_`](Tensor::set_), but if the enclosing function is differentiated later, gradients of the new
    /// value flow to the leaf.
    #[track_caller]
    pub fn set_and_stay_(&self, value: &Tensor) -> Result<()> {
        self.swap(value, true)
    }

    #[track_caller]
    fn swap(&self, value: &Tensor, stays: bool) -> Result<()> {
        let location = std::panic::Location::caller();
        let swap = || {
            let Some(cell) = self.as_cell() else {
                self.check()?;
                return Err(Error::value(
                    "in-place assignment",
                    message!("is possible only on ", Term::Mutable),
                ));
            };
            if cell.requires_grad() && crate::eager::tape::is_grad_enabled() {
                let why = "a leaf that requires gradients cannot be changed in place; do it inside ";
                return Err(Error::gradient(message!(why, Term::NoGrad, " or on ", Term::LeafValue)));
            }
            value.check()?;
            crate::trace::write_cell(self, cell, value, stays)
        };
        swap().map_err(|e| e.or_at(location))
    }

    /// Sets whether backward passes accumulate gradients for this leaf. Operations recorded earlier are not
    /// affected.
    #[track_caller]
    pub fn set_requires_grad(&self, on: bool) -> Result<()> {
        let location = std::panic::Location::caller();
        let Some(cell) = self.check()?.as_cell() else {
            return Err(
                Error::gradient(message!("`requires_grad` can be set only on ", Term::Mutable)).at(location)
            );
        };
        if on && !cell.aval().dtype.is_differentiable() {
            let why = message!(Term::Cell, " of type ", cell.aval(), " cannot require gradients");
            return Err(Error::gradient(why).at(location));
        }
        cell.shared.requires_grad.store(on, Ordering::Relaxed);
        Ok(())
    }

    /// Converts a cell's value to another dtype. No other operation changes the type of a cell. The gradient
    /// is dropped, and functions compiled with the old type return an error when run.
    #[track_caller]
    pub fn convert_(&self, dtype: DType) -> Result<()> {
        let location = std::panic::Location::caller();
        let convert = || {
            let Some(cell) = self.check()?.as_cell() else {
                return Err(Error::value(
                    "in-place conversion",
                    message!("is possible only on ", Term::Mutable),
                ));
            };
            if crate::trace::is_tracing() {
                return Err(Error::trace(message!(
                    Term::Cell,
                    " cannot change its dtype inside a traced function; convert it before tracing"
                )));
            }
            if cell.requires_grad() && !dtype.is_differentiable() {
                let why = message!("a leaf that requires gradients cannot become ", dtype);
                return Err(Error::gradient(why));
            }
            loop {
                let before = cell.value();
                let data = before.to_dtype(dtype).concrete()?;
                let mut state = cell.lock_value();
                // Skips the write if a compiled step has changed the value meanwhile.
                if state.value.is_same(&before) {
                    let grad = state.grad.take();
                    cell.put(state, data, true);
                    drop(grad);
                    return Ok(());
                }
            }
        };
        convert().map_err(|e: Error| e.or_at(location))
    }

    /// Returns the number of swaps of a cell's value; 0 for any other tensor.
    pub fn version(&self) -> u64 {
        self.as_cell().map_or(0, Cell::version)
    }

    /// Returns true if this is a cell: a leaf whose value can be swapped.
    pub fn is_cell(&self) -> bool {
        self.as_cell().is_some()
    }

    /// Returns the same cell, detached from autograd: reads give constants, and writes are always allowed. Any
    /// other tensor is detached.
    pub fn data_(&self) -> Tensor {
        match self.as_cell() {
            Some(cell) => Tensor::new(Inner::Cell(cell.detached())),
            None => self.detach(),
        }
    }
}
