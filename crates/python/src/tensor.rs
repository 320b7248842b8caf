//! The tensor as a Python object: a mutable slot that holds an immutable value.
//!
//! Values of Gradus never change. A Python tensor is a slot that holds one: `x += 1` stores another value in
//! the slot. A view is a slot with an [`Alias`]: a part of another tensor. Writing it stores a new value in the
//! other tensor, with that part replaced, so programs that write in place need no derivative rules for writes.

use crate::device::{moved, of, other_devices_used};
use crate::error::{raise, raise_stored, runtime_error, to_exception};
use crate::hook::PythonHook;
use crate::trace_deps::{is_compiling, is_from_outside, note_elements, with_gradient};
use crate::unary::MoreMethods;
use crate::view::View;
use gradus::{DType, Ix, Patch, Tensor};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A multi-dimensional array of one element type, with automatic differentiation.
///
/// >>> import gradus
/// >>> x = gradus.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
/// >>> (x * x).sum().backward()
/// >>> x.grad
/// tensor([[2., 4.],
///         [6., 8.]])
#[pyclass(name = "Tensor", module = "gradus", subclass, frozen, weakref, dict)]
pub(crate) struct PyTensor(Mutex<Slot>);

struct Slot {
    value: Tensor,
    /// Number of values stored here.
    changed: u64,
    /// Number of traces begun when this tensor was made; 0 if it was made outside of traces.
    trace_count: u64,
    alias: Option<Box<Alias>>,
    /// The tensor that views of this leaf refer to after its elements are replaced.
    old_elements: Option<OldElements>,
}

/// A tensor with the old elements of a leaf whose elements were replaced (`p.data = x`), for its views.
type OldElements = Arc<OnceLock<Py<PyTensor>>>;

/// The tensor that a view is a part of, and which part.
struct Alias {
    of: Py<PyTensor>,
    old_elements: Option<OldElements>,
    how: View,
    /// The other tensor's stamp when `value` was read from it.
    seen: u64,
    /// If true, `value` was written through a detached view, and only this view has its history.
    own: bool,
    /// If true, the view was made while operations were recorded.
    recorded: bool,
    /// Length of the chain of views, this one included.
    depth: u32,
}

/// Longest chain of views that refer to each other; longer ones are composed ([`View::Then`]).
const LONG_CHAIN: u32 = 32;

/// Longest chain of detached views, which cannot be composed and are read and written by recursion.
const MAX_DEPTH: u32 = 1000;

/// Computes a view. One made without recording is a leaf, as in PyTorch: no gradient flows to the original.
fn part(how: &View, whole: &Tensor, recorded: bool) -> Tensor {
    let part = how.of(whole);
    // A view that selects a complete leaf must be another tensor than the leaf.
    let all = recorded && part.is_same(whole) && part.is_cell() && !matches!(how, View::Real);
    match recorded || part.error().is_some() {
        true if all && part.requires_grad() && !gradus::is_tracing() => part.unsqueeze(0).squeeze(0),
        true => part,
        false if part.is_traced() => part.stop_gradient(),
        false
            if whole.requires_grad()
                && part.dtype().is_differentiable()
                && !matches!(how, View::Detached) =>
        {
            part.detach().requires_grad_()
        }
        false => part.detach(),
    }
}

/// `Slot::changed` of a new tensor. Not 0: Python's collector may visit an object whose memory is still zero,
/// because creating its dictionary can start a collection before the slot is written.
const INITIAL_CHANGES: u64 = 1;

impl PyTensor {
    /// Makes a tensor that is not a view.
    pub(crate) fn new(value: Tensor) -> PyTensor {
        PyTensor::with_alias(value, None)
    }

    /// Makes a tensor; a view, if there is an alias.
    fn with_alias(value: Tensor, alias: Option<Alias>) -> PyTensor {
        let trace_count = if gradus::is_tracing() { gradus::traces_begun() } else { 0 };
        let (alias, changed) = (alias.map(Box::new), INITIAL_CHANGES);
        PyTensor(Mutex::new(Slot { value, changed, trace_count, alias, old_elements: None }))
    }

