//! Small loop nests side by side: over the same space, neither needing the other, they are one. What starting them
//! takes is more than what they do; and a loop whose step is one loop nest can be a loop nest itself.

use crate::group::Group;
use crate::lower::{Lowered, Unit};

/// More elements than this are worth a start of their own.
const SMALL: usize = 1024;

/// Merges small groups without reductions.
pub(crate) fn merge(lowered: &mut Lowered) {
    for a in 0..lowered.units.len() {
        for b in a + 1..lowered.units.len() {
            let (Some(x), Some(y)) = (small(&lowered.units[a]), small(&lowered.units[b])) else { continue };
            let alike = x.space.iter().product::<usize>() == y.space.iter().product::<usize>();
            if !alike || !lowered.depend.could_merge(a, b) {
                continue;
            }
            let Ok(both) = x.merged(y) else { continue };
            for (m, _) in &both.members {
                lowered.home[m.value] = Some(a);
            }
            lowered.depend.merge(a, b);
            lowered.units[a] = Unit::Group(both);
            lowered.units[b] = Unit::Gone;
        }
    }
}

fn small(unit: &Unit) -> Option<&Group> {
    match unit {
        Unit::Group(g) if g.reduced.is_none() && g.space.iter().product::<usize>() <= SMALL => Some(g),
        _ => None,
    }
}
