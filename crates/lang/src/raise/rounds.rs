//! Loops that go on while a condition holds: a fixpoint of one tensor that holds all carries, and how many rounds there
//! have been, so that it moves in every round until the condition fails.

use super::draft::{Drafts, operand};
use super::forms::{Raise, call, walk};
use super::{Base, Seen, Source, number};
use crate::ast::{Expr, Kind, Projection};
use gradus_ir::Result;
use gradus_ir::ops::while_loop::While;

impl Raise<'_> {
    pub(super) fn rounds(&self, repeat: &While, drafts: &mut Drafts) -> Result<Vec<Seen>> {
        let extents: Vec<Vec<usize>> = (0..self.node.outs.len()).map(|k| self.extents(k)).collect();
        let counts: Vec<usize> = extents.iter().map(|e| e.iter().product()).collect();
        let length = 1 + counts.iter().sum::<usize>();
        // What a round begins with stands behind the operands of the loop.
        let (name, kind) = (drafts.fresh(), drafts.sized(length));
        let before = Seen::named(name.clone(), vec![kind], None);
        let operands: Vec<Seen> = self.ins.iter().cloned().chain([before]).collect();
        let round = |given: &[Seen], drafts: &mut Drafts| {
            let (shared, begin) = given[..self.ins.len()].split_at(repeat.shared);
            let all = &given[self.ins.len()];
            let (mut now, mut first) = (shared.to_vec(), 1);
            for (extents, count) in extents.iter().zip(&counts) {
                now.push(drafts.unpacked(all, first, extents));
                first += count;
            }
            let go = walk(&repeat.condition, &now, drafts)?;
            let next = walk(&repeat.body, &now, drafts)?;
            let so_far = place(all, 0);
            let later = drafts.one_more(&so_far);
            let [begin, next] = [
                drafts.packed(
                    Seen { base: Base::Number(1.0), kinds: Vec::new(), when: None },
                    begin,
                    &counts,
                ),
                drafts.packed(later, &next, &counts),
            ];
            let [count, all_now] = [operand(&so_far, &[]), operand(all, &[0])];
            let mut going = go.first().map_or_else(|| number(0.0), |go| operand(go, &[]));
            if repeat.bound > 0 {
                let within = call("le", vec![count.clone(), number(repeat.bound as f64)], Vec::new());
                going = Kind::And(Box::new([going, within])).bare();
            }
            let goes = call("where", vec![going, operand(&next, &[0]), all_now], Vec::new());
            let starts = call("eq", vec![count, number(0.0)], Vec::new());
            let value = call("where", vec![starts, operand(&begin, &[0]), goes], Vec::new());
            Ok(vec![drafts.equation(all.kinds.clone(), Vec::new(), Projection::Sum, value)])
        };
        let called = drafts.function(&operands, &[vec![length]], round)?;
        called.iter().for_each(|c| drafts.join(kind, c.kinds[0]));
        // The call is the equation of what it begins with: a name that needs itself.
        if let Some(last) = drafts.drafts.last_mut() {
            last.name = name.clone();
        }
        let all = Seen::named(name, vec![kind], None);
        let mut first = 1;
        let mut results = Vec::new();
        for (extents, count) in extents.iter().zip(&counts) {
            results.push(drafts.unpacked(&all, first, extents));
            first += count;
        }
        Ok(results)
    }
}

/// One place of a tensor with one axis.
fn place(all: &Seen, at: usize) -> Seen {
    let base = match &all.base {
        Base::Tensor(name, _) => Base::Tensor(name.clone(), vec![Source::At(at as i64)]),
        Base::Number(x) => Base::Number(*x),
    };
    Seen { base, kinds: Vec::new(), when: all.when.clone() }
}

impl Drafts {
    /// One more.
    fn one_more(&mut self, x: &Seen) -> Seen {
        let value = Kind::Sum(vec![operand(x, &[]), number(1.0)]).bare();
        self.equation(Vec::new(), Vec::new(), Projection::Sum, value)
    }

    /// So many places of a tensor with one axis, as a tensor with these extents.
    fn unpacked(&mut self, all: &Seen, first: usize, extents: &[usize]) -> Seen {
        if extents.is_empty() {
            return place(all, first);
        }
        let count: usize = extents.iter().product();
        let part = self.cropped(all, &[self.extent(all.kinds[0])], &[(first as i64, (first + count) as i64)]);
        if extents.len() == 1 { part } else { self.reshape(&part, extents) }
    }

    /// A number and tensors one after the other along one axis.
    fn packed(&mut self, count: Seen, parts: &[Seen], counts: &[usize]) -> Seen {
        let kind = self.kind(1 + counts.iter().sum::<usize>());
        let (mut more, mut args): (Vec<usize>, Vec<Expr>) = Default::default();
        for (seen, n) in [&count].into_iter().chain(parts).zip([&1].into_iter().chain(counts)) {
            let flat = if seen.kinds.len() == 1 { self.solid(seen) } else { self.flat(seen, *n) };
            args.push(operand(&flat, &[1 + more.len()]));
            more.push(flat.kinds[0]);
        }
        let value = call("concat", args, vec![("axis", number(0.0))]);
        self.equation(vec![kind], more, Projection::Sum, value)
    }

    /// A tensor along one axis.
    fn flat(&mut self, seen: &Seen, n: usize) -> Seen {
        if seen.kinds.is_empty() {
            let kind = self.kind(n);
            return self.equation(vec![kind], Vec::new(), Projection::Sum, operand(seen, &[]));
        }
        self.reshape(seen, &[n])
    }
}
