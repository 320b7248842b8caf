//! One compiled program of a function: the conditions under which it applies, and how it runs.

use crate::error::raise;
use crate::guard::Guard;
use crate::tensor::PyTensor;
use crate::trace_deps::Guards;
use crate::tree::Tree;
use crate::unary::MoreMethods;
use gradus::{Aval, Compiled, DType, GradientOwner, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::atomic::{AtomicU64, Ordering};

/// One compiled program. Its results are, in this order: (1) the results of the function, (2) new values of
/// changed arguments, (3) gradients that are replaced, (4) tensors assigned to outside locations, (5) tensors
/// stored in outside containers.
pub(crate) struct CompiledProgram {
    pub(crate) arguments: Tree,
    pub(crate) types: Vec<Aval>,
    pub(crate) modes: Modes,
    /// Python functions that update Python numbers before each run. Each returns a function that undoes its
    /// update, or None.
    pub(crate) before: Vec<Py<PyAny>>,
    pub(crate) guards: Guards,
    /// For each argument, the index of the first one that is the same tensor. Empty if all differ.
    pub(crate) twins: Vec<usize>,
    /// Arguments (by number) that are leaves, and that the function also reads from outside. For these the
    /// function was traced with the leaf itself.
    pub(crate) found_outside: Vec<(usize, Tensor)>,
    /// Arguments (by number) that the program changes in place; their new values are group (2) of the
    /// results.
    pub(crate) changed: Vec<usize>,
    /// Gradients that the program reads or changes; those that it replaces are group (3) of the results.
    pub(crate) gradients: Vec<Gradient>,
    /// For each argument: true if it required gradients, and true if it was a leaf. `None` if the program
    /// does not depend on that.
    pub(crate) arguments_required: Option<Vec<(bool, bool)>>,
    /// For each cell: true if it required gradients. After a change the program does not apply.
    pub(crate) required: Vec<bool>,
    pub(crate) hooks: Hooks,
    /// Outside locations to which the function assigns other tensors; these tensors are group (4) of the
    /// results.
    pub(crate) rebound: Vec<Rebound>,
    /// Tensors that the function stored in outside containers; their values are group (5) of the results.
    pub(crate) stored: Vec<Py<PyTensor>>,
    /// If true, the program contains a backward pass.
    pub(crate) differentiates: bool,
    pub(crate) results: Tree,
    pub(crate) compiled: Compiled,
}

/// Global settings that operations depend on: whether they are recorded, and the default float dtype.
#[derive(PartialEq)]
pub(crate) struct Modes(bool, DType);

impl Modes {
    pub(crate) fn now() -> Modes {
        Modes(gradus::is_grad_enabled(), crate::dtype::default_float())
    }
}

/// An outside location to which a function assigns another tensor.
pub(crate) struct Rebound {
    pub(crate) location: Py<Guard>,
    pub(crate) read: Read,
}

/// The way a function reads a location that it reassigns.
pub(crate) enum Read {
    /// The original object. It is not a tensor, or it is a tensor that is also stored elsewhere.
    Original,
    /// Only the fact that the location holds a tensor.
    Any,
    /// The tensor there, through this input.
    From(Tensor),
}

impl Rebound {
    /// Returns the tensor that the location holds now.
    fn now(&self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        let now = self.location.get().now(py).and_then(|v| v.cast_into::<PyTensor>().ok());
        now.map(|t| t.get().value(py)).transpose()
    }

    /// Returns true if the location holds a value for which the program was compiled.
    fn fits(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(match &self.read {
            Read::Original => self.location.get().holds(py),
            Read::Any => self.now(py)?.is_some(),
            Read::From(cell) => self
                .now(py)?
                .is_some_and(|t| t.aval() == cell.aval() && t.requires_grad() == cell.requires_grad()),
        })
    }
}

/// The hooks that leaves had when a function was traced.
pub(crate) struct Hooks {
    expected: Vec<Vec<usize>>,
    /// Value of the change counter when the hooks were last found to be unchanged.
    checked_at: AtomicU64,
}

impl Hooks {
    pub(crate) fn of<'a>(leaves: impl Iterator<Item = &'a Tensor>) -> Hooks {
        Hooks { checked_at: gradus::hooks_changed().into(), expected: leaves.map(Tensor::hooks).collect() }
    }

    /// Returns true if the hooks are unchanged. Always checks the hooks of arguments, because the arguments
    /// may be other tensors.
    fn hold(&self, arguments: &[Tensor], cells: &[Tensor]) -> bool {
        let now = gradus::hooks_changed();
        let (of_arguments, of_cells) = self.expected.split_at(arguments.len().min(self.expected.len()));
        if now == 0 {
            return true;
        }
        if !arguments.iter().zip(of_arguments).all(|(t, expected)| t.hooks() == *expected) {
            return false;
        }
        if self.checked_at.load(Ordering::Relaxed) != now {
            if !cells.iter().zip(of_cells).all(|(t, expected)| t.hooks() == *expected) {
                return false;
            }
            self.checked_at.store(now, Ordering::Relaxed);
        }
        true
    }
}

