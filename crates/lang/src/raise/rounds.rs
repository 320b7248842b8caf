//! Raises loops that end by a condition to functions whose time ends by that condition.

use super::draft::{Drafts, operand};
use super::forms::{Raise, call, walk};
use super::{View, number};
use crate::syntax::ast::{Index, Kind, Projection};
use gradus_ir::Result;
use gradus_ir::ops::while_loop::While;

impl Raise<'_> {
    pub(super) fn rounds(&self, repeat: &While, drafts: &mut Drafts) -> Result<Vec<View>> {
        let extents: Vec<Vec<usize>> = (0..self.node.outs.len()).map(|k| self.extents(k)).collect();
        drafts.function(self.ins, &extents, |given, drafts| {
            let (shared, begin) = given.split_at(repeat.shared);
            let (time, go) = (drafts.named_like("s"), drafts.fresh());
            let now = Index::Time(time.clone(), 0);
            let mut states = Vec::new();
            for view in begin {
                let name = drafts.fresh();
                drafts.copy(view, name.clone(), Some(Index::Step(0)));
                states.push(View::named(name, view.kinds.clone(), Some(now.clone())));
            }
            let all: Vec<View> = shared.iter().chain(&states).cloned().collect();
            drafts.clock.within = true;
            let holds = walk(&repeat.condition, &all, drafts);
            let next = walk(&repeat.body, &all, drafts);
            drafts.clock.within = false;
            let mut going = holds?.first().map_or_else(|| number(0.0), |go| operand(go, &[]));
            if repeat.bound > 0 {
                let so_far = Kind::Of("index".into(), time.clone()).bare();
                let within = call("lt", vec![so_far, number(repeat.bound as f64)], Vec::new());
                going = Kind::And(Box::new([going, within])).bare();
            }
            drafts.add(go.clone(), Some(now), Vec::new(), Vec::new(), Projection::Sum, going);
            for (state, next) in states.iter().zip(next?) {
                if let Some(name) = state.name() {
                    drafts.copy(&next, name.clone(), Some(Index::Time(time.clone(), 1)));
                }
            }
            drafts.times_by_condition.push((time, go));
            let last = |s: View| View { when: Some(Index::Step(-1)), ..s };
            Ok(states.into_iter().map(last).collect())
        })
    }
}
