//! One compiled program of a function: for which calls it is, and how it runs.

use crate::error::raise;
use crate::guard::Guard;
use crate::trace_deps::Guards;
use crate::tensor::PyTensor;
use crate::tree::Tree;
use crate::unary::Spelled;
use gradus::{Aval, Compiled, DType, Tensor, GradientOwner};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::atomic::{AtomicU64, Ordering};

/// One compiled program.
pub(crate) struct Program {
    pub(crate) arguments: Tree,
    pub(crate) types: Vec<Aval>,
    pub(crate) modes: Modes,
    /// What brings numbers that live in Python up to date before each run, and gives what takes that back.
    pub(crate) before: Vec<Py<PyAny>>,
    pub(crate) guards: Guards,
    /// Which arguments are the same tensor.
    pub(crate) twins: Vec<usize>,
    /// Arguments that are leaves which it also found outside, by number: it was traced with the leaves themselves.
    pub(crate) found_outside: Vec<(usize, Tensor)>,
    /// Arguments that it changes in place, by number; their new values come last of its results.
    pub(crate) changed: Vec<usize>,
    /// Gradients that it reads or leaves behind; values of these come behind those.
    pub(crate) gradients: Vec<Gradient>,
    /// Which arguments required gradients and were leaves, if it depends on that.
    pub(crate) arguments_required: Option<Vec<(bool, bool)>>,
    /// Which cells required gradients: their freezing makes another program.
    pub(crate) required: Vec<bool>,
    pub(crate) hooks: Hooks,
    /// Places outside that it gives other tensors; these come behind those.
    pub(crate) rebound: Vec<Rebound>,
    /// Tensors that the function left in containers outside; their values come behind those.
    pub(crate) left: Vec<Py<PyTensor>>,
    /// Whether a backward pass is part of it.
    pub(crate) differentiates: bool,
    pub(crate) results: Tree,
    pub(crate) compiled: Compiled,
}

/// What operations depend on besides their operands: whether they are recorded, and the dtype of floats.
#[derive(PartialEq)]
pub(crate) struct Modes(bool, DType);

impl Modes {
    pub(crate) fn now() -> Modes {
        Modes(gradus::is_grad_enabled(), crate::dtype::default_float())
    }
}

/// A place outside that a function gives another tensor.
pub(crate) struct Rebound {
    pub(crate) place: Py<Guard>,
    pub(crate) read: Read,
}

/// What a function reads from a place that it gives another tensor.
pub(crate) enum Read {
    /// What stands there; it is no tensor, or one that stands elsewhere too.
    AsItWas,
    /// That there is a tensor.
    Any,
    /// The tensor there; it goes through this input.
    From(Tensor),
}

impl Rebound {
    /// The tensor that stands there.
    fn now(&self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        let now = self.place.get().now(py).and_then(|v| v.cast_into::<PyTensor>().ok());
        now.map(|t| t.get().value(py)).transpose()
    }

    /// Whether a tensor stands there that fits.
    fn fits(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(match &self.read {
            Read::AsItWas => self.place.get().holds(py),
            Read::Any => self.now(py)?.is_some(),
            Read::From(cell) => self
                .now(py)?
                .is_some_and(|t| t.aval() == cell.aval() && t.requires_grad() == cell.requires_grad()),
        })
    }
}

/// Which hooks leaves had when a function was traced.
pub(crate) struct Hooks {
    were: Vec<Vec<usize>>,
    /// The count of changes up to which they are known to be as they were.
    looked: AtomicU64,
}

impl Hooks {
    pub(crate) fn of<'a>(leaves: impl Iterator<Item = &'a Tensor>) -> Hooks {
        Hooks { looked: gradus::hooks_changed().into(), were: leaves.map(Tensor::hooks).collect() }
    }

    /// Whether they are as they were. Those of arguments are looked at always, since these may be others.
    fn hold(&self, arguments: &[Tensor], cells: &[Tensor]) -> bool {
        let now = gradus::hooks_changed();
        let (of_arguments, of_cells) = self.were.split_at(arguments.len().min(self.were.len()));
        if now == 0 {
            return true;
        }
        if !arguments.iter().zip(of_arguments).all(|(t, were)| t.hooks() == *were) {
            return false;
        }
        if self.looked.load(Ordering::Relaxed) != now {
            if !cells.iter().zip(of_cells).all(|(t, were)| t.hooks() == *were) {
                return false;
            }
            self.looked.store(now, Ordering::Relaxed);
        }
        true
    }
}

