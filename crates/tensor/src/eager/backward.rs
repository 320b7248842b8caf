//! The backward pass of eager autograd: [`Tensor::backward`], [`grad`] and the gradients stored on tensors.
//! Takes roots with their cotangents, visits every tape node once in reverse order of recording, and returns
//! or adds gradients.
//! `tape.rs` records the nodes, `plan.rs` holds the gradient program of each call.

use crate::data::Data;
use crate::device::Device;
use crate::eager::apply::try_apply;
use crate::eager::inline_list::InlineList;
use crate::eager::pointwise::Output;
use crate::eager::tape::{
    Edge, GradMode, Node, Recorded, State, Target, is_grad_enabled, lock, set_grad_enabled,
};
use crate::hook::run_hooks;
use crate::leaves;
use crate::tensor::{Inner, Tensor};
use crate::trace::is_tracing;
use gradus_ir::{Error, Result, Term, message};
use gradus_mem::Handle;
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of a backward pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backward {
    /// Keeps the recorded values, so that the pass can run again.
    pub retain_graph: bool,
    /// Records the pass itself, so that gradients can be differentiated; implies `retain_graph`.
    pub create_graph: bool,
    /// For [`grad`]: returns `None` for a tensor that no gradient reaches, instead of an error.
    pub allow_unused: bool,
}

/// If true, backward passes check gradients for NaN.
static LOOK_FOR_NAN: AtomicBool = AtomicBool::new(false);

/// Makes backward passes check every gradient and fail at the first call that produces a NaN. Returns the
/// previous setting.
pub fn look_for_nan(on: bool) -> bool {
    LOOK_FOR_NAN.swap(on, Ordering::Relaxed)
}

/// Cotangents collected for one node: one slot per result.
struct Pending {
    node: Handle<Node>,
    cts: InlineList<Option<Tensor>>,
}

impl Pending {
    /// Orders nodes by their recording number. Nodes of different threads may share a number; the address
    /// breaks the tie.
    fn key(node: &Handle<Node>) -> (u64, usize) {
        (node.order, node.addr())
    }
}

/// Nodes that have cotangents, ordered so that the latest node is popped first.
#[derive(Default)]
struct Queue {
    /// The latest node, cached outside the map: along a chain of calls the map stays empty.
    latest: Option<Pending>,
    earlier: BTreeMap<(u64, usize), Pending>,
}

impl Queue {
    /// Returns the entry of a node and creates it if it is missing.
    fn entry(&mut self, node: &Handle<Node>) -> &mut Pending {
        let key = Pending::key(node);
        let new = || Pending { node: node.clone(), cts: node.plan.empty_cotangents() };
        let after = match &self.latest {
            Some(latest) => Pending::key(&latest.node),
            None => self.earlier.last_key_value().map_or((0, 0), |(key, _)| *key),
        };
        match (key > after, &self.latest) {
            (true, _) => {
                if let Some(before) = self.latest.take() {
                    self.earlier.insert(after, before);
                }
            }
            (false, Some(_)) if key == after => {}
            _ => return self.earlier.entry(key).or_insert_with(new),
        }
        self.latest.get_or_insert_with(new)
    }

    fn pop(&mut self) -> Option<Pending> {
        self.latest.take().or_else(|| self.earlier.pop_last().map(|(_, pending)| pending))
    }
}

/// State of a backward pass.
#[derive(Default)]
struct Pass {
    pending: Queue,
    /// Gradients of the leaves, in the order in which they were reached; `leaf_at` maps addresses to
    /// positions.
    leaves: Vec<(Tensor, Option<Tensor>)>,
    leaf_at: HashMap<usize, usize>,
    /// Gradients of inner results on which `retain_grad` was called.
    retained: Vec<(Edge, Tensor)>,
}

fn add(slot: &mut Option<Tensor>, g: Tensor) {
    *slot = Some(match slot.take() {
        Some(sum) => &sum + &g,
        None => g,
    });
}

/// Moves a gradient to the device that needs it. Costs one load while the CPU is the only open device.
#[inline]
fn move_gradient(g: Tensor, to: impl FnOnce() -> Device) -> Tensor {
    if gradus_device::is_any_open() { g.to(to()) } else { g }
}