    /// Makes a tensor that is not a view, or raises the error of a failed value.
    pub(crate) fn out(value: Tensor) -> PyResult<PyTensor> {
        raise_stored()?;
        match value.error() {
            Some(e) => Err(to_exception(e)),
            // A graph does not store whether gradients are recorded, so a node marks a value computed without them.
            None if value.is_traced() && !gradus::is_grad_enabled() => {
                Ok(PyTensor::new(value.stop_gradient()))
            }
            None => Ok(PyTensor::new(value)),
        }
    }

    /// Makes a view of another tensor.
    pub(crate) fn part_of(of: &Bound<'_, PyTensor>, how: View) -> PyResult<PyTensor> {
        let whole = of.get().value(of.py())?;
        let value = part(&how, &whole, gradus::is_grad_enabled());
        if value.error().is_none()
            && let Some(alias) = PyTensor::shortened(of, &whole, &how)?
        {
            return Ok(PyTensor::with_alias(value, Some(alias)));
        }
        PyTensor::part_as(of, value, how)
    }

    /// If `of` ends a chain of [`LONG_CHAIN`] views, returns the view `how` of `of` as a view of the parent of `of`, if
    /// the views can be composed. This bounds the recursion through chains, and the time for making a view.
    fn shortened(of: &Bound<'_, PyTensor>, whole: &Tensor, how: &View) -> PyResult<Option<Alias>> {
        let slot = of.get().slot();
        let Some(parent) = slot.alias.as_ref().filter(|parent| parent.depth >= LONG_CHAIN) else {
            return Ok(None);
        };
        let identity = matches!(how, View::At(_)) && how.of(whole).is_same(whole);
        let composed = match (&parent.how, how) {
            (View::Detached, View::Detached) => Some(View::Detached),
            (View::Detached | View::Gradient, _) | (_, View::Detached | View::Gradient) => None,
            (before, _) if identity => Some(before.clone()),
            (before, how) => Some(before.then(how)),
        };
        match composed {
            Some(how) if !parent.own && parent.recorded == gradus::is_grad_enabled() => Ok(Some(Alias {
                of: parent.of.clone_ref(of.py()),
                old_elements: parent.old_elements.clone(),
                how,
                seen: parent.of.get().stamp(),
                own: false,
                recorded: parent.recorded,
                depth: parent.depth,
            })),
            _ if parent.depth < MAX_DEPTH => Ok(None),
            _ => Err(runtime_error(format!("cannot nest more than {MAX_DEPTH} views; clone() one of them"))),
        }
    }

    fn part_as(of: &Bound<'_, PyTensor>, value: Tensor, how: View) -> PyResult<PyTensor> {
        if let Some(e) = value.error() {
            return Err(to_exception(e));
        }
        let seen = of.get().stamp();
        let recorded = gradus::is_grad_enabled();
        let (old_elements, depth) = match &mut *of.get().slot() {
            Slot { value, old_elements, .. } if value.is_cell() && !matches!(how, View::Gradient) => {
                (Some(old_elements.get_or_insert_default().clone()), 1)
            }
            slot => (None, 1 + slot.alias.as_ref().map_or(0, |parent| parent.depth)),
        };
        let alias = Alias { of: of.clone().unbind(), old_elements, how, seen, own: false, recorded, depth };
        Ok(PyTensor::with_alias(value, Some(alias)))
    }

