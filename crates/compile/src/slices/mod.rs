//! Slices: consecutive steps that do the same work for every index of some outer axes are run together, for one index after
//! another.
//!
//! The values that these steps pass to each other then have the size of one slice, so they stay in cache and are never stored
//! completely. For example, the scores of attention are computed, normalised and used for one head at a time, or for some rows
//! of a large head. If a later run of slices reads a value of an earlier run and also all operands of that value, the later
//! run may compute the value again.

mod columns;

use crate::contraction::Contraction;
use crate::kernel::{Access, Kernel, Operation};
use crate::layout::{Layout, cut, refine};
use crate::memory::plan_memory;
use crate::plan::{Buffer, BufferLocation, Control, Plan, Step};
use crate::profile::Slices;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Consecutive steps, and the extents of the outer axes that they share.
struct Run {
    steps: Range<usize>,
    extents: Vec<usize>,
    /// The buffers that one of the steps writes and another reads.
    passed: BTreeSet<usize>,
    /// The temporaries of `passed` that no step outside of the run uses. `bytes` is their total size.
    own: BTreeSet<usize>,
    bytes: usize,
}

/// Replaces runs of steps by their slices.
pub(crate) fn slice(plan: &mut Plan, limits: &Slices, align: usize) {
    recompute_reads(plan, limits);
    let runs = runs(plan, limits);
    for run in runs.into_iter().rev() {
        let Some(step) = emit_slices(plan, &run, align) else { continue };
        plan.steps.splice(run.steps, [step]);
    }
    if let Some(shared) = limits.shared {
        columns::slice(plan, limits, shared, align);
    }
}

/// An access of a step that is sliced.
struct SlicedAccess<'a> {
    buffer: usize,
    /// Strides along the outer axes, from slice to slice.
    along: &'a [i64],
    /// The first and the last position within a slice; `None` if the access is guarded by bounds.
    within: Option<(i64, i64)>,
    write: bool,
}