impl Pass {
    fn send(&mut self, target: &Target, g: Tensor) {
        match target {
            Target::Node(node, out) => self.send_node(node, *out as usize, g),
            Target::Leaf(leaf) => {
                let Some(cell) = leaf.as_cell() else { return };
                let at = *self.leaf_at.entry(cell.addr()).or_insert_with(|| {
                    self.leaves.push((leaf.clone(), None));
                    self.leaves.len() - 1
                });
                add(&mut self.leaves[at].1, move_gradient(g, || cell.device()));
            }
        }
    }

    fn send_node(&mut self, node: &Handle<Node>, out: usize, g: Tensor) {
        let g = move_gradient(g, || node.device);
        add(&mut self.pending.entry(node).cts[out], g);
    }

    fn send_operand(&mut self, recorded: &Recorded, i: usize, g: Tensor) {
        if let Some(target) = &recorded.targets[i] {
            self.send(target, g);
        }
    }

    /// Runs until no cotangent is pending. `wanted` are inner results whose gradients the caller requested.
    fn run(&mut self, how: Backward, wanted: &mut [(Edge, Option<Tensor>)]) -> Result<()> {
        while let Some(Pending { node, mut cts }) = self.pending.pop() {
            let mut state = lock(&node.state);
            let hooks = state.watched.as_ref().map_or_else(Vec::new, |w| w.hooks.clone());
            if !hooks.is_empty() {
                drop(state); // A hook may lock the node.
                for (out, ct) in cts.iter_mut().enumerate() {
                    let own = hooks.iter().filter(|(of, _)| *of == out).map(|(_, hook)| hook);
                    *ct = ct.take().map(|ct| run_hooks(own, ct)).transpose()?;
                }
                state = lock(&node.state);
            }
            for (edge, slot) in wanted.iter_mut().filter(|(e, _)| e.node.ptr_eq(&node)) {
                slot.clone_from(&cts[edge.out]);
            }
            for k in state.watched.iter().flat_map(|w| w.kept.iter()).filter(|k| k.retained) {
                let edge = |ct| (Edge { node: node.clone(), out: k.out }, ct);
                self.retained.extend(cts[k.out].clone().map(edge));
            }
            let recorded = take(&mut state, how.retain_graph || how.create_graph);
            drop(state);
            match recorded {
                Ok(recorded) => self.pull(&node, &recorded, &cts, how)?,
                Err(why) => return Err(gradient_error(&node, &cts, why)),
            }
        }
        for (leaf, gradient) in &mut self.leaves {
            let hooks = leaf.as_cell().map_or_else(Vec::new, |cell| cell.hooks());
            *gradient = gradient.take().map(|g| run_hooks(hooks.iter(), g)).transpose()?;
        }
        Ok(())
    }

    /// Computes the gradients of the operands of one recorded call and sends them on.
    fn pull(
        &mut self,
        node: &Handle<Node>,
        recorded: &Recorded,
        cts: &[Option<Tensor>],
        how: Backward,
    ) -> Result<()> {
        let plan = &*node.plan;
        let tracing = is_tracing();
        let check_nan = LOOK_FOR_NAN.load(Ordering::Relaxed) && !tracing;
        if !check_nan && !how.create_graph && !tracing && self.run_program(node, recorded, cts).is_some() {
            return Ok(());
        }
        let (Some(call), outs) = plan.gradient_call(cts)? else { return Ok(()) };
        let mut operands: Vec<Tensor> = recorded.saved.iter().map(|(t, _)| t.clone()).collect();
        for (t, &out) in operands.iter_mut().skip(plan.reads_in.len()).zip(&plan.reads_out) {
            let Inner::Data(data, None) = &*t.0 else { continue };
            let edge = data.aval.dtype.is_differentiable().then(|| Edge { node: node.clone(), out });
            *t = Tensor::new(Inner::Data(data.clone(), edge));
        }
        for &k in &plan.reads_ct {
            operands.push(cts[k].clone().unwrap_or_else(|| Tensor::zeros_of(&outs[k]).to(node.device)));
        }
        let operands: Vec<&Tensor> = operands.iter().collect();
        let grads = try_apply(call, &operands).map_err(|e| e.at(node.location))?;
        for (&i, g) in plan.writes.iter().zip(grads) {
            if check_nan && g.check()?.detach().is_nan().any(()).item::<bool>()? {
                return Err(gradient_error(node, cts, &format!("the gradient of operand {i} is NaN")));
            }
            g.check()?;
            self.send_operand(recorded, i, g);
        }
        Ok(())
    }