    /// Returns the gradient of a leaf, or of a tensor that retains it.
    pub(crate) fn gradient(of: &Bound<'_, PyTensor>) -> PyResult<Option<PyTensor>> {
        match with_gradient(of.get(), of.get().value(of.py())?).grad() {
            Some(grad) => PyTensor::part_as(of, grad, View::Gradient).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the first tensor of a chain of views, and the positions of this view's elements in it.
    pub(crate) fn root<'py>(of: &Bound<'py, PyTensor>) -> PyResult<(Bound<'py, PyTensor>, Tensor)> {
        let py = of.py();
        let parent = of.get().slot().alias.as_ref().and_then(|alias| {
            alias.how.keeps_elements().then(|| (alias.of.clone_ref(py), alias.how.clone()))
        });
        match parent {
            Some((parent, how)) => {
                let (root, positions) = PyTensor::root(parent.bind(py))?;
                Ok((root, how.of(&positions)))
            }
            None => Ok((of.clone(), crate::view::element_positions(&of.get().value(py)?))),
        }
    }

    /// Returns the stored value. For a view it may be outdated, but its type is correct.
    pub(crate) fn stored_value(&self) -> Tensor {
        self.slot().value.clone()
    }

    /// Returns true if this is a view.
    pub(crate) fn is_view(&self) -> bool {
        self.slot().alias.is_some()
    }

    /// Returns the tensors that this is a view of, nearest first, with the views. A gradient is not a view.
    pub(crate) fn ancestry(&self, py: Python<'_>) -> Vec<(Py<PyTensor>, View)> {
        let mut all: Vec<(Py<PyTensor>, View)> = Vec::new();
        let parent = |of: &PyTensor| match &of.slot().alias {
            Some(alias) if !matches!(alias.how, View::Gradient) => {
                Some((alias.of.clone_ref(py), alias.how.clone()))
            }
            _ => None,
        };
        while let Some(next) = parent(all.last().map_or(self, |(of, _)| of.get())) {
            all.push(next);
        }
        all
    }

    /// Returns true if elements of this view may share memory, as those of expanded tensors do.
    pub(crate) fn repeats(&self, py: Python<'_>) -> bool {
        self.ancestry(py).iter().any(|(_, how)| how.repeats())
    }

    /// Writes elements to the root of a view that [`repeats`](PyTensor::repeats). Returns an error if
    /// elements share memory, unless `same` says that all are equal.
    fn write_elements(&self, py: Python<'_>, seen: u64, new: &Tensor, same: bool) -> PyResult<bool> {
        let chain = self.ancestry(py);
        let Some((root, _)) = chain.last() else { return Ok(true) };
        let whole = root.get().value(py)?;
        let keeps = chain.iter().all(|(_, how)| how.keeps_elements());
        let positions = gradus::outside_traces(|| {
            let all = crate::view::element_positions(&whole);
            chain.iter().rev().fold(all, |positions, (_, how)| how.of(&positions)).reshape([-1i64])
        });
        let mut known = std::collections::HashSet::new();
        let mut each_once = |all: Vec<i64>| all.into_iter().all(|p| known.insert(p));
        if !keeps || !(same || each_once(raise(positions.to_vec::<i64>())?)) {
            let why = "several elements of the view share memory; clone() it before writing to it";
            return Err(crate::error::runtime_error(why));
        }
        let flat = whole.reshape([-1i64]).with_at(vec![gradus::Ix::from(&positions)], &new.reshape([-1i64]));
        root.get().write_since(py, seen, flat.reshape(whole.shape()), false)
    }

    /// Makes this a view of another tensor.
    pub(crate) fn become_part(&self, of: &Bound<'_, PyTensor>, how: View) -> PyResult<()> {
        let part = PyTensor::part_of(of, how)?;
        let new = part.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.slot() = new;
        Ok(())
    }

    /// Locks the slot. If the elements of the viewed leaf were replaced, the view first gets the tensor with the
    /// old elements as its parent.
    fn slot(&self) -> MutexGuard<'_, Slot> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Slot { value, alias: Some(alias), .. } = &mut *slot
            && let Some(there) = alias.old_elements.as_ref().and_then(|old_elements| old_elements.get())
        {
            alias.of = Python::attach(|py| there.clone_ref(py));
            alias.own |= !value.is_leaf();
            (alias.old_elements, alias.seen) = (None, u64::MAX);
        }
        slot
    }

    /// Makes the views of this leaf refer to a new tensor with the old elements.
    pub(crate) fn detach_views(&self, py: Python<'_>, old: &Tensor) -> PyResult<()> {
        let has_views = |elements: &mut OldElements| Arc::strong_count(elements) > 1;
        let elements = self.slot().old_elements.take_if(|all| has_views(all) && !gradus::is_tracing());
        if let Some(elements) = elements {
            let _ = elements.set(Py::new(py, PyTensor::new(old.detach()))?);
        }
        Ok(())
    }

    /// Returns a count that grows with each change of the current value.
    pub(crate) fn stamp(&self) -> u64 {
        let slot = self.slot();
        match &slot.alias {
            Some(alias) if !matches!(alias.how, View::Gradient) => alias.of.get().stamp(),
            _ => slot.changed - INITIAL_CHANGES + slot.value.version(),
        }
    }

