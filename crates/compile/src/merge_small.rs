//! Merges small independent loop nests over the same index space, because starting a small nest costs more than running it.
//! Changes the lowered units in place, except groups with reductions. `depend.rs` decides which groups may be merged. If the
//! body of a loop becomes one nest, a device can run the entire loop as one nest.

use crate::group::Group;
use crate::lowered::{Lowered, Unit};
use gradus_ir::stop;
use std::collections::BTreeMap;

/// Number of later groups that each group is compared with. In a large generated program, comparing all pairs would take
/// longer than running the program.
const NEAR: usize = 256;

/// Merges groups that have at most `most` elements and no reductions.
pub(crate) fn merge(lowered: &mut Lowered, most: usize) {
    let mut alike: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (unit, group) in lowered.units.iter().enumerate().filter_map(|(i, u)| Some((i, small(u, most)?))) {
        alike.entry(group.space.iter().product()).or_default().push(unit);
    }
    let near = |units: Vec<usize>| {
        let pairs = |i: usize| units[i + 1..].iter().take(NEAR).map(|b| (units[i], *b)).collect::<Vec<_>>();
        (0..units.len()).flat_map(pairs).collect::<Vec<_>>()
    };
    let mut pairs: Vec<(usize, usize)> = alike.into_values().flat_map(near).collect();
    pairs.sort_unstable();
    for (a, b) in pairs.into_iter().take_while(|_| !stop::requested()) {
        let (Some(x), Some(y)) = (small(&lowered.units[a], most), small(&lowered.units[b], most)) else {
            continue;
        };
        if !lowered.depend.could_merge(a, b) {
            continue;
        }
        let Ok(both) = x.merged(y) else { continue };
        for (m, _) in &both.members {
            lowered.maker[m.value] = Some(a);
        }
        lowered.depend.merge(a, b);
        lowered.units[a] = Unit::Group(both);
        lowered.units[b] = Unit::Gone;
    }
}

fn small(unit: &Unit, most: usize) -> Option<&Group> {
    match unit {
        Unit::Group(g) if g.reduced.is_none() && g.space.iter().product::<usize>() <= most => Some(g),
        _ => None,
    }
}
