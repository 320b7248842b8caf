//! Loops that go on while a condition holds: a fixpoint of one tensor that holds all carries, and how many rounds there
//! have been, so that it moves in every round until the condition fails.

use super::draft::{Drafts, operand};
use super::forms::{Raise, call, walk};
use super::{Base, Seen, Source, number};
use crate::ast::{Expr, Kind, Projection};
use gradus_ir::ops::while_loop::While;
use gradus_ir::{Aval, Result};

impl Raise<'_> {
    pub(super) fn rounds(&self, repeat: &While, drafts: &mut Drafts) -> Result<Vec<Seen>> {
        let carries: Vec<&Aval> = self.node.outs.iter().collect();
        let length = 1 + carries.iter().map(|a| a.shape.numel() * parts(a)).sum::<usize>();
        // What a round begins with stands behind the operands of the loop.
        let (name, kind) = (drafts.fresh(), drafts.sized(length));
        let before = Seen::named(name.clone(), vec![kind], None);
        let operands: Vec<Seen> = self.ins.iter().cloned().chain([before]).collect();
        let round = |given: &[Seen], drafts: &mut Drafts| {
            let (shared, begin) = given[..self.ins.len()].split_at(repeat.shared);
            let all = &given[self.ins.len()];
            let mut now = shared.to_vec();
            now.extend(drafts.unpacked(all, &carries));
            let go = walk(&repeat.condition, &now, drafts)?;
            let next = walk(&repeat.body, &now, drafts)?;
            let so_far = place(all, 0);
            let later = drafts.one_more(&so_far);
            let [begin, next] = [
                drafts.packed(
                    Seen { base: Base::Number(1.0, None), kinds: Vec::new(), when: None },
                    begin,
                    &carries,
                ),
                drafts.packed(later, &next, &carries),
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
        Ok(drafts.unpacked(&all, &carries))
    }
}

/// How many numbers stand for one: complex ones are two.
fn parts(aval: &Aval) -> usize {
    if aval.dtype.is_complex() { 2 } else { 1 }
}

/// One place of a tensor with one axis.
fn place(all: &Seen, at: usize) -> Seen {
    let base = match &all.base {
        Base::Tensor(name, _) => Base::Tensor(name.clone(), vec![Source::At(at as i64)]),
        Base::Number(x, d) => Base::Number(*x, *d),
    };
    Seen { base, kinds: Vec::new(), when: all.when.clone() }
}

impl Drafts {
    /// One more.
    fn one_more(&mut self, x: &Seen) -> Seen {
        let value = Kind::Sum(vec![operand(x, &[]), number(1.0)]).bare();
        self.equation(Vec::new(), Vec::new(), Projection::Sum, value)
    }

    /// The carries that lie one behind the other along one axis, behind a number.
    fn unpacked(&mut self, all: &Seen, carries: &[&Aval]) -> Vec<Seen> {
        let mut first = 1;
        let mut next = |aval: &Aval, drafts: &mut Drafts| {
            let from = first;
            first += aval.shape.numel();
            drafts.part(all, from, &aval.shape)
        };
        let one = |aval: &&Aval| match parts(aval) {
            1 => next(aval, self),
            _ => {
                let [re, im] = [next(aval, self), next(aval, self)];
                self.pointwise("complex", &[&re, &im])
            }
        };
        carries.iter().map(one).collect()
    }

    /// Some places of a tensor with one axis, as a tensor with these extents.
    fn part(&mut self, all: &Seen, first: usize, extents: &[usize]) -> Seen {
        if extents.is_empty() {
            return place(all, first);
        }
        let count: usize = extents.iter().product();
        let part = self.cropped(all, &[self.extent(all.kinds[0])], &[(first as i64, (first + count) as i64)]);
        if extents.len() == 1 { part } else { self.reshape(&part, extents) }
    }

    /// A number and carries one after the other along one axis.
    fn packed(&mut self, count: Seen, carries: &[Seen], avals: &[&Aval]) -> Seen {
        let mut all = vec![(count, 1)];
        for (seen, aval) in carries.iter().zip(avals) {
            let both = ["real", "imag"].map(|part| (part, aval.shape.numel()));
            match parts(aval) {
                1 => all.push((seen.clone(), aval.shape.numel())),
                _ => all.extend(both.map(|(part, n)| (self.pointwise(part, &[seen]), n))),
            }
        }
        let kind = self.kind(all.iter().map(|(_, n)| n).sum());
        let (mut more, mut args): (Vec<usize>, Vec<Expr>) = Default::default();
        for (seen, n) in all {
            let flat = if seen.kinds.len() == 1 { self.solid(&seen) } else { self.flat(&seen, n) };
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