    /// Returns the current value.
    pub(crate) fn value(&self, py: Python<'_>) -> PyResult<Tensor> {
        let mut slot = self.slot();
        let compiling = is_compiling();
        let Some(alias) = &slot.alias else {
            let constant = !slot.value.is_traced() && !slot.value.is_cell() && slot.value.is_leaf();
            // A tensor from outside becomes a cell. A value that the function makes itself stays a constant.
            if compiling && constant && is_from_outside(slot.trace_count) {
                slot.value = slot.value.cell();
            }
            return Ok(slot.value.clone());
        };
        if matches!(alias.how, View::Gradient) {
            return Ok(slot.value.clone());
        }
        let now = alias.of.get().stamp();
        let traced = slot.value.is_traced();
        let lasts = match alias.own {
            true if traced => slot.value.detach().error().is_none(), // fails if the trace that made it is closed
            true => !gradus::is_tracing(),
            false => !traced && !compiling,
        };
        if now == alias.seen && lasts {
            return Ok(slot.value.clone());
        }
        let (of, how, recorded) = (alias.of.clone_ref(py), alias.how.clone(), alias.recorded);
        drop(slot); // the parent has its own lock, and never locks its views; reading it may take a while
        let part = part(&how, &of.get().value(py)?, recorded);
        let mut slot = self.slot();
        if let Slot { value, alias: Some(alias), .. } = &mut *slot {
            // A value is not cached if it was read inside a trace, or without recording from a recorded view.
            let lasting = (gradus::is_grad_enabled() || !recorded) && !gradus::is_tracing();
            // The parent was written: the view gets the new elements and keeps its history.
            let part = if alias.own { value.replaced_by(&part) } else { part };
            if alias.own && gradus::is_tracing() {
                return raise(part.check().cloned());
            }
            alias.seen = if lasting { now } else { u64::MAX };
            alias.own &= !part.is_leaf();
            *value = part;
        }
        raise(slot.value.check().cloned())
    }

    /// Returns the current value for reading its elements: a function being compiled then depends on them.
    pub(crate) fn elements(&self, py: Python<'_>) -> PyResult<Tensor> {
        let value = self.value(py)?;
        if is_compiling() && value.is_cell() {
            if gradus::is_rewritten(&value) {
                let why = "jit: a tensor that the function has written to has no elements while it is traced; compute with the \
                           tensor, or read it after the call";
                return Err(crate::error::runtime_error(why));
            }
            raise(note_elements(&value))?;
        }
        Ok(value)
    }

    /// Stores another value; the tensor is then not a view.
    pub(crate) fn rebind(&self, value: Tensor) {
        let mut slot = self.slot();
        let old = (std::mem::replace(&mut slot.value, value), slot.alias.take());
        slot.changed += 1 + old.0.version();
        drop(slot);
        drop(old);
    }

    /// Writes a part of the current value in place. Returns `false` if this is a view or its memory is shared.
    pub(crate) fn replace_at(&self, own: Tensor, entries: &[Ix], new: &Tensor) -> bool {
        if self.is_view() {
            return false;
        }
        // Resolves the index before the slot is locked: this may wait for other threads that read this tensor.
        let Some(patch) = own.patch_at(entries, new, BIG) else { return false };
        drop(own); // as another owner of the memory, it would prevent the write
        let mut slot = self.slot();
        let done = slot.alias.is_none() && patch.write(&mut slot.value);
        slot.changed += done as u64;
        done
    }

    /// Zeros the elements in place. Returns `false` if there are many or their memory is shared.
    pub(crate) fn zero_in_place(&self) -> bool {
        let mut slot = self.slot();
        let done = slot.alias.is_none() && !gradus::is_tracing() && Patch::zeros(&mut slot.value, BIG);
        slot.changed += done as u64;
        done
    }

    /// Stores another value of the same type here, and in the tensors that this is a view of.
    pub(crate) fn write(&self, py: Python<'_>, new: Tensor) -> PyResult<()> {
        self.write_as(py, new, false)
    }

    /// Stores a value whose elements are all equal. This also works if several elements share memory.
    pub(crate) fn write_same(&self, py: Python<'_>, new: Tensor) -> PyResult<()> {
        self.write_as(py, new, true)
    }

    fn write_as(&self, py: Python<'_>, new: Tensor, same: bool) -> PyResult<()> {
        while !self.write_since(py, self.stamp(), new.clone(), same)? {}
        Ok(())
    }