/// A function that is called for every access of a step, and returns the buffer to use instead.
type RedirectAccess<'f> = &'f mut dyn FnMut(SlicedAccess<'_>) -> usize;

/// Splits the parallel axes so that their outer parts have these extents. Returns the parts of every axis, or `None` if the
/// axes cannot be split like this.
fn split_outer_axes(axes: &[usize], parallel: usize, extents: &[usize]) -> Option<Vec<Vec<usize>>> {
    let (outer, slices): (usize, usize) = (axes[..parallel].iter().product(), extents.iter().product());
    if slices == 0 || outer == 0 || outer % slices != 0 {
        return None;
    }
    let fine = refine(&axes[..parallel], &[extents, &[outer / slices]].concat())?;
    let pieces = fine.starts_with(extents).then(|| cut(&axes[..parallel], &fine))??;
    Some(pieces.into_iter().chain(axes[parallel..].iter().map(|&e| vec![e])).collect())
}

/// Returns the step for one index of the outer axes; `None` if the step cannot be sliced.
fn sliced(step: &Step, extents: &[usize], redirect: RedirectAccess<'_>) -> Option<Step> {
    match step {
        Step::Kernel(k) => kernel(k, extents, redirect).map(Step::Kernel),
        Step::Contract(c) => contraction(c, extents, redirect).map(Step::Contract),
        _ => None,
    }
}

fn kernel(k: &Kernel, extents: &[usize], redirect: RedirectAccess<'_>) -> Option<Kernel> {
    let (axes, n) = (&k.axes, extents.len());
    let pieces = split_outer_axes(axes, k.parallel, extents)?;
    let inner: Vec<usize> = pieces.concat().split_off(n);
    let parallel = pieces[..k.parallel].iter().map(Vec::len).sum::<usize>().checked_sub(n + 1)? + 1;
    // Removes the outer axes from a layout and returns the strides along them.
    let take_outer = |layout: &mut Layout| {
        let mut split = layout.cut(axes, &pieces);
        layout.strides = split.strides.split_off(n);
        split.strides
    };
    let mut slice_access = |access: &mut Access, guarded: bool, write: bool| {
        let along = take_outer(&mut access.layout);
        let within = if guarded { None } else { access.layout.ends(&inner) };
        access.buffer = redirect(SlicedAccess { buffer: access.buffer, along: &along, within, write });
    };
    // A value that depends on the index along the outer axes cannot be computed within a slice.
    let independent = |layout: &mut Layout| take_outer(layout).iter().all(|s| *s == 0).then_some(());
    let mut new = k.clone();
    for inst in &mut new.body {
        match &mut inst.op {
            Operation::Load(access) => slice_access(access, false, false),
            Operation::Index(layout) => independent(layout)?,
            Operation::Pieces(pieces) => {
                for piece in pieces {
                    piece.bounds.iter_mut().try_for_each(|(layout, _)| independent(layout))?;
                    slice_access(&mut piece.access, true, false);
                }
            }
            _ => {}
        }
    }
    new.stores.iter_mut().for_each(|s| slice_access(&mut s.access, false, true));
    Some(Kernel { axes: inner, parallel, ..new })
}

fn contraction(c: &Contraction, extents: &[usize], redirect: RedirectAccess<'_>) -> Option<Contraction> {
    let n = extents.len();
    let axes: Vec<usize> = c.batch.iter().map(|b| b.0).chain([c.m.0]).collect();
    let pieces = split_outer_axes(&axes, axes.len(), extents)?;
    let flat = pieces.concat();
    // The part of the rows that is not in the outer axes stays.
    let (batch, rows) = match c.m.0 {
        1 => (flat.len(), 1),
        _ => (flat.len() - 1, *flat.last()?),
    };
    if batch < n {
        return None;
    }
    let layout = |o: usize| {
        let rows = [c.m.1[0], 0, c.m.1[1]][o];
        let strides = c.batch.iter().map(|b| b.1[o]).chain([rows]).collect();
        Layout { offset: c.offsets[o], strides }.cut(&axes, &pieces)
    };
    let layouts: [Layout; 3] = std::array::from_fn(layout);
    let finish = match &c.finish {
        Some(k) => {
            // The fused kernel runs over positions of the result, so the positions of a slice must be contiguous.
            let slices: usize = extents.iter().product();
            let each = k.axes.iter().product::<usize>() / slices;
            let natural = Layout::row_major(&[extents, &[each]].concat()).strides;
            if layouts[2].strides[..n] != natural[..n] {
                return None;
            }
            Some(kernel(k, extents, redirect)?)
        }
        None => None,
    };
    let rest = (n..batch).map(|a| (flat[a], std::array::from_fn(|o| layouts[o].strides[a]))).collect();
    let mut one = Contraction { batch: rest, m: (rows, c.m.1), finish, ..c.clone() };
    one.buffers = std::array::from_fn(|o| {
        let along = &layouts[o].strides[..n];
        redirect(SlicedAccess { buffer: c.buffers[o], along, within: one.ends(o), write: o == 2 })
    });
    Some(one)
}

/// The steps that use each buffer.
type Users = HashMap<usize, BTreeSet<usize>>;

fn users(plan: &Plan) -> Users {
    let mut users = Users::new();
    for (i, step) in plan.steps.iter().enumerate() {
        step.reads().into_iter().chain(step.writes()).for_each(|b| {
            users.entry(b).or_default().insert(i);
        });
    }
    users
}

/// The slices of a buffer that a step reads and writes.
#[derive(Clone, Copy)]
struct Use {
    buffer: usize,
    write: bool,
    /// If true, its slices are contiguous, and each is used by its own index alone.
    contiguous: bool,
    /// If true, a stride from slice to slice is negative.
    backwards: bool,
}

type Used = Option<Rc<[Use]>>;

/// Properties of steps, cached because the search for runs needs them often.
struct StepUses<'a> {
    plan: &'a Plan,
    users: &'a Users,
    limits: &'a Slices,
    /// The buffers that a step uses over some outer axes; `None` if it cannot be sliced along them.
    uses: RefCell<HashMap<(usize, Vec<usize>), Used>>,
}

