//! Goes back through choices, and through calls inside of branches.

use super::Back;
use crate::builtin::Mixes;
use crate::differentiate::branch::{Mask, branches, may_be_infinite, mixed_axes, multiplies, nested};
use crate::differentiate::needed::condition;
use crate::elaborate::core::{Call, Expr};
use crate::syntax::ast::Name;

impl Back<'_, '_> {
    /// Returns the conditions under which the value of the equation contributes: where its name is needed,
    /// and its guard.
    pub(super) fn conditions(&self) -> [Vec<Mask>; 2] {
        let (e, program, needed) = (self.equation, self.program, &self.walk.needed);
        let elsewhere = || {
            let infinite = may_be_infinite(&e.value) || multiplies(&e.value, needed);
            // A call that takes its names from the left side cannot be inside a choice whose condition has other names.
            let own = |c: &Call| program.functions.contains_key(&c.function);
            let later = infinite && e.value.leaning(program).is_none_or(own);
            condition(e, needed, program).filter(|_| later)
        };
        let is_needed = needed.contains_key(&e.target.name);
        let elsewhere = is_needed.then(elsewhere).flatten();
        [elsewhere, e.guard.clone()].map(|condition| condition.into_iter().map(Mask::new).collect())
    }

    /// Runs `f` inside further branches.
    pub(super) fn under(&mut self, masks: Vec<Mask>, f: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let before = self.masks.len();
        self.masks.extend(masks);
        let out = f(self);
        self.masks.truncate(before);
        out
    }

    /// Contributions of a choice.
    pub(super) fn choice(
        &mut self,
        e: &Expr,
        cases: &[[Expr; 2]],
        otherwise: Option<&Expr>,
        ct: &Expr,
    ) -> Option<()> {
        let all = e.axis_order(self.program);
        for (masks, value) in branches(cases, otherwise) {
            if self.reads_wanted(value) {
                self.under(masks, |back| {
                    let ct = back.repeated(e, &all, value, ct.clone())?;
                    back.back(value, ct)
                })?;
            }
        }
        Some(())
    }

    /// Returns a cotangent that is 0 where the current branches are not taken.
    pub(super) fn chosen(&mut self, ct: Expr) -> Expr {
        let masks = self.masks.clone();
        nested(&self.masks_apart(&masks), ct)
    }

    /// Copies of conditions, with new names for what they sum over.
    pub(super) fn masks_apart(&mut self, masks: &[Mask]) -> Vec<Mask> {
        masks.iter().map(|m| Mask { condition: self.copy_all(&m.condition), ..m.clone() }).collect()
    }

    /// Goes back through a call. If its derivative is not a factor, the branches are applied to the cotangent
    /// first: the derivative combines positions that the call mixes, and indices that an argument lacks.
    pub(super) fn through(&mut self, e: &Expr, c: &Call, ct: Expr) -> Option<()> {
        if self.masks.is_empty() {
            return self.call(e, c, ct);
        }
        let behind = match mixed_axes(c) {
            Mixes::Nothing => None,
            mixed => Some(self.narrowed(|n| mixed.contains(n))),
        };
        let ct = if behind.is_none() && self.is_factor(c) { ct } else { self.chosen(ct) };
        let before = self.masks.clone();
        self.masks = behind.unwrap_or_else(|| before.clone());
        let out = self.call(e, c, ct);
        self.masks = before;
        out
    }

    /// Narrows the current conditions to those that are left after sums over some indices.
    pub(super) fn forget(&mut self, gone: impl Fn(&Name) -> bool) {
        self.masks = self.narrowed(gone);
    }

    /// Returns the current conditions without some indices: each holds where it held at any of their positions. Within a
    /// step, nothing is combined over its time. If no read in the condition has an index's size, ones along the index
    /// have it. A condition with an index of unknown size is left out, as the cotangent is 0 there already.
    fn narrowed(&mut self, gone: impl Fn(&Name) -> bool) -> Vec<Mask> {
        let (step, program) = (self.step.clone(), self.program);
        let gone = |n: &Name| step.as_ref() != Some(n) && gone(n);
        let mut out = Vec::new();
        let value = &self.equation.value;
        for mask in self.masks.clone() {
            let mut missing = mask.indices(program);
            missing.retain(|n| gone(n) && !mask.has_size_of(n));
            let sized = missing.iter().try_fold(mask, |m, n| Some(m.and_positive(self.ones(value, n)?)));
            out.extend(sized.map(|mask| mask.anywhere(gone, program)));
        }
        out
    }

    /// Goes back into a part whose cotangent has no other indices than the part itself.
    pub(super) fn enter(&mut self, part: &Expr, ct: Expr) -> Option<()> {
        if self.masks.is_empty() {
            return self.back(part, ct);
        }
        let (own, before) = (part.axis_order(self.program), self.masks.clone());
        self.forget(|n| !own.contains(n));
        let out = self.back(part, ct);
        self.masks = before;
        out
    }
}
