//! Turns units of work into a plan: kernels with their accesses, ordered by their dependencies.
//! Takes lowered units and the graph; returns a plan whose temporaries have no memory yet.
//! Which ops form a unit is decided in `lower.rs`, and where temporaries are stored in `memory.rs`.

use crate::contraction::Contraction;
use crate::group::{Group, Member, Source, Task, Value, View};
use crate::kernel::{Access, Inst, Kernel, Level, Operation, Piece, Store};
use crate::layout::Layout;
use crate::lowered::{Lowered, Origin, Unit};
use crate::plan::{Buffer, BufferLocation, Control, Plan, Routine, Step};
use crate::profile::Profile;
use crate::{Result, checked, compile};
use gradus_ir::ops::Form;
use gradus_ir::{Aval, Graph, Op, stop};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Emits the plan of lowered units. Temporaries are not placed in the arena yet.
pub(crate) fn emit(mut lowered: Lowered, graph: &Graph, profile: &Profile) -> Result<Plan> {
    prune(&mut lowered);
    attach(&mut lowered);
    checked(|| lowered.verify())?;
    let order = order(&lowered)?;
    let stored = stored(&lowered);
    let mut out = Emitter { lowered: &lowered, profile, buffers: HashMap::new(), plan: Plan::default() };
    // Inputs are the first values, because they are the first nodes of a graph.
    for (i, (aval, _)) in lowered.values[..graph.inputs().len()].iter().enumerate() {
        let location = BufferLocation::Input(i);
        out.plan.buffers.push(Buffer { dtype: aval.dtype, numel: aval.shape.numel(), location });
        out.plan.inputs.push(i);
    }
    for unit in order {
        stop::poll()?;
        match &lowered.units[unit] {
            Unit::Group(group) => {
                let kernel = out.kernel(group, &stored);
                out.plan.steps.push(Step::Kernel(kernel));
            }
            Unit::Contract(c, finish) => {
                let step = out.contraction(c, finish.as_ref(), &stored);
                out.plan.steps.push(Step::Contract(step));
            }
            Unit::Routine { op, types, ins, outs, origin } => {
                let mut step = out.routine(op, types, ins, outs)?;
                if let Step::Routine(routine) = &mut step {
                    routine.origin = origin.clone();
                }
                out.plan.steps.push(step);
            }
            Unit::Gone => {}
        }
    }
    let outputs: Vec<usize> = lowered.outputs.iter().map(|v| out.buffer(*v)).collect();
    let mut plan = out.plan;
    for (k, &b) in outputs.iter().enumerate() {
        plan.buffers[b].location = BufferLocation::Output(k);
    }
    plan.outputs = outputs;
    Ok(plan)
}

/// Attaches an elementwise group to a matrix product if the group is the only reader of the product.
fn attach(lowered: &mut Lowered) {
    let mut readers: HashMap<Value, BTreeSet<usize>> = HashMap::new();
    for (u, unit) in lowered.units.iter().enumerate() {
        for v in unit.reads() {
            readers.entry(v).or_default().insert(u);
        }
    }
    // Visits later products first. A group that reads two products is attached to the later one, so the earlier
    // one is computed before the group.
    for u in (0..lowered.units.len()).rev() {
        let Unit::Contract(c, None) = &lowered.units[u] else { continue };
        let value = c.buffers[2];
        let Some(own) = readers.get(&value) else { continue };
        let (Some(&reader), 1) = (own.first(), own.len()) else { continue };
        let Unit::Group(group) = &lowered.units[reader] else { continue };
        if lowered.outputs.contains(&value) || !can_attach(group, value, &lowered.values[value].0) {
            continue;
        }
        // Only the group reads the product, so no dependency of the group depends on the product.
        let (c, group) = (c.clone(), group.clone());
        lowered.units[reader] = Unit::Gone;
        group.members.iter().for_each(|(m, _)| lowered.maker[m.value] = Some(u));
        lowered.units[u] = Unit::Contract(c, Some(group));
        lowered.depend.merge(u, reader);
    }
}