/// A gradient that a function reads or changes.
pub(crate) struct Gradient {
    pub(crate) of: GradientOwner,
    /// If the function depends on the previous gradient: a cell for it, or `None` if there was none.
    pub(crate) read: Option<Option<Tensor>>,
    pub(crate) change: GradientChange,
}

/// The effect of a function on a gradient.
pub(crate) enum GradientChange {
    Unchanged,
    Cleared,
    /// Replaced by a value.
    Replaced,
    /// Replaced by a value, which is propagated to the operation that produced the argument.
    Propagated,
}

impl Gradient {
    /// Returns the owner of the gradient in a call with these arguments.
    fn tensor<'a>(&'a self, arguments: &'a [Tensor]) -> Option<&'a Tensor> {
        match &self.of {
            GradientOwner::Leaf(leaf) => Some(leaf),
            GradientOwner::Argument(i) => arguments.get(*i),
        }
    }
}

/// Returns whether a tensor requires gradients, and whether it is a leaf.
pub(crate) fn requirement(t: &Tensor) -> (bool, bool) {
    (t.requires_grad(), t.is_leaf())
}

impl CompiledProgram {
    /// Returns true if structure and types of these arguments are those of the program. Collects their
    /// tensors in `tensors`.
    pub(crate) fn matches_types(
        &self,
        arguments: &Bound<'_, PyTuple>,
        tensors: &mut Vec<Tensor>,
    ) -> PyResult<bool> {
        tensors.clear();
        if !self.arguments.matches(arguments.as_any(), tensors)? || tensors.len() != self.types.len() {
            return Ok(false);
        }
        let same = |(t, a): (&Tensor, &Aval)| t.dtype() == a.dtype && t.shape() == a.shape;
        Ok(tensors.iter().zip(&self.types).all(same))
    }

    /// Returns true if the program applies to these arguments, whose types match, and to the current outside
    /// state.
    pub(crate) fn applies(&self, arguments: &Bound<'_, PyTuple>, tensors: &[Tensor]) -> PyResult<bool> {
        if self.modes != Modes::now() || !self.is_on_device(tensors) {
            return Ok(false);
        }
        if self.compiled.cells().iter().zip(&self.required).any(|(t, was)| t.requires_grad() != *was) {
            return Ok(false);
        }
        if let Some(was) = &self.arguments_required
            && !tensors.iter().map(requirement).eq(was.iter().copied())
        {
            return Ok(false);
        }
        let other = |g: &Gradient| match &g.read {
            Some(read) => read.is_some() != g.tensor(tensors).and_then(Tensor::grad).is_some(),
            None => false,
        };
        if self.gradients.iter().any(other) {
            return Ok(false);
        }
        let py = arguments.py();
        if !self.hooks.hold(tensors, self.compiled.cells()) || !self.leaves_fit(tensors) {
            return Ok(false);
        }
        if self.writes() {
            let mut objects = Vec::new();
            self.arguments.objects(arguments.as_any(), &mut objects);
            if objects.iter().flatten().any(|p| part_of_a_cell(py, p, self.compiled.cells())) {
                return Ok(false);
            }
            if !self.changed.is_empty() || !self.twins.is_empty() {
                match TensorRelation::of(py, &objects) {
                    TensorRelation::Twins(twins) if twins == self.twins => {}
                    _ => return Ok(false),
                }
            }
        }
        for r in &self.rebound {
            if !r.fits(py)? {
                return Ok(false);
            }
        }
        self.guards.hold(py)
    }

    /// Returns true if the operands are on the device that the program was compiled for. A run rejects
    /// operands on mixed devices.
    fn is_on_device(&self, tensors: &[Tensor]) -> bool {
        if !crate::device::other_devices_used() {
            return true;
        }
        let other = tensors.iter().chain(self.compiled.cells()).map(Tensor::device).find(|d| !d.is_cpu());
        other.unwrap_or(gradus::Device::CPU) == self.compiled.device()
    }