impl<'a> StepUses<'a> {
    fn new(plan: &'a Plan, users: &'a Users, limits: &'a Slices) -> StepUses<'a> {
        StepUses { plan, users, limits, uses: RefCell::default() }
    }

    fn uses(&self, step: usize, extents: &[usize]) -> Used {
        let key = (step, extents.to_vec());
        if let Some(known) = self.uses.borrow().get(&key) {
            return known.clone();
        }
        let found = self.uses_of(&self.plan.steps[step], extents);
        self.uses.borrow_mut().insert(key, found.clone());
        found
    }

    fn uses_of(&self, step: &Step, extents: &[usize]) -> Used {
        let slices: usize = extents.iter().product();
        let mut uses = Vec::new();
        let mut record = |m: SlicedAccess<'_>| {
            let each = self.plan.buffers[m.buffer].numel / slices;
            let strides = Layout::row_major(&[extents, &[each]].concat()).strides;
            let inside = m.within.is_some_and(|(low, high)| low >= 0 && high < each as i64);
            let contiguous = inside && m.along == &strides[..extents.len()];
            let backwards = m.along.iter().any(|s| *s < 0);
            uses.push(Use { buffer: m.buffer, write: m.write, contiguous, backwards });
            m.buffer
        };
        sliced(step, extents, &mut record)?;
        Some(uses.into())
    }
}

/// Returns consecutive steps as a run over these outer axes. Returns `None` if they cannot form one.
fn make_run(step_uses: &StepUses<'_>, steps: Range<usize>, extents: &[usize]) -> Option<Run> {
    let (plan, users) = (step_uses.plan, step_uses.users);
    let (mut written, mut read) = (BTreeSet::new(), BTreeSet::new());
    let mut scattered = BTreeSet::new();
    let mut backwards = false;
    for step in steps.clone() {
        for one in step_uses.uses(step, extents)?.iter() {
            if !one.contiguous {
                scattered.insert(one.buffer);
            }
            backwards |= one.backwards;
            if one.write { &mut written } else { &mut read }.insert(one.buffer);
        }
    }
    let passed: BTreeSet<usize> = written.intersection(&read).copied().collect();
    if backwards || passed.iter().any(|b| scattered.contains(b)) {
        return None;
    }
    let uses = |s: &&Step, b: usize| s.reads().contains(&b) || s.writes().contains(&b);
    let own = |b: &usize| {
        let here = plan.steps[steps.clone()].iter().filter(|s| uses(s, *b)).count();
        let inside = users.get(b).is_some_and(|u| u.len() == here);
        inside && !scattered.contains(b) && matches!(plan.buffers[*b].location, BufferLocation::Arena(_))
    };
    let own: BTreeSet<usize> = passed.iter().copied().filter(own).collect();
    let bytes = own.iter().map(|b| plan.buffers[*b].bytes()).sum();
    Some(Run { steps, extents: extents.to_vec(), passed, own, bytes })
}

/// Returns the runs that are worth slicing. They do not overlap.
fn runs(plan: &Plan, limits: &Slices) -> Vec<Run> {
    let users = users(plan);
    let step_uses = &StepUses::new(plan, &users, limits);
    let mut found: Vec<Run> = Vec::new();
    let mut at = 0;
    while at < plan.steps.len() {
        let first = found.last().map_or(0, |r| r.steps.end);
        let whole = grow_run(step_uses, first, at).filter(|r| r.bytes >= limits.least);
        let whole = whole.and_then(|r| merge_slices(step_uses, r));
        at = whole.as_ref().map_or(at + 1, |r| r.steps.end);
        found.extend(whole.map(|r| split_by_rows(step_uses, r)));
    }
    found
}

/// Returns the longest run around a batch of products.
fn grow_run(step_uses: &StepUses<'_>, first: usize, at: usize) -> Option<Run> {
    let plan = step_uses.plan;
    let Step::Contract(c) = &plan.steps[at] else { return None };
    let extents: Vec<usize> = c.batch.iter().map(|b| b.0).filter(|e| *e != 1).collect();
    if c.products() < step_uses.limits.fewest {
        return None;
    }
    let mut best = make_run(step_uses, at..at + 1, &extents)?;
    // A further step may need a finer split of the outer axes.
    let with = |steps: Range<usize>, new: usize, extents: &[usize]| {
        make_run(step_uses, steps.clone(), extents).or_else(|| {
            let axes = match &plan.steps[new] {
                Step::Kernel(k) => k.axes[..k.parallel].to_vec(),
                Step::Contract(c) => c.batch.iter().map(|b| b.0).collect(),
                _ => return None,
            };
            let (outer, slices): (usize, usize) = (axes.iter().product(), extents.iter().product());
            let rest = outer.checked_div(slices).filter(|r| r * slices == outer)?;
            let mut fine = refine(&axes, &[extents, &[rest]].concat())?;
            let ends = (0..=fine.len()).find(|k| fine[..*k].iter().product::<usize>() == slices)?;
            fine.truncate(ends);
            make_run(step_uses, steps, &fine)
        })
    };
    while best.steps.end < plan.steps.len()
        && let Some(longer) = with(best.steps.start..best.steps.end + 1, best.steps.end, &best.extents)
    {
        best = longer;
    }
    while best.steps.start > first
        && let Some(longer) = with(best.steps.start - 1..best.steps.end, best.steps.start - 1, &best.extents)
    {
        best = longer;
    }
    // Drops steps at both ends that pass no values to other steps of the run.
    loop {
        let Range { start, end } = best.steps;
        let any = |list: Vec<usize>| list.iter().any(|b| best.passed.contains(b));
        let steps = match &plan.steps[start..end] {
            [one, .., _] if !any(one.writes()) => start + 1..end,
            [_, .., one] if !any(one.reads()) => start..end - 1,
            [] | [_] => return None,
            _ => return Some(best),
        };
        best = make_run(step_uses, steps, &best.extents)?;
    }
}