/// Returns true if a group can run on each block of a product: it has no reduction, and each index reads the product only
/// at that index.
fn can_attach(group: &Group, product: Value, aval: &Aval) -> bool {
    if group.reduced.is_some() || group.space.iter().product::<usize>() != aval.shape.numel() {
        return false;
    }
    let natural = |m: &Member| Layout::row_major(&m.space);
    group.members.iter().all(|(m, _)| {
        m.args.iter().filter(|a| a.value() == Some(product)).all(|a| {
            !m.guarded()
                && a.layout.offset == 0
                && crate::layout::same_strides(&m.space, &a.layout.strides, &natural(m).strides)
        })
    })
}

/// Orders units so that each comes after its dependencies.
fn order(lowered: &Lowered) -> Result<Vec<usize>> {
    let live: Vec<usize> =
        (0..lowered.units.len()).filter(|&u| !matches!(lowered.units[u], Unit::Gone)).collect();
    let (mut waits, mut readers) = (HashMap::new(), HashMap::<usize, Vec<usize>>::new());
    for &u in &live {
        let makers = lowered.units[u].reads().into_iter().filter_map(|v| lowered.maker[v]);
        let makers: BTreeSet<usize> = makers.filter(|m| *m != u).collect();
        waits.insert(u, makers.len());
        makers.into_iter().for_each(|m| readers.entry(m).or_default().push(u));
    }
    let mut ready: BTreeSet<usize> = live.iter().copied().filter(|u| waits[u] == 0).collect();
    let mut order = Vec::with_capacity(live.len());
    while let Some(next) = ready.pop_first() {
        stop::poll()?;
        order.push(next);
        for u in readers.remove(&next).unwrap_or_default() {
            if let Some(count) = waits.get_mut(&u) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(u);
                }
            }
        }
    }
    debug_assert!(order.len() == live.len(), "the units have cyclic dependencies");
    Ok(order)
}

/// Marks the values that must be in memory: outputs, and values that another unit reads.
fn stored(lowered: &Lowered) -> Vec<bool> {
    let mut stored = vec![false; lowered.values.len()];
    lowered.outputs.iter().for_each(|&v| stored[v] = true);
    for unit in &lowered.units {
        unit.reads().into_iter().for_each(|v| stored[v] = true);
    }
    stored
}

/// Removes members whose values are no longer needed, and the loads that only they use.
fn prune(lowered: &mut Lowered) {
    loop {
        let stored = stored(lowered);
        let mut changed = false;
        for unit in &mut lowered.units {
            let Unit::Group(group) = unit else { continue };
            let needed = needed(group, &stored);
            let before = group.members.len();
            group.members.retain(|(m, _)| needed.contains(&m.value));
            changed |= group.members.len() < before;
            if group.members.is_empty() {
                *unit = Unit::Gone;
            }
        }
        if !changed {
            return;
        }
    }
}

/// Returns the members whose values are stored, or needed to compute a stored value.
fn needed(group: &Group, stored: &[bool]) -> BTreeSet<Value> {
    let mut needed = BTreeSet::new();
    for (member, _) in group.members.iter().rev() {
        if stored[member.value] || needed.contains(&member.value) {
            needed.insert(member.value);
            needed.extend(member.args.iter().filter_map(View::value));
        }
    }
    needed
}

struct Emitter<'a> {
    lowered: &'a Lowered,
    profile: &'a Profile,
    buffers: HashMap<Value, usize>,
    plan: Plan,
}