    /// Stores another value and returns true, unless another thread has written since stamp `seen`.
    pub(crate) fn write_since(&self, py: Python<'_>, seen: u64, new: Tensor, same: bool) -> PyResult<bool> {
        let old = self.value(py)?;
        // A write without recording changes only the elements.
        let new = owned(if gradus::is_grad_enabled() { new } else { new.detach() });
        raise(new.check())?;
        if new.shape() != old.shape() {
            let why = format!(
                "a result of shape {} cannot be written in place to one of {}",
                new.shape(),
                old.shape()
            );
            return Err(crate::error::runtime_error(why));
        }
        if new.dtype().class() > old.dtype().class() {
            let why = format!(
                "a result of {} cannot be written in place to a tensor of {}",
                crate::dtype::name(new.dtype()),
                crate::dtype::name(old.dtype())
            );
            return Err(crate::error::runtime_error(why));
        }
        // A tensor stays on its device.
        let new = moved(new.to_dtype(old.dtype()), of(&old));
        let aliased = {
            let slot = self.slot();
            let unrecorded = slot.alias.as_ref().is_some_and(|alias| !alias.recorded);
            if unrecorded && gradus::is_grad_enabled() && old.requires_grad() {
                let why = "a view that was made under no_grad is changed in place where gradients are recorded; do both under \
                           no_grad, or neither";
                return Err(crate::error::runtime_error(why));
            }
            slot.alias.as_ref().map(|alias| (alias.of.clone_ref(py), alias.how.clone()))
        };
        match aliased {
            Some((of, View::Detached)) => self.write_detached(py, &of, seen, (old, new), same),
            Some(_) if self.repeats(py) => self.write_elements(py, seen, &new, same),
            Some((of, View::Gradient)) => {
                let leaf = with_gradient(of.get(), of.get().value(py)?);
                if leaf.grad().is_some_and(|g| g.is_same(&old)) {
                    raise(leaf.set_grad(Some(&new)))?;
                    self.slot().value = leaf.grad().unwrap_or(new);
                } else {
                    self.slot().value = new;
                }
                self.slot().changed += 1;
                Ok(true)
            }
            Some((of, how)) => {
                drop(old);
                if self.write_to_parent(py, &of, &new)? {
                    return Ok(true);
                }
                let whole = how.replace_part(&of.get().value(py)?, &new)?;
                of.get().write_since(py, seen, whole, false)
            }
            None if self.stamp() != seen => Ok(false),
            None => self.put(old, new).map(|()| true),
        }
    }

    /// Writes elements to the tensor from which this was detached, and keeps their history here.
    fn write_detached(
        &self,
        py: Python<'_>,
        of: &Py<PyTensor>,
        seen: u64,
        (old, new): (Tensor, Tensor),
        same: bool,
    ) -> PyResult<bool> {
        let recording = gradus::is_grad_enabled();
        let kept = if recording { new.clone() } else { old.replaced_by(&new) };
        let own = if kept.is_traced() { recording } else { !kept.is_leaf() };
        drop(old);
        let elements = new.detach();
        drop(new);
        let kept = own.then_some(kept); // as another owner of the elements, it would prevent a write in place
        let mode = gradus::set_grad_enabled(false);
        let done = of.get().write_since(py, seen, elements, same)?;
        drop(mode);
        let now = of.get().stamp();
        if let (Slot { value, alias: Some(alias), .. }, true) = (&mut *self.slot(), done) {
            alias.own = own;
            alias.seen = if own { now } else { u64::MAX };
            if let Some(kept) = kept {
                *value = kept;
            }
        }
        Ok(done)
    }

    /// Writes a view in place in its parent's memory. Returns `false` if that memory is shared.
    fn write_to_parent(&self, py: Python<'_>, of: &Py<PyTensor>, new: &Tensor) -> PyResult<bool> {
        let entries = match &mut *self.slot() {
            Slot { value, alias: Some(alias), .. } => match &alias.how {
                View::At(entries) if !new.is_traced() && !value.is_traced() => {
                    let entries = entries.clone();
                    // Replaces the view's value, because a second owner of the memory prevents the write.
                    (*value, alias.seen) = (new.clone(), u64::MAX);
                    entries
                }
                _ => return Ok(false),
            },
            _ => return Ok(false),
        };
        let done = of.get().replace_at(of.get().value(py)?, &entries, new);
        let now = if done { of.get().stamp() } else { u64::MAX };
        if let Some(alias) = &mut self.slot().alias {
            alias.seen = now;
        }
        Ok(done)
    }

