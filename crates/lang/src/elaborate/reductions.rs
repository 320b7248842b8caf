//! Checks that the lines of one name combine in the same way wherever they can write to one element.
//! Takes the resolved lines; reports each pair that clashes. Which lines a name has is decided by `collect`.

use crate::program::{Definition, Program};
use crate::syntax::ast::{Equation, Index, Place, Projection, Ref};
use crate::syntax::diagnostic::Diagnostic;

impl Program {
    /// Checks that lines which write to the same element have the same reduction, and that at most one of them is a
    /// mean.
    pub(super) fn check_reductions(&self, joined: &[&Definition], faults: &mut Vec<Diagnostic>) {
        let word = |p: Projection| if p == Projection::Sum { "=".into() } else { format!("{}=", p.word()) };
        for d in joined.iter().filter(|d| !d.relation) {
            let own: Vec<&Equation> = d.equations.iter().map(|i| &self.equations[*i]).collect();
            if own.iter().all(|e| e.projection == own[0].projection && e.projection != Projection::Avg) {
                continue;
            }
            let clash = own.iter().enumerate().find_map(|(k, b)| {
                let mut before = own[..k].iter();
                let differ = |a: &&&Equation| a.projection != b.projection || a.projection == Projection::Avg;
                before.find(|a| differ(a) && can_meet(&a.target, &b.target)).map(|a| (*a, *b))
            });
            let Some((a, b)) = clash else { continue };
            let name = &a.target.name;
            let what = match a.projection == b.projection {
                true => format!("`{name}` has two lines with `avg=`: the mean of means is not the mean"),
                false => format!(
                    "lines of `{name}` combine by `{}` and by `{}`",
                    word(a.projection),
                    word(b.projection)
                ),
            };
            let fault =
                Diagnostic::error(b.target.span, what).and(a.target.span, "the other line").about(name);
            faults.push(fault.help("give the lines names of their own, and combine those"));
        }
    }
}

/// Returns true if two left sides of the same name can write to the same element.
fn can_meet(a: &Ref, b: &Ref) -> bool {
    let apart = |(a, b): (&Place, &Place)| match (&a.index, &b.index) {
        (Index::Symbol(x, _), Index::Symbol(y, _)) => x != y,
        (Index::At(x), Index::At(y)) | (Index::Step(x), Index::Step(y)) => x != y && (*x < 0) == (*y < 0),
        (Index::At(x), Index::Named(_, by)) | (Index::Named(_, by), Index::At(x)) => (0..*by).contains(x),
        (Index::Step(x), Index::Time(_, by)) | (Index::Time(_, by), Index::Step(x)) => (0..*by).contains(x),
        (a, b) => super::positions::never_equal(a, b),
    };
    !a.places.iter().zip(&b.places).any(apart)
}