impl Emitter<'_> {
    /// Returns the buffer of a value, and creates it if needed.
    fn buffer(&mut self, value: Value) -> usize {
        if let Some(&b) = self.buffers.get(&value) {
            return b;
        }
        let (aval, origin) = &self.lowered.values[value];
        let location = match origin {
            Origin::Input(i) => return *i,
            Origin::Constant(l) => BufferLocation::Constant(l.clone()),
            Origin::Computed => BufferLocation::Arena(0),
        };
        self.plan.buffers.push(Buffer { dtype: aval.dtype, numel: aval.shape.numel(), location });
        let b = self.plan.buffers.len() - 1;
        self.buffers.insert(value, b);
        b
    }

    /// Emits a matrix product. If the fused kernel writes elements of the same type, the product is stored in the buffer of the
    /// kernel's result, which the kernel overwrites.
    fn contraction(&mut self, c: &Contraction, finish: Option<&Group>, stored: &[bool]) -> Contraction {
        let finish = finish.map(|g| self.kernel(g, stored));
        let product = self.buffer(c.buffers[2]);
        let mut out = Contraction { buffers: c.buffers.map(|v| self.buffer(v)), ..c.clone() };
        let Some(mut kernel) = finish else { return out };
        let target = kernel.stores.iter().map(|s| s.access.buffer);
        let alike = |b: &usize| self.plan.buffers[*b].dtype == c.dtype;
        if let Some(target) = target.into_iter().find(alike) {
            for inst in &mut kernel.body {
                if let Operation::Load(access) = &mut inst.op
                    && access.buffer == product
                {
                    access.buffer = target;
                }
            }
            out.buffers[2] = target;
        }
        Contraction { finish: Some(kernel), ..out }
    }

    /// Emits the loop nest of a group.
    fn kernel(&mut self, group: &Group, stored: &[bool]) -> Kernel {
        let reduced = |a: &usize| group.reduced.as_ref().is_some_and(|r| r[*a]);
        let all = 0..group.space.len();
        let order: Vec<usize> = all.clone().filter(|a| !reduced(a)).chain(all.filter(reduced)).collect();
        let parallel = order.iter().filter(|a| !reduced(a)).count();
        let mut body =
            Body { emitter: self, group, order: &order, parallel, insts: vec![], inst_of: HashMap::new() };
        let mut stores = Vec::new();
        for (member, level) in &group.members {
            let value = body.member(member, *level);
            if stored[member.value] {
                let layout = body.layout(&Layout::row_major(&member.shape), &member.shape, *level);
                let access = Access { buffer: body.emitter.buffer(member.value), layout };
                stores.push(Store { value, access });
            }
        }
        let axes = order.iter().map(|&a| group.space[a]).collect();
        let body = body.insts;
        let mut kernel = Kernel { axes, parallel, columns: group.by_columns(), body, stores };
        kernel.coalesce();
        kernel
    }

    fn routine(&mut self, op: &Op, types: &[Aval], ins: &[Value], outs: &[Value]) -> Result<Step> {
        let results: Vec<Aval> = outs.iter().map(|v| self.lowered.values[*v].0.clone()).collect();
        let types = types.to_vec();
        let ins: Vec<usize> = ins.iter().map(|v| self.buffer(*v)).collect();
        let outs: Vec<usize> = outs.iter().map(|v| self.buffer(*v)).collect();
        let plans = |graphs: &[&Arc<Graph>]| -> Result<Vec<Arc<Plan>>> {
            graphs.iter().map(|g| compile(g, self.profile).map(Arc::new)).collect()
        };
        Ok(match op.def().form(&types) {
            Form::Switch(branches) => {
                Step::Switch(Control { plans: plans(&branches.iter().collect::<Vec<_>>())?, ins, outs })
            }
            Form::Scan(scan) => Step::Scan {
                control: Control { plans: plans(&[&scan.body])?, ins, outs },
                shared: scan.shared,
                carries: scan.carries,
                length: scan.length,
                reverse: scan.reverse,
            },
            Form::While(op) => Step::While {
                control: Control { plans: plans(&[&op.condition, &op.body])?, ins, outs },
                shared: op.shared,
                bound: op.bound,
            },
            _ => {
                let claim = if let Op::Call(call) = op { self.profile.claim(call, &types) } else { None };
                let (overwrites, can_fail) = claim.map_or((None, true), |c| (c.overwrites, c.can_fail));
                let op = op.clone();
                Step::Routine(Routine { op, types, results, ins, outs, overwrites, can_fail, origin: None })
            }
        })
    }
}