    /// Returns true if the program writes to tensors, of which arguments may be views.
    pub(crate) fn writes(&self) -> bool {
        !self.changed.is_empty() || !self.twins.is_empty() || !self.compiled.written().is_empty()
    }

    /// Returns true if two threads must not run the program at the same time, because it changes state, or
    /// because functions that change state are called before it.
    pub(crate) fn is_exclusive(&self) -> bool {
        let changes = self.gradients.len() + self.rebound.len() + self.stored.len() + self.before.len();
        self.writes() || changes > 0
    }

    /// Returns true if the arguments that are also read from outside are the same leaves.
    fn leaves_fit(&self, tensors: &[Tensor]) -> bool {
        if !self.differentiates && self.found_outside.is_empty() && !self.writes() {
            return true;
        }
        let writes = self.writes();
        let shares = |t: &Tensor| may_share(t, self.differentiates, writes);
        tensors.iter().enumerate().filter(|(_, t)| shares(t)).all(|(i, t)| {
            match self.found_outside.iter().find(|(k, _)| *k == i) {
                Some((_, leaf)) => t.is_same(leaf),
                None => !self.compiled.cells().iter().any(|cell| cell.is_same(t)),
            }
        }) && self.found_outside.iter().all(|(i, leaf)| tensors[*i].is_same(leaf))
    }

    /// Runs the program after updating Python numbers. If the run fails, undoes the updates.
    fn run(&self, py: Python<'_>, tensors: &[Tensor], first: bool) -> PyResult<Vec<Tensor>> {
        let mut undo = Vec::new();
        let mut run = || {
            for f in &self.before {
                undo.push(f.bind(py).call1((first,))?);
            }
            self.run_now(py, tensors)
        };
        let outs = run();
        if outs.is_err() {
            for f in undo.iter().rev().filter(|f| !f.is_none()) {
                f.call0()?;
            }
        }
        outs
    }

    fn run_now(&self, py: Python<'_>, tensors: &[Tensor]) -> PyResult<Vec<Tensor>> {
        for r in &self.rebound {
            if let Read::From(cell) = &r.read
                && let Some(now) = r.now(py)?
            {
                raise(cell.set_(&now.detach()))?;
            }
        }
        for g in &self.gradients {
            if let (Some(Some(cell)), Some(grad)) = (&g.read, g.tensor(tensors).and_then(Tensor::grad)) {
                raise(cell.set_(&grad.detach()))?;
            }
        }
        let ins: Vec<&Tensor> = tensors.iter().collect();
        // A step that has updated parameters needs no recording; any other program may be part of a
        // differentiated computation.
        let written = self.compiled.written();
        let recorded = gradus::is_grad_enabled()
            && self.compiled.graph().output_avals().len() > written.len()
            && !(self.differentiates && written.iter().any(|t| t.requires_grad()))
            && tensors.iter().chain(self.compiled.cells()).any(|t| t.requires_grad());
        raise(py.detach(|| {
            if !recorded {
                return self.compiled.run(&ins);
            }
            // Runs as one recorded operation for backward passes. Cells that are written are passed as
            // copies, through which gradients flow, if they require gradients, and as detached values
            // otherwise.
            let now = |t: &Tensor| match written.iter().any(|w| w.is_same(t)) {
                true if t.requires_grad() => t.copied(),
                true => t.detach(),
                false => t.clone(),
            };
            // Small cells, such as the state of a generator, may be on the CPU; they are moved to the device.
            let is_generator_state = |t: &Tensor| t.numel() > 1 && t.numel() * t.dtype().size() <= 16;
            let here = |t: Tensor| if is_generator_state(&t) { t.to(self.compiled.device()) } else { t };
            let cells: Vec<Tensor> = self.compiled.cells().iter().map(now).map(here).collect();
            let all: Vec<&Tensor> = ins.iter().copied().chain(&cells).collect();
            let mut outs = gradus::call("jit", self.compiled.graph(), &all)?;
            let news = outs.split_off(outs.len() - written.len());
            for (cell, new) in written.iter().zip(&news) {
                let _mode = gradus::set_grad_enabled(false);
                cell.set_(&new.detach())?;
            }
            Ok(outs)
        }))
    }
}