/// Combines several slices into one if slices are small. Returns `None` if too few slices remain.
fn merge_slices(step_uses: &StepUses<'_>, mut whole: Run) -> Option<Run> {
    let Slices { fewest, small, .. } = *step_uses.limits;
    loop {
        let slices: usize = whole.extents.iter().product();
        let wanted = small.div_ceil((whole.bytes / slices).max(1));
        if slices < fewest || wanted <= 1 {
            return (slices >= fewest).then_some(whole);
        }
        let mut extents = whole.extents.clone();
        let last = extents.pop()?;
        let several = (wanted..last).find(|s| last.is_multiple_of(*s)).unwrap_or(last);
        extents.extend((several < last).then_some(last / several));
        whole = make_run(step_uses, whole.steps, &extents)?;
    }
}

/// Splits slices into parts of their rows if slices are large and all steps can be split by rows.
fn split_by_rows(step_uses: &StepUses<'_>, whole: Run) -> Run {
    let plan = step_uses.plan;
    let slices: usize = whole.extents.iter().product();
    let Some(Step::Contract(c)) =
        plan.steps[whole.steps.clone()].iter().find(|s| matches!(s, Step::Contract(_)))
    else {
        return whole;
    };
    // Products with few rows are slow.
    let parts: Vec<usize> =
        (2..=c.m.0 / step_uses.limits.rows).filter(|p| c.m.0.is_multiple_of(*p)).collect();
    let fits = |p: &&usize| whole.bytes / slices / **p <= step_uses.limits.cache;
    let Some(parts) = parts.iter().find(fits).or(parts.last()) else { return whole };
    if whole.bytes / slices <= step_uses.limits.cache {
        return whole;
    }
    let extents = [&whole.extents[..], &[*parts]].concat();
    match make_run(step_uses, whole.steps.clone(), &extents) {
        Some(finer) if finer.own == whole.own => finer,
        _ => whole,
    }
}

/// Builds the step that runs the slices of a run.
fn emit_slices(plan: &Plan, run: &Run, align: usize) -> Option<Step> {
    let extents = &run.extents;
    let slices: usize = extents.iter().product();
    let mut body = Plan::default();
    let (mut ins, mut outs, mut moves) = (Vec::new(), Vec::new(), Vec::new());
    let written: BTreeSet<usize> = plan.steps[run.steps.clone()].iter().flat_map(Step::writes).collect();
    let mut known: BTreeMap<(usize, Vec<i64>), usize> = BTreeMap::new();
    let mut buffer_of = |m: SlicedAccess<'_>| {
        *known.entry((m.buffer, m.along.to_vec())).or_insert_with(|| {
            let Buffer { dtype, numel, .. } = plan.buffers[m.buffer];
            let at = body.buffers.len();
            let reach: i64 = extents.iter().zip(m.along).map(|(e, s)| (*e as i64 - 1) * s).sum();
            let (numel, location) = if run.own.contains(&m.buffer) {
                (numel / slices, BufferLocation::Arena(0))
            } else if written.contains(&m.buffer) {
                body.outputs.push(at);
                outs.push((m.buffer, m.along.to_vec()));
                (numel - reach as usize, BufferLocation::Output(outs.len() - 1))
            } else {
                body.inputs.push(at);
                ins.push(m.buffer);
                moves.push(m.along.to_vec());
                (numel - reach as usize, BufferLocation::Input(ins.len() - 1))
            };
            body.buffers.push(Buffer { dtype, numel, location });
            at
        })
    };
    let mut steps = Vec::new();
    for step in &plan.steps[run.steps.clone()] {
        steps.push(sliced(step, extents, &mut buffer_of)?);
    }
    let (outs, out_moves): (Vec<usize>, Vec<Vec<i64>>) = outs.into_iter().unzip();
    moves.extend(out_moves);
    body.steps = steps;
    plan_memory(&mut body, align, usize::MAX);
    // All slices read the same inputs, so no input may be overwritten.
    body.donors.iter_mut().for_each(|d| *d = None);
    let control = Control { plans: vec![Arc::new(body)], ins, outs };
    Some(Step::Slices { control, extents: extents.clone(), moves })
}