/// A kernel's body under construction.
struct Body<'e, 'a> {
    emitter: &'e mut Emitter<'a>,
    group: &'e Group,
    order: &'e [usize],
    parallel: usize,
    insts: Vec<Inst>,
    /// The instruction that computes the value of each member.
    inst_of: HashMap<Value, usize>,
}

impl Body<'_, '_> {
    /// Converts a layout to the kernel's axes.
    fn layout(&self, layout: &Layout, shape: &[usize], level: Level) -> Layout {
        // Joining a group checked that the layouts of a member fit its axes.
        let own = self
            .group
            .strides(layout, shape, level)
            .unwrap_or_else(|| Layout { offset: layout.offset, strides: vec![0; self.group.space.len()] });
        Layout { offset: own.offset, strides: self.order.iter().map(|&a| own.strides[a]).collect() }
    }

    fn push(&mut self, inst: Inst) -> usize {
        self.insts.push(inst);
        self.insts.len() - 1
    }

    /// Appends an instruction, unless the body already has an equal constant, load or index. Returns the number of the
    /// instruction.
    fn push_once(&mut self, inst: Inst) -> usize {
        let same = |other: &Inst| {
            other.dtype == inst.dtype
                && match (&other.op, &inst.op) {
                    (Operation::Constant(a), Operation::Constant(b)) => a == b,
                    (Operation::Load(a), Operation::Load(b)) => a == b,
                    (Operation::Index(a), Operation::Index(b)) => a == b,
                    _ => false,
                }
        };
        match self.insts.iter().position(same) {
            Some(known) => known,
            None => self.push(inst),
        }
    }

    fn member(&mut self, member: &Member, level: Level) -> usize {
        let (space, dtype) = (&member.space, member.dtype);
        let i = match &member.task {
            Task::Pieces(bounds) => {
                let mut pieces = Vec::new();
                for (view, bounds) in member.args.iter().zip(bounds) {
                    let layout = self.layout(&view.layout, space, level);
                    let Some(value) = view.value() else { continue };
                    let access = Access { buffer: self.emitter.buffer(value), layout };
                    let bounds = bounds.iter().map(|(l, e)| (self.layout(l, space, level), *e)).collect();
                    pieces.push(Piece { access, bounds });
                }
                self.push(Inst { op: Operation::Pieces(pieces), args: vec![], dtype, level })
            }
            Task::Scalar(scalar) => {
                let args = member.args.iter().map(|v| self.arg(v, space, level)).collect();
                self.push(Inst { op: Operation::Scalar(*scalar), args, dtype, level })
            }
            Task::Reduce(combine, _) => {
                let args = member.args.iter().map(|v| self.arg(v, space, Level::Element)).collect();
                self.push(Inst { op: Operation::Reduce(*combine), args, dtype, level })
            }
        };
        self.inst_of.insert(member.value, i);
        i
    }

    fn arg(&mut self, view: &View, space: &[usize], level: Level) -> usize {
        match &view.source {
            Source::Scalar(l) => {
                let (op, dtype) = (Operation::Constant(l.clone()), l.dtype());
                self.push_once(Inst { op, args: vec![], dtype, level: Level::Row })
            }
            Source::Index(dtype) => {
                let layout = self.layout(&view.layout, space, level);
                let level = self.level(&layout);
                self.push_once(Inst { op: Operation::Index(layout), args: vec![], dtype: *dtype, level })
            }
            Source::Value(value) => {
                if let Some(&i) = self.inst_of.get(value) {
                    return i;
                }
                let layout = self.layout(&view.layout, space, level);
                let level = self.level(&layout);
                let dtype = self.emitter.lowered.values[*value].0.dtype;
                let access = Access { buffer: self.emitter.buffer(*value), layout };
                self.push_once(Inst { op: Operation::Load(access), args: vec![], dtype, level })
            }
        }
    }

    /// Returns the level of a load: `Row` if the group reduces and the layout does not vary along reduced
    /// axes, else `Element`.
    fn level(&self, layout: &Layout) -> Level {
        let invariant = layout.strides[self.parallel..].iter().all(|&s| s == 0);
        if self.group.reduced.is_some() && invariant { Level::Row } else { Level::Element }
    }
}
