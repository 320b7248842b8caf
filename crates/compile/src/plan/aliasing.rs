//! Checks the buffers of a plan that share memory: temporaries in the arena, and outputs that overwrite an input. Takes a
//! plan whose steps are verified; returns an error that describes the first violation. The rules are implemented here again,
//! without the functions of the planner (`memory.rs`), so that errors of the planner are found.

use super::{BufferLocation, Plan, Step};
use crate::kernel::{Kernel, Level, Operation};
use crate::layout::Layout;

/// The first and the last step that use a buffer.
type Use = Option<(usize, usize)>;

impl Plan {
    /// Checks that every temporary is inside of the arena, and that two temporaries in use at the same time do not
    /// overlap. They may overlap if a step overwrites one with the other, element by element or because its claim allows
    /// it.
    pub(super) fn verify_arena(&self) -> Result<(), String> {
        let uses = self.uses();
        let mut temporary: Vec<(usize, usize, usize)> = Vec::new();
        for (b, own) in uses.iter().enumerate() {
            let (BufferLocation::Arena(at), Some((first, _))) = (&self.buffers[b].location, own) else {
                continue;
            };
            if at + self.buffers[b].bytes() > self.arena {
                return Err(format!("b{b} is outside of the arena"));
            }
            temporary.push((*first, b, *at));
        }
        temporary.sort_unstable();
        let mut alive: Vec<(usize, usize)> = Vec::new();
        for (from, b, at) in temporary {
            let last = |other: usize| uses[other].map_or(0, |(_, last)| last);
            alive.retain(|(other, _)| last(*other) >= from);
            for &(other, other_at) in &alive {
                let disjoint =
                    at + self.buffers[b].bytes() <= other_at || other_at + self.buffers[other].bytes() <= at;
                let over =
                    || at == other_at && last(other) == from && self.overwrites(from, b, other).is_ok();
                if !disjoint && !over() {
                    return Err(format!("b{b} overlaps b{other}, which is still needed"));
                }
            }
            alive.push((b, at));
        }
        Ok(())
    }

    /// Checks the donors: an output may take over the memory of an input only if
    /// - no other output takes over that input,
    /// - both have the same type and number of elements,
    /// - the step that writes the output reads the input, element by element or by a claim that allows overwriting it, and
    ///   no later step reads it,
    /// - no later step can fail: a run that fails leaves its arguments unchanged.
    pub(super) fn verify_donors(&self) -> Result<(), String> {
        if self.donors.len() != self.outputs.len() {
            return Err(format!("{} donors for {} outputs", self.donors.len(), self.outputs.len()));
        }
        for (k, i) in self.donors.iter().enumerate().filter_map(|(k, d)| Some((k, (*d)?))) {
            let refuse = |why: String| Err(format!("output {k} cannot take over input {i}: {why}"));
            let Some(&input) = self.inputs.get(i) else {
                return refuse(format!("there are {} inputs", self.inputs.len()));
            };
            let output = self.outputs[k];
            if let Some(other) = self.donors[..k].iter().position(|d| *d == Some(i)) {
                return refuse(format!("output {other} does"));
            }
            if self.buffers[output].dtype != self.buffers[input].dtype {
                return refuse("their dtypes differ".into());
            }
            let Some(at) = self.steps.iter().position(|s| s.writes().contains(&output)) else {
                return refuse("no step writes it".into());
            };
            if let Err(why) = self.overwrites(at, output, input) {
                return refuse(why);
            }
            for (later, step) in self.steps.iter().enumerate().skip(at + 1) {
                if step.reads().contains(&input) {
                    return refuse(format!("step {later} reads it after step {at}"));
                }
                if can_fail(step) {
                    return refuse(format!("step {later} can fail after step {at}"));
                }
            }
        }
        Ok(())
    }

    fn uses(&self) -> Vec<Use> {
        let mut uses: Vec<Use> = vec![None; self.buffers.len()];
        for (at, step) in self.steps.iter().enumerate() {
            for b in [step.reads(), step.writes()].concat() {
                uses[b] = Some((uses[b].map_or(at, |(first, _)| first), at));
            }
        }
        uses
    }

    /// Returns an error with the reason if `step` must not write `written` into the memory of `read`.
    fn overwrites(&self, step: usize, written: usize, read: usize) -> Result<(), String> {
        let (to, from) = (&self.buffers[written], &self.buffers[read]);
        if to.numel != from.numel || to.dtype.size() != from.dtype.size() {
            return Err("their elements differ in number or size".into());
        }
        match &self.steps[step] {
            Step::Kernel(kernel) => elementwise(kernel, written, read),
            Step::Routine(r) if r.overwritten() == Some((written, read)) => Ok(()),
            _ => Err(format!("step {step} does not run element by element")),
        }
    }
}

/// Returns true if a step can return an error: an index out of range, a matrix without a factorisation, a failed allocation in a
/// loop or branch. The match lists every kind of step, so that adding one does not compile until it is listed here.
fn can_fail(step: &Step) -> bool {
    match step {
        Step::Kernel(_) | Step::Contract(_) => false,
        Step::Slices { control, .. } => control.plans.iter().any(|plan| plan.steps.iter().any(can_fail)),
        Step::Routine(r) => r.can_fail,
        Step::Switch(_) | Step::Scan { .. } | Step::While { .. } => true,
    }
}

/// Returns an error unless each index of the kernel reads from `read` exactly the element that it writes to `written`,
/// and writes after its last read.
fn elementwise(kernel: &Kernel, written: usize, read: usize) -> Result<(), String> {
    let reduces = kernel.parallel < kernel.axes.len();
    if kernel.columns && reduces {
        return Err("a kernel by columns reads and writes its elements in several passes".into());
    }
    let mut loads: Vec<&Layout> = Vec::new();
    for inst in &kernel.body {
        match &inst.op {
            Operation::Load(access) if access.buffer == read => loads.push(&access.layout),
            Operation::Pieces(pieces) if pieces.iter().any(|p| p.access.buffer == read) => {
                return Err(format!("b{read} is read in pieces"));
            }
            _ => {}
        }
    }
    if loads.is_empty() {
        return Err(format!("the step that writes b{written} does not read b{read}"));
    }
    for store in kernel.stores.iter().filter(|s| s.access.buffer == written) {
        // A row may be read in several passes. Values per row may be written before the last pass, values per element are not.
        if reduces && kernel.body[store.value].level == Level::Row {
            return Err(format!(
                "b{written} is written once per row, before all elements of the row are read"
            ));
        }
        let own = &store.access.layout;
        if !loads.iter().all(|load| same_elements(load, own, &kernel.axes)) {
            return Err(format!("an index reads other elements of b{read} than it writes"));
        }
    }
    Ok(())
}

/// Returns true if both layouts map each index to the same element. A stride along an extent of 1 has no effect.
fn same_elements(a: &Layout, b: &Layout, extents: &[usize]) -> bool {
    let strides = a.strides.iter().zip(&b.strides).zip(extents);
    a.offset == b.offset && strides.filter(|(_, extent)| **extent > 1).all(|((a, b), _)| a == b)
}