/// A gradient that a function reads or leaves behind.
pub(crate) struct Gradient {
    pub(crate) of: GradientOwner,
    /// A cell for what was there before, or that there was nothing, if the function depends on it.
    pub(crate) read: Option<Option<Tensor>>,
    pub(crate) left: Left,
}

/// What becomes of a gradient.
pub(crate) enum Left {
    AsItWas,
    Forgotten,
    /// There is a value.
    Replaced,
    /// There is a value, which goes on to what the argument was computed from.
    GoesOn,
}

impl Gradient {
    /// Whose it is in a call with these arguments.
    fn tensor<'a>(&'a self, arguments: &'a [Tensor]) -> Option<&'a Tensor> {
        match &self.of {
            GradientOwner::Leaf(leaf) => Some(leaf),
            GradientOwner::Argument(i) => arguments.get(*i),
        }
    }
}

/// Whether a tensor requires gradients, and is a leaf.
pub(crate) fn requirement(t: &Tensor) -> (bool, bool) {
    (t.requires_grad(), t.is_leaf())
}

impl Program {
    /// Whether it is for arguments of these types; their tensors are left in the list.
    pub(crate) fn takes(&self, arguments: &Bound<'_, PyTuple>, tensors: &mut Vec<Tensor>) -> PyResult<bool> {
        tensors.clear();
        if !self.arguments.matches(arguments.as_any(), tensors)? || tensors.len() != self.types.len() {
            return Ok(false);
        }
        let same = |(t, a): (&Tensor, &Aval)| t.dtype() == a.dtype && t.shape() == a.shape;
        Ok(tensors.iter().zip(&self.types).all(same))
    }

