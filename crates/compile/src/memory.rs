//! Memory planning: every temporary gets a place in one arena, shared by those that are never needed together.

use crate::kernel::{Access, Kernel, Level, Operation};
use crate::layout::Layout;
use crate::plan::{Place, Plan, Step};
use std::collections::{HashMap, HashSet};

/// When a buffer is needed: from the step that writes it to the last that reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// Gives every temporary its place, and says which inputs an output may take over.
pub(crate) fn plan_memory(plan: &mut Plan, align: usize) {
    let lives = lives(plan);
    let mut host: HashMap<usize, usize> = HashMap::new();
    let mut taken: HashSet<usize> = HashSet::new();
    for (at, step) in plan.steps.iter().enumerate() {
        for (written, read) in in_place(step) {
            let temporary = |b: usize| matches!(plan.buffers[b].place, Place::Arena(_));
            let dies = lives[read].is_some_and(|l| l.to == at);
            // Element by element, or a wider one would be written over its neighbours before they are read.
            let fits = plan.buffers[written].numel == plan.buffers[read].numel
                && plan.buffers[written].dtype.size() == plan.buffers[read].dtype.size();
            let free = !taken.contains(&read) && !host.contains_key(&written);
            if temporary(written) && temporary(read) && dies && fits && free {
                host.insert(written, read);
                taken.insert(read);
            }
        }
    }
    // Buffers that share a place from one to the next are placed as one that lives as long as all of them.
    let root = |mut b: usize| {
        while let Some(&h) = host.get(&b) {
            b = h;
        }
        b
    };
    let mut whole: HashMap<usize, Life> = HashMap::new();
    for (b, life) in lives.iter().enumerate() {
        let Some(life) = life.filter(|_| matches!(plan.buffers[b].place, Place::Arena(_))) else { continue };
        let own = whole.entry(root(b)).or_insert(life);
        *own = Life { from: own.from.min(life.from), to: own.to.max(life.to) };
    }
    let (places, arena) = pack(plan, &whole, align);
    plan.arena = arena;
    for (b, buffer) in plan.buffers.iter_mut().enumerate() {
        if let (Place::Arena(at), Some(place)) = (&mut buffer.place, places.get(&root(b))) {
            *at = *place;
        }
    }
    plan.donors = donors(plan, &lives);
}

/// Places the largest first, each at the lowest byte where no one lives at the same time.
fn pack(plan: &Plan, whole: &HashMap<usize, Life>, align: usize) -> (HashMap<usize, usize>, usize) {
    // From, to, and when; sorted by place.
    let mut placed: Vec<(usize, usize, Life)> = Vec::new();
    let mut order: Vec<(usize, Life)> = whole.iter().map(|(b, l)| (*b, *l)).collect();
    order.sort_by_key(|(b, _)| (std::cmp::Reverse(plan.buffers[*b].bytes()), *b));
    let (mut places, mut arena) = (HashMap::new(), 0);
    for (b, life) in order {
        let bytes = plan.buffers[b].bytes().next_multiple_of(align);
        let mut at = 0;
        for (from, to, other) in placed.iter() {
            let together = life.from <= other.to && other.from <= life.to;
            if together && at < *to && *from < at + bytes {
                at = *to;
            }
        }
        let i = placed.partition_point(|(from, _, _)| *from <= at);
        placed.insert(i, (at, at + bytes, life));
        places.insert(b, at);
        arena = arena.max(at + bytes);
    }
    (places, arena)
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

/// Pairs (written, read) of which the first may take the place of the second while the step runs: every index
/// reads only the element that it writes, or the device has claimed a region with code that allows it.
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
    // The buffers that are read in one way only, in the order they are first read, and that way.
    let mut ways: Vec<(usize, Option<&Layout>)> = Vec::new();
    let mut at: HashMap<usize, usize> = HashMap::new();
    for Access { buffer, layout } in kernel.loads() {
        let own = *at.entry(*buffer).or_insert_with(|| {
            ways.push((*buffer, Some(layout)));
            ways.len() - 1
        });
        ways[own].1 = ways[own].1.filter(|l| *l == layout);
    }
    for inst in &kernel.body {
        let Operation::Pieces(pieces) = &inst.op else { continue };
        pieces.iter().filter_map(|p| at.get(&p.access.buffer)).for_each(|own| ways[*own].1 = None);
    }
    for store in &kernel.stores {
        let element =
            kernel.body[store.value].level == Level::Element || kernel.parallel == kernel.axes.len();
        let fits = |(read, way): &&(usize, Option<&Layout>)| {
            element && *read != store.access.buffer && *way == Some(&store.access.layout)
        };
        pairs.extend(ways.iter().filter(fits).map(|(read, _)| (store.access.buffer, *read)));
    }
    pairs
}

/// Per output, an input of its type that the step which writes it is the last to read, element by element.
fn donors(plan: &Plan, lives: &[Option<Life>]) -> Vec<Option<usize>> {
    let mut taken = vec![false; plan.inputs.len()];
    let mut donors = vec![None; plan.outputs.len()];
    // A run that fails must leave its arguments as they were: no step that can fail may come later.
    let can_fail = |s: &Step| match s {
        Step::Kernel(_) | Step::Contract(_) | Step::Slices { .. } => false,
        Step::Routine(r) => r.can_fail,
        _ => true,
    };
    let safe = plan.steps.iter().rposition(can_fail).map_or(0, |last| last + 1);
    for (at, step) in plan.steps.iter().enumerate().skip(safe) {
        for (written, read) in in_place(step) {
            let (Place::Output(k), Place::Input(i)) =
                (&plan.buffers[written].place, &plan.buffers[read].place)
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