impl CompiledProgram {
    /// Runs the program on arguments, writes the new values of arguments that it changes, and returns its
    /// results as Python objects. `first` is true if the program was traced for this call.
    pub(crate) fn call<'py>(
        &self,
        arguments: &Bound<'py, PyTuple>,
        tensors: &[Tensor],
        first: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = arguments.py();
        let mut outs = self.run(py, tensors, first)?;
        for (tensor, new) in self.stored.iter().zip(outs.split_off(outs.len() - self.stored.len())) {
            tensor.get().rebind(new);
        }
        for (r, new) in self.rebound.iter().zip(outs.split_off(outs.len() - self.rebound.len())) {
            r.location.get().put(py, Bound::new(py, PyTensor::new(new))?.into_any())?;
        }
        let has_value =
            |g: &&Gradient| matches!(g.change, GradientChange::Replaced | GradientChange::Propagated);
        let values = outs.split_off(outs.len() - self.gradients.iter().filter(has_value).count());
        self.store_gradients(py, tensors, &values)?;
        if !self.changed.is_empty() {
            let news = outs.split_off(outs.len() - self.changed.len());
            let mut objects = Vec::new();
            self.arguments.objects(arguments.as_any(), &mut objects);
            for (i, new) in self.changed.iter().zip(news) {
                if let Some(Some(object)) = objects.get(*i) {
                    // A leaf can only have been changed without recording; otherwise an error would have been
                    // raised.
                    let leaf = requirement(&tensors[*i]) == (true, true);
                    let _mode = leaf.then(|| gradus::set_grad_enabled(false));
                    object.get().write(py, if leaf { new.detach() } else { new })?;
                }
            }
        }
        self.results.build(py, &mut outs.into_iter())
    }
}

impl CompiledProgram {
    /// Stores gradients with their owners.
    fn store_gradients(&self, py: Python<'_>, tensors: &[Tensor], values: &[Tensor]) -> PyResult<()> {
        let mut values = values.iter().map(Tensor::detach);
        let mut on = Vec::new();
        for g in &self.gradients {
            let Some(tensor) = g.tensor(tensors) else { continue };
            match g.change {
                GradientChange::Unchanged => {}
                GradientChange::Cleared => raise(tensor.set_grad(None))?,
                GradientChange::Replaced => raise(tensor.set_grad(values.next().as_ref()))?,
                GradientChange::Propagated => on.extend(values.next().map(|g| (tensor, g))),
            }
        }
        let on: Vec<(&Tensor, &Tensor)> = on.iter().map(|(t, g)| (*t, g)).collect();
        if on.is_empty() {
            return Ok(());
        }
        let done = py.detach(|| gradus::autograd::backward_from(&on, gradus::Backward::default()));
        crate::hook::after_backward(py, raise(done))
    }
}

/// Returns true if an argument that the function also reads from outside must be the same leaf in every call.
/// This is so if the program writes, or if it differentiates and the leaf requires gradients.
pub(crate) fn may_share(t: &Tensor, differentiates: bool, writes: bool) -> bool {
    t.is_cell() && (writes || (differentiates && t.requires_grad()))
}

/// Returns true if a tensor is a view of one of these cells.
pub(crate) fn part_of_a_cell(py: Python<'_>, object: &Bound<'_, PyTensor>, cells: &[Tensor]) -> bool {
    if !object.get().is_view() {
        return false;
    }
    let Some((root, _)) = object.get().ancestry(py).pop() else { return false };
    let root = root.get().stored_value();
    root.is_cell() && cells.iter().any(|cell| cell.is_same(&root))
}

/// Relations between arguments that are tensors.
pub(crate) enum TensorRelation {
    /// Unrelated or the same: for each argument, the index of the first one that is the same tensor. Empty if
    /// all differ.
    Twins(Vec<usize>),
    /// Some arguments are different views of one tensor.
    ViewsOfOneTensor,
}

impl TensorRelation {
    pub(crate) fn of(py: Python<'_>, objects: &[Option<Bound<'_, PyTensor>>]) -> TensorRelation {
        let root = |p: &Bound<'_, PyTensor>| {
            p.get().ancestry(py).last().map_or(p.as_ptr() as usize, |(of, _)| of.as_ptr() as usize)
        };
        let roots: Vec<Option<usize>> = objects.iter().map(|p| p.as_ref().map(root)).collect();
        let mut known = std::collections::HashMap::new();
        let mut twins: Vec<usize> = (0..objects.len()).collect();
        let mut any = false;
        for (i, r) in roots.iter().enumerate() {
            let Some(r) = r else { continue };
            let first = *known.entry(*r).or_insert(i);
            if first != i {
                any = true;
                match (&objects[first], &objects[i]) {
                    (Some(a), Some(b)) if a.is(b) => twins[i] = first,
                    _ => return TensorRelation::ViewsOfOneTensor,
                }
            }
        }
        TensorRelation::Twins(if any { twins } else { Vec::new() })
    }
}