    /// Whether it is for these arguments, of types that it takes, and for all else as it is now.
    pub(crate) fn fits(&self, arguments: &Bound<'_, PyTuple>, tensors: &[Tensor]) -> PyResult<bool> {
        if self.modes != Modes::now() || !self.is_here(tensors) {
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
            let mut places = Vec::new();
            self.arguments.places(arguments.as_any(), &mut places);
            if places.iter().flatten().any(|p| part_of_a_cell(py, p, self.compiled.cells())) {
                return Ok(false);
            }
            if !self.changed.is_empty() || !self.twins.is_empty() {
                match Related::of(py, &places) {
                    Related::Twins(twins) if twins == self.twins => {}
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

    /// Whether the operands are on the device that it was compiled for. Those that are not, beside others that are, are refused
    /// by the run.
    fn is_here(&self, tensors: &[Tensor]) -> bool {
        if !crate::device::other_devices_used() {
            return true;
        }
        let other = tensors.iter().chain(self.compiled.cells()).map(Tensor::device).find(|d| !d.is_cpu());
        other.unwrap_or(gradus::Device::CPU) == self.compiled.device()
    }

    /// Whether it writes to anything that arguments may be parts of.
    pub(crate) fn writes(&self) -> bool {
        !self.changed.is_empty() || !self.twins.is_empty() || !self.compiled.written().is_empty()
    }

    /// Whether two threads may not run it at once: it changes something, or something changes before it runs.
    pub(crate) fn is_alone(&self) -> bool {
        let changes = self.gradients.len() + self.rebound.len() + self.left.len() + self.before.len();
        self.writes() || changes > 0
    }

    /// Whether those arguments that it also found outside are just these.
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

    /// Runs it with numbers that live in Python as they are to be; if it fails, they are as they were.
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
        // A step that has changed parameters by gradients is done with them; anything else may be part of what is differentiated.
        let written = self.compiled.written();
        let recorded = gradus::is_grad_enabled()
            && self.compiled.graph().output_avals().len() > written.len()
            && !(self.differentiates && written.iter().any(|t| t.requires_grad()))
            && tensors.iter().chain(self.compiled.cells()).any(|t| t.requires_grad());
        raise(py.detach(|| {
            if !recorded {
                return self.compiled.run(&ins);
            }
            // As one operation that backward passes know.
            // What it changes is given as it is now, parameters so that their gradients find them.
            let now = |t: &Tensor| match written.iter().any(|w| w.is_same(t)) {
                true if t.requires_grad() => t.copied(),
                true => t.detach(),
                false => t.clone(),
            };
            // The state of a generator on the CPU goes along to another device.
            let along = |t: &Tensor| t.numel() > 1 && t.numel() * t.dtype().size() <= 16;
            let here = |t: Tensor| if along(&t) { t.to(self.compiled.device()) } else { t };
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

impl Program {
    /// Runs it on arguments, puts new values where it changes them, and gives its results as Python's. `first` says that it was
    /// traced for this call.
    pub(crate) fn call<'py>(
        &self,
        arguments: &Bound<'py, PyTuple>,
        tensors: &[Tensor],
        first: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = arguments.py();
        let mut outs = self.run(py, tensors, first)?;
        for (tensor, new) in self.left.iter().zip(outs.split_off(outs.len() - self.left.len())) {
            tensor.get().rebind(new);
        }
        for (r, new) in self.rebound.iter().zip(outs.split_off(outs.len() - self.rebound.len())) {
            r.place.get().put(py, Bound::new(py, PyTensor::new(new))?.into_any())?;
        }
        let has_value = |g: &&Gradient| matches!(g.left, Left::Replaced | Left::GoesOn);
        let values = outs.split_off(outs.len() - self.gradients.iter().filter(has_value).count());
        self.leave(py, tensors, &values)?;
        if !self.changed.is_empty() {
            let news = outs.split_off(outs.len() - self.changed.len());
            let mut places = Vec::new();
            self.arguments.places(arguments.as_any(), &mut places);
            for (i, new) in self.changed.iter().zip(news) {
                if let Some(Some(place)) = places.get(*i) {
                    // A leaf was changed without recording: it would have been refused otherwise.
                    let leaf = requirement(&tensors[*i]) == (true, true);
                    let _mode = leaf.then(|| gradus::set_grad_enabled(false));
                    place.get().write(py, if leaf { new.detach() } else { new })?;
                }
            }
        }
        self.results.built(py, &mut outs.into_iter())
    }
}

impl Program {
    /// Puts gradients where they belong.
    fn leave(&self, py: Python<'_>, tensors: &[Tensor], values: &[Tensor]) -> PyResult<()> {
        let mut values = values.iter().map(Tensor::detach);
        let mut on = Vec::new();
        for g in &self.gradients {
            let Some(tensor) = g.tensor(tensors) else { continue };
            match g.left {
                Left::AsItWas => {}
                Left::Forgotten => raise(tensor.set_grad(None))?,
                Left::Replaced => raise(tensor.set_grad(values.next().as_ref()))?,
                Left::GoesOn => on.extend(values.next().map(|g| (tensor, g))),
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

/// Whether it matters that an argument is also found outside: what it is there is the same leaf, or written to.
pub(crate) fn may_share(t: &Tensor, differentiates: bool, writes: bool) -> bool {
    t.is_cell() && (writes || (differentiates && t.requires_grad()))
}

/// Whether a tensor is a view of one of these cells.
pub(crate) fn part_of_a_cell(py: Python<'_>, place: &Bound<'_, PyTensor>, cells: &[Tensor]) -> bool {
    if place.get().is_whole() {
        return false;
    }
    let Some((root, _)) = place.get().ancestry(py).pop() else { return false };
    let root = root.get().held();
    root.is_cell() && cells.iter().any(|cell| cell.is_same(&root))
}

/// How arguments are related that are tensors.
pub(crate) enum Related {
    /// Not, except that some are the same: for each argument the first that it is, if any are.
    Twins(Vec<usize>),
    /// Some are parts of the same tensor.
    Parts,
}

impl Related {
    pub(crate) fn of(py: Python<'_>, places: &[Option<Bound<'_, PyTensor>>]) -> Related {
        let root = |p: &Bound<'_, PyTensor>| {
            p.get().ancestry(py).last().map_or(p.as_ptr() as usize, |(of, _)| of.as_ptr() as usize)
        };
        let roots: Vec<Option<usize>> = places.iter().map(|p| p.as_ref().map(root)).collect();
        let mut known = std::collections::HashMap::new();
        let mut twins: Vec<usize> = (0..places.len()).collect();
        let mut any = false;
        for (i, r) in roots.iter().enumerate() {
            let Some(r) = r else { continue };
            let first = *known.entry(*r).or_insert(i);
            if first != i {
                any = true;
                match (&places[first], &places[i]) {
                    (Some(a), Some(b)) if a.is(b) => twins[i] = first,
                    _ => return Related::Parts,
                }
            }
        }
        Related::Twins(if any { twins } else { Vec::new() })
    }
}
