//! Plans memory: assigns every temporary an offset in one arena. Temporaries that are never needed at the same time may
//! share bytes.

use crate::kernel::{Access, Kernel, Level, Operation};
use crate::layout::Layout;
use crate::plan::{BufferLocation, Plan, Step};
use std::collections::{HashMap, HashSet};

/// The lifetime of a buffer: from the step that writes it to the last step that reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// Assigns an offset to every temporary, and determines which inputs an output may overwrite.
pub(crate) fn plan_memory(plan: &mut Plan, align: usize, page: usize) {
    let lives = lives(plan);
    // For each temporary that overwrites another, the other one.
    let mut overwritten: HashMap<usize, usize> = HashMap::new();
    let mut taken: HashSet<usize> = HashSet::new();
    for (at, step) in plan.steps.iter().enumerate() {
        for (written, read) in in_place(step) {
            let temporary = |b: usize| matches!(plan.buffers[b].location, BufferLocation::Arena(_));
            let dies = lives[read].is_some_and(|l| l.to == at);
            // Both must have elements of the same size, because a wider element would overwrite neighbours before they
            // are read.
            let fits = plan.buffers[written].numel == plan.buffers[read].numel
                && plan.buffers[written].dtype.size() == plan.buffers[read].dtype.size();
            let free = !taken.contains(&read) && !overwritten.contains_key(&written);
            if temporary(written) && temporary(read) && dies && fits && free {
                overwritten.insert(written, read);
                taken.insert(read);
            }
        }
    }
    // Buffers that overwrite one another are allocated as one buffer that lives as long as all of them.
    let root = |mut b: usize| {
        while let Some(&other) = overwritten.get(&b) {
            b = other;
        }
        b
    };
    let mut merged_lives: HashMap<usize, Life> = HashMap::new();
    for (b, life) in lives.iter().enumerate() {
        let Some(life) = life.filter(|_| matches!(plan.buffers[b].location, BufferLocation::Arena(_))) else {
            continue;
        };
        let own = merged_lives.entry(root(b)).or_insert(life);
        *own = Life { from: own.from.min(life.from), to: own.to.max(life.to) };
    }
    let (offsets, arena) = pack(plan, &merged_lives, align, page);
    plan.arena = arena;
    for (b, buffer) in plan.buffers.iter_mut().enumerate() {
        if let (BufferLocation::Arena(at), Some(offset)) = (&mut buffer.location, offsets.get(&root(b))) {
            *at = *offset;
        }
    }
    plan.donors = donors(plan, &lives);
}

/// Allocates buffers, the largest first. Each gets the lowest offset at which it is in one page and overlaps no buffer that
/// is needed at the same time.
fn pack(
    plan: &Plan,
    merged_lives: &HashMap<usize, Life>,
    align: usize,
    page: usize,
) -> (HashMap<usize, usize>, usize) {
    // First byte, end, and lifetime; sorted by offset.
    let mut allocated: Vec<(usize, usize, Life)> = Vec::new();
    let mut order: Vec<(usize, Life)> = merged_lives.iter().map(|(b, l)| (*b, *l)).collect();
    order.sort_by_key(|(b, _)| (std::cmp::Reverse(plan.buffers[*b].bytes()), *b));
    let (mut offsets, mut arena) = (HashMap::new(), 0);
    for (b, life) in order {
        let bytes = plan.buffers[b].bytes().next_multiple_of(align);
        let mut at = 0;
        for (from, to, other) in allocated.iter() {
            let together = life.from <= other.to && other.from <= life.to;
            if together && at < *to && *from < at + bytes {
                at = in_page(*to, bytes, page);
            }
        }
        let i = allocated.partition_point(|(from, _, _)| *from <= at);
        allocated.insert(i, (at, at + bytes, life));
        offsets.insert(b, at);
        arena = arena.max(at + bytes);
    }
    (offsets, arena)
}

/// Returns the first offset from `at` on at which `bytes` bytes are in one page. Values larger than a page start at the
/// beginning of a page.
pub fn in_page(at: usize, bytes: usize, page: usize) -> usize {
    let left = page - at % page;
    if bytes <= left || left == page { at } else { at + left }
}

pub(crate) fn lives(plan: &Plan) -> Vec<Option<Life>> {
    let mut lives: Vec<Option<Life>> = vec![None; plan.buffers.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        for b in step.reads().into_iter().chain(step.writes()) {
            lives[b].get_or_insert(Life { from: at, to: at }).to = at;
        }
    }
    lives
}

/// Returns pairs (written, read) of buffers such that the first may overwrite the second while the step runs. Either every
/// index reads only the element that it writes, or the device claims the step and its code allows overwriting.
fn in_place(step: &Step) -> Vec<(usize, usize)> {
    match step {
        Step::Kernel(k) => in_kernel(k),
        Step::Routine(r) => r.overwritten().into_iter().collect(),
        _ => vec![],
    }
}

fn in_kernel(kernel: &Kernel) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    if kernel.columns && kernel.parallel < kernel.axes.len() {
        return pairs;
    }
    // The buffers in the order of their first read, each with its layout, or `None` if it is read with several layouts.
    let mut layouts: Vec<(usize, Option<&Layout>)> = Vec::new();
    let mut at: HashMap<usize, usize> = HashMap::new();
    for Access { buffer, layout } in kernel.loads() {
        let own = *at.entry(*buffer).or_insert_with(|| {
            layouts.push((*buffer, Some(layout)));
            layouts.len() - 1
        });
        layouts[own].1 = layouts[own].1.filter(|l| *l == layout);
    }
    for inst in &kernel.body {
        let Operation::Pieces(pieces) = &inst.op else { continue };
        pieces.iter().filter_map(|p| at.get(&p.access.buffer)).for_each(|own| layouts[*own].1 = None);
    }
    for store in &kernel.stores {
        let element =
            kernel.body[store.value].level == Level::Element || kernel.parallel == kernel.axes.len();
        let fits = |(read, layout): &&(usize, Option<&Layout>)| {
            element && *read != store.access.buffer && *layout == Some(&store.access.layout)
        };
        pairs.extend(layouts.iter().filter(fits).map(|(read, _)| (store.access.buffer, *read)));
    }
    pairs
}

/// Returns, for each output, an input of the same type that the output may overwrite. The step that writes
/// the output is the last that reads the input, and may overwrite it (see [`in_place`]).
fn donors(plan: &Plan, lives: &[Option<Life>]) -> Vec<Option<usize>> {
    let mut taken = vec![false; plan.inputs.len()];
    let mut donors = vec![None; plan.outputs.len()];
    // A run that fails must leave its arguments unchanged, so no step after the overwriting one may be able to fail.
    let safe = plan.steps.iter().rposition(Step::can_fail).map_or(0, |last| last + 1);
    for (at, step) in plan.steps.iter().enumerate().skip(safe) {
        for (written, read) in in_place(step) {
            let (BufferLocation::Output(k), BufferLocation::Input(i)) =
                (&plan.buffers[written].location, &plan.buffers[read].location)
            else {
                continue;
            };
            let same = plan.buffers[written].dtype == plan.buffers[read].dtype
                && plan.buffers[written].numel == plan.buffers[read].numel;
            if same && !taken[*i] && donors[*k].is_none() && lives[read].is_some_and(|l| l.to == at) {
                taken[*i] = true;
                donors[*k] = Some(*i);
            }
        }
    }
    donors
}