/// Makes runs recompute large values of earlier runs, if they read everything that those values are computed from.
fn recompute_reads(plan: &mut Plan, limits: &Slices) {
    let (runs, users) = (runs(plan, limits), users(plan));
    // Visits later runs first, so that the indices of earlier steps stay valid.
    for later in runs.iter().rev() {
        let reads: BTreeSet<usize> = plan.steps[later.steps.clone()].iter().flat_map(Step::reads).collect();
        let mut again: BTreeSet<usize> = BTreeSet::new();
        for earlier in runs.iter().filter(|r| r.steps.end <= later.steps.start) {
            for &buffer in &reads {
                let Buffer { numel, location, .. } = &plan.buffers[buffer];
                let elsewhere = |s: &usize| !earlier.steps.contains(s) && !later.steps.contains(s);
                let used = users.get(&buffer);
                let wanted = matches!(location, BufferLocation::Arena(_))
                    && plan.buffers[buffer].bytes() >= limits.large
                    && used.is_some_and(|u| !u.iter().any(elsewhere));
                let Some(recipe) = wanted.then(|| recipe(plan, earlier, buffer, &reads)).flatten() else {
                    continue;
                };
                let work: f64 = recipe.iter().map(|s| plan.steps[*s].work(plan).flops).sum();
                if work <= limits.work * *numel as f64 {
                    again.extend(recipe);
                }
            }
        }
        let mut renamed: HashMap<usize, usize> = HashMap::new();
        let mut copies: Vec<Step> = again.iter().map(|s| plan.steps[*s].clone()).collect();
        for b in copies.iter().flat_map(Step::writes).collect::<BTreeSet<_>>() {
            renamed.insert(b, plan.buffers.len());
            let copy = Buffer { location: BufferLocation::Arena(0), ..plan.buffers[b].clone() };
            plan.buffers.push(copy);
        }
        copies.iter_mut().for_each(|s| s.rename(&renamed));
        plan.steps[later.steps.clone()].iter_mut().for_each(|s| s.rename(&renamed));
        plan.steps.splice(later.steps.start..later.steps.start, copies);
    }
    remove_unread_stores(plan);
}

/// Removes stores of kernels to buffers that no step reads any more.
fn remove_unread_stores(plan: &mut Plan) {
    let read: BTreeSet<usize> = plan.steps.iter().flat_map(Step::reads).collect();
    for step in &mut plan.steps {
        if let Step::Kernel(k) = step {
            let is_output = |b: usize| matches!(plan.buffers[b].location, BufferLocation::Output(_));
            k.stores.retain(|s| read.contains(&s.access.buffer) || is_output(s.access.buffer));
        }
    }
    plan.steps.retain(|s| !matches!(s, Step::Kernel(k) if k.stores.is_empty()));
}

/// Returns the steps of a run that compute `buffer`, if they need only `reads` from outside the run.
fn recipe(plan: &Plan, run: &Run, buffer: usize, reads: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
    let (mut steps, mut wanted) = (BTreeSet::new(), vec![buffer]);
    while let Some(b) = wanted.pop() {
        let writer = run.steps.clone().find(|s| plan.steps[*s].writes().contains(&b));
        match writer {
            Some(s) => {
                if steps.insert(s) {
                    wanted.extend(plan.steps[s].reads());
                }
            }
            None if reads.contains(&b) => {}
            None => return None,
        }
    }
    Some(steps)
}