    /// Does the work of `pull` with the pointwise program of the plan. Returns `None` if the plan has no
    /// program, or if the program cannot run on these values.
    fn run_program(&mut self, node: &Node, recorded: &Recorded, cts: &[Option<Tensor>]) -> Option<()> {
        let saved = &recorded.saved;
        let plan = &*node.plan;
        let program = plan.program.as_ref()?;
        // For a cell, uses the current value: the version check has shown that it is the recorded one.
        let values = InlineList::of(saved, |(t, _)| t.as_cell().map(|c| c.value()));
        let input = |i: usize| match (values.get(i), saved.get(i)) {
            (Some(Some(value)), _) => Some(value),
            (_, Some((t, _))) => Some(t),
            _ => cts[*plan.reads_ct.get(i - saved.len())?].as_ref(),
        };
        program.run(
            |i| input(i)?.as_data(),
            |k, output| {
                let g = match output {
                    Output::New(storage, aval) => Some(Tensor::data(Data::row_major(storage, aval))),
                    // Usually the cotangent itself, passed on unchanged.
                    Output::Input(i) => input(i).map(Tensor::detach),
                };
                g.into_iter().for_each(|g| self.send_operand(recorded, plan.writes[k], g));
            },
        )
    }
}

/// Takes the recorded values of a call. Returns an error message if they were freed or changed in place.
fn take(state: &mut State, keep: bool) -> std::result::Result<Recorded, &'static str> {
    let changed = |(t, version): &(Tensor, u64)| t.as_cell().is_some_and(|c| c.version() != *version);
    if state.recorded.iter().flat_map(|recorded| recorded.saved.iter()).any(changed) {
        return Err("a value needed for the gradient of this call was changed in place after the call");
    }
    let recorded = if keep { state.recorded.clone() } else { state.recorded.take() };
    recorded.ok_or(
        "backward runs a second time through this call, whose values have been freed; \
         set `retain_graph` in the first pass",
    )
}

/// Builds the error for a call whose gradient cannot be computed.
#[cold]
fn gradient_error(node: &Node, cts: &[Option<Tensor>], why: &str) -> Error {
    let outs = node.plan.gradient_call(cts).map_or_else(|_| Vec::new(), |(_, outs)| outs);
    Error::gradient(why).in_op(&node.plan.name, &outs).at(node.location)
}

/// Disables recording during a pass, unless the pass itself is to be differentiated.
pub(crate) fn recording_mode(how: Backward) -> GradMode {
    set_grad_enabled(how.create_graph && is_grad_enabled())
}

fn seed_for(root: &Tensor, seed: Option<&Tensor>) -> Result<Tensor> {
    let Some(aval) = root.check()?.aval() else { return Err(Error::gradient("the root has no type")) };
    if !root.requires_grad() && !root.is_traced() {
        return Err(Error::gradient(message!(
            "nothing here requires gradients: the tensor does not depend on ",
            Term::Leaf
        )));
    }
    match seed.map(|s| s.check()).transpose()? {
        Some(seed) if seed.aval().as_ref() == Some(&aval) => Ok(seed.clone()),
        Some(seed) => {
            let what = message!("a ", Term::Seed, " of type ", seed.aval());
            Err(Error::shape(what, message!("must be ", aval, ", like the tensor itself")))
        }
        None if aval.shape.numel() == 1 && !aval.dtype.is_complex() => {
            Ok(Tensor::full_of(&aval, 1.0).to(root.device()))
        }
        None => {
            let why = message!("needs a ", Term::Seed, " of that type: ", Term::BackwardWithSeed);
            Err(Error::shape(message!("backward from ", aval), why))
        }
    }
}

impl Tensor {
    /// Returns true if gradients flow to or through this tensor.
    pub fn requires_grad(&self) -> bool {
        match &*self.0 {
            Inner::Data(_, edge) => edge.is_some(),
            Inner::Cell(c) => c.requires_grad(),
            Inner::Node(n) => n.requires_grad(),
            Inner::Failed(_) => false,
        }
    }

    /// Returns true if this tensor is a leaf: no recorded operation produced it.
    pub fn is_leaf(&self) -> bool {
        match &*self.0 {
            Inner::Data(_, edge) => edge.is_none(),
            Inner::Node(n) => n.is_leaf(),
            _ => true,
        }
    }