    fn put(&self, old: Tensor, new: Tensor) -> PyResult<()> {
        if old.is_cell() {
            raise(old.set_and_stay_(&new))?;
            self.slot().changed += gradus::is_tracing() as u64; // the cell itself counts later changes
            return Ok(());
        }
        let trace_count = self.slot().trace_count;
        if !old.is_traced() && old.is_leaf() && new.is_traced_since(trace_count) {
            // A tensor from outside of the function being traced becomes a cell, which has the new value
            // after the function has run.
            let cell = old.cell();
            self.rebind(cell.clone());
            return raise(cell.set_(&new));
        }
        // Without recording, the new value keeps the old history. With recording, zeros flow back to the
        // overwritten value.
        self.rebind(match gradus::is_grad_enabled() {
            true if !new.requires_grad() => overwriting(&old, new),
            true => new,
            false => old.replaced_by(&new),
        });
        Ok(())
    }

    /// Returns the dtype, without reading elements.
    pub(crate) fn dtype_now(&self, py: Python<'_>) -> PyResult<DType> {
        Ok(self.value(py)?.dtype())
    }
}

#[pymethods]
impl PyTensor {
    /// Shows Python's garbage collector what only this tensor keeps alive. It must not block or call Python.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(slot) = self.0.try_lock() else { return Ok(()) };
        if slot.changed == 0 {
            return Ok(()); // not initialized yet
        }
        if let Some(alias) = &slot.alias {
            visit.call(&alias.of)?;
        }
        PythonHook::visit(&slot.value, &visit)
    }

    /// Breaks cycles through hooks that refer to their own tensor.
    fn __clear__(&self) {
        let functions = match self.0.try_lock() {
            Ok(slot) if slot.changed != 0 => PythonHook::clear(&slot.value),
            _ => Vec::new(),
        };
        drop(functions); // outside of the lock, because this may run Python code
    }

    /// In place: invalidates the tensor; every use raises this error.
    fn _withhold<'py>(slf: Bound<'py, PyTensor>, why: &str) -> Bound<'py, PyTensor> {
        let (what, rest) = why.split_once(' ').unwrap_or((why, ""));
        slf.get().rebind(Tensor::failed(gradus::Error::value(what, rest)));
        slf
    }
}

/// Returns the value that overwrites an inner tensor; zeros flow back to the old value.
pub(crate) fn overwriting(old: &Tensor, new: Tensor) -> Tensor {
    let gone = old.is_leaf() || old.is_traced() || !gradus::is_grad_enabled();
    if gone || new.error().is_some() {
        return new;
    }
    let none = old.reshape([-1i64]).at(vec![Ix::from(..0)]).sum(());
    new + none
}

/// Returns a value that later writes to a leaf, or to an array whose memory it shares, do not change.
pub(crate) fn owned(value: Tensor) -> Tensor {
    let recorded = || value.requires_grad() && gradus::is_grad_enabled();
    let value = if value.is_cell() && !recorded() { value.detach() } else { value };
    if value.is_cell() {
        return value.copied();
    }
    if value.is_foreign() { value.copied() } else { value }
}

/// Smallest number of elements for which releasing the GIL saves time.
pub(crate) const BIG: usize = 1 << 15;

/// Calls `f`, without the GIL if `x` has many elements. New tensors are made on the device of `x`.
pub(crate) fn compute<R: Send>(py: Python<'_>, x: &Tensor, f: impl FnOnce(&Tensor) -> R + Send) -> R {
    let near = |x: &Tensor| if other_devices_used() { x.device().with(|| f(x)) } else { f(x) };
    if x.numel() >= BIG { py.detach(|| near(x)) } else { near(x) }
}

/// Computes one result, as [`compute`].
pub(crate) fn result(
    py: Python<'_>,
    x: &Tensor,
    f: impl FnOnce(&Tensor) -> Tensor + Send,
) -> PyResult<PyTensor> {
    PyTensor::out(compute(py, x, f))
}