    /// Returns the same value, detached from autograd.
    pub fn detach(&self) -> Tensor {
        match &*self.0 {
            Inner::Data(_, None) | Inner::Failed(_) => self.clone(),
            Inner::Data(d, Some(_)) => Tensor::data(d.clone()),
            Inner::Cell(c) if crate::trace::is_tracing() => Tensor::new(Inner::Cell(c.detached())),
            Inner::Cell(c) => c.value(),
            Inner::Node(_) => self.stop_gradient(),
        }
    }

    /// Returns a tensor with this `value` and with the autograd history of `self`. Used for writes that are
    /// not recorded. The types must be equal.
    pub fn replaced_by(&self, value: &Tensor) -> Tensor {
        match (&*self.0, &*value.0) {
            (Inner::Data(own, Some(edge)), Inner::Data(new, _)) if own.aval == new.aval => {
                Tensor::new(Inner::Data(new.clone(), Some(edge.clone())))
            }
            _ => value.clone(),
        }
    }

    /// Returns the accumulated gradient of a leaf, or of a tensor on which `retain_grad` was called.
    pub fn grad(&self) -> Option<Tensor> {
        match &*self.0 {
            Inner::Cell(c) => {
                leaves::register_access(c, true);
                c.grad()
            }
            Inner::Data(_, Some(edge)) => {
                let state = lock(&edge.node.state);
                state.watched.as_ref()?.kept.iter().find(|k| k.out == edge.out)?.grad.clone()
            }
            Inner::Node(n) => n.grad(),
            _ => None,
        }
    }

    /// Clears the gradient of a leaf.
    pub fn zero_grad(&self) {
        if let Some(cell) = self.as_cell() {
            leaves::register_access(cell, false);
            cell.set_grad(None);
        }
    }

    /// Replaces the gradient of a leaf or of an inner tensor by one of the tensor's type.
    #[track_caller]
    pub fn set_grad(&self, grad: Option<&Tensor>) -> Result<()> {
        let location = Location::caller();
        let set = || {
            let own = self.check()?.aval();
            let found = grad.map(|g| g.check()).transpose()?.map(|g| g.aval());
            if found.as_ref().is_some_and(|a| *a != own) {
                let why = message!("does not fit a leaf of type ", own);
                return Err(Error::shape(message!("a gradient of type ", found.flatten()), why));
            }
            match &*self.0 {
                Inner::Cell(cell) => {
                    leaves::register_access(cell, false);
                    cell.set_grad(grad.map(|g| g.detach()));
                }
                Inner::Data(_, Some(edge)) => {
                    edge.update_retained(|kept| kept.grad = grad.map(|g| g.detach()))
                }
                Inner::Node(n) => n.set_grad(grad),
                _ => {
                    return Err(Error::gradient(message!(
                        "only ",
                        Term::Leaf,
                        " keeps a gradient that can be replaced"
                    )));
                }
            }
            Ok(())
        };
        set().map_err(|e: Error| e.or_at(location))
    }

    /// Makes backward passes keep the gradient of this inner tensor.
    pub fn retain_grad(&self) {
        match &*self.0 {
            Inner::Data(_, Some(edge)) => edge.update_retained(|kept| kept.retained = true),
            Inner::Node(n) => n.retain_grad(),
            _ => {}
        }
    }

    /// Returns true if [`retain_grad`](Tensor::retain_grad) was called on this inner tensor.
    pub fn retains_grad(&self) -> bool {
        match &*self.0 {
            Inner::Data(_, Some(edge)) => {
                let state = lock(&edge.node.state);
                state.watched.as_ref().is_some_and(|w| w.kept.iter().any(|k| k.retained && k.out == edge.out))
            }
            Inner::Node(n) => n.retains_grad(),
            _ => false,
        }
    }

    /// Adds the gradients of this scalar to every leaf it depends on.
    #[track_caller]
    pub fn backward(&self) -> Result<()> {
        self.backward_as(None, Backward::default())
    }

    /// Adds the gradients of `⟨self, seed⟩` to every leaf it depends on.
    #[track_caller]
    pub fn backward_with(&self, seed: &Tensor) -> Result<()> {
        self.backward_as(Some(seed), Backward::default())
    }

    /// Runs a backward pass with an optional cotangent and options.
    #[track_caller]
    pub fn backward_as(&self, seed: Option<&Tensor>, how: Backward) -> Result<()> {
        let location = Location::caller();
        let result = seed_for(self, seed).and_then(|seed| match &*self.0 {
            Inner::Node(root) => leaves::backward(root, &seed, how),
            _ => pass_from(&[(self, seed)], how),
        });
        result.map_err(|e: Error| e.or_at(location))
    }
}

/// Adds the gradients of `Σ ⟨tensor, seed⟩` to every leaf that these tensors depend on, in one pass.
#[track_caller]
pub fn backward_from(roots: &[(&Tensor, &Tensor)], how: Backward) -> Result<()> {
    let location = Location::caller();
    let result = roots.iter().map(|(t, seed)| Ok((*t, seed_for(t, Some(seed))?))).collect::<Result<Vec<_>>>();
    result.and_then(|roots| pass_from(&roots, how)).map_err(|e| e.or_at(location))
}

fn pass_from(roots: &[(&Tensor, Tensor)], how: Backward) -> Result<()> {
    let _mode = recording_mode(how);
    let mut pass = Pass::default();
    roots.iter().for_each(|(t, seed)| pass.send(&target_of(t), seed.clone()));
    pass.run(how, &mut [])?;
    // Stores gradients only after the whole pass, so that a failed pass changes none.
    for (edge, g) in pass.retained {
        edge.update_retained(|kept| add(&mut kept.grad, g));
    }
    for (leaf, grad) in pass.leaves {
        let Some(cell) = leaf.as_cell() else { continue };
        let Some(grad) = grad else { continue };
        loop {
            // Repeats the addition if another thread has changed the gradient meanwhile.
            let before = cell.grad();
            let mut sum = before.clone();
            add(&mut sum, grad.clone());
            if cell.replace_grad(before.as_ref(), sum) {
                break;
            }
        }
    }
    Ok(())
}

fn target_of(t: &Tensor) -> Target {
    match &*t.0 {
        Inner::Data(_, Some(edge)) => edge.into(),
        _ => Target::Leaf(t.clone()),
    }
}

/// Returns the gradients of `Σ ⟨output, seed⟩` with respect to these tensors, leaves or not, without changing
/// any `grad`. A tensor that no gradient reaches is an error, or `None` if `allow_unused` is set.
#[track_caller]
pub fn grad(
    outputs: &[&Tensor],
    seeds: &[Option<&Tensor>],
    wrt: &[&Tensor],
    how: Backward,
) -> Result<Vec<Option<Tensor>>> {
    let location = Location::caller();
    let run = || {
        let seeds = seeds.iter().copied().chain(std::iter::repeat(None));
        let roots =
            outputs.iter().zip(seeds).map(|(t, s)| Ok((*t, seed_for(t, s)?))).collect::<Result<Vec<_>>>()?;
        let traced = outputs.iter().find_map(|t| match &*t.0 {
            Inner::Node(root) => Some(&root.trace),
            _ => None,
        });
        if let Some(trace) = traced {
            return check_all_used(leaves::grad(trace, &roots, wrt, how)?, wrt, how);
        }
        let mut pass = Pass::default();
        let _mode = recording_mode(how);
        roots.into_iter().for_each(|(t, seed)| pass.send(&target_of(t), seed));
        let mut inner = Vec::new();
        for t in wrt {
            match target_of(t.check()?) {
                Target::Node(node, out) => inner.push((Edge { node, out: out as usize }, None)),
                Target::Leaf(_) if t.requires_grad() => {}
                Target::Leaf(_) => {
                    return Err(Error::gradient(message!(
                        "a tensor of `",
                        Term::Wrt,
                        "` does not require gradients"
                    )));
                }
            }
        }
        pass.run(how, &mut inner)?;
        let mut inner = inner.into_iter();
        let of = |t: &&Tensor| match t.as_cell() {
            Some(cell) => pass.leaf_at.get(&cell.addr()).and_then(|&at| pass.leaves[at].1.clone()),
            None => inner.next().and_then(|(_, g)| g),
        };
        check_all_used(wrt.iter().map(of).collect(), wrt, how)
    };
    run().map_err(|e: Error| e.or_at(location))
}

/// Returns an error if a gradient is missing and `allow_unused` is not set.
fn check_all_used(grads: Vec<Option<Tensor>>, wrt: &[&Tensor], how: Backward) -> Result<Vec<Option<Tensor>>> {
    match grads.iter().position(Option::is_none) {
        Some(i) if !how.allow_unused => {
            let what = message!("no gradient reaches `", Term::Wrt, format!("[{i}]` ("), wrt[i].aval(), ")");
            Err(Error::gradient(message!(what, "; remove it, or set ", Term::AllowUnused, " to get None")))
        }
        _ => Ok(grads),
    }
}
